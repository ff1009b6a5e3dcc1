"""What is found in texts, and what is not."""

import pytest
from siltstone.screening import Finding, mask, personal_data, secrets

GITHUB = "ghp_" + "a1B2" * 9
SLACK = "xoxb-123456789012-" + "abcdef1234"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"the deploy key is {GITHUB}, rotate it", "the deploy key is [masked secret], rotate it"),
        ("AKIAIOSFODNN7EXAMPLE was leaked", "[masked AWS Access Key] was leaked"),
        (f"post to {SLACK} daily", "post to [masked Slack Token] daily"),
        ("数据库密码是zhimakaimen。", "数据库密码是[masked secret]。"),
        ("password=letmein", "password=[masked secret]"),
        ("https://app:p4ssw0rd@db.corp/x", "https://app:[masked secret]@db.corp/x"),
        ("口令：“天王盖地虎”", "口令：“[masked secret]”"),
    ],
)
def test_a_secret_is_masked_and_the_words_around_it_stay(text: str, masked: str) -> None:
    assert mask(text, secrets(text)) == masked
    assert secrets(masked) == [], "what is masked is not found again"


@pytest.mark.parametrize(
    "text",
    [
        "a budget-friendly place with basic amenities and basic hand-sewing",
        "Password: Stored in the vault",
        "Authorization: Bearer ${{ secrets.NETLIFY_API_TOKEN }}",
        "APEXLegends and AP-2024 are names",
        "the token limit is 4096 tokens",
        "commit 3c7a1902 of bootstrap@5.3.0, sha256 " + "0123456789abcdef" * 4,
        "忘记密码时联系管理员",
        "卡号 6222 0200 0000 0000 000",  # personal data
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert secrets(text) == []


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("我的身份证号是11010519491231002X，请记住", "我的身份证号是[masked ID number]，请记住"),
        ("我爸的电话是13812345678。", "我爸的电话是[masked phone number]。"),
        (
            "手机 138 1234 5678，座机010-62345678",
            "手机 [masked phone number]，座机[masked phone number]",
        ),
        ("call +44 20 7946 0958 or (212) 736-5000", "call [masked phone number] or [masked phone number]"),
        ("银行卡6222021234567890128", "银行卡[masked card number]"),
        ("card 4111 1111 1111 1111 expires", "card [masked card number] expires"),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN [masked account number]"),
        ("SSN 536-90-4399", "SSN [masked ID number]"),
        ("邮箱是zhang.san@qlbank.com.cn。", "邮箱是[masked e-mail address]。"),
    ],
)
def test_personal_data_is_found_by_its_check_digits_or_numbering_plan(text: str, masked: str) -> None:
    assert mask(text, personal_data(text)) == masked
    assert personal_data(masked) == []


@pytest.mark.parametrize(
    "text",
    [
        "身份证 110105194912310021 的校验位不对",
        "order 4111111111111112, id 1733059200123456",
        "target: 1600-1800 calories",
        "port 50051 at 192.168.110.12 since 2026-12-01 10:00:00",
        "git@github.com, bootstrap@5.3.0 and jdoe@example.com",
        "版本 2.26.6，共 13800 行",
    ],
)
def test_numbers_that_are_nobodys_are_left_alone(text: str) -> None:
    assert personal_data(text) == []


def test_findings_that_overlap_become_one() -> None:
    text = f"token={GITHUB}{GITHUB}"
    assert secrets(text) == [Finding(6, len(text), secrets(text)[0].kind)]


def test_beyond_a_thousand_numbers_each_is_believed() -> None:
    text = "x".join(["100000000"] * 1005)
    assert len(personal_data(text)) == 5

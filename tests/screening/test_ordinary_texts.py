"""Ordinary texts, in English and Chinese, code, logs, settings, ids, pass the default screening.

They are in ``ordinary.txt``, one a line, with ``\\n`` for a line's end.
"""

from pathlib import Path

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.screening import personal_data, secrets

TEXTS = [
    line.replace("\\n", "\n")
    for line in Path(__file__).with_name("ordinary.txt").read_text(encoding="utf-8").splitlines()
]


def test_every_ordinary_text_comes_back_verbatim_by_default(tmp_path: Path) -> None:
    settings = Settings(embedding_model="hashing")
    with siltstone.open(tmp_path / "data", settings=settings) as mem:
        # one namespace each: texts that are nearly the same would become one memory
        receipts = [mem.write(text, namespace=f"n/{number}") for number, text in enumerate(TEXTS)]
        assert [receipt.masked for receipt in receipts] == [[]] * len(TEXTS)
        ids = [receipt.memory.id for receipt in receipts if receipt.memory]
        kept = [memory for at in range(0, len(ids), 100) for memory in mem.get(ids[at : at + 100])]
        assert [memory.content for memory in kept] == TEXTS


def test_there_are_hundreds_of_them_and_they_speak_of_secrets() -> None:
    assert len(TEXTS) == len(set(TEXTS)) > 500
    assert sum("password" in text.lower() or "密码" in text for text in TEXTS) > 100


@pytest.mark.parametrize("text", TEXTS)
def test_an_ordinary_text_holds_no_secret(text: str) -> None:
    assert secrets(text) == []


@pytest.mark.parametrize("text", ["INV-2024-000123", "SO_2024-000123", "凭证编号 2024-05-0032"])
def test_a_number_of_a_document_is_no_phone_number(text: str) -> None:
    assert personal_data(text) == []


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("password: Str0ngField9", "Str0ngField9"),
        ("PWD=hunter22", "hunter22"),
        ("password: /aB3dE5gH7jK9/", "/aB3dE5gH7jK9/"),
        ("Set-Cookie: theme=dark; sid=abcdef; Path=/", "abcdef"),
        ("Cookie: lang=en; v=8f14e45fceea167a", "8f14e45fceea167a"),
        ("https://a.example/?sig=Ab3dEfGh1jKl", "Ab3dEfGh1jKl"),
        ('["X-Api-Key", "swordfish"]', "swordfish"),
        ('passphrase "correct horse" and go', "correct horse"),
        ("密码：swordfish", "swordfish"),
        ("phone 13812345678 password=token9!x", "token9!x"),
    ],
)
def test_what_is_a_secret_beside_ordinary_words_is_still_found(text: str, secret: str) -> None:
    assert any(secret in text[found.start : found.end] for found in secrets(text))

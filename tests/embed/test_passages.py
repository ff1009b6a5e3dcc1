"""Cutting content into passages."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from siltstone import rust_core
from siltstone.embed import split_passages
from siltstone.errors import InvalidArgumentError

ENGLISH = (
    "MySQL 8.0 refused the connection, e.g. after the upgrade. Dr. Li raised the limit! Did it help? It did. "
)
CHINESE = "升级到 8.0 之后，数据库拒绝连接。李博士调高了上限！有用吗？有用……日志里再没有错误。"


def check(content: str, max_tokens: int) -> list[str]:
    passages = split_passages(content, max_tokens)
    assert "".join(passages) == content
    assert all(passages)
    assert all(rust_core.count_tokens(passage) <= max_tokens for passage in passages)
    return passages


@pytest.mark.parametrize("content", ["short", "短", " ", "\n\n", "🚀", ENGLISH, CHINESE])
def test_content_that_fits_is_one_passage(content: str) -> None:
    assert check(content, 256) == [content]


def test_empty_content_gives_no_passage() -> None:
    assert split_passages("", 256) == []


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_long_content_is_cut_at_sentence_ends_and_the_passages_are_well_filled(text: str) -> None:
    passages = check(text * 40, 100)
    ends = ("! ", "? ", ". ") if text is ENGLISH else ("。", "！", "？", "…")
    assert all(passage.endswith(ends) for passage in passages)
    assert not any(passage.endswith(("e.g. ", "Dr. ", "8.")) for passage in passages)
    filled = [rust_core.count_tokens(passage) for passage in passages[:-1]]
    assert sum(filled) / len(filled) > 70


def test_a_paragraph_that_fits_is_not_cut() -> None:
    paragraphs = [(ENGLISH * 2).strip() + "\n\n", CHINESE * 2 + "\r\n  \r\n", (ENGLISH * 2).strip()]
    assert check("".join(paragraphs), 90) == paragraphs


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    passages = check("word " * 1000, 50)
    assert all(passage.strip().replace("word", "").strip() == "" for passage in passages)
    assert len(passages) < 25


@pytest.mark.parametrize(
    "content", ["长" * 3000, "QUJDREVG" * 1000, "🧑‍🚀" * 500, "=" * 20_000, " " * 20_000]
)
def test_content_without_any_gap_is_cut_between_characters(content: str) -> None:
    passages = check(content, 64)
    assert len(passages) > 1
    assert max(map(len, passages)) <= 64 * 16


@given(
    st.text(
        st.characters(exclude_categories=["Cs"]) | st.sampled_from(" \n.!。！…记忆ab🚀\u0301"), max_size=600
    ),
    st.integers(4, 40),
)
@settings(deadline=None, max_examples=200)
def test_passages_are_the_content_and_fit_for_any_text(content: str, max_tokens: int) -> None:
    check(content, max_tokens)


@pytest.mark.parametrize("unit", [".", "a", "记", '."', "\n ", "… ", "1. ", ENGLISH, CHINESE])
def test_a_megabyte_takes_little_more_than_ten_times_a_tenth_of_it(unit: str) -> None:
    def seconds(characters: int) -> float:
        content = unit * (characters // len(unit))
        started = time.process_time()
        split_passages(content, 256)
        return time.process_time() - started

    tenth = min(seconds(50_000) for _ in range(3))
    assert seconds(500_000) < 40 * tenth + 0.5


@pytest.mark.parametrize("max_tokens", [3, 0, -1])
def test_a_limit_below_one_character_is_refused(max_tokens: int) -> None:
    with pytest.raises(InvalidArgumentError, match=f"max_tokens: {max_tokens}"):
        split_passages("text", max_tokens)


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"content: lone surrogate U\+DC00 at character 1"):
        split_passages("好\udc00", 256)

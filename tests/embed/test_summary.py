"""The summary that a rule makes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from siltstone import rust_core
from siltstone.errors import InvalidArgumentError
from siltstone.summary import shorten, summarize


@pytest.mark.parametrize(
    ("content", "max_tokens", "summary"),
    [
        ("One thing. Another thing.", 64, "One thing. Another thing."),
        ("One thing. Another thing, which is longer.", 5, "One thing."),
        ("Use MySQL 8.0, e.g. on port 3306. Then restart.", 18, "Use MySQL 8.0, e.g. on port 3306."),
        ("  Restart\n\tthe   server.\n\nThen wait.", 64, "Restart the server. Then wait."),
        ("磁盘满了。日志从不轮转，所以要定期清理旧的日志文件。", 10, "磁盘满了。"),
        ("磁盘满了！日志从不轮转。", 64, "磁盘满了！日志从不轮转。"),
        ("1. Open the door. 2. Leave.", 8, "1. Open the door."),
        ("标题\n正文很长，" + "说了很多很多话，" * 50, 12, "标题"),
        ("。", 64, "。"),
        ("", 64, ""),
        (" \n\u3000", 64, ""),
    ],
)
def test_the_first_sentences_that_fit_are_the_summary(content: str, max_tokens: int, summary: str) -> None:
    assert summarize(content, max_tokens) == summary


def test_a_long_first_sentence_is_cut_at_a_word() -> None:
    words = "the quick brown fox jumps over the lazy dog "
    summary = summarize(words * 100, 20)
    assert summary.endswith("…")
    assert set(summary[:-1].split()) <= set(words.split())
    assert 15 <= rust_core.count_tokens(summary) <= 20


def test_a_long_chinese_sentence_is_cut_at_a_character() -> None:
    content = "数据库升级之后服务无法启动，" * 100
    summary = summarize(content, 20)
    assert summary.endswith("…")
    assert content.startswith(summary[:-1])
    assert 15 <= rust_core.count_tokens(summary) <= 20


@given(
    st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(" \n.!。！…记忆ab🚀\0"), max_size=400),
    st.integers(1, 64),
)
@settings(deadline=None, max_examples=200)
def test_a_summary_fits_and_is_empty_only_for_blank_content(content: str, max_tokens: int) -> None:
    summary = summarize(content, max_tokens)
    assert rust_core.count_tokens(summary) <= max_tokens
    assert bool(summary) == bool(content.strip())
    assert summary == " ".join(summary.split())


def test_a_megabyte_is_summarised_by_its_beginning() -> None:
    assert summarize("第一句。" + "很长" * 500_000) == "第一句。"


def test_a_limit_below_one_token_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="max_tokens: 0"):
        summarize("text", 0)


@pytest.mark.parametrize("budget", range(4, 40, 3))
def test_shortening_ends_at_a_word_and_keeps_the_budget(budget: int) -> None:
    text = "Goal: add the new login plugin and start it again\n结果：成功；3 步；工具：bash\nDone."
    short = shorten(text, budget)
    assert rust_core.count_tokens(short) <= budget
    if short != text:
        kept = short.removesuffix("…")
        assert text.startswith(kept)
        assert short == kept + "…"
        rest = text[len(kept) :]
        assert rest[0].isspace() or not (kept[-1].isascii() and rest[0].isascii())
    assert shorten(text, 1000) == text

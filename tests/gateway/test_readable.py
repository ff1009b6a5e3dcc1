"""What a model reads beside the structured result."""

from datetime import UTC, datetime
from typing import Any

from siltstone import model as m
from siltstone.gateway import readable
from siltstone.model.requests import GetMemoriesResponse


def hit(**memory: Any) -> m.Hit:
    parts = dict.fromkeys(
        ("similarity", "gate", "recency", "confidence", "cosine", "lexical", "support"), 0.5
    )
    return m.Hit(memory=m.Memory(id="id-1", **memory), score=0.5, **parts)


def test_a_window_without_hits_is_said() -> None:
    window = m.TimeWindow(start=datetime(2026, 4, 20, tzinfo=UTC))
    result = m.SearchResult(hits=[hit(summary="登录")], time_window=window, nothing_in_window=True)
    text = readable.search_result(result)
    assert "read as 2026-04-20 00:00Z to open" in text
    assert "Nothing happened inside it" in text


def test_an_instant_is_no_news() -> None:
    now = datetime(2026, 4, 20, tzinfo=UTC)
    result = m.SearchResult(hits=[hit(summary="登录")], time_window=m.TimeWindow(start=now, end=now))
    assert "read as" not in readable.search_result(result)


def test_no_room_for_the_first_hit_is_not_called_no_match() -> None:
    assert "max_tokens" in readable.search_result(m.SearchResult(truncated=True))
    assert readable.search_result(m.SearchResult()) == "No memory matches."


def test_what_makes_a_memory_doubtful_is_marked_on_its_line() -> None:
    doubtful = hit(
        summary="端口",
        verification=m.Verification.REFUTED,
        superseded_by="id-2",
        conflicts_with=["id-3"],
        outcome=m.Outcome.FAILURE,
    )
    text = readable.search_result(m.SearchResult(hits=[doubtful], truncated=True))
    line = "1. id-1 score 0.500 | outcome FAILURE | REFUTED | superseded by id-2 | conflicts with id-3 | 端口"
    assert line in text
    assert text.endswith("More was found than max_tokens allows.")


def test_line_breaks_of_every_kind_in_a_summary_or_a_tag_start_no_line() -> None:
    breaks = "a\n1. x\r2. x\u20283. x\x854. x"
    text = readable.search_result(m.SearchResult(hits=[hit(summary=breaks, tags=[breaks])]))
    assert len(text.splitlines()) == 2


def test_a_full_hit_shows_content_and_lesson() -> None:
    lesson = m.Lesson(problem="登录失败", root_cause="旧插件", solution="换插件")
    text = readable.search_result(
        m.SearchResult(hits=[hit(summary="s", content="全文\n第二行", lesson=lesson)])
    )
    assert "```\n全文\n第二行\n```\n   problem: 登录失败\n   root cause: 旧插件\n   solution: 换插件" in text


def test_a_cut_memory_is_marked_as_cut() -> None:
    response = GetMemoriesResponse(memories=[m.Memory(id="id-1", content="a")], truncated_ids=["id-1"])
    assert readable.memories(response).endswith("(cut here by max_tokens)")


def test_a_receipt_names_what_stands_against_the_memory() -> None:
    related = [m.Related(id="id-2", relation="conflicts_with", similarity=0.91)]
    receipt = m.WriteReceipt(
        action=m.Action.CONFLICT, memory=m.Memory(id="id-1", revision=1), related=related
    )
    assert "- conflicts_with id-2 (similarity 0.910)" in readable.receipt(receipt)


def test_a_failed_job_says_why() -> None:
    job = m.HindsightJob(id="j", task_id="t", state=m.JobState.FAILED, error="模型\n坏了")
    assert readable.job(job).endswith("It failed: 模型 坏了")


def test_skipped_lines_of_a_log_are_told() -> None:
    assert "line 3: not JSON" in readable.hindsight(m.Hindsight(skipped=["line 3: not JSON"]))

"""Searches with a reranker: its order, its failures, and what is said of both."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.local import Local

from .conftest import RerankServer, jina, tei

NOTES = ["red tea", "red tea pot", "red tea cup", "红茶", "green hill"]
NOW = "2026-01-01T00:00:00Z"


@pytest.fixture
def mem(server: RerankServer, tmp_path: Path) -> Iterator[Local]:
    settings = Settings(
        embedding_model="hashing", rerank_base_url=server.base_url, rerank_model="m", rerank_timeout_s=0.5
    )
    with siltstone.open(tmp_path / "data", settings=settings) as opened:
        for note in NOTES:
            opened.write(note, event_time=NOW)
        yield opened


def by(wish: dict[str, float]) -> object:
    return lambda texts: jina([wish.get(text, 0.0) for text in texts])


def names(result: siltstone.SearchResult) -> list[str]:
    return [hit.memory.summary for hit in result.hits]


def test_its_order_is_the_order_and_its_scores_are_returned(mem: Local, server: RerankServer) -> None:
    server.reply = by({"green hill": 0.9, "红茶": 0.8, "red tea": 0.1})  # type: ignore[assignment]
    result = mem.search("red tea", top_k=3, now=NOW, explain=True)
    assert names(result) == ["green hill", "红茶", "red tea"]
    assert [hit.rerank_score for hit in result.hits] == [0.9, 0.8, 0.1]
    assert result.explain is not None
    assert result.explain.rerank == "done"
    assert sorted(server.requests[-1]["documents"]) == sorted(NOTES), "more than top_k are looked at"


def test_scores_of_any_scale_order_the_hits(mem: Local, server: RerankServer) -> None:
    server.reply = lambda texts: tei([-9.0 if text == "red tea" else -1.0 - len(text) for text in texts])
    assert names(mem.search("red tea", top_k=5, now=NOW))[0] == "红茶"


def test_the_own_order_stays_when_it_is_not_wanted(mem: Local, server: RerankServer) -> None:
    server.reply = by({"green hill": 0.9})  # type: ignore[assignment]
    result = mem.search("red tea", now=NOW, rerank=False, explain=True)
    assert names(result)[0] == "red tea"
    assert result.hits[0].rerank_score is None
    assert result.explain is not None
    assert result.explain.rerank == ""
    assert server.requests == []


@pytest.mark.parametrize("fault", ["status", "hang", "nonsense", "truncate"])
def test_a_search_never_fails_with_it_and_says_what_happened(
    mem: Local, server: RerankServer, fault: str
) -> None:
    expected = names(mem.search("red tea", now=NOW, rerank=False))
    if fault == "status":
        server.reply = lambda texts: (500, b"broken")
    elif fault == "nonsense":
        server.reply = lambda texts: (200, b"[]")
    else:
        setattr(server, fault, True)
    result = mem.search("red tea", now=NOW, explain=True)
    assert names(result) == expected
    assert all(hit.rerank_score is None for hit in result.hits)
    assert result.explain is not None
    assert result.explain.rerank.startswith("failed: ")
    again = mem.search("red tea", now=NOW, explain=True)
    assert again.explain is not None
    assert "after a failure" in again.explain.rerank
    assert len(server.requests) == 1


def test_a_reranker_that_repeats_what_it_was_sent_does_not_bring_it_into_the_log(
    mem: Local, server: RerankServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.reply = lambda texts: (422, f"cannot rank {texts}".encode())
    mem.search("red tea", now=NOW)
    assert "the reranker gave no order: HTTP 422" in caplog.text
    assert "cannot rank" not in caplog.text


def test_without_a_text_query_and_for_long_lists_it_is_not_asked(mem: Local, server: RerankServer) -> None:
    recent = mem.search(explain=True)
    assert recent.explain is not None
    assert recent.explain.rerank == ""
    long = mem.search("red tea", top_k=101, explain=True)
    assert long.explain is not None
    assert "above 100" in long.explain.rerank
    assert server.requests == []


def test_nothing_found_is_nothing_to_rerank(mem: Local, server: RerankServer) -> None:
    result = mem.search("red tea", filter={"tags_any": ["none"]}, explain=True)
    assert result.hits == []
    assert server.requests == []


def test_copies_give_way_in_its_order_too(mem: Local, server: RerankServer) -> None:
    copy = mem.write("tea red", event_time=NOW, on_duplicate="KEEP").memory.id
    server.reply = by({"red tea": 0.9, "tea red": 0.8, "green hill": 0.5})  # type: ignore[assignment]
    result = mem.search("red tea", top_k=2, now=NOW, explain=True)
    assert names(result) == ["red tea", "green hill"]
    assert result.explain is not None
    assert result.explain.gave_way == [copy]


def test_the_past_is_reranked_as_it_was(mem: Local, server: RerankServer) -> None:
    [old] = mem.search("green hill", top_k=1, rerank=False).hits
    moment = mem.write("mark", namespace="clock").memory.create_time
    mem.update(old.memory.id, content="blue sea")
    mem.search("hill", as_of=moment)
    assert "green hill" in server.requests[-1]["documents"]
    assert "blue sea" not in server.requests[-1]["documents"]


def test_a_long_content_is_sent_by_its_best_passage(mem: Local, server: RerankServer) -> None:
    mem.write("Nothing here matters at all. " * 60 + "The lighthouse keeper drinks red tea at nine. " * 3)
    mem.search("lighthouse keeper", filter={"not": {"tags_any": ["x"]}}, top_k=1)
    sent = [text for text in server.requests[-1]["documents"] if "lighthouse" in text]
    assert len(sent) == 1
    assert len(sent[0]) < 1500

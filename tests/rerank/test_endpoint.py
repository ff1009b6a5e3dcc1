"""The client of `/rerank`, against a server that behaves well and badly."""

import json
import socket
from collections.abc import Iterator

import pytest
from siltstone.config import Settings
from siltstone.errors import InvalidArgumentError
from siltstone.rerank import Reranker, RerankError, open_reranker

from .conftest import RerankServer, jina, tei

KEY = "sk-very-secret"


@pytest.fixture
def reranker(server: RerankServer) -> Iterator[Reranker]:
    opened = Reranker(server.base_url, model="m", api_key=KEY, timeout_s=5, pause_s=0)
    yield opened
    opened.close()


def test_scores_come_in_the_order_of_the_texts(server: RerankServer, reranker: Reranker) -> None:
    server.reply = lambda texts: jina([0.1, 0.9, 0.5])
    assert reranker.scores("问题", ["a", "乙", "c"]) == [0.1, 0.9, 0.5]
    assert server.requests == [{"model": "m", "query": "问题", "documents": ["a", "乙", "c"], "top_n": 3}]
    assert server.authorizations == [f"Bearer {KEY}"]


def test_without_a_model_it_is_asked_in_teis_words(server: RerankServer) -> None:
    server.reply = lambda texts: tei([-3.0, 7.5])
    bare = Reranker(server.base_url + "/")
    assert bare.scores("q", ["a", "b"]) == [-3.0, 7.5]
    assert server.requests == [{"query": "q", "texts": ["a", "b"], "truncate": True}]
    assert server.authorizations == [None]
    bare.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b"null",
        b"7",
        b'{"results": 7}',
        b'{"results": [{"index": 0}, {"index": 1}]}',
        b'{"results": [{"index": 0, "relevance_score": 1}]}',
        b'{"results": [{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 1}]}',
        b'{"results": [{"index": 0, "relevance_score": 1}, {"index": 2, "relevance_score": 1}]}',
        b'[{"index": 0, "score": 1}, {"index": 1, "score": NaN}]',
        b'[{"index": 0, "score": 1}, {"index": 1, "score": 1e999}]',
        b'[{"index": 0, "score": 1}, {"index": 1, "score": "x"}]',
        b'[{"index": 0, "score": 1}, {"index": 1, "score": 1}, {"index": 5, "score": 1}]',
        b"[" * 100_000,
        b'[{"index": [], "score": 1}, 3]',
    ],
    ids=lambda answer: answer[:40].decode(),
)
def test_nonsense_is_an_error_and_never_an_order(
    server: RerankServer, reranker: Reranker, answer: bytes
) -> None:
    server.reply = lambda texts: (200, answer)
    with pytest.raises(RerankError):
        reranker.scores("q", ["a", "b"])


@pytest.mark.parametrize("status", [301, 401, 404, 413, 429, 500, 503])
def test_a_refusal_is_an_error_that_never_holds_the_key(
    server: RerankServer, reranker: Reranker, status: int
) -> None:
    server.reply = lambda texts: (status, f"no, {KEY}".encode())
    with pytest.raises(RerankError, match=f"HTTP {status}") as caught:
        reranker.scores("q", ["a"])
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("fault", ["hang", "trickle"])
def test_what_takes_too_long_is_given_up(server: RerankServer, fault: str) -> None:
    setattr(server, fault, True)
    server.reply = lambda texts: (200, b" " * 100_000)
    hasty = Reranker(server.base_url, model="m", timeout_s=0.3, pause_s=0)
    with pytest.raises(RerankError, match=r"within 0\.3 s"):
        hasty.scores("q", ["a"])
    hasty.close()


def test_a_broken_answer_and_a_closed_port_are_errors(server: RerankServer, reranker: Reranker) -> None:
    server.truncate = True
    with pytest.raises(RerankError, match="connection failed"):
        reranker.scores("q", ["a"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nobody = Reranker(f"http://127.0.0.1:{port}", pause_s=0)
    with pytest.raises(RerankError, match="connection failed"):
        nobody.scores("q", ["a"])
    nobody.close()


def test_an_endless_answer_is_not_read_to_its_end(server: RerankServer, reranker: Reranker) -> None:
    server.reply = lambda texts: (200, b" " * (5 << 20))
    with pytest.raises(RerankError, match="above"):
        reranker.scores("q", ["a"])


def test_after_a_failure_it_is_left_alone_for_a_while(server: RerankServer) -> None:
    careful = Reranker(server.base_url, model="m", pause_s=60)
    server.reply = lambda texts: (500, b"")
    with pytest.raises(RerankError, match="HTTP 500"):
        careful.scores("q", ["a"])
    server.reply = lambda texts: jina([0.5])
    with pytest.raises(RerankError, match="after a failure"):
        careful.scores("q", ["a"])
    assert len(server.requests) == 1
    careful.close()


def test_a_caller_in_a_hurry_gets_no_order_and_the_next_one_does(server: RerankServer) -> None:
    careful = Reranker(server.base_url, model="m", timeout_s=5, pause_s=60)
    server.trickle = True
    server.reply = lambda texts: (200, b" " * 1000)
    with pytest.raises(RerankError, match=r"within 0\.05 s"):
        careful.scores("q", ["a"], timeout_s=0.05)
    server.trickle = False
    server.reply = lambda texts: jina([0.5])
    assert careful.scores("q", ["a"]) == [0.5]
    careful.close()


@pytest.mark.parametrize("url", ["ftp://host", "host:80", "http://", "http://[::1", ""])
def test_a_url_that_is_none_is_refused_by_name(url: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        Reranker(url)
    assert caught.value.field == "rerank_base_url"


def test_a_key_that_no_header_may_have_is_refused_without_being_shown() -> None:
    with pytest.raises(InvalidArgumentError, match="rerank_api_key") as caught:
        Reranker("http://h", api_key="sécret")
    assert "sécret" not in str(caught.value)


def test_the_settings_name_it_or_there_is_none(server: RerankServer) -> None:
    assert open_reranker(Settings()) is None
    opened = open_reranker(Settings(rerank_base_url=server.base_url, rerank_model="x", rerank_api_key=KEY))
    assert opened is not None
    assert opened.scores("q", ["a"]) == [1.0]
    assert json.dumps(server.requests[0]["model"]) == '"x"'
    opened.close()

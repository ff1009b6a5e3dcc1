"""The OpenAI-compatible endpoint, against a local server that behaves well and badly."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from siltstone.embed import open_embedder
from siltstone.embed.endpoint import EndpointEmbedder
from siltstone.embed.hashing import HashingEmbedder
from siltstone.errors import FailedPreconditionError, InvalidArgumentError, UnavailableError

Reply = tuple[int, bytes]
KEY = "sk-very-secret"


def rows(texts: list[str]) -> list[dict[str, Any]]:
    """A right answer: the hashing vector of each text, tripled, as endpoints need not normalise."""
    vectors = HashingEmbedder().embed_passages(texts) * 3
    return [{"object": "embedding", "index": i, "embedding": v.tolist()} for i, v in enumerate(vectors)]


def answer(data: Any) -> Reply:
    return 200, json.dumps({"object": "list", "data": data}).encode()


def right(texts: list[str]) -> Reply:
    return answer(rows(texts))


class EndpointServer:
    """Answers with `reply`, after the canned `replies`; keeps what it was sent in `requests`."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        self.replies: list[Callable[[list[str]], Reply]] = []
        self.reply: Callable[[list[str]], Reply] = right
        self.truncate = False  # promise more bytes than are sent
        self.trickle = False  # send one byte after another, without end, until `released`
        self.hang = False  # send nothing until `released`
        self.released = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                owner._serve(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.requests.append(body)
        self.authorizations.append(handler.headers["Authorization"])
        if self.hang:
            self.released.wait(10)
            return
        status, content = (self.replies.pop(0) if self.replies else self.reply)(body["input"])
        if handler.path != "/v1/embeddings":
            status, content = 404, b"no such path"
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(content) * (2 if self.truncate else 1)))
        handler.end_headers()
        if self.trickle:
            for byte in content:
                if self.released.wait(0.01):
                    return
                try:
                    handler.wfile.write(bytes([byte]))
                except OSError:
                    return
            return
        handler.wfile.write(content)

    def close(self) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10)


@pytest.fixture
def server() -> Iterator[EndpointServer]:
    running = EndpointServer()
    yield running
    running.close()


@pytest.fixture
def embedder(server: EndpointServer) -> Iterator[EndpointEmbedder]:
    opened = EndpointEmbedder("m", base_url=server.base_url, api_key=KEY, backoff_s=0)
    server.requests.clear()
    yield opened
    opened.close()


def test_vectors_come_normalised_and_in_order_whatever_the_order_of_the_answer(
    server: EndpointServer, embedder: EndpointEmbedder
) -> None:
    server.reply = lambda texts: answer(rows(texts)[::-1])
    texts = ["磁盘满了", "a", "b\0c"]
    vectors = embedder.embed_passages(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, HashingEmbedder().embed_passages(["磁盘满了", "a", "b c"]), atol=1e-6)
    assert server.requests == [{"model": "m", "input": ["磁盘满了", "a", "b c"], "encoding_format": "float"}]
    assert server.authorizations[-1] == f"Bearer {KEY}"


def test_a_long_batch_goes_out_in_requests_of_128(server: EndpointServer, embedder: EndpointEmbedder) -> None:
    texts = [f"文本 {i}" for i in range(300)]
    vectors = embedder.embed_queries(texts)
    assert [len(request["input"]) for request in server.requests] == [128, 128, 44]
    np.testing.assert_allclose(vectors, HashingEmbedder().embed_passages(texts), atol=1e-6)


def test_no_texts_send_no_request(server: EndpointServer, embedder: EndpointEmbedder) -> None:
    assert embedder.embed_passages([]).shape == (0, 384)
    assert server.requests == []


def test_open_embedder_learns_the_dimension_and_sends_no_key_when_there_is_none(
    server: EndpointServer,
) -> None:
    opened = open_embedder("openai:bge-m3", base_url=server.base_url + "/", merge_threshold=0.9)
    opened.close()
    assert (opened.model, opened.dimension) == ("openai:bge-m3", 384)
    assert (opened.background, opened.merge_threshold) == (0.5, 0.9)
    assert server.authorizations == [None]


def broken(texts: list[str], **change: Any) -> Reply:
    return answer([rows(texts)[0] | change])


NONSENSE: dict[str, tuple[Callable[[list[str]], Reply], str]] = {
    "too few": (lambda texts: answer([]), "0 vectors"),
    "too many": (lambda texts: answer(rows([*texts, "x"])), "2 vectors"),
    "the same index twice": (lambda texts: answer(rows(texts) * 2), "2 vectors"),
    "an index out of range": (lambda texts: broken(texts, index=7), "1 vectors"),
    "NaN": (lambda texts: broken(texts, embedding=[float("nan")] * 384), "not finite"),
    "infinity": (lambda texts: broken(texts, embedding=[1e999] * 384), "not finite"),
    "null": (lambda texts: broken(texts, embedding=[None] * 384), "not finite|not an embeddings answer"),
    "zeros": (lambda texts: broken(texts, embedding=[0] * 384), "zero"),
    "an empty vector": (lambda texts: broken(texts, embedding=[]), "shape"),
    "a number": (lambda texts: broken(texts, embedding=3), "shape"),
    "text": (lambda texts: broken(texts, embedding="AAAA"), "not an embeddings answer"),
    "no index": (lambda texts: answer([{"embedding": [1.0]}]), "not an embeddings answer"),
    "no data": (lambda texts: (200, b'{"error": "model is loading"}'), "not an embeddings answer"),
    "no JSON": (lambda texts: (200, b"<html>welcome</html>"), "not an embeddings answer"),
    "no UTF-8": (lambda texts: (200, b"\xff\xfe\xfd"), "not an embeddings answer"),
    "JSON without end": (lambda texts: (200, b"[" * 100_000), "not an embeddings answer"),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_a_nonsense_answer_is_unavailable_and_names_the_url(
    case: str, server: EndpointServer, embedder: EndpointEmbedder
) -> None:
    server.reply, says = NONSENSE[case]
    with pytest.raises(UnavailableError, match=says) as caught:
        embedder.embed_passages(["磁盘满了"])
    assert server.base_url in caught.value.message
    assert len(server.requests) == 1


def test_another_dimension_is_a_failed_precondition(
    server: EndpointServer, embedder: EndpointEmbedder
) -> None:
    server.reply = lambda texts: broken(texts, embedding=[1.0] * 100)
    with pytest.raises(FailedPreconditionError, match="dimension 100, not 384"):
        embedder.embed_passages(["a"])


def test_another_dimension_than_configured_shows_at_start(server: EndpointServer) -> None:
    with pytest.raises(FailedPreconditionError, match="dimension 384, not 1024"):
        open_embedder("openai:m", base_url=server.base_url, dimension=1024)


def test_a_dimension_above_the_index_shows_at_start(server: EndpointServer) -> None:
    server.reply = lambda texts: broken(texts, embedding=[1.0] * 5000)
    with pytest.raises(FailedPreconditionError, match="5000, above 4096"):
        open_embedder("openai:m", base_url=server.base_url)


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_passing_refusal_is_tried_again(
    status: int, server: EndpointServer, embedder: EndpointEmbedder
) -> None:
    server.replies = [lambda texts: (status, b"later")] * 2
    assert embedder.embed_passages(["a"]).shape == (1, 384)
    assert len(server.requests) == 3


def test_a_lasting_refusal_is_unavailable_after_three_attempts(
    server: EndpointServer, embedder: EndpointEmbedder
) -> None:
    server.reply = lambda texts: (500, f"bad key {KEY}".encode())
    with pytest.raises(UnavailableError, match=r"HTTP 500 \(bad key \*\*\*\), 3 times"):
        embedder.embed_passages(["a"])
    assert len(server.requests) == 3


def test_a_body_that_breaks_off_is_tried_again_then_unavailable(
    server: EndpointServer, embedder: EndpointEmbedder
) -> None:
    server.truncate = True
    with pytest.raises(UnavailableError, match="connection failed"):
        embedder.embed_passages(["a"])
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [401, 403, 404, 301])
def test_a_refused_key_or_model_is_a_failed_precondition_and_never_shows_the_key(
    status: int, server: EndpointServer, embedder: EndpointEmbedder
) -> None:
    server.reply = lambda texts: (status, f"no: {KEY}".encode())
    with pytest.raises(FailedPreconditionError, match=f"HTTP {status}: no: \\*\\*\\*") as caught:
        embedder.embed_passages(["a"])
    assert KEY not in repr(caught.value)
    assert len(server.requests) == 1


def test_refused_texts_are_an_invalid_argument(server: EndpointServer, embedder: EndpointEmbedder) -> None:
    server.reply = lambda texts: (400, "文本太长".encode())
    with pytest.raises(InvalidArgumentError, match="HTTP 400: 文本太长"):
        embedder.embed_passages(["a"])


@pytest.mark.parametrize("how", ["hang", "trickle"])
def test_an_answer_that_does_not_come_in_time_is_unavailable(how: str, server: EndpointServer) -> None:
    embedder = EndpointEmbedder("m", base_url=server.base_url, timeout_s=0.3, backoff_s=0)
    setattr(server, how, True)
    with pytest.raises(UnavailableError, match=r"within 0\.3 s"):
        embedder.embed_passages(["a"])
    embedder.close()


def test_an_endpoint_that_is_not_there_shows_at_start(server: EndpointServer) -> None:
    server.close()
    with pytest.raises(UnavailableError, match=server.base_url):
        EndpointEmbedder("m", base_url=server.base_url, api_key=KEY, backoff_s=0)


@pytest.mark.parametrize("url", ["", "localhost:8000/v1", "ftp://host/v1", "http://", "http://host:notaport"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgumentError, match="http://host:port/v1"):
        open_embedder("openai:m", base_url=url)


def test_a_password_in_the_url_never_shows(server: EndpointServer) -> None:
    server.reply = lambda texts: (404, b"")
    with pytest.raises(FailedPreconditionError) as caught:
        open_embedder("openai:m", base_url=server.base_url.replace("//", "//user:hunter2@"))
    assert "hunter2" not in repr(caught.value)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("timeout_s", 0.0), ("dimension", 0), ("dimension", 5000), ("api_key", "a\nb"), ("api_key", "密钥")],
)
def test_a_setting_out_of_range_is_refused_by_name(setting: str, value: Any, server: EndpointServer) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        open_embedder("openai:m", base_url=server.base_url, **{setting: value})
    assert caught.value.field == setting
    assert server.requests == []

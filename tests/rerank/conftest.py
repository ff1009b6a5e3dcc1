"""A reranker that behaves well and badly."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Reply = tuple[int, bytes]


def jina(scores: list[float]) -> Reply:
    rows = [{"index": i, "relevance_score": score} for i, score in enumerate(scores)]
    return 200, json.dumps({"model": "m", "results": rows[::-1], "usage": {"total_tokens": 1}}).encode()


def tei(scores: list[float]) -> Reply:
    rows = [{"index": i, "score": score} for i, score in enumerate(scores)]
    return 200, json.dumps(sorted(rows, key=lambda row: -row["score"])).encode()


class RerankServer:
    """Answers with `reply` of the texts it was sent, which are kept in `requests`."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        self.reply: Callable[[list[str]], Reply] = lambda texts: jina(
            [1.0 / (1 + i) for i in range(len(texts))]
        )
        self.hang = False  # send nothing until `released`
        self.trickle = False  # send one byte after another until `released`
        self.truncate = False  # promise more bytes than are sent
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
            self.released.wait(30)
            return
        status, content = self.reply(body.get("documents") or body["texts"])
        if handler.path != "/v1/rerank":
            status, content = 404, b"no such path"
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(content) * (2 if self.truncate else 1)))
        handler.end_headers()
        for chunk in [bytes([byte]) for byte in content] if self.trickle else [content]:
            if self.trickle and self.released.wait(0.01):
                return
            try:
                handler.wfile.write(chunk)
            except OSError:
                return

    def close(self) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10)


@pytest.fixture
def server() -> Iterator[RerankServer]:
    running = RerankServer()
    yield running
    running.close()

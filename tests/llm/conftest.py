import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from siltstone.llm.chat import ChatEndpoint
from siltstone.llm.extraction import ModelExtractor
from siltstone.llm.spending import TokenBudget
from siltstone.model import Outcome, Role, Step, Trajectory

KEY = "sk-very-secret"


class ChatServer:
    """Speaks the chat protocol: gives the next of `replies`, the last one for ever; keeps the requests.

    A reply is the text of an answer, an (HTTP status, body) pair, a whole body as dict, or a callable of the
    request that gives one of these. `hang` sends nothing and `trickle` byte after byte, until `released`.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        self.replies: list[Any] = []
        self.headers: dict[str, str] = {}
        self.hang = self.trickle = False
        self.released = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                owner._serve(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.requests.append(request)
        self.authorizations.append(handler.headers["Authorization"])
        if self.hang:
            self.released.wait(10)
            return
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if callable(reply):
            reply = reply(request)
        if handler.path != "/v1/chat/completions":
            reply = (404, "no such path")
        status, body = reply if isinstance(reply, tuple) else (200, reply)
        if status == 200 and isinstance(body, str) and not isinstance(body, Raw):
            body = chat(body)
        content = (body if isinstance(body, str) else json.dumps(body)).encode("utf-8", "surrogatepass")
        handler.send_response(status)
        for name, value in self.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        try:
            if self.trickle:
                for byte in content:
                    if self.released.wait(0.01):
                        return
                    handler.wfile.write(bytes([byte]))
            else:
                handler.wfile.write(content)
        except OSError:
            pass  # the client has had enough

    def close(self) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10)


class Raw(str):
    """A body that is sent as it is."""


def chat(text: Any, **fields: Any) -> dict[str, Any]:
    return {
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop", **fields}]
    }


@pytest.fixture
def server() -> Iterator[ChatServer]:
    server = ChatServer()
    yield server
    server.close()


@pytest.fixture
def extractor(server: ChatServer) -> Iterator[Callable[..., ModelExtractor]]:
    """Makes a `ModelExtractor` that speaks to the server and pauses for no time; pauses go to `.pauses`."""
    made: list[ModelExtractor] = []

    def build(*, daily: int | None = None, **settings: Any) -> ModelExtractor:
        pauses: list[float] = []
        given = {"timeout_s": 20.0, "max_input_tokens": 5000, "max_output_tokens": 1000, **settings}
        endpoint = ChatEndpoint("tiny", base_url=server.base_url, api_key=KEY)
        made.append(
            ModelExtractor(
                endpoint,
                budget=TokenBudget(daily),
                pause=lambda seconds, check: pauses.append(seconds),
                **given,
            )
        )
        made[-1].pauses = pauses  # type: ignore[attr-defined]
        return made[-1]

    yield build
    for one in made:
        one.close()


@pytest.fixture
def run() -> Trajectory:
    """The network case: a check that fails, the cause, the change, the check that passes."""
    check = {"tool": "bash", "arguments": {"command": "curl http://api:3000"}}
    edit = {"tool": "edit", "arguments": {"path": "server.js", "new_string": "listen(3000, '0.0.0.0')"}}
    return Trajectory(
        goal="Find out why web cannot reach api",
        outcome=Outcome.SUCCESS,
        steps=[
            Step(number=1, role=Role.USER, text="web cannot reach api by its name"),
            Step(number=2, result="curl: (7) Connection refused", is_error=True, **check),
            Step(number=3, text="The cause is that api listens on 127.0.0.1 only.", result="done", **edit),
            Step(number=4, result="HTTP/1.1 200 OK", **check),
        ],
    )


def claim(text: str = "", *evidence: tuple[int, str]) -> dict[str, Any]:
    return {"text": text, "evidence": [{"step": step, "quote": quote} for step, quote in evidence]}


def lesson(**changes: Any) -> dict[str, Any]:
    """A lesson that the network case proves, with what is changed."""
    return {
        "problem": claim("web cannot reach api: connection refused", (2, "curl: (7) Connection refused")),
        "root_cause": claim("api listens on 127.0.0.1 only", (3, "api listens on 127.0.0.1 only")),
        "solution": claim(
            "Let api listen on 0.0.0.0", (3, "listen(3000, '0.0.0.0')"), (4, "HTTP/1.1 200 OK")
        ),
        "task_type": "troubleshooting",
        "outcome": "SUCCESS",
        "confidence": 0.7,
        **changes,
    }


def answer(*lessons: dict[str, Any]) -> str:
    return json.dumps({"lessons": list(lessons)}, ensure_ascii=False)

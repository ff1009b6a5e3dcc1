"""A small engine that says what it was given, so that the server is tested alone."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from siltstone import model as m
from siltstone.client import Client
from siltstone.engine.call import Call
from siltstone.errors import BY_STATUS
from siltstone.model import requests as r
from siltstone.server import Server, serve


class NoTokens:
    in_use = False

    def find(self, secret: str) -> None:
        return None


class FakeEngine:
    tokens = NoTokens()

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.calls: list[Call] = []
        self.entered = threading.Semaphore(0)  # released by each search that waits
        self.go_on = threading.Event()  # what they wait for

    def _saw(self, request: Any, call: Call) -> None:
        self.requests.append(request)
        self.calls.append(call)

    def write_memories(self, request: r.WriteMemoriesRequest, call: Call) -> r.WriteMemoriesResponse:
        self._saw(request, call)
        receipts = [
            m.WriteReceipt(
                action=m.Action.CREATED,
                memory=m.Memory(
                    content=draft.content,
                    summary=draft.summary or "",
                    lesson=draft.lesson,
                    tags=draft.tags,
                    attributes=draft.attributes,
                    namespace=request.namespace,
                    source=draft.source,
                ),
            )
            for draft in request.drafts
        ]
        return r.WriteMemoriesResponse(receipts=receipts)

    def get_memories(self, request: r.GetMemoriesRequest, call: Call) -> r.GetMemoriesResponse:
        """Raises the error whose status is the id."""
        self._saw(request, call)
        raise BY_STATUS[request.ids[0]]("不行：no", reason="A_REASON", field="ids[0]")

    def search_memories(self, request: m.SearchRequest, call: Call) -> m.SearchResult:
        """Waits when the query is "wait"."""
        self._saw(request, call)
        if request.query == "wait":
            self.entered.release()
            assert self.go_on.wait(30)
        return self._result(request)

    def batch_search_memories(
        self, request: r.BatchSearchMemoriesRequest, call: Call
    ) -> r.BatchSearchMemoriesResponse:
        self._saw(request, call)
        return r.BatchSearchMemoriesResponse(results=[self._result(q) for q in request.requests])

    def _result(self, request: m.SearchRequest) -> m.SearchResult:
        memory = m.Memory(summary=request.query or "")
        zero = dict.fromkeys(
            ("similarity", "gate", "recency", "confidence", "cosine", "lexical", "support"), 0.0
        )
        return m.SearchResult(hits=[m.Hit(memory=memory, score=0.5, **zero)])

    def append_steps(self, request: r.AppendStepsRequest, call: Call) -> m.Task:
        self._saw(request, call)
        return m.Task(id=request.task_id, step_count=len(request.steps))

    def get_stats(self, request: r.GetStatsRequest, call: Call) -> m.Stats:
        raise ZeroDivisionError("the secret 秘密")

    def list_namespaces(self, request: r.ListNamespacesRequest, call: Call) -> r.ListNamespacesResponse:
        """An answer that the wire cannot carry."""
        return r.ListNamespacesResponse(namespaces=[m.Namespace(name="a", memories=2**70)])

    def check_store(self, request: r.CheckStoreRequest, call: Call) -> m.CheckReport:
        """A large answer."""
        return m.CheckReport(problems=["x" * 1000] * 10_000)


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def server(engine: FakeEngine) -> Iterator[Server]:
    server = serve(engine, address="127.0.0.1:0", workers=8, max_message_bytes=1 << 20, grace_s=5)
    yield server
    engine.go_on.set()
    server.stop()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.address, timeout=20) as client:
        yield client

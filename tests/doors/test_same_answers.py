"""One table of cases through the engine, gRPC (both clients), MCP over HTTP and over stdio, and HTTP/JSON."""

import asyncio
import os
import re
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import siltstone
from mcp import Client as McpClient
from mcp.client.stdio import StdioServerParameters
from siltstone.config import Settings
from siltstone.data import from_data, to_data
from siltstone.errors import SiltstoneError
from siltstone.gateway import Gateway
from siltstone.local import Local
from siltstone.model import AGENT_ROLES
from siltstone.model.requests import GetMemoriesResponse
from siltstone.server import Server, serve

from .cases import CASES, Case, Step

Answer = Callable[[str, dict[str, Any]], Coroutine[Any, Any, Any]]
BOUND_S = 60.0
DOORS = ["engine", "grpc", "grpc-async", "mcp-http", "mcp-stdio"]

TOOLS = {
    "write": "memory_write",
    "search": "memory_search",
    "get": "memory_get",
    "update": "memory_update",
    "forget": "memory_forget",
    "verify": "memory_verify",
    "summarize_trajectory": "memory_summarize",
    "start_task": "task_start",
    "update_task": "task_update",
    "append_steps": "task_append",
    "render_task": "task_render",
    "finish_task": "task_finish",
}
NAMESPACED = {"write", "search", "forget", "summarize_trajectory", "start_task"}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
# What differs from run to run, and says nothing.
RUN = {"time", "create_time", "update_time", "event_time", "finish_time", "namespace", "trajectory"}


class Service:
    """One engine behind all its doors."""

    def __init__(self, data: Path) -> None:
        self.mem = Local(siltstone.open(data, settings=Settings(embedding_model="hashing")).engine)
        self.server: Server = serve(self.mem.engine, address="127.0.0.1:0")
        self.gateway = Gateway(self.server.address, address="127.0.0.1:0")
        self.gateway.start()

    def close(self) -> None:
        self.gateway.stop()
        self.server.stop()
        self.mem.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = Service(tmp_path_factory.mktemp("doors"))
    yield running
    running.close()


class Doors:
    """All doors open at once, for all cases: a process that speaks over stdio takes a second to start."""

    def __init__(self, service: Service) -> None:
        self.answers: dict[str, Answer] = {}
        self._loop = asyncio.new_event_loop()
        self._leave = asyncio.Event()
        self._opened = self._loop.create_future()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._hold(service),))
        self._thread.start()
        self.run(self._wait())

    async def _hold(self, service: Service) -> None:
        try:
            async with AsyncExitStack() as stack:
                for name in DOORS:
                    self.answers[name] = await stack.enter_async_context(door(name, service))
                self._opened.set_result(None)
                await self._leave.wait()
        except BaseException as error:
            if self._opened.done():
                raise
            self._opened.set_exception(error)

    async def _wait(self) -> None:
        await self._opened

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, BOUND_S), self._loop).result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._leave.set)
        self._thread.join(BOUND_S)
        assert not self._thread.is_alive()
        self._loop.close()


@pytest.fixture(scope="module")
def doors(service: Service) -> Iterator[Doors]:
    opened = Doors(service)
    yield opened
    opened.close()


@asynccontextmanager
async def door(name: str, service: Service) -> Any:
    """A function that carries out a call through this door and gives the answer as plain data."""
    if name == "engine":
        yield _api(Local(service.mem.engine, roles=AGENT_ROLES))  # the others are agents', as MCP's is
    elif name == "grpc":
        with siltstone.Client(service.server.address, roles=AGENT_ROLES) as client:
            yield _api(client)
    elif name == "grpc-async":
        async with siltstone.AsyncClient(service.server.address, roles=AGENT_ROLES) as client:
            yield _api(client)
    elif name == "mcp-http":
        async with McpClient(f"http://{service.gateway.address}/mcp") as client:
            yield _mcp(client)
    else:
        command = ["-m", "siltstone.cli", "gateway", "--stdio", "--address", service.server.address]
        server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
        async with McpClient(server) as client:
            yield _mcp(client)


def _api(api: Any) -> Answer:
    async def answer(call: str, arguments: dict[str, Any]) -> Any:
        given = dict(arguments)
        try:
            if call == "summarize_trajectory":
                result = api.summarize_trajectory(given.pop("trajectory"), **given)
            else:
                result = getattr(api, call)(**given)
            if asyncio.iscoroutine(result):
                result = await result
        except SiltstoneError as error:
            return {"error": f"{error.status}/{error.reason}"}
        if call == "get":
            cut = list(result.truncated_ids)
            result = GetMemoriesResponse(
                memories=list(result), tokens_used=result.tokens_used, truncated_ids=cut
            )
        return to_data(result)

    return answer


def _mcp(client: McpClient) -> Answer:
    async def answer(call: str, arguments: dict[str, Any]) -> Any:
        given = dict(arguments)
        if call == "search" and "filter" in given:
            given["filters"] = given.pop("filter")
        result = await client.call_tool(TOOLS[call], given)
        if result.is_error:
            error = (result.meta or {})["siltstone/error"]
            return {"error": f"{error['status']}/{error['reason']}"}
        return result.structured_content

    return answer


async def run(case: Case, answer: Answer, namespace: str) -> list[Any]:
    """The case's answers with ids by their order of appearance, so that doors can be compared."""
    ids: dict[str, str] = {}
    answers = []
    for step in case.steps:
        arguments = _resolved(step.arguments, ids)
        if step.call in NAMESPACED:
            arguments.setdefault("namespace", namespace)
        got = await answer(step.call, arguments)
        if step.name:
            ids[step.name] = got["memory"]["id"] if step.call == "write" else got["id"]
        for path, value in step.expect.items():
            _expect(case, step, got, path, _resolved(value, ids))
        answers.append(got)
    seen: dict[str, str] = {}
    return _comparable(answers, seen)


def _expect(case: Case, step: Step, got: Any, path: str, value: Any) -> None:
    found = got
    for part in path.split("."):
        assert isinstance(found, dict | list), (case.name, step, got)
        found = found[int(part)] if isinstance(found, list) else found.get(part)
    if path == "error" and "/" not in value:
        found = str(found).split("/")[0]
    if isinstance(value, float):
        found = round(found, 9)
    assert found == value, (case.name, step.call, step.arguments, path, got)


def _resolved(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {k: _resolved(v, ids) for k, v in value.items()}
    if isinstance(value, list):
        return [_resolved(v, ids) for v in value]
    return ids[value[1:]] if isinstance(value, str) and value.startswith("$") else value


def _comparable(value: Any, seen: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {k: _comparable(v, seen) for k, v in value.items() if k not in RUN}
    if isinstance(value, list):
        return [_comparable(v, seen) for v in value]
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, str):
        return UUID.sub(lambda m: seen.setdefault(m[0], f"<id {len(seen)}>"), value)
    return value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_door_gives_the_same_answers(doors: Doors, case: Case) -> None:
    at = CASES.index(case)
    answers = {name: doors.run(run(case, doors.answers[name], f"{name}/{at}")) for name in DOORS}
    for name in DOORS[1:]:
        assert answers[name] == answers["engine"], name


def test_one_search_gives_the_same_ids_in_the_same_order_through_every_door(
    service: Service, doors: Doors
) -> None:
    for i in range(30):
        content = f"note {i}: 容器 {i % 7} 的端口"
        service.mem.write(content, namespace="same", event_time="2026-01-01T00:00:00Z")
    arguments = {"query": "容器 3 的端口", "namespace": "same", "now": "2026-06-01T00:00:00Z", "top_k": 10}

    def through(name: str) -> list[tuple[str, float]]:
        found = doors.run(doors.answers[name]("search", arguments))
        return [(hit["memory"]["id"], hit["score"]) for hit in found["hits"]]

    expected = through("engine")
    assert len(expected) == 10
    for name in DOORS[1:]:
        assert through(name) == expected, name
    body = {"query": "容器 3 的端口", "namespaces": ["same"], "now": "2026-06-01T00:00:00Z", "top_k": 10}
    answer = httpx2.post(f"http://{service.gateway.address}/v1/SearchMemories", json=body).json()
    assert [(hit["memory"]["id"], hit["score"]) for hit in answer["hits"]] == expected


def test_what_a_door_gives_as_data_is_the_object_again(service: Service) -> None:
    memory = service.mem.write(
        "x", namespace="data", attributes={"at": {"time": "2026-01-01T00:00:00Z"}, "n": 1, "t": "2026"}
    ).memory
    assert from_data(siltstone.Memory, to_data(memory)) == memory

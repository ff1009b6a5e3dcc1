"""The gateway over the real client and the real gRPC server; behind that the fake."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from mcp import Client
from siltstone.gateway import Gateway
from siltstone.server import Server, serve

pytestmark = pytest.mark.anyio


class FakeEngine:
    """The fake as the server calls an engine: a method an operation. It has no tokens."""

    tokens = SimpleNamespace(in_use=False)

    def __init__(self, fake: Any) -> None:
        self._fake = fake

    def __getattr__(self, method: str) -> Callable[[Any, Any], Any]:
        return lambda request, _call: getattr(self._fake, "on_" + method)(request)


@pytest.fixture
def server(fake: Any) -> Iterator[Server]:
    running = serve(FakeEngine(fake), address="127.0.0.1:0")
    yield running
    running.stop()


@pytest.fixture
def real_gateway(server: Server) -> Iterator[Gateway]:
    with Gateway(server.address, address="127.0.0.1:0", namespace="团队/甲") as running:
        yield running


async def test_a_memory_written_through_mcp_is_read_through_json_word_for_word(real_gateway: Gateway) -> None:
    content = "登录失败 🚑\n第二行 “引号” \u2028"
    async with Client(f"http://{real_gateway.address}/mcp") as client:
        written = await client.call_tool("memory_write", {"content": content, "attributes": {"端口": 3306}})
        assert not written.is_error, written.content
        memory = written.structured_content["memory"]
        assert (memory["namespace"], memory["content"]) == ("团队/甲", content)
        found = await client.call_tool("memory_search", {"query": "登录失败"})
        assert found.structured_content["hits"][0]["memory"]["id"] == memory["id"]
        wrong = await client.call_tool("memory_write", {"content": "reject me"})
        assert wrong.meta["siltstone/error"] == {
            "status": "INVALID_ARGUMENT",
            "reason": "REJECTED",
            "field": "content",
            "message": "content: rejected",
            "request_id": wrong.meta["siltstone/error"]["request_id"],
        }
        assert wrong.meta["siltstone/error"]["request_id"]
    with httpx2.Client(base_url=f"http://{real_gateway.address}", timeout=20) as http:
        read = http.post("/v1/GetMemories", json={"ids": [memory["id"]]})
        assert read.json()["memories"] == [memory]
        missing = http.post("/v1/GetMemories", json={"ids": ["x"]})
        assert (missing.status_code, missing.json()["error"]["field"]) == (404, "ids[0]")


async def test_readyz_follows_the_health_of_the_server(real_gateway: Gateway, server: Server) -> None:
    with httpx2.Client(base_url=f"http://{real_gateway.address}", timeout=20) as http:
        assert http.get("/readyz").status_code == 200
        server.stop()
        answer = http.get("/readyz")
        assert answer.status_code == 503
        assert server.address in answer.json()["error"]["message"]
        assert http.get("/healthz").status_code == 200

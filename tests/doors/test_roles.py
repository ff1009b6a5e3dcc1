"""Roles over the wire: a caller gives up roles and never gains one; agents behind MCP cannot review."""

import asyncio
from collections.abc import Iterator
from typing import Any

import grpc
import httpx2
import pytest
import siltstone
from mcp import Client as McpClient
from siltstone.config import Settings
from siltstone.gateway import Gateway
from siltstone.local import Local
from siltstone.model import AGENT_ROLES
from siltstone.server import Server, serve
from siltstone.v1 import memory_service_pb2, memory_service_pb2_grpc


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    directory = tmp_path_factory.mktemp("roles")
    with siltstone.open(directory, settings=Settings(embedding_model="hashing")) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(mem: Local) -> Iterator[Server]:
    running = serve(mem.engine, address="127.0.0.1:0")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def gateway(server: Server) -> Iterator[Gateway]:
    with Gateway(server.address, address="127.0.0.1:0") as running:
        yield running


def test_a_client_that_gives_up_roles_is_refused_what_they_are_for(mem: Local, server: Server) -> None:
    id = mem.write("the claim to review").memory.id
    with siltstone.Client(server.address, roles=AGENT_ROLES) as agent:
        for call in (
            lambda: agent.verify(id, "CONFIRM"),
            lambda: agent.audit_queue(),
            lambda: agent.audit_log(),
            lambda: agent.compact(),
            lambda: agent.update(id, confidence=0.99),
        ):
            with pytest.raises(siltstone.PermissionDeniedError):
                call()
        assert agent.verify(id, "FAILED").confidence < 0.7
    with siltstone.Client(server.address) as owner:
        assert owner.verify(id, "CONFIRM", reviewer="审计员").verification == "CONFIRMED"
        assert owner.audit_log(page_size=1000)[-1].note == "审计员"
        assert owner.compact().bytes_after > 0
    with pytest.raises(siltstone.InvalidArgumentError):
        siltstone.Client(server.address, roles=["god"])


@pytest.mark.parametrize(
    ("header", "code"),
    [("auditor", "OK"), ("reader, auditor", "OK"), ("", "PERMISSION_DENIED"), ("god", "INVALID_ARGUMENT")],
)
def test_the_header_of_any_client_restricts(mem: Local, server: Server, header: str, code: str) -> None:
    request = memory_service_pb2.ListAuditQueueRequest()
    with grpc.insecure_channel(server.address) as channel:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        try:
            stub.ListAuditQueue(request, metadata=[("siltstone-roles", header)], timeout=20)
            got = "OK"
        except grpc.RpcError as error:
            got = error.code().name  # type: ignore[attr-defined]
    assert got == code


def test_agents_behind_mcp_cannot_review_and_programs_behind_http_can(mem: Local, gateway: Gateway) -> None:
    id = mem.write("the claim of an agent", confidence=0.5).memory.id

    async def ask() -> list[Any]:
        async with asyncio.timeout(60), McpClient(f"http://{gateway.address}/mcp") as client:
            calls = [
                ("memory_verify", {"id": id, "verdict": "CONFIRM"}),
                ("memory_update", {"id": id, "confidence": 0.9}),
                ("memory_verify", {"id": id, "verdict": "FAILED"}),
            ]
            return [await client.call_tool(name, given) for name, given in calls]

    confirm, raised, failed = asyncio.run(ask())
    assert confirm.meta["siltstone/error"]["status"] == "INVALID_ARGUMENT"
    assert raised.meta["siltstone/error"]["reason"] == "CONFIDENCE_RAISE"
    assert failed.structured_content["confidence"] == pytest.approx(1 / 3)
    body = {"id": id, "verdict": "CONFIRM"}
    answer = httpx2.post(f"http://{gateway.address}/v1/VerifyMemory", json=body, timeout=20).json()
    assert answer["verification"] == "CONFIRMED"

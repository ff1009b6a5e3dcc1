import asyncio
import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from siltstone.client import AsyncClient, Client
from siltstone.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    ResourceExhaustedError,
    SiltstoneError,
    UnavailableError,
)
from siltstone.operations import OPERATIONS
from siltstone.server import Server
from siltstone.v1 import memory_service_pb2
from siltstone.wire import METHODS, SERVICES, from_status

TEXT = "第一行\n🪨 «μ» \x00 末尾 "


def raw(server: Server, rpc: str, data: bytes) -> SiltstoneError:
    """The error that a request of any bytes is answered with."""
    with grpc.insecure_channel(server.address) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(METHODS[rpc].path)(data, timeout=10)
    call: Any = caught.value
    trailers = dict(call.trailing_metadata())
    return from_status(call.code().name, call.details(), trailers.get("grpc-status-details-bin"))


def test_text_goes_through_every_field_verbatim(client: Client) -> None:
    lesson = {"problem": TEXT, "root_cause": TEXT, "solution": TEXT}
    receipt = client.write(
        TEXT,
        summary=TEXT,
        lesson={**lesson, "evidence": [{"field": "problem", "step": 3, "quote": TEXT}]},
        tags=[TEXT],
        attributes={TEXT: TEXT, "时间": datetime(2026, 1, 2, tzinfo=UTC), "数": 8, "真": True},
        namespace="团队/甲",
        source={"writer": TEXT},
    )
    memory = receipt.memory
    assert memory.content == memory.summary == TEXT
    assert memory.namespace == "团队/甲"
    assert memory.tags == [TEXT]
    assert memory.lesson is not None
    assert memory.lesson.solution == memory.lesson.evidence[0].quote == TEXT
    assert memory.attributes == {TEXT: TEXT, "时间": datetime(2026, 1, 2, tzinfo=UTC), "数": 8.0, "真": True}
    assert memory.source is not None
    assert memory.source.writer == TEXT


def test_the_engine_is_given_what_the_caller_said_and_the_defaults(client: Client, engine: Any) -> None:
    client.search("上周三", filter={"not": {"tags_any": "旧"}}, weights={"gate": 0}, vector=[0.5, 0.25])
    (request,) = engine.requests
    assert request.query == "上周三"
    assert request.filter.not_.tags_any == ["旧"]
    assert (request.weights.gate, request.weights.recency) == (0.0, None)
    assert request.vector == [0.5, 0.25]
    assert (request.top_k, request.include_public, request.time_zone) == (8, True, "UTC")


def test_steps_keep_their_arguments(client: Client, engine: Any) -> None:
    arguments = {"路径": "/a", "line": 3, "deep": [{"x": None}, 0.5, True]}
    task = client.append_steps("t1", [{"role": "AGENT", "tool": "编辑", "arguments": arguments}])
    assert task.step_count == 1
    assert engine.requests[0].steps[0].arguments == arguments


def test_writes_carry_a_request_id_of_their_own_unless_given(client: Client, engine: Any) -> None:
    client.write("a")
    client.write("a")
    client.write("a", request_id="mine")
    first, second, third = (request.request_id for request in engine.requests)
    assert len(first) == len(second) == 36
    assert first != second
    assert third == "mine"


def test_a_batch_comes_back_in_order(client: Client) -> None:
    results = client.search_many([{"query": f"问题 {i}"} for i in range(100)])
    assert [result.hits[0].memory.summary for result in results] == [f"问题 {i}" for i in range(100)]


def test_many_threads_get_each_its_own_answer(client: Client) -> None:
    def ask(i: int) -> str:
        return client.search(f"第 {i} 问").hits[0].memory.summary

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(ask, range(300))) == [f"第 {i} 问" for i in range(300)]


@pytest.mark.parametrize("kind", SiltstoneError.__subclasses__())
def test_every_error_comes_back_as_its_class(client: Client, kind: type[SiltstoneError]) -> None:
    with pytest.raises(kind) as caught:
        client.get(kind.status)
    assert type(caught.value) is kind
    assert caught.value.message == "不行：no"
    assert (caught.value.reason, caught.value.field) == ("A_REASON", "ids[0]")


def test_a_fault_of_the_server_shows_its_request_id_and_never_its_text(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(InternalError) as caught:
        client.stats()
    assert "秘密" not in str(caught.value)
    request_id = str(caught.value).split()[-1]
    assert request_id == caught.value.request_id
    assert request_id in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_an_answer_without_a_form_on_the_wire_is_the_servers_fault(client: Client) -> None:
    with pytest.raises(InternalError):
        client.namespaces()


def test_an_answer_may_be_larger_than_a_request(client: Client) -> None:
    assert len(client.check().problems) == 10_000


def test_bytes_that_are_no_message_are_the_callers_fault(server: Server) -> None:
    for data in (b"\x0a\xff", b"\x0a\x02\xff\xfe", os.urandom(64) + b"\x07"):
        error = raw(server, "SearchMemories", data)
        assert isinstance(error, InvalidArgumentError)
        assert error.reason == "INVALID_MESSAGE"


def test_a_wrong_value_is_named_by_its_path(server: Server) -> None:
    message = memory_service_pb2.WriteMemoriesRequest()
    message.drafts.add(content="好")
    message.drafts.add(content="坏", vector_packed=b"123")
    error = raw(server, "WriteMemories", message.SerializeToString())
    assert isinstance(error, InvalidArgumentError)
    assert error.field == "drafts[1].vector_packed"


def test_a_message_over_the_limit_says_how_to_go_on(client: Client) -> None:
    with pytest.raises(ResourceExhaustedError, match="--max-message-bytes") as caught:
        client.write("字" * 1_000_000)
    assert caught.value.reason == "MESSAGE_TOO_LARGE"
    assert client.write("小").memory.content == "小"


def test_the_engine_is_told_the_deadline(client: Client, engine: Any) -> None:
    client.search("a")
    left = engine.calls[0].deadline - time.monotonic()
    assert 0 < left < 21  # gRPC sends a time left, which may be rounded up


def test_a_call_without_a_deadline_has_none(server: Server, engine: Any) -> None:
    with Client(server.address, timeout=None) as client:
        client.search("a")
    assert engine.calls[0].deadline is None


def test_a_deadline_that_passes_names_the_time_waited(server: Server, engine: Any) -> None:
    with Client(server.address, timeout=0.2) as client, pytest.raises(DeadlineExceededError, match=r"0\.2 s"):
        client.search("wait")
    engine.go_on.set()


def test_a_call_that_waited_past_its_deadline_is_not_begun(server: Server, engine: Any) -> None:
    with (
        Client(server.address) as holder,
        Client(server.address, timeout=0.3) as late,
        ThreadPoolExecutor(8) as pool,
    ):
        held = [pool.submit(holder.search, "wait") for _ in range(8)]  # as many as there are workers
        for _ in held:
            assert engine.entered.acquire(timeout=10)
        with pytest.raises(DeadlineExceededError):
            late.search("late")
        engine.go_on.set()
        for future in held:
            future.result(10)
        holder.search("after")
    assert [request.query for request in engine.requests] == ["wait"] * 8 + ["after"]


def test_reflection_lists_all_services(server: Server) -> None:
    with grpc.insecure_channel(server.address) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        (answer,) = stub.ServerReflectionInfo(iter([request]), timeout=10)
    listed = {service.name for service in answer.list_services_response.service}
    assert listed >= {*SERVICES, "grpc.health.v1.Health"}


def test_every_operation_has_a_handler(server: Server) -> None:
    for rpc in OPERATIONS:
        if METHODS[rpc].operation.request_stream or METHODS[rpc].operation.response_stream:
            continue
        assert raw(server, rpc, b"\x07").reason in ("INVALID_MESSAGE", "INTERNAL"), rpc


def test_an_address_without_a_server_is_unavailable_and_says_what_to_start() -> None:
    with Client("127.0.0.1:1", timeout=10) as client, pytest.raises(UnavailableError) as caught:
        client.search("a")
    assert "127.0.0.1:1" in str(caught.value)
    assert "siltstone serve" in str(caught.value)


def test_a_closed_client_says_so(server: Server) -> None:
    client = Client(server.address)
    client.close()
    with pytest.raises(FailedPreconditionError, match="closed"):
        client.search("a")


def test_a_timeout_of_zero_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="timeout"):
        Client(timeout=0)


async def ask_async(address: str) -> None:
    async with AsyncClient(address, timeout=20) as client:
        receipt = await client.write(TEXT, tags=["标签"])
        assert receipt.memory.content == TEXT
        result = await client.search("异步")
        assert result.hits[0].memory.summary == "异步"
        with pytest.raises(InvalidArgumentError) as caught:
            await client.get("INVALID_ARGUMENT")
        assert caught.value.field == "ids[0]"
    with pytest.raises(FailedPreconditionError):
        await client.search("a")
    async with AsyncClient("127.0.0.1:1", timeout=10) as client:
        with pytest.raises(SiltstoneError, match="siltstone serve"):
            await client.search("a")


def test_the_async_client_does_the_same(server: Server) -> None:
    asyncio.run(ask_async(server.address))

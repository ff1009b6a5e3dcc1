"""Requests of every RPC, of any shape that the contract lets through, to a real server: none gives INTERNAL
or UNKNOWN, and none ends the process or stops its answers."""

import os
import struct
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
import siltstone
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from siltstone.config import Settings
from siltstone.local import Local
from siltstone.server import Server, serve
from siltstone.wire.contract import METHODS, Method

F = FieldDescriptor
EXAMPLES = int(os.environ.get("SILTSTONE_FUZZ", "0")) or 25  # requests of each RPC
DEPTH = 5
NO_ANSWERS = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}
UNKNOWN_ID = "0197a3c4-7d2e-7c11-9f00-3b1f6a2c9d55"
DOUBLES = [0.0, -0.0, 0.5, 1.0, -1.0, 1e-320, 1e308, float("inf"), float("-inf"), float("nan")]
SINGLES = [0.0, 0.5, 1.0, -1.0, 1e-40, 3.4e38, float("inf"), float("nan")]
STRINGS = ["", " ", "default", "public", "nowhere", "a/b", "../x", "x", "容器", "\x00", "\u202e", "𠀀", "-1", "UTC", "Asia/Shanghai", "1.2.3", "x" * 300, "字" * 3000]  # fmt: skip


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    directory = tmp_path_factory.mktemp("rpc")
    with siltstone.open(
        directory, settings=Settings(embedding_model="hashing", hindsight_workers=0)
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(mem: Local) -> Iterator[Server]:
    running = serve(mem.engine, address="127.0.0.1:0")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def channel(server: Server) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(server.address) as opened:
        yield opened


@pytest.fixture
def ids(mem: Local) -> list[str]:
    """Of things that are there, one of each kind."""
    memory = mem.write("the api listens on 0.0.0.0", tags=["docker"], attributes={"mysql": "8.0"}).memory
    task = mem.start_task("让 web 能用服务名访问 api", hindsight_every=0)
    mem.append_steps(task.id, [{"text": "看", "tool": "bash"}])
    job = mem.create_hindsight_job(task.id)
    return [memory.id, task.id, job.id, UNKNOWN_ID]


def scalar(field: Any, ids: list[str]) -> st.SearchStrategy[Any]:
    if field.type in (F.TYPE_DOUBLE, F.TYPE_FLOAT):
        return st.sampled_from(DOUBLES if field.type == F.TYPE_DOUBLE else SINGLES)
    if field.type == F.TYPE_BOOL:
        return st.booleans()
    if field.type == F.TYPE_BYTES:
        packed = st.lists(st.sampled_from(SINGLES), max_size=5).map(lambda v: struct.pack(f"<{len(v)}f", *v))
        return st.one_of(st.binary(max_size=20), packed, st.just(b'{"goal": "x", "steps": [{"text": "y"}]}'))
    if field.type == F.TYPE_STRING:
        if field.name in ("id", "ids", "task_id", "supersedes", "after_id"):
            return st.sampled_from([*ids, *ids, "x", ""])
        if "namespace" in field.name:
            return st.sampled_from(["default", "default", "public", "nowhere", "a b", ""])
        return st.one_of(st.sampled_from(STRINGS), st.text(max_size=20))
    if field.type == F.TYPE_ENUM:
        return st.sampled_from([value.number for value in field.enum_type.values] + [99, -1])
    low, high = (0, 2**32) if field.type in (F.TYPE_UINT32, F.TYPE_UINT64) else (-(2**31), 2**31)
    return st.sampled_from([0, 1, 2, 10, 1000, low, high - 1])


def messages(kind: Any, ids: list[str], depth: int = 0) -> st.SearchStrategy[Any]:
    @st.composite
    def build(draw: st.DrawFn) -> Any:
        message = kind()
        for field in kind.DESCRIPTOR.fields:
            wanted = field.name in ("id", "query", "drafts") or draw(st.integers(0, 2 + depth)) == 0
            if depth >= DEPTH or not wanted:
                continue
            values = value_of(field)
            if is_map(field):
                pairs = draw(st.dictionaries(st.sampled_from(["mysql", "", "键"]), values, max_size=2))
                for key, value in pairs.items():
                    target = getattr(message, field.name)
                    if field.message_type.fields_by_name["value"].message_type:
                        target[key].CopyFrom(value)
                    else:
                        target[key] = value
            elif field.is_repeated:
                getattr(message, field.name).extend(draw(st.lists(values, max_size=3)))
            elif field.message_type:
                getattr(message, field.name).CopyFrom(draw(values))
            else:
                setattr(message, field.name, draw(values))
        return message

    def value_of(field: Any) -> st.SearchStrategy[Any]:
        if is_map(field):
            field = field.message_type.fields_by_name["value"]
        if not field.message_type:
            return scalar(field, ids)
        return messages(type_of(field.message_type), ids, depth + 1)

    if kind.DESCRIPTOR.full_name in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
        seconds = st.sampled_from([0, 1, 1_780_000_000, -62_135_596_800, 253_402_300_799, 2**62, -(2**62)])
        nanos = st.sampled_from([0, 1, 999_999_999, -1, 2**31 - 1])
        return st.builds(lambda s, n: kind(seconds=s, nanos=n), seconds, nanos)
    return build()


def is_map(field: Any) -> bool:
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def type_of(descriptor: Any) -> Any:
    from google.protobuf.message_factory import GetMessageClass

    return GetMessageClass(descriptor)


def call(channel: grpc.Channel, method: Method, request: Any) -> None:
    """Ask, and read the answer to its end."""
    operation = method.operation
    kind = (
        ("stream" if operation.request_stream else "unary")
        + "_"
        + ("stream" if operation.response_stream else "unary")
    )
    stub = getattr(channel, kind)(
        method.path,
        request_serializer=method.request.SerializeToString,
        response_deserializer=method.response.FromString,
    )
    given = iter([request, request]) if operation.request_stream else request
    try:
        answer = stub(given, timeout=30)
        if operation.response_stream:
            list(answer)
    except grpc.RpcError as error:
        if error.code() in NO_ANSWERS:
            raise AssertionError(f"{error.code()} {error.details()} for {request}") from error


@pytest.mark.timeout(60 + 2 * EXAMPLES)
@pytest.mark.parametrize("rpc", sorted(METHODS))
def test_no_request_gives_internal_or_stops_the_answers(
    channel: grpc.Channel, mem: Local, ids: list[str], rpc: str
) -> None:
    method = METHODS[rpc]

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(messages(method.request, ids))
    def ask(request: Any) -> None:
        call(channel, method, request)

    ask()
    for token in mem.tokens():  # with one, nobody else would be let in any more
        mem.revoke_token(token.id)
    assert mem.check().problems == []

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from siltstone.client import AsyncClient, Client
from siltstone.engine.call import Call
from siltstone.errors import InternalError, NotFoundError
from siltstone.files import CHUNK_BYTES, parts_of
from siltstone.model.requests import ExportChunk, ExportMemoriesRequest, ImportChunk, ImportReport
from siltstone.server import Server, serve
from siltstone.v1 import memory_service_pb2, memory_service_pb2_grpc, search_pb2

LINE = '{"content": "导出一行"}\n'.encode()


class Copier:
    """An engine that exports lines and keeps what is imported."""

    tokens = SimpleNamespace(in_use=False)

    def __init__(self) -> None:
        self.chunks: list[ImportChunk] = []

    def batch_search_memories(self, request: Any, call: Call) -> None:
        raise AssertionError("not asked for")

    def export_memories(self, request: ExportMemoriesRequest, call: Call) -> Iterator[ExportChunk]:
        for _ in range(3):
            yield ExportChunk(data=LINE)
        if request.namespaces:
            raise NotFoundError(f"{request.namespaces[0]}: no such namespace", field="namespaces[0]")

    def import_memories(self, chunks: Iterator[ImportChunk], call: Call) -> ImportReport:
        self.chunks = list(chunks)
        data = b"".join(chunk.data for chunk in self.chunks)
        if b"bad" in data:
            raise ZeroDivisionError
        return ImportReport(imported=data.count(b"\n"))


@pytest.fixture
def copier() -> Iterator[tuple[Copier, str]]:
    engine = Copier()
    server = serve(engine, address="127.0.0.1:0", workers=4)
    yield engine, server.address
    server.stop()


def test_a_stream_of_batches_is_answered_message_by_message(server: Server) -> None:
    def messages() -> Any:
        for query in ("一", "二", "三"):
            requests = [search_pb2.SearchMemoriesRequest(query=query)]
            yield memory_service_pb2.StreamSearchMemoriesRequest(requests=requests)

    with grpc.insecure_channel(server.address) as channel:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        answers = list(stub.StreamSearchMemories(messages(), timeout=10))
    assert [a.results[0].hits[0].memory.summary for a in answers] == ["一", "二", "三"]


def test_too_many_streams_are_refused_and_calls_go_on(server: Server, engine: Any) -> None:
    with grpc.insecure_channel(server.address) as channel:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        one = memory_service_pb2.StreamSearchMemoriesRequest(
            requests=[search_pb2.SearchMemoriesRequest(query="a")]
        )

        def held() -> Any:
            yield one
            engine.go_on.wait(30)

        streams = [stub.StreamSearchMemories(held(), timeout=30) for _ in range(4)]  # half of the workers
        for stream in streams:
            next(stream)
        with pytest.raises(grpc.RpcError) as caught:
            next(stub.StreamSearchMemories(iter([one]), timeout=10))
        call: Any = caught.value
        assert call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        with Client(server.address) as client:
            assert client.search("还在").hits
        engine.go_on.set()
        for stream in streams:
            assert list(stream) == []


def test_an_export_collects_its_chunks_and_an_error_in_the_middle_writes_no_file(
    copier: tuple[Copier, str], tmp_path: Path
) -> None:
    with Client(copier[1], timeout=20) as client:
        assert client.export(tmp_path / "all.jsonl") == 3 * len(LINE)
        assert (tmp_path / "all.jsonl").read_bytes() == 3 * LINE
        with pytest.raises(NotFoundError) as caught:
            client.export(tmp_path / "none.jsonl", namespaces=["没有"])
        assert caught.value.field == "namespaces[0]"
        assert [path.name for path in tmp_path.iterdir()] == ["all.jsonl"]


def test_an_import_sends_every_line_once(copier: tuple[Copier, str], tmp_path: Path) -> None:
    engine, address = copier
    path = tmp_path / "lines.jsonl"
    path.write_bytes(LINE * 100_000)
    with Client(address, timeout=20) as client:
        assert client.import_(path).imported == 100_000
    assert len(engine.chunks) > 1
    assert b"".join(chunk.data for chunk in engine.chunks) == path.read_bytes()


def test_a_fault_of_the_server_ends_an_import_with_its_request_id(
    copier: tuple[Copier, str], tmp_path: Path
) -> None:
    (tmp_path / "bad").write_bytes(b"bad\n")
    with Client(copier[1], timeout=20) as client, pytest.raises(InternalError, match="request id"):
        client.import_(tmp_path / "bad")


async def copy_async(address: str, path: Path) -> int:
    async with AsyncClient(address, timeout=20) as client:
        await client.export(path)
        return (await client.import_(path)).imported


def test_the_async_client_exports_and_imports(copier: tuple[Copier, str], tmp_path: Path) -> None:
    assert asyncio.run(copy_async(copier[1], tmp_path / "all.jsonl")) == 3


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", LINE, b"x" * (3 * CHUNK_BYTES), LINE * 90_000, b"a\n" + b"y" * (2 * CHUNK_BYTES) + b"\nz"],
    ids=["empty", "newline", "line", "one long line", "many lines", "no newline at the end"],
)
def test_a_file_goes_in_bounded_parts_wherever_its_lines_end(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(data)
    chunks = list(parts_of(tmp_path / "file"))
    assert b"".join(chunks) == data
    assert all(len(chunk) <= CHUNK_BYTES for chunk in chunks)

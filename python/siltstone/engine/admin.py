"""Namespaces, statistics, and the check of index against store."""

from importlib.metadata import PackageNotFoundError, version

import numpy as np

from siltstone.engine.call import Call
from siltstone.engine.core import known_namespace
from siltstone.engine.pages import decode_token, encode_token
from siltstone.engine.tasks import Tasks
from siltstone.engine.validate import check_page
from siltstone.model import OPEN_STATES, CheckReport, Namespace, Stats
from siltstone.model.requests import (
    CheckStoreRequest,
    DeleteNamespaceRequest,
    DeleteNamespaceResponse,
    GetMetricsRequest,
    GetMetricsResponse,
    GetStatsRequest,
    ListNamespacesRequest,
    ListNamespacesResponse,
)
from siltstone.store import NamespaceRecord, Reader, Writer


class Admin(Tasks):
    def list_namespaces(self, request: ListNamespacesRequest, call: Call) -> ListNamespacesResponse:
        size = check_page(request.page_size)
        scope = ("ListNamespaces",)
        after = decode_token(request.page_token, scope)
        with self.store.read() as reader:
            records = sorted(reader.namespaces(), key=lambda record: record.name)
            page = [r for r in records if r.name > after][: size + 1]
            namespaces = [_namespace(reader, record) for record in page[:size]]
        more = len(page) > size
        return ListNamespacesResponse(
            namespaces=namespaces, next_page_token=encode_token(namespaces[-1].name, scope) if more else ""
        )

    def delete_namespace(self, request: DeleteNamespaceRequest, call: Call) -> DeleteNamespaceResponse:
        answer: DeleteNamespaceResponse | None = self.answered("DeleteNamespace", request, call)
        if answer is not None:
            return answer
        with self.store.read() as reader:
            known_namespace(reader, request.name, "name")

        def operation(writer: Writer) -> DeleteNamespaceResponse:
            record = known_namespace(writer, request.name, "name")
            memories = writer.count_memories(record.number)
            writer.delete_namespace(record.number)
            return DeleteNamespaceResponse(memories=memories)

        return self.write("DeleteNamespace", request, call, operation)

    def get_stats(self, request: GetStatsRequest, call: Call) -> Stats:
        with self.store.read() as reader:
            if request.namespace:
                records = [known_namespace(reader, request.namespace)]
            else:
                records = reader.namespaces()
            memories = sum(reader.count_memories(r.number) for r in records)
            tasks = sum(1 for r in records for _ in reader.tasks(r.number))
            names = {r.name for r in records}
            waiting = sum(1 for job in reader.jobs(states=OPEN_STATES) if job.namespace in names)
        info = self.store.info()
        return Stats(
            namespaces=len(records),
            memories=memories,
            tasks=tasks,
            jobs_waiting=waiting,
            seq=info.seq,
            store_bytes=info.file_bytes,
            index_bytes=sum(self.collections.bytes(r.number) for r in records),
            embedding_model=self.embedder.model,
            embedding_dimension=self.embedder.dimension,
            version=release(),
        )

    def get_metrics(self, request: GetMetricsRequest, call: Call) -> GetMetricsResponse:
        return GetMetricsResponse(text=self.metrics.text())

    def check_store(self, request: CheckStoreRequest, call: Call) -> CheckReport:
        """Count, compare and digest: the store against itself, then the index against one built from it."""
        report = CheckReport()
        with self.store.read() as reader:
            records = reader.namespaces()
        for name in [record.name for record in records]:
            with self.store.read() as reader:
                record = reader.namespace(name)
                if record is None:
                    continue  # deleted meanwhile
                report.namespaces += 1
                self._check_records(reader, record, report)
            call.remaining()
            if record.embedding_dimension and not self.collections.agrees(record):
                report.problems.append(f"namespace {record.name!r}: the index differs from the store")
                if request.repair:
                    self.collections.reset(record.number)
                    self.collections.ready(record)
                    report.repaired += 1
        return report

    def _check_records(self, reader: Reader, record: NamespaceRecord, report: CheckReport) -> None:
        memories = 0
        for memory in reader.scan_memories(record.number):
            vectors = reader.vectors(memory.id)
            memories += memory.invalidate_time is None
            if vectors is None or vectors.ndim != 2 or vectors.shape[1] != record.embedding_dimension:
                report.problems.append(f"memory {memory.id}: its vectors are missing or of another dimension")
            elif not np.isfinite(vectors).all():
                report.problems.append(f"memory {memory.id}: its vectors are not finite")
            else:
                report.vectors += len(vectors)
            for id in (*memory.supersedes, *memory.conflicts_with, memory.superseded_by):
                if id and reader.memory(id) is None:
                    report.problems.append(f"memory {memory.id}: it refers to {id}, which is not there")
        counted = reader.count_memories(record.number)
        if memories != counted:
            report.problems.append(f"namespace {record.name!r}: {memories} memories, but counted {counted}")
        report.memories += memories


def _namespace(reader: Reader, record: NamespaceRecord) -> Namespace:
    return Namespace(
        name=record.name,
        memories=reader.count_memories(record.number),
        embedding_model=record.embedding_model,
        embedding_dimension=record.embedding_dimension,
        create_time=record.create_time,
    )


def release() -> str:
    """This release's version."""
    try:
        return version("siltstone")
    except PackageNotFoundError:
        return "unknown"

"""Namespaces, statistics, and the check of index against store."""

from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version

from siltstone.engine.call import Call
from siltstone.engine.core import known_namespace
from siltstone.engine.pages import decode_token, encode_token
from siltstone.engine.tasks import Tasks
from siltstone.engine.validate import check_page
from siltstone.errors import SiltstoneError
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
from siltstone.store import Checked, NamespaceRecord, Problem, Reader, Writer, mend, problems, strays


class Admin(Tasks):
    def list_namespaces(self, request: ListNamespacesRequest, call: Call) -> ListNamespacesResponse:
        size = check_page(request.page_size)
        scope = ("ListNamespaces",)
        after = decode_token(request.page_token, scope)
        with self.store.read() as reader:
            records = sorted(reader.namespaces(), key=lambda record: record.name)
            page = [r for r in records if r.name > after and call.sees(r.name)][: size + 1]
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
                records = [record for record in reader.namespaces() if call.sees(record.name)]
            memories = sum(reader.count_memories(r.number) for r in records)
            tasks = sum(1 for r in records for _ in reader.tasks(r.number))
            names = {r.name for r in records}
            waiting = sum(1 for job in reader.jobs(states=OPEN_STATES) if job.namespace in names)
        info = self.store.info()
        numbers = {r.number for r in records}
        loaded = [s for number, s in self.collections.statuses().items() if number in numbers]
        index_bytes, indexed = sum(s.bytes for s in loaded), sum(s.memories for s in loaded)
        return Stats(
            namespaces=len(records),
            memories=memories,
            tasks=tasks,
            jobs_waiting=waiting,
            # These two tell how much others write.
            seq=info.seq if call.namespaces.whole else 0,
            store_bytes=info.file_bytes if call.namespaces.whole else 0,
            index_bytes=index_bytes,
            indexes_loaded=len(loaded),
            index_bytes_per_memory=index_bytes / indexed if indexed else 0.0,
            building=[progress for progress in self.collections.building() if progress.namespace in names],
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
            names = [record.name for record in reader.namespaces()]
        for name in names:
            self._check_namespace(name, request.repair, report, call)
        with self.store.read() as reader:
            found = list(strays(reader))
        self._note(found, request.repair, report, call, strays)
        return report

    def _check_namespace(self, name: str, repair: bool, report: CheckReport, call: Call) -> None:
        checked = Checked()
        with self.store.read() as reader:
            record = reader.namespace(name)
            if record is None:
                return  # deleted meanwhile
            found = list(problems(reader, record, checked))
        report.namespaces += 1
        report.memories += checked.memories
        report.vectors += checked.vectors
        call.remaining()
        self._note(found, repair, report, call, lambda reader: problems(reader, record))
        if not record.embedding_dimension:
            return
        try:
            differs = "" if self.collections.agrees(record) else "the index differs from the store"
            if differs and repair:
                self.collections.reset(record.number)
                self.collections.ready(record)
                report.repaired += 1
        except (SiltstoneError, ValueError) as error:  # the core's words for vectors it does not take
            differs = f"the index cannot be built: {error}"
            report.unrepaired.append(f"namespace {name!r}: {differs}")
        if differs:
            report.problems.append(f"namespace {name!r}: {differs}")

    def _note(
        self,
        found: list[Problem],
        repair: bool,
        report: CheckReport,
        call: Call,
        again: Callable[[Reader], Iterator[Problem]],
    ) -> None:
        """Report what was found and, to repair it, look `again` in the transaction that does."""
        report.problems += [problem.text for problem in found]
        report.unrepaired += [problem.text for problem in found if not problem.table]
        if repair and any(problem.table for problem in found):
            report.repaired += self.store.commit(lambda w: mend(w, again(w)), timeout=call.remaining())


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

"""Re-embedding as an operation: it starts the move of namespaces to another model and tells how far it is."""

from dataclasses import replace

from siltstone.embed import Embedder
from siltstone.engine.call import Call
from siltstone.engine.committing import CALLER_MODEL
from siltstone.engine.core import known_namespace
from siltstone.engine.importing import Importing
from siltstone.engine.mover import Mover
from siltstone.engine.validate import check_label
from siltstone.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from siltstone.model.requests import ReembedReport, ReembedRequest
from siltstone.store import NamespaceRecord, Reader, Writer


class Reembedding(Importing):
    mover: Mover

    def reembed_memories(self, request: ReembedRequest, call: Call) -> ReembedReport:
        check_label(request.model, "model")
        embedder = self._opened(request.model)
        with self.store.read() as reader:
            numbers = [record.number for record in _asked(reader, request.namespace)]

        def operation(writer: Writer) -> None:
            writer.principal = call.principal
            for record in writer.namespaces():
                if record.number in numbers:
                    _start(writer, self._with_name(record), request.model, embedder)

        self.store.commit(operation, timeout=call.remaining())
        self.mover.wake()
        if request.wait:
            self.mover.wait(call.remaining(), numbers, call.remaining)
        return self._progress(request, embedder, numbers)

    def _with_name(self, record: NamespaceRecord) -> NamespaceRecord:
        """So that its model can be opened still when the service is started with another."""
        if record.embedding_name or record.embedding_model != self.embedder.model:
            return record
        return replace(record, embedding_name=self.settings.embedding_model)

    def _opened(self, name: str) -> Embedder:
        try:
            return self.embedders.by_name(name)
        except InvalidArgumentError as error:
            raise NotFoundError(f"model: {error.message}", reason="MODEL_NOT_FOUND", field="model") from None

    def _progress(self, request: ReembedRequest, embedder: Embedder, numbers: list[int]) -> ReembedReport:
        report = ReembedReport(model=embedder.model)
        with self.store.read() as reader:
            for record in reader.namespaces():
                if record.number not in numbers:
                    continue
                memories = reader.count_all_memories(record.number)
                done = memories
                if record.next_model:
                    done = min(reader.count_next_vectors(record.number), memories)
                    report.namespaces_remaining += 1
                report.memories += done
                report.remaining += memories - done
        return report


def _asked(reader: Reader, name: str) -> list[NamespaceRecord]:
    """The namespace that was named, or all that have vectors of a model of the service's."""
    if name:
        record = known_namespace(reader, name)
        if record.embedding_model == CALLER_MODEL:
            raise FailedPreconditionError(
                f"namespace: {name!r} keeps vectors that its callers bring; they alone can bring others",
                reason="CALLER_VECTORS",
                field="namespace",
            )
        return [record] if record.embedding_model else []
    return [r for r in reader.namespaces() if r.embedding_model not in ("", CALLER_MODEL)]


def _start(writer: Writer, record: NamespaceRecord, name: str, embedder: Embedder) -> None:
    if record.embedding_model == embedder.model:
        if record.next_model:
            writer.cancel_move(record.number)  # asked to stay
        return
    if record.next_model == embedder.model:
        return
    if record.next_model or record.clearing:
        what = f"being moved to {record.next_model!r}" if record.next_model else "just moved"
        raise FailedPreconditionError(
            f"namespace: {record.name!r} is {what}; wait for that to end, or go back to its model first",
            reason="REEMBEDDING",
            field="namespace",
        )
    writer.start_move(record, name, embedder.model, embedder.dimension)

"""ERASE: a memory leaves no trace of its text in any file."""

from datetime import UTC, datetime

from siltstone.engine import filters
from siltstone.engine.admin import Admin
from siltstone.engine.call import Call
from siltstone.engine.core import found, known_namespace
from siltstone.engine.unlinking import unlink
from siltstone.engine.validate import check_id
from siltstone.errors import InvalidArgumentError
from siltstone.model import Filter, ForgetMode, ForgetResult, Memory, Step
from siltstone.model.requests import CompactReport, CompactStoreRequest, ForgetMemoriesRequest
from siltstone.rust_core import Index
from siltstone.store import Reader, Writer
from siltstone.store.keys import format_id
from siltstone.store.records import to_microseconds

_ERASED_STEP = "[erased]"


class Erasing(Admin):
    def forget_memories(self, request: ForgetMemoriesRequest, call: Call) -> ForgetResult:
        if request.mode is not ForgetMode.ERASE:
            return super().forget_memories(request, call)
        self.check_forget(request)
        answer: ForgetResult | None = self.answered("ForgetMemories", request, call)
        if answer is None:
            ids = self._to_erase(request)
            if request.dry_run:
                return ForgetResult(count=len(ids), ids=ids, mode=request.mode, dry_run=True)

            def operation(writer: Writer) -> ForgetResult:
                erased = [id for id in ids if erase(writer, id)]
                return ForgetResult(count=len(erased), ids=erased, mode=request.mode)

            answer = self.write("ForgetMemories", request, call, operation)
        if self.settings.erase_compacts == "now":
            self.finish_erasures(call)
        return answer

    def compact_store(self, request: CompactStoreRequest, call: Call) -> CompactReport:
        call.require("admin", "compact the store")
        before = self.store.info().file_bytes
        self._drop_snapshots()
        self.store.compact(timeout=call.remaining())
        return CompactReport(bytes_before=before, bytes_after=self.store.info().file_bytes)

    def finish_erasures(self, call: Call) -> None:
        """Where text was erased from memories and files may still hold it: make those files anew. Does
        nothing where that has been done; after a crash in between, the next start does it."""
        with self.store.read() as reader:
            if not reader.erasing():
                return
        self._drop_snapshots()
        self.store.compact(timeout=call.remaining())

    def _drop_snapshots(self) -> None:
        """Of the collections that text was erased from. Even in memory they may hold its vectors, in places
        not taken again yet; so they are built anew when next needed."""
        with self.store.read() as reader:
            numbers = reader.erasing()
        for number in numbers:
            self.collections.reset(number)

    def _to_erase(self, request: ForgetMemoriesRequest) -> list[str]:
        """Invalidated memories too: they are there until they are erased."""
        if request.filter is not None:
            invalidated = self._invalidated(request.namespace, request.filter)
            return sorted({*self._selected(request.namespace, request.filter), *invalidated})
        ids = list(dict.fromkeys(check_id(id, f"ids[{i}]") for i, id in enumerate(request.ids)))
        with self.store.read() as reader:
            for i, id in enumerate(ids):
                found(reader.memory(id), "memory", id, f"ids[{i}]")
        return ids

    def _invalidated(self, namespace: str, filter: Filter) -> list[str]:
        """The invalidated memories that a filter lets through. They are in no index, so one is made of them
        for the question: what a filter means is known in one place only."""
        with self.store.read() as reader:
            record = known_namespace(reader, namespace)
            if not record.embedding_dimension:
                return []
            puts = list(reader.invalidated_records(record.number))
        index = Index(None)
        index.create(record.number, record.embedding_dimension, 0)
        index.apply(record.number, 1, puts, [])
        now = to_microseconds(datetime.now(UTC))
        return [format_id(id) for id in index.select(record.number, filters.packed(filter), now)]


def erase(writer: Writer, id: str) -> bool:
    """Erase a memory and what was made from it or held its words: references of others, the steps it cites,
    and its text wherever tasks, jobs and stored answers of its namespace hold it. False when it is gone."""
    memory = writer.memory(id)
    if memory is None:
        return False
    states = [memory, *(revision.memory for revision in writer.revisions(id))]
    unlink(writer, memory)
    for task_id, numbers in _cited_steps(writer, memory.namespace, states).items():
        writer.replace_steps(
            task_id,
            [_erased_step(step) for step in writer.steps(task_id) if step.number in numbers],
        )
    texts = {text for state in states for text in (state.content, state.summary)}
    writer.erase_memory(id)
    writer.redact(memory.namespace, sorted(texts), [id])
    return True


def _cited_steps(reader: Reader, namespace: str, states: list[Memory]) -> dict[str, set[int]]:
    """Task of the namespace → numbers of its steps that the memory quotes."""
    cited: dict[str, set[int]] = {}
    for state in states:
        if state.source is None or not state.source.task_id:
            continue
        try:
            task = reader.task(state.source.task_id)
        except InvalidArgumentError:  # a task of another system
            continue
        if task is not None and task.namespace == namespace:
            quoted = [evidence.step for evidence in state.lesson.evidence] if state.lesson else []
            cited.setdefault(task.id, set()).update(state.source.steps, quoted)
    return cited


def _erased_step(step: Step) -> Step:
    return Step(
        number=step.number,
        role=step.role,
        text=_ERASED_STEP,
        tool=step.tool,
        is_error=step.is_error,
        time=step.time,
    )

"""ERASE: a memory leaves no trace of its text in any file."""

from dataclasses import replace

from siltstone.engine.admin import Admin
from siltstone.engine.call import Call
from siltstone.engine.core import found
from siltstone.engine.selecting import Selection, select
from siltstone.engine.unlinking import unlink
from siltstone.engine.validate import check_id
from siltstone.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    ResourceExhaustedError,
    SiltstoneError,
    UnavailableError,
)
from siltstone.model import ForgetMode, ForgetResult, Memory, Step
from siltstone.model.requests import CompactReport, CompactStoreRequest, ForgetMemoriesRequest
from siltstone.store import Reader, Writer

_ERASED_STEP = "[erased]"


class Erasing(Admin):
    def forget_memories(self, request: ForgetMemoriesRequest, call: Call) -> ForgetResult:
        if request.mode is not ForgetMode.ERASE:
            return super().forget_memories(request, call)
        self.check_forget(request)
        answer: ForgetResult | None = self.answered("ForgetMemories", request, call)
        if answer is None:
            selection = self._to_erase(request)
            if request.dry_run:
                ids = selection.ids
                return ForgetResult(count=len(ids), ids=ids, mode=request.mode, dry_run=True)

            def operation(writer: Writer) -> ForgetResult:
                erased = [id for id in selection.as_of(writer) if erase(writer, id)]
                return ForgetResult(count=len(erased), ids=erased, mode=request.mode)

            answer = self.write("ForgetMemories", request, call, operation)
        if self.settings.erase_compacts == "now":
            try:
                self.finish_erasures(call)
            except (ResourceExhaustedError, UnavailableError, DeadlineExceededError) as error:
                raise _unfinished(answer, error) from error
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

    def _to_erase(self, request: ForgetMemoriesRequest) -> Selection:
        """Invalidated memories too: they are there until they are erased."""
        if request.filter is not None:
            selection = self._selection(request.namespace, request.filter)
            if not selection.namespace:
                return selection
            with self.store.read() as reader:  # later than the selection, which asks again what changed since
                puts = list(reader.invalidated_records(selection.namespace))
            invalidated = select(selection.namespace, puts, request.filter, selection.now)
            return replace(selection, ids=sorted({*selection.ids, *invalidated}))
        ids = list(dict.fromkeys(check_id(id, f"ids[{i}]") for i, id in enumerate(request.ids)))
        with self.store.read() as reader:
            for i, id in enumerate(ids):
                found(reader.memory(id), "memory", id, f"ids[{i}]")
        return Selection.given(ids)


def _unfinished(answer: ForgetResult, error: SiltstoneError) -> SiltstoneError:
    """What was erased stays so, whatever befell the files afterwards, and whoever asked must hear that."""
    return type(error)(
        f"{answer.count} memories were erased and are in no answer any more, but the store's files may still "
        f"hold their text ({error.message.partition(';')[0]}); mend that, then run `siltstone compact`",
        reason="ERASED_NOT_COMPACTED",
    )


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

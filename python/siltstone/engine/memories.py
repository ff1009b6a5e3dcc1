"""Single memories and lists of them: get, list, update, forget, restore, trace."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from siltstone.embed.passages import embedded_texts
from siltstone.engine import filters
from siltstone.engine.budget import fit_memories
from siltstone.engine.call import Call
from siltstone.engine.committing import MOVED
from siltstone.engine.core import found, known_namespace
from siltstone.engine.pages import decode_token, encode_token
from siltstone.engine.screening import TEXTS, Policy
from siltstone.engine.searching import Searching
from siltstone.engine.selecting import Selection
from siltstone.engine.tracing import trace
from siltstone.engine.validate import (
    Vector,
    check_attributes,
    check_batch,
    check_content,
    check_filter,
    check_id,
    check_label,
    check_lesson,
    check_mask,
    check_page,
    check_range,
    check_revision,
    check_summary,
    check_tags,
    invalid,
)
from siltstone.errors import (
    FailedPreconditionError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)
from siltstone.model import Filter, ForgetResult, Memory, Trace
from siltstone.model.requests import (
    ForgetMemoriesRequest,
    GetMemoriesRequest,
    GetMemoriesResponse,
    ListMemoriesRequest,
    ListMemoriesResponse,
    RestoreMemoryRequest,
    TraceMemoryRequest,
    UpdateMemoryRequest,
)
from siltstone.store import Past, Reader, Writer
from siltstone.store.keys import format_id
from siltstone.store.records import to_microseconds
from siltstone.summary import summarize

_UPDATABLE = {
    "content",
    "summary",
    "lesson",
    "memory_type",
    "task_type",
    "outcome",
    "tags",
    "tools_used",
    "attributes",
    "confidence",
    "event_time",
    "valid_until",
}


class Memories(Searching):
    def get_memories(self, request: GetMemoriesRequest, call: Call) -> GetMemoriesResponse:
        check_batch(request.ids, self.settings, "ids")
        if request.max_tokens is not None:
            check_range(request.max_tokens, 1, 10_000_000, "max_tokens")
        ids = [check_id(id, f"ids[{i}]") for i, id in enumerate(request.ids)]
        with self.store.read() as reader:
            memories = [
                found(memory, "memory", id, f"ids[{i}]")
                for i, (id, memory) in enumerate(zip(ids, reader.memories(ids), strict=True))
            ]
            if request.as_of is not None:
                then = Past(reader, request.as_of).memories(ids)
                memories = [_was(m, memories[i], request.as_of, f"ids[{i}]") for i, m in enumerate(then)]
        if request.task_id:
            self.show(request.task_id, ids, call)
        return fit_memories(memories, request.max_tokens)

    def list_memories(self, request: ListMemoriesRequest, call: Call) -> ListMemoriesResponse:
        size = check_page(request.page_size)
        scope = ("ListMemories", request.namespace, filters.packed(request.filter).hex())
        after = decode_token(request.page_token, scope)
        if request.filter is None:
            with self.store.read() as reader:
                namespace = known_namespace(reader, request.namespace)
                scanned = reader.scan_memories(namespace.number, after_id=after)
                live = (memory for memory in scanned if memory.invalidate_time is None)
                memories = list(islice(live, size + 1))
        else:
            selection = self._selection(request.namespace, request.filter)
            ids = iter([id for id in selection.ids if id > after])
            memories = []
            with self.store.read() as reader:
                # What was forgotten since the index answered is no reason to end the list here.
                while len(memories) <= size and (some := list(islice(ids, size + 1))):
                    memories += [m for m in reader.memories(some) if m is not None and not m.invalidate_time]
        more = len(memories) > size
        memories = memories[:size]
        return ListMemoriesResponse(
            memories=memories, next_page_token=encode_token(memories[-1].id, scope) if more else ""
        )

    def update_memory(self, request: UpdateMemoryRequest, call: Call) -> Memory:
        id = check_id(request.memory.id, "id")
        check_mask(request.update_mask, _UPDATABLE)
        changes = {field: getattr(request.memory, field) for field in request.update_mask}
        policy = Policy.of(self.settings)
        changes = self._checked_changes(changes, policy)
        answer: Memory | None = self.answered("UpdateMemory", request, call)
        if answer is not None:
            return answer
        vectors, model = self._updated_vectors(id, changes, call)
        with self.store.read() as reader:
            foreseen = replace(_current(reader, id), **changes)
        flags = policy.flags_of(foreseen) if changes.keys() & TEXTS else foreseen.flags

        def operation(writer: Writer) -> Memory:
            old = _current(writer, id)
            if vectors is not None and old.embedding_model != model:
                raise UnavailableError(
                    f"the namespace of {id} was moved to another embedding model meanwhile; try again",
                    reason=MOVED,
                )
            check_revision(request.revision, old.revision, id)
            if changes.get("confidence", 0.0) > old.confidence and "auditor" not in call.roles:
                raise PermissionDeniedError(
                    f"confidence: without the role auditor it may be lowered (now {old.confidence}), not "
                    "raised; it rises by independent evidence",
                    reason="CONFIDENCE_RAISE",
                    field="confidence",
                )
            new = replace(old, **changes)
            if "event_time" in changes and new.event_time is None:
                new.event_time = old.create_time
            if new == old:
                return old
            seen = all(getattr(new, name) == getattr(foreseen, name) for name in (*TEXTS, "flags"))
            new.flags = flags if seen else policy.flags_of(new)
            return writer.put_memory(new, vectors, former="updated")

        return self.write("UpdateMemory", request, call, operation)

    def _checked_changes(self, changes: dict[str, object], policy: Policy) -> dict[str, Any]:
        """The fields of the mask as they will be kept."""
        given = Memory(**changes)  # type: ignore[arg-type]  # typed again, field by field of the mask
        if "content" in changes:
            check_content(given.content, self.settings)
        if given.lesson is not None:
            check_lesson(given.lesson, self.settings, "lesson")
        if "summary" in changes:
            check_summary(given.summary, "summary")
        for field in ("tags", "tools_used"):
            check_tags(getattr(given, field), self.settings, field)
            if field in changes:
                changes[field] = list(dict.fromkeys(getattr(given, field)))
        if given.task_type:
            check_label(given.task_type, "task_type")
        check_attributes(given.attributes, self.settings, "attributes")
        check_range(given.confidence, 0.0, 1.0, "confidence")
        kept, _ = policy.screened(changes)
        if "content" in kept:
            kept["summary"] = kept.get("summary") or summarize(kept["content"])
            kept["original_bytes"] = 0
        return kept

    def _updated_vectors(self, id: str, changes: dict[str, object], call: Call) -> tuple[Vector | None, str]:
        """What the memory's vectors become, None where they stay; and the model that made them."""
        if not changes.keys() & {"content", "lesson"}:
            return None, ""
        with self.store.read() as reader:
            memory = _current(reader, id)
            namespace = known_namespace(reader, memory.namespace)
        changed = replace(memory, **changes)  # type: ignore[arg-type]  # checked, field by field of the mask
        embedder = self.embedders.of(namespace)
        limit = embedder.passage_tokens
        texts = embedded_texts(changed.content, changed.lesson, limit)
        if texts == embedded_texts(memory.content, memory.lesson, limit):
            return None, ""
        if "content" not in changes and namespace.embedding_model != embedder.model:
            return None, ""  # the vector is the caller's, and stands for the content
        self.check_model(namespace.embedding_model, namespace, "content")
        return self.embed_passages(texts, call, embedder), namespace.embedding_model

    def check_forget(self, request: ForgetMemoriesRequest) -> None:
        if bool(request.ids) == (request.filter is not None):
            raise invalid("ids", "give either ids or a filter" + (", not both" if request.ids else ""))
        if request.ids:
            check_batch(request.ids, self.settings, "ids")
        if request.filter is not None:
            check_filter(request.filter, self.settings, "filter")
            if filters.is_empty(request.filter):
                raise invalid("filter", "is empty and would forget everything; say what", "EMPTY_FILTER")

    def forget_memories(self, request: ForgetMemoriesRequest, call: Call) -> ForgetResult:
        self.check_forget(request)
        answer: ForgetResult | None = self.answered("ForgetMemories", request, call)
        if answer is not None:
            return answer
        selection = self._to_forget(request)
        if request.dry_run:
            ids = selection.ids
            return ForgetResult(count=len(ids), ids=ids, mode=request.mode, dry_run=True)

        def operation(writer: Writer) -> ForgetResult:
            forgotten = []
            for id in selection.as_of(writer):
                memory = writer.memory(id)
                if memory is not None and memory.invalidate_time is None:
                    writer.put_memory(replace(memory, invalidate_time=writer.now), former="invalidated")
                    forgotten.append(id)
            return ForgetResult(count=len(forgotten), ids=forgotten, mode=request.mode)

        return self.write("ForgetMemories", request, call, operation)

    def _to_forget(self, request: ForgetMemoriesRequest) -> Selection:
        if request.filter is not None:
            return self._selection(request.namespace, request.filter)
        ids = [check_id(id, f"ids[{i}]") for i, id in enumerate(request.ids)]
        with self.store.read() as reader:
            memories = {id: found(reader.memory(id), "memory", id, f"ids[{i}]") for i, id in enumerate(ids)}
        return Selection.given([m.id for m in memories.values() if m.invalidate_time is None])

    def _selection(self, namespace: str, filter: Filter) -> Selection:
        """The memories a filter lets through. Not to be called inside a read: a collection may have to be
        loaded, which waits for the applier."""
        check_filter(filter, self.settings, "filter")
        now = to_microseconds(datetime.now(UTC))

        def select(number: int) -> Selection:
            seq = self.collections.index.status(number).applied_seq  # what comes later is asked again
            ids = self.collections.index.select(number, filters.packed(filter), now)
            return Selection(number, filter, seq, now, [format_id(id) for id in ids])

        return self.ask_index(namespace, select, Selection.given([]))

    def restore_memory(self, request: RestoreMemoryRequest, call: Call) -> Memory:
        id = check_id(request.id, "id")

        def operation(writer: Writer) -> Memory:
            memory = found(writer.memory(id), "memory", id)
            if memory.invalidate_time is not None:
                return writer.put_memory(replace(memory, invalidate_time=None), former="restored")
            if not memory.superseded_by:
                raise FailedPreconditionError(
                    f"id: memory {id} is neither invalidated nor superseded; there is nothing to restore",
                    reason="NOTHING_TO_RESTORE",
                    field="id",
                )
            newer = writer.memory(memory.superseded_by)
            if newer is not None:
                kept = [other for other in newer.supersedes if other != id]
                writer.put_memory(replace(newer, supersedes=kept), former="restored")
            current = replace(memory, superseded_by="", supersede_reason="")
            return writer.put_memory(current, former="restored")

        return self.answered("RestoreMemory", request, call) or self.write(
            "RestoreMemory", request, call, operation
        )

    def trace_memory(self, request: TraceMemoryRequest, call: Call) -> Trace:
        id = check_id(request.id, "id")
        with self.store.read() as reader:
            return trace(reader, found(reader.memory(id), "memory", id))


def _was(then: Memory | None, now: Memory, as_of: datetime, field: str) -> Memory:
    if then is None:
        raise NotFoundError(
            f"{field}: no memory {now.id!r} as of {as_of.isoformat()}; it was made at {now.create_time}",
            reason="MEMORY_NOT_FOUND",
            field=field,
        )
    return then


def _current(reader: Reader, id: str) -> Memory:
    memory = found(reader.memory(id), "memory", id)
    if memory.invalidate_time is not None:
        raise FailedPreconditionError(
            f"id: memory {id} was forgotten; restore it before changing it", reason="INVALIDATED", field="id"
        )
    return memory

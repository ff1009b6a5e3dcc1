"""The write path: validate → embed and look for duplicates, without locks → one transaction → one apply."""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from siltstone import rust_core
from siltstone.embed.passages import embedded_texts
from siltstone.engine.call import Call
from siltstone.engine.core import Core, found
from siltstone.engine.too_long import fit_content
from siltstone.engine.validate import (
    Vector,
    check_draft,
    check_id,
    check_label,
    check_namespace,
    check_vector,
    invalid,
)
from siltstone.errors import AlreadyExistsError, FailedPreconditionError, NotFoundError
from siltstone.model import (
    Action,
    Memory,
    MemoryDraft,
    OnDuplicate,
    Related,
    WriteReceipt,
)
from siltstone.model.requests import WriteMemoriesRequest, WriteMemoriesResponse
from siltstone.store import NamespaceRecord, Writer, content_digest, records
from siltstone.store.keys import format_id
from siltstone.summary import summarize

CALLER_MODEL = "caller"  # the model id of namespaces whose vectors the writers bring
_DUPLICATE_CANDIDATES = 8  # nearest memories looked at per passage
_DEFAULT_CONFIDENCE = 0.7


@dataclass(slots=True)
class Thought:
    """A draft with all that can be worked out before the transaction."""

    draft: MemoryDraft
    memory: Memory
    vectors: Vector  # (passages, dimension), unit length
    digest: bytes
    likely: list[str]  # ids of near memories, nearest first


class Writing(Core):
    def write_memories(self, request: WriteMemoriesRequest, call: Call) -> WriteMemoriesResponse:
        check_namespace(request.namespace)
        if not request.drafts:
            raise invalid("drafts", "is empty; give at least one")
        if len(request.drafts) > self.settings.max_batch:
            raise invalid(
                "drafts",
                f"has {len(request.drafts)}; at most {self.settings.max_batch} in one call (max_batch)",
            )
        for i, draft in enumerate(request.drafts):
            check_draft(draft, self.settings, f"drafts[{i}]")
        if request.task_id:
            check_label(request.task_id, "task_id")
        answer: WriteMemoriesResponse | None = self.answered("WriteMemories", request, call)
        return answer or self.write("WriteMemories", request, call, self.writing(request))

    def writing(self, request: WriteMemoriesRequest) -> "WriteOperation":
        """Think about the drafts now; the operation returned commits them."""
        fitted = [fit_content(draft, self.settings) for draft in request.drafts]
        request = replace(request, drafts=[draft for draft, _ in fitted])
        with self.store.read() as reader:
            seq = reader.seq
            namespace = reader.namespace(request.namespace)
        model, all_vectors = self._vectors(request.drafts, namespace)
        likely = self._likely_duplicates(request.drafts, all_vectors, namespace)
        thoughts = [
            Thought(
                draft=draft,
                memory=replace(self._memory(draft, request), original_bytes=original_bytes),
                vectors=vectors,
                digest=content_digest(draft.content),
                likely=near,
            )
            for (draft, original_bytes), vectors, near in zip(fitted, all_vectors, likely, strict=True)
        ]
        threshold = self.embedder.merge_threshold if model == self.embedder.model else math.inf
        return WriteOperation(request.namespace, model, threshold, thoughts, seq)

    def _vectors(
        self, drafts: list[MemoryDraft], namespace: NamespaceRecord | None
    ) -> tuple[str, list[Vector]]:
        """The model id and, for each draft, its vectors: the caller's, or the embedded passages."""
        bound = namespace.embedding_model if namespace else ""
        if not bound and all(draft.vector is not None for draft in drafts):
            bound = CALLER_MODEL
        passages: list[list[str]] = []
        for i, draft in enumerate(drafts):
            if draft.vector is None:
                self.check_model(bound, namespace, f"drafts[{i}].vector")
            passages.append(
                embedded_texts(draft.content, draft.lesson, self.embedder.passage_tokens)
                if draft.vector is None
                else []
            )
        texts = [text for parts in passages for text in parts]
        embedded = self.embedder.embed_passages(texts) if texts else None
        vectors, at = [], 0
        for i, (draft, parts) in enumerate(zip(drafts, passages, strict=True)):
            if draft.vector is not None:
                vectors.append(check_vector(draft.vector, f"drafts[{i}].vector").reshape(1, -1))
            else:
                assert embedded is not None
                vectors.append(embedded[at : at + len(parts)])
                at += len(parts)
        return bound or self.embedder.model, vectors

    def check_model(self, bound: str, namespace: NamespaceRecord | None, field: str) -> None:
        """Refuse to embed text for a namespace whose vectors another model made."""
        if not bound or bound == self.embedder.model:
            return
        if bound == CALLER_MODEL:
            dimension = f" of dimension {namespace.embedding_dimension}" if namespace else ""
            raise FailedPreconditionError(
                f"{field}: the namespace keeps vectors that its callers bring{dimension}; pass `vector`",
                reason="VECTOR_REQUIRED",
                field=field,
            )
        raise FailedPreconditionError(
            f"{field}: the namespace was embedded by {bound!r}, this service runs {self.embedder.model!r}; "
            "start it with the former model (embedding_model), or use another namespace",
            reason="EMBEDDING_MODEL_MISMATCH",
            field=field,
        )

    def _likely_duplicates(
        self, drafts: list[MemoryDraft], vectors: list[Vector], namespace: NamespaceRecord | None
    ) -> list[list[str]]:
        wanted = [i for i, draft in enumerate(drafts) if draft.on_duplicate is not OnDuplicate.KEEP]
        likely: list[list[str]] = [[] for _ in drafts]
        # The cosines of vectors that callers bring have no known scale: there equal text alone decides.
        if not wanted or namespace is None or namespace.embedding_model != self.embedder.model:
            return likely
        for i in wanted:
            if vectors[i].shape[1] != namespace.embedding_dimension:
                raise dimension_mismatch(vectors[i].shape[1], namespace, f"drafts[{i}].vector")
        # The first passage decides which memories are looked at; `_same` then compares the whole texts.
        packed = b"".join(np.ascontiguousarray(vectors[i][0], dtype="<f4").tobytes() for i in wanted)
        try:
            if not self.collections.ready(namespace):
                return likely
            near = self.collections.index.nearest(namespace.number, packed, _DUPLICATE_CANDIDATES)
        except (KeyError, NotFoundError):
            return likely  # deleted meanwhile, and with it what could be a duplicate
        for i, hits in zip(wanted, near, strict=True):
            likely[i] = [format_id(id) for id, cosine in hits if cosine >= self.embedder.merge_threshold]
        return likely

    def _memory(self, draft: MemoryDraft, request: WriteMemoriesRequest) -> Memory:
        source = draft.source
        if request.task_id and source is not None and not source.task_id:
            source = replace(source, task_id=request.task_id)
        return Memory(
            namespace=request.namespace,
            memory_type=draft.memory_type,
            content=draft.content,
            summary=draft.summary if draft.summary and draft.summary.strip() else summarize(draft.content),
            task_type=draft.task_type,
            outcome=draft.outcome,
            lesson=draft.lesson,
            tags=list(dict.fromkeys(draft.tags)),
            tools_used=list(dict.fromkeys(draft.tools_used)),
            attributes=dict(draft.attributes),
            confidence=_DEFAULT_CONFIDENCE if draft.confidence is None else draft.confidence,
            event_time=draft.event_time,
            valid_until=draft.valid_until,
            sequence=draft.sequence,
            position=draft.position,
            source=source,
        )


@dataclass(slots=True)
class WriteOperation:
    """Commits thoughts. It looks again at what may have changed since `seq`, the commit they are based on."""

    namespace: str
    model: str
    merge_threshold: float
    thoughts: list[Thought]
    seq: int

    def __call__(self, writer: Writer) -> WriteMemoriesResponse:
        namespace = writer.namespace(self.namespace) or writer.create_namespace(self.namespace)
        namespace = self._bind(writer, namespace)
        newer = _Newer(namespace.embedding_dimension)
        for id, vectors in _newer_memories(writer, namespace, self.seq):
            newer.add(id, vectors)
        receipts = []
        for i, thought in enumerate(self.thoughts):
            receipt = self._write(writer, namespace, thought, newer, f"drafts[{i}]")
            newer.add(receipt.memory.id, thought.vectors)
            receipts.append(receipt)
        return WriteMemoriesResponse(receipts=receipts)

    def _bind(self, writer: Writer, namespace: NamespaceRecord) -> NamespaceRecord:
        dimension = self.thoughts[0].vectors.shape[1]
        if not namespace.embedding_model:
            writer.bind_model(namespace.number, self.model, dimension)
            namespace = replace(namespace, embedding_model=self.model, embedding_dimension=dimension)
        for i, thought in enumerate(self.thoughts):
            if thought.vectors.shape[1] != namespace.embedding_dimension:
                raise dimension_mismatch(thought.vectors.shape[1], namespace, f"drafts[{i}].vector")
        if namespace.embedding_model != self.model:
            raise FailedPreconditionError(
                f"namespace: {self.namespace!r} was bound to {namespace.embedding_model!r} meanwhile, "
                f"these vectors are of {self.model!r}; try again",
                reason="EMBEDDING_MODEL_MISMATCH",
                field="namespace",
            )
        return namespace

    def _write(
        self,
        writer: Writer,
        namespace: NamespaceRecord,
        thought: Thought,
        newer: "_Newer",
        field: str,
    ) -> WriteReceipt:
        draft = thought.draft
        memory = replace(
            thought.memory,
            event_time=draft.event_time or writer.now,
            valid_until=_valid_until(draft, writer.now, field),
            embedding_model=namespace.embedding_model,
            embedding_dimension=namespace.embedding_dimension,
        )
        found = [
            self._replaced(writer, namespace, id, f"{field}.supersedes[{i}]")
            for i, id in enumerate(draft.supersedes)
        ]
        replaced = {old.id: old for old in found}
        duplicate = self._duplicate(writer, namespace, thought, newer, replaced)
        if duplicate is not None:
            old, similarity = duplicate
            if draft.on_duplicate is OnDuplicate.REJECT:
                raise AlreadyExistsError(
                    f"{field}: memory {old.id} says the same (similarity {similarity:.3f})",
                    reason="DUPLICATE",
                    field=field,
                )
            if old.superseded_by:
                # What was replaced is said again: both stand, marked, and nothing is hidden.
                memory.supersedes = list(replaced)
                receipt = self._conflict(writer, memory, thought, old, similarity)
            else:
                receipt = self._merge(writer, memory, thought, old, similarity, list(replaced))
            receipt.related += self._supersede(writer, thought, replaced, receipt.memory)
            return receipt
        memory.supersedes = list(replaced)
        stored = writer.put_memory(memory, thought.vectors)
        related = self._supersede(writer, thought, replaced, stored)
        action = Action.SUPERSEDED if replaced else Action.CREATED
        return WriteReceipt(action=action, memory=stored, related=related)

    def _supersede(
        self, writer: Writer, thought: Thought, replaced: dict[str, Memory], by: Memory
    ) -> list[Related]:
        related = []
        for old in replaced.values():
            writer.put_memory(replace(old, superseded_by=by.id), former="superseded")
            related.append(
                Related(
                    id=old.id,
                    relation="superseded",
                    similarity=_cosine(writer.vectors(old.id), thought.vectors),
                )
            )
        return related

    def _replaced(self, writer: Writer, namespace: NamespaceRecord, id: str, field: str) -> Memory:
        id = check_id(id, field)
        old = writer.memory(id)
        # Another namespace's memory is as unknown here as one that never was.
        old = found(old if old and old.namespace == namespace.name else None, "memory", id, field)
        if old.invalidate_time is not None:
            raise FailedPreconditionError(
                f"{field}: memory {id} was forgotten; leave it out, or restore it before",
                reason="INVALIDATED",
                field=field,
            )
        if old.superseded_by:
            raise FailedPreconditionError(
                f"{field}: {id} is already superseded by {old.superseded_by}; supersede that one",
                reason="ALREADY_SUPERSEDED",
                field=field,
            )
        return old

    def _duplicate(
        self,
        writer: Writer,
        namespace: NamespaceRecord,
        thought: Thought,
        newer: "_Newer",
        replaced: Collection[str],
    ) -> tuple[Memory, float] | None:
        """The memory that says the same already, with its cosine: by equal content, or by a near vector whose
        text carries the same facts. One that was superseded only where no current one says it."""
        if thought.draft.on_duplicate is OnDuplicate.KEEP:
            return None
        hidden: tuple[Memory, float] | None = None
        for id in self._exact(writer, namespace, thought):
            old = writer.memory(id)
            if old is None or old.invalidate_time is not None or id in replaced:
                continue
            if old.content == thought.draft.content:
                said = old, _cosine(writer.vectors(id), thought.vectors)
                if not old.superseded_by:
                    return said
                hidden = hidden or said
        best: tuple[Memory, float] | None = None
        for id in dict.fromkeys([*thought.likely, *newer.near(thought.vectors, self.merge_threshold)]):
            cosine = _cosine(writer.vectors(id), thought.vectors)
            if cosine < self.merge_threshold or id in replaced:
                continue
            old = writer.memory(id)
            if old is None or old.invalidate_time is not None:
                continue
            standing = hidden if old.superseded_by else best
            if standing is not None and cosine <= standing[1]:
                continue
            if rust_core.facts_differ(old.content, thought.draft.content) is None:
                if old.superseded_by:
                    hidden = old, cosine
                else:
                    best = old, cosine
        return best or hidden

    def _exact(self, writer: Writer, namespace: NamespaceRecord, thought: Thought) -> list[str]:
        """Ids of the memories that may hold the very same text: the oldest, and where that was superseded,
        those marked as in conflict with what replaced it."""
        oldest = writer.by_content_hash(namespace.number, thought.digest)
        if oldest is None:
            return []
        old = writer.memory(oldest)
        current = writer.memory(old.superseded_by) if old and old.superseded_by else None
        return [oldest, *(current.conflicts_with if current else ())]

    def _merge(
        self,
        writer: Writer,
        memory: Memory,
        thought: Thought,
        old: Memory,
        similarity: float,
        replaced: list[str],
    ) -> WriteReceipt:
        related = [Related(id=old.id, relation="merged", similarity=similarity)]
        if not replaced and _same_evidence(writer, memory, old):
            return WriteReceipt(action=Action.UNCHANGED, memory=old, related=related)
        assert memory.event_time is not None
        merged = replace(
            old,
            content=memory.content,
            original_bytes=memory.original_bytes,
            summary=memory.summary,
            lesson=memory.lesson or old.lesson,
            task_type=memory.task_type or old.task_type,
            outcome=memory.outcome if memory.outcome != "UNKNOWN" else old.outcome,
            tags=list(dict.fromkeys(old.tags + memory.tags)),
            tools_used=list(dict.fromkeys(old.tools_used + memory.tools_used)),
            attributes=old.attributes | memory.attributes,
            event_time=max(old.event_time or memory.event_time, memory.event_time),
            valid_until=memory.valid_until or _still_valid(old, writer.now),
            source=memory.source or old.source,
            supersedes=list(dict.fromkeys(old.supersedes + replaced)),
        )
        # Said again word for word, only its times move: there is no former text to keep, and a text that is
        # said every day must not grow a revision a day.
        again = replace(merged, event_time=old.event_time) == old
        stored = writer.put_memory(
            merged, None if again else thought.vectors, former="" if again else "merged"
        )
        return WriteReceipt(action=Action.MERGED, memory=stored, related=related)

    def _conflict(
        self, writer: Writer, memory: Memory, thought: Thought, old: Memory, similarity: float
    ) -> WriteReceipt:
        memory.conflicts_with = [old.superseded_by]
        stored = writer.put_memory(memory, thought.vectors)
        current = writer.memory(old.superseded_by)
        if current is not None:
            writer.put_memory(
                replace(current, conflicts_with=[*current.conflicts_with, stored.id]), former="updated"
            )
        related = [
            Related(id=old.superseded_by, relation="conflicts_with"),
            Related(id=old.id, relation="duplicate", similarity=similarity),
        ]
        return WriteReceipt(action=Action.CONFLICT, memory=stored, related=related)


def dimension_mismatch(given: int, namespace: NamespaceRecord, field: str) -> FailedPreconditionError:
    return FailedPreconditionError(
        f"{field}: has {given} numbers, the namespace {namespace.name!r} keeps vectors of "
        f"{namespace.embedding_dimension} ({namespace.embedding_model})",
        reason="DIMENSION_MISMATCH",
        field=field,
    )


class _Newer:
    """Memories that the index did not show when the drafts were thought about: looked at all at once, since
    a batch compares every draft with all before it."""

    def __init__(self, dimension: int) -> None:
        self._ids: list[str] = []
        self._firsts = np.empty((16, dimension), dtype=np.float32)  # each one's first passage

    def add(self, id: str, vectors: Vector) -> None:
        if len(self._ids) == len(self._firsts):
            self._firsts = np.concatenate([self._firsts, np.empty_like(self._firsts)])
        self._firsts[len(self._ids)] = vectors[0]
        self._ids.append(id)

    def near(self, vectors: Vector, threshold: float) -> list[str]:
        """Ids whose first passage is as near as `threshold`, newest first."""
        if math.isinf(threshold):
            return []
        cosines = self._firsts[: len(self._ids)] @ vectors[0]
        return [self._ids[i] for i in np.flatnonzero(cosines >= threshold - 1e-5)[::-1]]


def _newer_memories(writer: Writer, namespace: NamespaceRecord, seq: int) -> list[tuple[str, Vector]]:
    """Memories put since `seq`, earlier operations of this very transaction included."""
    newer = []
    for change in writer.changes(namespace.number, seq) or ():
        for record, packed in change.puts:
            id = format_id(records.unpack(record)["id"])
            newer.append((id, np.frombuffer(packed, dtype="<f4").reshape(-1, namespace.embedding_dimension)))
    return newer


def _cosine(a: Vector | None, b: Vector) -> float:
    """How near two memories are: the least of their passages' cosines, pair by pair; 0 where they differ in
    number, since then one says more than the other."""
    if a is None or a.shape != b.shape:
        return 0.0
    return float(np.einsum("ij,ij->i", a, b).min())


def _valid_until(draft: MemoryDraft, now: datetime, field: str) -> datetime | None:
    if draft.ttl is None:
        return draft.valid_until
    try:
        return now + draft.ttl
    except OverflowError:
        raise invalid(
            f"{field}.ttl", f"{draft.ttl} ends after the year 9999; leave it out to keep for ever"
        ) from None


def _still_valid(old: Memory, now: datetime) -> datetime | None:
    """An expired memory that is said again lives on without end."""
    return old.valid_until if old.valid_until and old.valid_until > now else None


def _same_evidence(writer: Writer, memory: Memory, old: Memory) -> bool:
    """Whether the same trajectory said it before: the same one twice is one evidence."""
    if memory.source is None or not memory.source.trajectory:
        return False
    known = [old, *(revision.memory for revision in writer.revisions(old.id))]
    return any(m.source is not None and m.source.trajectory == memory.source.trajectory for m in known)

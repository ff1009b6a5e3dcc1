"""The transaction of a write. It looks again at what may have changed since the drafts were thought about."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from siltstone.engine.conflicts import Judgement, Relation
from siltstone.engine.core import found
from siltstone.engine.duplicates import Newer, cosine_of, newer_memories
from siltstone.engine.evidence import note_author
from siltstone.engine.merging import BY_WRITER, contradict, merge, successor, supersede
from siltstone.engine.thought import Thought
from siltstone.engine.validate import check_id, invalid
from siltstone.errors import AlreadyExistsError, FailedPreconditionError
from siltstone.model import Action, Memory, MemoryDraft, OnDuplicate, Related, Source, WriteReceipt
from siltstone.model.requests import WriteMemoriesResponse
from siltstone.store import NamespaceRecord, Writer

MOVED = "EMBEDDING_MODEL_MOVED"  # reason: think again, with the model that the namespace has now
CALLER_MODEL = "caller"  # the model id of namespaces whose vectors the writers bring
_JUDGED = 4  # newest memories that a draft's text is held against here: others wait for this transaction


@dataclass(slots=True)
class WriteOperation:
    """Commits thoughts. It looks again at what may have changed since `seq`, the commit they are based on."""

    namespace: str
    model: str  # "" where the writers bring their vectors, whatever the namespace's model is
    same: float  # cosine from which two texts may say the same
    near: float  # cosine from which they may be about the same
    thoughts: list[Thought]
    seq: int

    def __call__(self, writer: Writer) -> WriteMemoriesResponse:
        namespace = writer.namespace(self.namespace) or writer.create_namespace(self.namespace)
        namespace = self._bind(writer, namespace)
        newer = Newer(namespace.embedding_dimension)
        if any(thought.draft.on_duplicate is not OnDuplicate.KEEP for thought in self.thoughts):
            for id, vectors in newer_memories(writer, namespace, self.seq):
                newer.add(id, vectors)
        receipts = []
        for i, thought in enumerate(self.thoughts):
            receipt = self._write(writer, namespace, thought, newer, f"drafts[{i}]")
            note_author(writer, receipt.memory, thought.memory.source)
            newer.add(receipt.memory.id, thought.vectors)
            receipt.masked = thought.masked
            receipts.append(receipt)
        return WriteMemoriesResponse(receipts=receipts)

    def _bind(self, writer: Writer, namespace: NamespaceRecord) -> NamespaceRecord:
        dimension = self.thoughts[0].vectors.shape[1]
        if not namespace.embedding_model:
            model = self.model or CALLER_MODEL
            writer.bind_model(namespace.number, model, dimension)
            namespace = replace(namespace, embedding_model=model, embedding_dimension=dimension)
        if self.model and namespace.embedding_model != self.model:
            raise FailedPreconditionError(
                f"namespace: {self.namespace!r} was bound to {namespace.embedding_model!r} meanwhile, "
                f"these vectors are of {self.model!r}; try again",
                reason=MOVED,
                field="namespace",
            )
        for i, thought in enumerate(self.thoughts):
            if thought.vectors.shape[1] != namespace.embedding_dimension:
                raise dimension_mismatch(thought.vectors.shape[1], namespace, f"drafts[{i}].vector")
        return namespace

    def _write(
        self,
        writer: Writer,
        namespace: NamespaceRecord,
        thought: Thought,
        newer: Newer,
        field: str,
    ) -> WriteReceipt:
        draft = thought.draft
        memory = replace(
            thought.memory,
            event_time=draft.event_time or writer.now,
            valid_until=_valid_until(draft, writer.now, field),
            embedding_model=namespace.embedding_model,
            embedding_dimension=namespace.embedding_dimension,
            source=replace(thought.memory.source or Source(), principal=writer.principal),
        )
        found = [
            self._replaced(writer, namespace, id, f"{field}.supersedes[{i}]")
            for i, id in enumerate(draft.supersedes)
        ]
        replaced = {old.id: old for old in found}
        duplicate = self._duplicate(writer, namespace, thought, newer, replaced)
        if duplicate is not None:
            return self._again(writer, memory, thought, *duplicate, replaced, field)
        judged = list(self._judged(writer, thought, newer, replaced))
        superseded = {old.id: (old, BY_WRITER) for old in found}
        superseded |= {old.id: (old, j.reason) for old, j in judged if j.relation is Relation.SUPERSEDES}
        conflicts = [(old, j.reason) for old, j in judged if j.relation is Relation.CONFLICTS]
        memory.supersedes = list(superseded)
        memory.conflicts_with = [old.id for old, _ in conflicts]
        stored = writer.put_memory(memory, thought.vectors)
        related = [supersede(writer, thought, old, stored.id, why) for old, why in superseded.values()]
        related += [contradict(writer, thought, old, stored.id, why) for old, why in conflicts]
        action = Action.SUPERSEDED if superseded else Action.CONFLICT if conflicts else Action.CREATED
        return WriteReceipt(action=action, memory=stored, related=related)

    def _again(
        self,
        writer: Writer,
        memory: Memory,
        thought: Thought,
        old: Memory,
        similarity: float,
        replaced: dict[str, Memory],
        field: str,
    ) -> WriteReceipt:
        """What `old` said is said again."""
        if thought.draft.on_duplicate is OnDuplicate.REJECT:
            raise AlreadyExistsError(
                f"{field}: memory {old.id} says the same (similarity {similarity:.3f})",
                reason="DUPLICATE",
                field=field,
            )
        if not old.superseded_by:
            receipt = merge(writer, memory, thought, old, similarity, list(replaced))
        else:
            # What was replaced is said again: both stand, marked, and nothing is hidden.
            rival = successor(writer, old)
            rivals = [rival] if rival is not None and rival.id not in replaced else []
            memory.supersedes = list(replaced)
            memory.conflicts_with = [each.id for each in rivals]
            stored = writer.put_memory(memory, thought.vectors)
            reason = f"says again what it replaced ({old.supersede_reason})"
            related = [contradict(writer, thought, each, stored.id, reason) for each in rivals]
            related.append(Related(id=old.id, relation="duplicate", similarity=similarity))
            action = Action.CONFLICT if rivals else Action.SUPERSEDED if replaced else Action.CREATED
            receipt = WriteReceipt(action=action, memory=stored, related=related)
        receipt.related += [
            supersede(writer, thought, each, receipt.memory.id, BY_WRITER) for each in replaced.values()
        ]
        return receipt

    def _judged(
        self, writer: Writer, thought: Thought, newer: Newer, replaced: Collection[str]
    ) -> Iterator[tuple[Memory, Judgement]]:
        """The current memories that the draft's text replaces or contradicts."""
        if thought.claim is None:
            return
        for id in dict.fromkeys([*thought.near, *newer.near(thought.vectors, self.near, _JUDGED)]):
            old = writer.memory(id)
            if old is None or old.invalidate_time is not None or old.superseded_by or id in replaced:
                continue
            if old.valid_until is not None and old.valid_until <= writer.now:
                continue
            judgement = thought.judgement(old)
            if judgement is not None:
                yield old, judgement

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
        newer: Newer,
        replaced: Collection[str],
    ) -> tuple[Memory, float] | None:
        """The memory that says the same already, with its cosine: by equal content, or by a near vector whose
        text makes the same statement. One that was superseded only where no current one says it."""
        if thought.draft.on_duplicate is OnDuplicate.KEEP:
            return None
        hidden: tuple[Memory, float] | None = None
        for id in self._exact(writer, namespace, thought):
            old = writer.memory(id)
            if old is None or old.invalidate_time is not None or id in replaced:
                continue
            if old.content == thought.draft.content:
                said = old, cosine_of(writer.vectors(id), thought.vectors)
                if not old.superseded_by:
                    return said
                hidden = hidden or said
        best: tuple[Memory, float] | None = None
        for id in dict.fromkeys([*thought.near, *newer.near(thought.vectors, self.same)]):
            cosine = cosine_of(writer.vectors(id), thought.vectors)
            if cosine < self.same or id in replaced:
                continue
            old = writer.memory(id)
            if old is None or old.invalidate_time is not None:
                continue
            standing = hidden if old.superseded_by else best
            if standing is not None and cosine <= standing[1]:
                continue
            if thought.says_the_same(old, cosine):
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


def dimension_mismatch(given: int, namespace: NamespaceRecord, field: str) -> FailedPreconditionError:
    return FailedPreconditionError(
        f"{field}: has {given} numbers, the namespace {namespace.name!r} keeps vectors of "
        f"{namespace.embedding_dimension} ({namespace.embedding_model})",
        reason="DIMENSION_MISMATCH",
        field=field,
    )


def _valid_until(draft: MemoryDraft, now: datetime, field: str) -> datetime | None:
    if draft.ttl is None:
        return draft.valid_until
    try:
        return now + draft.ttl
    except OverflowError:
        raise invalid(
            f"{field}.ttl", f"{draft.ttl} ends after the year 9999; leave it out to keep for ever"
        ) from None

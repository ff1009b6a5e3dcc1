"""What one operation can change, inside the transaction of its group."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np

from siltstone.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)
from siltstone.model import OPEN_STATES, AuditEvent, HindsightJob, Memory, Revision, Step, Task, Token
from siltstone.store import keys, records
from siltstone.store.changing import Changing
from siltstone.store.reader import CREATED, Created, Vectors
from siltstone.store.records import AnswerRecord, NamespaceRecord
from siltstone.store.redacting import redact

T = TypeVar("T")

ALWAYS_THERE = ("default", "public")
ANSWERS_KEPT = timedelta(hours=24)
MAX_DIMENSION = 4096  # what the index takes
MIN_LENGTH, MAX_LENGTH = 1e-6, 1e6  # of a vector; beyond, normalising it in float32 is not safe
_ZERO = keys.number(0)
_TRIMMED_AT_ONCE = 4


class Writer(Changing):
    """A snapshot that can be changed. It sees its own changes and those of the operations before it.

    Arguments are never changed: what was stored is returned, with what the store set in it.

    Every change of a memory and every deletion of a namespace is noted in the audit log.

    Attributes:
        principal: who asked for the operation; goes into the audit log.
        sees: which namespaces, by name, are there for whoever asked.
        created: what the operation made so far.
        now: time of this commit in UTC; later than that of every commit before, whatever the clock says.
    """

    # namespaces

    def create_namespace(self, name: str) -> NamespaceRecord:
        """A new, empty namespace; `AlreadyExistsError` when the name is taken."""
        if self.namespace(name) is not None:
            raise AlreadyExistsError(
                f"namespace: {name!r} exists", reason="NAMESPACE_EXISTS", field="namespace"
            )
        number = self._number(b"next_namespace") + 1
        self._put("meta", b"next_namespace", keys.number(number))
        record = NamespaceRecord(number, name, self.now)
        self._put("names", keys.name(name), keys.namespace(number))
        self._put_namespace(record)
        self.created = replace(self.created, namespaces=self.created.namespaces + 1)
        return record

    def bind_model(self, namespace: int, model: str, dimension: int) -> None:
        """Say which embedding model the namespace's vectors are from; nothing when it is bound to it.

        Args:
            dimension: of its vectors, 1..4096.

        Raises:
            FailedPreconditionError: (EMBEDDING_MODEL_MISMATCH) it has vectors of another model.
        """
        record = self._require(namespace)
        _check_model(model, dimension)
        if (record.embedding_model, record.embedding_dimension) == (model, dimension):
            return
        has_vectors = next(self._scan(record.vectors_table, keys.namespace(namespace), values=False), None)
        if has_vectors:
            raise FailedPreconditionError(
                f"namespace {record.name!r} holds vectors of {record.embedding_model} with "
                f"{record.embedding_dimension} dimensions, not of {model} with {dimension}; "
                "configure that model or re-embed the namespace",
                reason="EMBEDDING_MODEL_MISMATCH",
                field="namespace",
            )
        self._put_namespace(replace(record, embedding_model=model, embedding_dimension=dimension))

    # moving to another model

    def start_move(self, record: NamespaceRecord, name: str, model: str, dimension: int) -> None:
        """From now on vectors of another model may gather beside those that there are.

        Args:
            record: as it is, but for the name of its own model, which may be new.
            name: by which the other model is opened.
        """
        _check_model(model, dimension)
        self._put_namespace(replace(record, next_name=name, next_model=model, next_dimension=dimension))

    def put_next_vectors(self, memory: Memory, vectors: Vectors) -> bool:
        """Keep the vectors of a memory by the model its namespace is being moved to; False, and nothing kept,
        when its text is another by now, or it is gone."""
        record = self._named(memory.namespace)
        now = self.memory(memory.id)
        if now is None or (now.content, now.lesson) != (memory.content, memory.lesson):
            return False
        coming = replace(record, embedding_dimension=record.next_dimension)
        key = keys.member(record.number, keys.parse_id(memory.id))
        self._put(record.other_table, key, _pack_vectors(vectors, coming))
        return True

    def finish_move(self, namespace: int) -> None:
        """The namespace has the vectors that gathered, at once; the caller has seen that none is missing. The
        former ones are to be cleared."""
        record = self._require(namespace)
        self._put_namespace(
            replace(
                record,
                generation=record.generation + 1,
                embedding_model=record.next_model,
                embedding_dimension=record.next_dimension,
                embedding_name=record.next_name,
                next_model="",
                next_dimension=0,
                next_name="",
                clearing=True,
            )
        )
        self._touched.setdefault(namespace, {})  # the index hears of it in its place among the commits

    def cancel_move(self, namespace: int) -> None:
        """Stay with the model that there is; what gathered of the other is to be cleared."""
        record = self._require(namespace)
        self._put_namespace(replace(record, next_model="", next_dimension=0, next_name="", clearing=True))

    def clear_other_vectors(self, namespace: int, limit: int) -> bool:
        """Remove up to `limit` vectors that nobody needs any more; whether there may be more."""
        record = self._require(namespace)
        gone = self._first_keys(record.other_table, keys.namespace(namespace), limit)
        for key in gone:
            self._delete(record.other_table, key)
        if len(gone) == limit:
            return True
        self._put_namespace(replace(record, clearing=False))
        return False

    def delete_namespace(self, number: int) -> None:
        """Nothing in it can be read any more, its name is free; the data itself goes a chunk at a time with
        later commits. `default` and `public` are at once there again, empty, under a new number."""
        record = self._require(number)
        self._delete("names", keys.name(record.name))
        self._put_namespace(replace(record, deleted=True))
        self.put_audit(
            AuditEvent(seq=0, time=self.now, namespace=record.name, memory_id="", action="namespace_deleted")
        )
        self._gone.append(number)
        if record.name in ALWAYS_THERE:
            made = self.created
            self.create_namespace(record.name)
            self.created = made

    # memories

    def put_memory(
        self,
        memory: Memory,
        vectors: Vectors | None = None,
        *,
        former: str = "",
        action: str = "",
        note: str = "",
    ) -> Memory:
        """Store a new memory or the new state of one.

        Sets id (when ""), `revision`, `update_time`, and where they are None `create_time` and
        `event_time`; with vectors also the embedding model and dimension, from the namespace. A memory with
        `invalidate_time` leaves the index and the content hashes, and is back when that is cleared.

        Args:
            memory: its namespace must exist; that of a stored memory never changes.
            vectors: float32 (passages, dimension) in the namespace's dimension; None keeps what there is. A
                memory without vectors is not in the index.
            former: why the old state is kept as a revision (merged, updated, …), its vectors too when they
                are replaced; "" does not keep it.
            action: what the audit log calls the change; by default created, `former`, or updated.
            note: what a person says about it, for the audit log; it is erased with the memory.
        """
        namespace = self._named(memory.namespace)
        old = None
        if memory.id:
            id = keys.parse_id(memory.id)
            if self._get("erased", id) is not None:
                raise FailedPreconditionError(
                    f"id: {keys.format_id(id)} was erased and is never used again; leave it empty",
                    reason="ERASED",
                    field="id",
                )
            old = self._old("memories", namespace, id, Memory)
            if old is not None:
                old = self._of_todays_model(namespace.number, old)
        else:
            id = self._ids.make(self._time)  # later than every commit, so nothing has it
        key = keys.member(namespace.number, id)
        create_time = memory.create_time or (old and old.create_time) or self.now
        stored = replace(
            memory,
            id=keys.format_id(id),
            create_time=create_time,
            event_time=memory.event_time or (old and old.event_time) or create_time,
            update_time=self.now,
            revision=1 + (old.revision if old else 0),
            embedding_model=old.embedding_model if old else "",
            embedding_dimension=old.embedding_dimension if old else 0,
        )
        packed = None
        if vectors is not None:
            packed = _pack_vectors(vectors, namespace)
            stored.embedding_model = namespace.embedding_model
            stored.embedding_dimension = namespace.embedding_dimension
        record = records.encode(stored)

        if old is None:
            self.created = replace(self.created, memories=self.created.memories + 1)
        if old and former:
            revision = Revision(revision=old.revision, update_time=self.now, reason=former, memory=old)
            self._put("revisions", keys.part(namespace.number, id, old.revision), records.encode(revision))
        if old and packed is not None:
            self._keep_vectors_of_revisions(key, namespace)
        self._put("owners", id, keys.namespace(namespace.number))
        self._put("memories", key, record)
        if packed is not None:
            self._put(namespace.vectors_table, key, packed)
            if namespace.next_model:
                self._delete(namespace.other_table, key)  # they are of the former text
        self._follow_content(namespace.number, id, old, stored)
        if stored.source is not None and (old is None or stored.source != old.source):
            self._note_source(key, stored.source)
        self._touch(namespace.number, id)
        self.audit_memory(stored, action or (former or "updated" if old else "created"), note)
        return stored

    def import_memory(self, memory: Memory, vectors: Vectors) -> None:
        """Store a memory as another store had it, its id, times and revision too. Its namespace must be there
        and bound to the model of the vectors.

        Raises:
            AlreadyExistsError: (ID_TAKEN) the id is that of something else, or is there.
            FailedPreconditionError: (ERASED) it was erased here.
        """
        namespace = self._named(memory.namespace)
        id = keys.parse_id(memory.id)
        if self._get("erased", id) is not None:
            raise FailedPreconditionError(
                f"id: {memory.id} was erased here and does not come back", reason="ERASED", field="id"
            )
        if self._owner(id) is not None:
            raise AlreadyExistsError(f"id: {memory.id} is taken", reason="ID_TAKEN", field="id")
        stored = replace(
            memory,
            id=keys.format_id(id),
            embedding_model=namespace.embedding_model,
            embedding_dimension=namespace.embedding_dimension,
        )
        key = keys.member(namespace.number, id)
        packed = _pack_vectors(vectors, namespace)
        self.created = replace(self.created, memories=self.created.memories + 1)
        self._put("memories", key, records.encode(stored))
        self._put("owners", id, keys.namespace(namespace.number))
        self._put(namespace.vectors_table, key, packed)
        self._follow_content(namespace.number, id, None, stored)
        if stored.source is not None:
            self._note_source(key, stored.source)
        self._touch(namespace.number, id)
        self.audit_memory(stored, "imported")

    def import_revision(self, id: str, revision: Revision, vectors: Vectors | None) -> None:
        """Store a former state of an imported memory.

        Args:
            vectors: that this state was the last to have, of the model it names; None where the next one had
                them too, empty where it had none.

        Raises:
            InvalidArgumentError: they are none that an index of the past would take.
        """
        raw = keys.parse_id(id)
        namespace = self._named(revision.memory.namespace)
        number = namespace.number
        key = keys.part(number, raw, revision.revision)
        packed = None
        if vectors is not None:
            # Those of a former model are in no index: the text is embedded anew.
            of_today = revision.memory.embedding_model == namespace.embedding_model
            packed = _pack_vectors(vectors, namespace) if of_today and len(vectors) else vectors.tobytes()
        self._put("revisions", key, records.encode(revision))
        if packed is not None:
            self._put("former_vectors", key, packed)
        if revision.memory.source is not None:
            self._note_source(keys.member(number, raw), revision.memory.source)
        self._touch(number, raw)

    def erase_memory(self, id: str) -> bool:
        """Remove a memory with its vectors, revisions and content hash, and note its id in the ledger of the
        erased. False when there is none. Files may hold its text until they are made anew: `erasing` tells.
        Relations of other memories to it are the caller's to change; see also `redact`."""
        memory = self.memory(id)
        if memory is None:
            return False
        self.remove_memory(memory, "erased")
        self._put("erased", keys.parse_id(id), keys.number(self._time))
        self._put("erasing", keys.namespace(self._named(memory.namespace).number), b"")
        return True

    def remove_memory(self, memory: Memory, action: str) -> None:
        """Remove a stored memory and what is kept of it, without a note in the ledger of the erased: a backup
        brings it back. `action` is what the audit log calls it."""
        raw = keys.parse_id(memory.id)
        number = self._named(memory.namespace).number
        key = keys.member(number, raw)
        for table in ("revisions", "former_vectors", "sources", "audit_notes"):
            self._delete_all(table, key)
        self._follow_content(number, raw, memory, None)
        for table in ("memories", "vectors", "other_vectors", "shown"):
            self._delete(table, key)
        self._delete("owners", raw)
        self._touch(number, raw)
        self.audit_memory(memory, action)

    def rewrite_revisions(self, id: str, change: Callable[[Memory], Memory]) -> None:
        """Change what former states of a memory say of others. Their texts and numbers stay."""
        raw = keys.parse_id(id)
        number = self._owner(raw)
        for revision in self.revisions(id):
            new = change(revision.memory)
            if number is not None and new != revision.memory:
                key = keys.part(number, raw, revision.revision)
                self._put("revisions", key, records.encode(replace(revision, memory=new)))

    def redact(self, namespace: str, texts: Sequence[str], ids: Sequence[str]) -> None:
        """Take texts out of a namespace's tasks, steps and jobs, and out of every stored answer; with the
        lessons and receipts of these memories. A repeat of a call whose answer goes is refused from then on.
        Exposures of these memories go too."""
        redact(self, self._named(namespace).number, texts, ids)

    def note_erased(self, id: str) -> bool:
        """Replay an entry of another store's ledger: erase the memory if it is here, and note the id in any
        case. Whether it was here."""
        if self.erase_memory(id):
            return True
        self._put("erased", keys.parse_id(id), keys.number(self._time))
        return False

    # tasks

    def put_task(self, task: Task, *, quiet: bool = False) -> Task:
        """Store a new task or the new state of one. Sets id (when ""), `revision`, `update_time` and where it
        is None `create_time`; `step_count` and `step_tokens` are those of the step log, whatever the argument
        says. A `quiet` change is the service's own note: revision and update_time stay, nobody's view of the
        task is stale for it."""
        namespace = self._named(task.namespace)
        id = keys.parse_id(task.id) if task.id else self._ids.make(self._time)
        old = self._old("tasks", namespace, id, Task)
        stored = replace(
            task,
            id=keys.format_id(id),
            create_time=task.create_time or (old and old.create_time) or self.now,
            update_time=old.update_time if old and quiet else self.now,
            revision=old.revision if old and quiet else 1 + (old.revision if old else 0),
            step_count=old.step_count if old else 0,
            step_tokens=old.step_tokens if old else 0,
        )
        self._put("tasks", keys.member(namespace.number, id), records.encode(stored))
        self._put("owners", id, keys.namespace(namespace.number))
        return stored

    def append_steps(self, task_id: str, steps: Sequence[Step], *, tokens: int = 0) -> list[Step]:
        """Add steps, of so many `tokens`, to a task's log, numbered on from its last. Its `step_count`,
        `step_tokens` and `update_time` move, its `revision` does not: a log that grows makes nobody's view of
        the task stale."""
        raw = keys.parse_id(task_id, "task_id")
        task = self._existing_task(task_id)
        number = self._named(task.namespace).number
        stored = [replace(step, number=task.step_count + i) for i, step in enumerate(steps, start=1)]
        for step in stored:
            self._put("steps", keys.part(number, raw, step.number), records.encode(step))
        if stored:
            task = replace(
                task,
                step_count=task.step_count + len(stored),
                step_tokens=task.step_tokens + tokens,
                update_time=self.now,
            )
            self._put("tasks", keys.member(number, raw), records.encode(task))
        return stored

    def replace_steps(self, task_id: str, steps: Sequence[Step]) -> None:
        """Put other steps in the places of those with their numbers, which must be there."""
        raw = keys.parse_id(task_id, "task_id")
        number = self._named(self._existing_task(task_id).namespace).number
        for step in steps:
            key = keys.part(number, raw, step.number)
            if self._get("steps", key) is None:
                raise NotFoundError(f"step: task {task_id} has no step {step.number}", field="step")
            self._put("steps", key, records.encode(step))

    def drop_steps(self, task_id: str, *, keep: Collection[int] = (), limit: int) -> int:
        """Remove up to `limit` steps of a task's log besides those numbered in `keep`; how many it removed.
        `step_count` still counts them."""
        raw = keys.parse_id(task_id, "task_id")
        prefix = keys.member(self._named(self._existing_task(task_id).namespace).number, raw)
        dropped: list[bytes] = []
        for key, _ in self._scan("steps", prefix, values=False):
            if keys.parse_part(key) not in keep:
                dropped.append(key)
                if len(dropped) == limit:
                    break
        for key in dropped:
            self._delete("steps", key)
        return len(dropped)

    def delete_task(self, task_id: str) -> bool:
        """Remove a task, its steps and its exposures; False when there is none."""
        raw = keys.parse_id(task_id, "task_id")
        task = self.task(task_id)
        if task is None:
            return False
        key = keys.member(self._named(task.namespace).number, raw)
        self._delete_all("steps", key)
        self._delete_all("exposures", key)
        self._delete("tasks", key)
        self._delete("owners", raw)
        return True

    def put_exposures(self, task_id: str, memory_ids: Iterable[str]) -> None:
        """Note that the task was shown these memories; what is noted already costs no write."""
        raw = keys.parse_id(task_id, "task_id")
        number = self._named(self._existing_task(task_id).namespace).number
        for id in memory_ids:
            memory = keys.parse_id(id)
            key = keys.pair(number, raw, memory)
            owner = self._owner(memory)
            if owner is not None and self._get("exposures", key) is None:
                self._put("exposures", key, keys.number(self._time))
                shown = keys.member(owner, memory)
                times = keys.parse_number(self._get("shown", shown) or _ZERO)
                self._put("shown", shown, keys.number(times + 1))

    def mark_open(self) -> None:
        """Before anything is shown: from now on exposures may be in memory only. Where that mark is still
        there from a process that died, every task until now counts as shown everything."""
        # Not through _put: opening and closing are no commits of their own.
        if self._get("meta", b"open") is not None:
            self._pending.set("meta", b"exposures_cut", keys.number(self._time))
        self._pending.set("meta", b"open", b"")

    def mark_closed(self) -> None:
        """All that was shown is on disk."""
        self._pending.set("meta", b"open", None)

    # jobs

    def put_job(self, job: HindsightJob) -> HindsightJob:
        """Store a new job or the new state of one. Sets id (when ""), `update_time` and where it is None
        `create_time`."""
        namespace = self._named(job.namespace)
        id = keys.parse_id(job.id) if job.id else self._ids.make(self._time)
        key = keys.member(namespace.number, id)
        old = self._old("jobs", namespace, id, HindsightJob)
        stored = replace(
            job,
            id=keys.format_id(id),
            create_time=job.create_time or (old and old.create_time) or self.now,
            update_time=self.now,
        )
        self._put("jobs", key, records.encode(stored))
        self._put("owners", id, keys.namespace(namespace.number))
        if stored.state in OPEN_STATES:
            self._put("waiting", id, keys.namespace(namespace.number))
        else:
            self._delete("waiting", id)
        return stored

    def delete_job(self, id: str) -> bool:
        """Remove a job; False when there is none."""
        raw = keys.parse_id(id)
        job = self.job(id)
        if job is None:
            return False
        self._delete("jobs", keys.member(self._named(job.namespace).number, raw))
        self._delete("waiting", raw)
        self._delete("owners", raw)
        return True

    # the rest

    def put_answer(self, principal: str, method: str, request_id: str, digest: bytes, answer: bytes) -> None:
        """Keep the answer of a call for at least 24 hours; a few older ones go with each call."""
        key = keys.answer(principal, method, request_id)
        self._delete_answer(key)
        record = AnswerRecord(self.now, digest, answer)
        self._put("answers", key, records.encode(record))
        self._put("answer_times", keys.timed(self._time, key), b"")
        horizon = records.to_microseconds(self.now - ANSWERS_KEPT)
        for entry in self._first_keys("answer_times", b"", _TRIMMED_AT_ONCE):
            time, old = keys.parse_timed(entry)
            if time >= horizon:
                break
            self._delete_answer(old)

    def put_audit(self, event: AuditEvent) -> AuditEvent:
        """Add to the audit log; sets `seq`, `place`, `time` and where it is "" `principal`. The note is kept
        beside it, with the memory: it may tell what the memory says."""
        place = self._audited
        principal = event.principal or self.principal
        stored = replace(event, seq=self._commit_seq, place=place, time=self.now, principal=principal)
        noted = replace(stored, note="") if event.note else stored
        self._put("audit", keys.audit(self._commit_seq, place), records.encode(noted))
        if event.note and event.memory_id and (namespace := self.namespace(event.namespace)) is not None:
            id = keys.parse_id(event.memory_id)
            note = keys.audit_note(namespace.number, id, self._commit_seq, place)
            self._put("audit_notes", note, event.note.encode())
        self._audited += 1
        return stored

    def audit_memory(self, memory: Memory, action: str, note: str = "") -> None:
        """Note in the audit log what was done with a memory, or said of it."""
        self.put_audit(
            AuditEvent(
                seq=0,
                time=self.now,
                namespace=memory.namespace,
                memory_id=memory.id,
                action=action,
                note=note,
            )
        )

    def put_token(self, digest: bytes, token: Token) -> Token:
        """Keep a token under the digest of its secret; the secret itself is not stored."""
        stored = replace(token, secret="", create_time=token.create_time or self.now)
        self._put("tokens", digest, records.encode(stored))
        return stored

    def revoke_token(self, id: str) -> Token | None:
        """Note that the token with this id is revoked, and since when; None when there is none. It stays in
        the table: the audit log names it, and a store that ever had a token is open to nobody without one."""
        for digest, token in self.tokens():
            if token.id == id:
                revoked = replace(token, revoke_time=token.revoke_time or self.now)
                self._put("tokens", digest, records.encode(revoked))
                return revoked
        return None

    def add_created(self, principal: str) -> Created:
        """Add what this operation made to what the caller made before; the sum."""
        before = self.created_by(principal)
        total = Created(before.memories + self.created.memories, before.namespaces + self.created.namespaces)
        if self.created != Created():
            self._put("created", keys.principal(principal), CREATED.pack(total.memories, total.namespaces))
        return total

    def replace_tokens(self, entries: Mapping[bytes, bytes]) -> int:
        """Take over the tokens, as they lie on disk, of a later state of this store, revoked ones too; how
        many are good no longer."""
        former = [digest for digest, token in self.tokens() if token.revoke_time is None]
        for digest, _ in list(self._scan("tokens", values=False)):
            self._delete("tokens", digest)
        for digest, value in entries.items():
            self._put("tokens", digest, value)
        good = {digest for digest, token in self.tokens() if token.revoke_time is None}
        return sum(digest not in good for digest in former)


def _check_model(model: str, dimension: int) -> None:
    if not model or not 1 <= dimension <= MAX_DIMENSION:
        raise InvalidArgumentError(
            f"embedding_model: a model has a name and a dimension of 1 to {MAX_DIMENSION}, "
            f"not {model!r} and {dimension}",
            field="embedding_model",
        )


def _pack_vectors(vectors: Vectors, namespace: NamespaceRecord) -> bytes:
    """The bytes of vectors the index will take: one that it refuses would never get out of the store."""
    if not namespace.embedding_dimension:
        raise FailedPreconditionError(
            f"namespace {namespace.name!r} has vectors of no model yet; bind_model first", reason="NO_MODEL"
        )
    array: Any = np.asarray(vectors, dtype="<f4")
    if array.ndim != 2 or not len(array) or array.shape[1] != namespace.embedding_dimension:
        raise InvalidArgumentError(
            f"vector: the shape is {array.shape}, namespace {namespace.name!r} takes "
            f"(passages, {namespace.embedding_dimension})",
            field="vector",
        )
    squares = np.einsum("ij,ij->i", array, array)
    if not ((squares >= MIN_LENGTH**2) & (squares <= MAX_LENGTH**2)).all():
        raise InvalidArgumentError(
            f"vector: holds a NaN or an infinity, or its length is not within {MIN_LENGTH} to {MAX_LENGTH}",
            field="vector",
        )
    return bytes(array.tobytes())

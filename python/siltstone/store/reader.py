"""What can be read from one consistent snapshot."""

import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from siltstone.errors import AlreadyExistsError, InternalError
from siltstone.model import (
    OPEN_STATES,
    AuditEvent,
    HindsightJob,
    JobState,
    Memory,
    Revision,
    Step,
    Task,
    Token,
)
from siltstone.store import keys, records
from siltstone.store.environment import Snapshot
from siltstone.store.records import AnswerRecord, NamespaceRecord
from siltstone.store.tables import Tables, behind

T = TypeVar("T")

Vectors = NDArray[np.float32]

CREATED = struct.Struct(">QQ")


@dataclass(frozen=True, slots=True)
class Change:
    """What one commit did to the index of one namespace.

    Attributes:
        namespace: its number.
        seq: the commit.
        puts: (memory record as msgpack, packed little-endian float32 vectors), for `rust_core.Index.apply`.
        removes: 16-byte ids that leave the index, or never were in it.
        deleted: the namespace itself is gone, and with it its index.
        generation: of the vectors; that of an index that takes them.
    """

    namespace: int
    seq: int
    puts: list[tuple[bytes, bytes]]
    removes: list[bytes]
    deleted: bool = False
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Created:
    memories: int = 0
    namespaces: int = 0


class Reader(Tables):
    """A snapshot. Use it in the ``with`` that made it and in that thread only; its iterators end with it.

    Ids that are no UUID raise `InvalidArgumentError`, the number of a namespace that is unknown or deleted
    raises `NotFoundError`; an id nobody has, or of a deleted namespace, is None. Inside a commit, take what a
    scan gives into a list before changing the same namespace.
    """

    def __init__(
        self, snapshot: Snapshot, unsaved: Callable[[str, str], bool] = lambda _t, _m: False
    ) -> None:
        super().__init__(snapshot)
        self._unsaved = unsaved  # exposures that are not in the snapshot yet
        self.sees: Callable[[str], bool] = lambda _: True

    @property
    def seq(self) -> int:
        """Number of the last commit in this snapshot, from 1; 0 before the first."""
        return self._number(b"seq")

    @property
    def time(self) -> datetime:
        """When the last commit in this snapshot was made."""
        return records.from_microseconds(self._number(b"clock"))

    @property
    def store_id(self) -> bytes:
        """16 bytes that no other store has, but copies of this one."""
        return self._get("meta", b"id") or b""

    # namespaces

    def namespace(self, name: str) -> NamespaceRecord | None:
        """The namespace of this name; None when there is none or it was deleted."""
        number = self._get("names", keys.name(name))
        return self._namespace(keys.parse_namespace(number)) if number else None

    def numbered(self, number: int) -> NamespaceRecord | None:
        """The namespace of this number; None when there is none or it was deleted."""
        return self._namespace(number)

    def namespaces(self) -> list[NamespaceRecord]:
        """All that are not deleted, by name in the order of its UTF-8."""
        found = [self._namespace(keys.parse_namespace(value)) for _, value in self._scan("names")]
        return [record for record in found if record]

    def count_memories(self, namespace: int) -> int:
        """How many memories are live, that is not invalidated. A counter, not a scan."""
        self._require(namespace)
        return self._counters(namespace).memories

    def namespace_of(self, id: str) -> str | None:
        """Name of the namespace that a memory, task or job with this id is in; None when nothing has it."""
        number = self._owner(keys.parse_id(id))
        record = None if number is None else self._namespace(number)
        return None if record is None else record.name

    def count_all_memories(self, namespace: int) -> int:
        """How many there are, invalidated ones too: a scan of their keys."""
        self._require(namespace)
        return sum(1 for _ in self._scan("memories", keys.namespace(namespace), values=False))

    # memories

    def memory(self, id: str) -> Memory | None:
        """The memory, an invalidated one as well."""
        raw = keys.parse_id(id)
        number = self._owner(raw)
        value = None if number is None else self._get("memories", keys.member(number, raw))
        if number is None or value is None:
            return None
        return self._of_todays_model(number, records.decode(value, Memory))

    def member(self, namespace: int, id: bytes, without: Collection[str] = ()) -> Memory | None:
        """As `memory`, of one whose namespace is known; without a look at who owns the id. The fields
        `without` are not read and have their defaults."""
        value = self._get("memories", keys.member(namespace, id)) if self._namespace(namespace) else None
        if value is None:
            return None
        return self._of_todays_model(namespace, records.decode(value, Memory, without))

    def memories(self, ids: Sequence[str]) -> list[Memory | None]:
        """As `memory`, in the order of `ids`."""
        return [self.memory(id) for id in ids]

    def vectors(self, id: str) -> Vectors | None:
        """float32 (passages, dimension), read-only; None when the memory has none."""
        raw = keys.parse_id(id)
        number = self._owner(raw)
        if number is None:
            return None
        namespace = self._require(number)
        packed = self._get(namespace.vectors_table, keys.member(number, raw))
        return None if packed is None else _unpack_vectors(packed, namespace.embedding_dimension)

    def came_from(self, id: str, *, task_id: str = "", trajectory: str = "") -> bool:
        """Whether the memory, as it is or was at any time, has this task or this trajectory as its source."""
        raw = keys.parse_id(id)
        number = self._owner(raw)
        return number is not None and any(
            self._get("sources", keys.pair(number, raw, keys.source_digest(kind, source))) is not None
            for kind, source in (("task", task_id), ("trajectory", trajectory))
            if source
        )

    def revisions(self, id: str) -> list[Revision]:
        """Former states, oldest first. Each has the number of that state, and as `update_time` the moment at
        which it was replaced; since when it held is its memory's own `update_time`."""
        raw = keys.parse_id(id)
        number = self._owner(raw)
        if number is None:
            return []
        found = self._scan("revisions", keys.member(number, raw))
        return [records.decode(value, Revision) for _, value in found]

    def revisions_after(self, id: str, revision: int) -> Iterator[Revision]:
        """Of `revisions`, those behind a number."""
        raw = keys.parse_id(id)
        number = self._owner(raw)
        if number is not None:
            start = keys.part(number, raw, revision + 1)
            for _, value in self._scan("revisions", keys.member(number, raw), start=start):
                yield records.decode(value, Revision)

    def revision(self, id: str, revision: int) -> Revision | None:
        """The former state of this number."""
        raw = keys.parse_id(id)
        number = self._owner(raw)
        value = None if number is None else self._get("revisions", keys.part(number, raw, revision))
        return None if value is None else records.decode(value, Revision)

    def former_vectors(self, id: str, revision: int) -> bytes | None:
        """The vectors that this former state was the last to have, as they lie on disk; None where the next
        state had them too, b"" where it had none."""
        raw = keys.parse_id(id)
        number = self._owner(raw)
        return None if number is None else self._get("former_vectors", keys.part(number, raw, revision))

    def newest_revisions(self, id: str, *, limit: int, max_bytes: int) -> tuple[list[Revision], bool]:
        """The newest of `revisions`, oldest first: at most `limit`, and of at most `max_bytes` as they lie on
        disk; and whether there are older ones."""
        raw = keys.parse_id(id)
        number = self._owner(raw)
        found: list[Revision] = []
        if number is None:
            return found, False
        for _, value in self._scan_back("revisions", keys.member(number, raw)):
            max_bytes -= len(value)
            if len(found) == limit or max_bytes < 0:
                return found[::-1], True
            found.append(records.decode(value, Revision))
        return found[::-1], False

    def state_before(self, memory: Memory, time: datetime) -> Memory:
        """What a memory was at `time`: the state that its first revision after it tells, or what it is now.
        Found by halving, however many there are."""
        raw = keys.parse_id(memory.id)
        number = self._owner(raw)
        found = memory
        low, high = 0, memory.revision
        while number is not None and low < high:
            middle = (low + high) // 2
            start = keys.part(number, raw, middle)
            key, value = next(self._scan("revisions", keys.member(number, raw), start=start), (b"", b""))
            at = keys.parse_part(key) if key else high
            if at >= high:
                high = middle
            elif (revision := records.decode(value, Revision)).update_time > time:
                found, high = revision.memory, middle
            else:
                low = at + 1
        return found

    def revision_vectors(self, id: str, revision: int) -> Vectors | None:
        """The vectors a memory had at a revision; None when it had none. Of the model its `Revision.memory`
        names, but where no later state had others and the namespace was moved since: then of today's."""
        raw = keys.parse_id(id)
        number = self._owner(raw)
        if number is None:
            return None
        prefix = keys.member(number, raw)
        for key, packed in self._scan("former_vectors", prefix, start=keys.part(number, raw, revision)):
            former = self._get("revisions", key)
            if former is None:
                raise InternalError(f"vectors of revision {keys.parse_part(key)} of {id} have no revision")
            if not packed:  # it had none before it was given some
                return None
            return _unpack_vectors(packed, records.unpack(former)["memory"]["embedding_dimension"])
        return self.vectors(id)

    def scan_memories(
        self, namespace: int, *, after_id: str = "", limit: int | None = None
    ) -> Iterator[Memory]:
        """Memories in the order of their ids, that is of their creation, invalidated ones as well.

        Args:
            after_id: start behind this id, which need not exist; "" for the first.
            limit: at most so many; None for all.
        """
        members = self._members("memories", namespace, Memory, after_id, limit)
        return (self._of_todays_model(namespace, memory) for memory in members)

    def scan_records(self, namespace: int) -> Iterator[tuple[bytes, bytes]]:
        """(record, vectors) as they lie on disk of every memory that belongs in the index, by id."""
        yield from self._scan_records(namespace, self._require(namespace).vectors_table)

    def scan_next_records(self, namespace: int) -> Iterator[tuple[bytes, bytes]]:
        """As `scan_records`, with the vectors of the model that the namespace is being moved to."""
        yield from self._scan_records(namespace, self._require(namespace).other_table)

    def _scan_records(self, namespace: int, table: str) -> Iterator[tuple[bytes, bytes]]:
        for key, packed in self._scan(table, keys.namespace(namespace)):
            record = self._get("memories", key)
            if record is None:
                raise InternalError(f"vectors of {keys.format_id(key[4:])} have no memory", reason="ORPHAN")
            if _is_live(record):
                yield record, packed

    def without_next_vectors(
        self, namespace: int, *, after_id: str = "", limit: int
    ) -> tuple[list[Memory], str]:
        """At most `limit` memories behind `after_id` that have no vectors of the model the namespace is being
        moved to; and the id to go on behind, "" at the end."""
        other = self._require(namespace).other_table
        found: list[Memory] = []
        prefix, start = keys.namespace(namespace), behind(namespace, after_id)
        for key, _ in self._scan("memories", prefix, start=start, values=False):
            if self._get(other, key) is None:
                found.append(records.decode(self._get("memories", key) or b"", Memory))
                if len(found) == limit:
                    return found, found[-1].id
        return found, ""

    def has_next_vectors(self, namespace: int, id: str) -> bool:
        other = self._require(namespace).other_table
        return self._get(other, keys.member(namespace, keys.parse_id(id))) is not None

    def count_next_vectors(self, namespace: int) -> int:
        """How many memories have vectors of the model that the namespace is being moved to."""
        other = self._require(namespace).other_table
        return sum(1 for _ in self._scan(other, keys.namespace(namespace), values=False))

    def scan_packed(self, namespace: int, *, after_id: str = "") -> Iterator[tuple[str, bytes, bytes]]:
        """(id, record, vectors) as they lie on disk of every memory, by id; the vectors b"" where there are
        none. Starts behind `after_id` as `scan_memories` does."""
        table = self._require(namespace).vectors_table
        for key, record in self._scan(
            "memories", keys.namespace(namespace), start=behind(namespace, after_id)
        ):
            yield keys.format_id(key[4:]), record, self._get(table, key) or b""

    def invalidated_records(self, namespace: int) -> Iterator[tuple[bytes, bytes]]:
        """As `scan_records`, of the memories that are invalidated, and so in no index."""
        table = self._require(namespace).vectors_table
        for key, packed in self._scan(table, keys.namespace(namespace)):
            record = self._get("memories", key)
            if record is not None and "invalidate_time" in records.unpack(record):
                yield record, packed

    def expired(
        self, namespace: int, before: datetime, *, after_id: str = "", limit: int
    ) -> tuple[list[str], str]:
        """Among the next `limit` memories behind `after_id`: the ids of those whose `valid_until` is before a
        moment; and the id to go on behind, "" at the end."""
        self._require(namespace)
        bound = records.to_microseconds(before)
        prefix, start = keys.namespace(namespace), behind(namespace, after_id)
        found: list[str] = []
        for count, (key, value) in enumerate(self._scan("memories", prefix, start=start), start=1):
            valid_until = records.unpack(value).get("valid_until")
            if valid_until is not None and valid_until < bound:
                found.append(keys.format_id(key[4:]))
            if count == limit:
                return found, keys.format_id(key[4:])
        return found, ""

    def by_content_hash(self, namespace: int, digest: bytes) -> str | None:
        """Id of the oldest live memory whose content has this `content_digest`."""
        self._require(namespace)
        if len(digest) != keys.DIGEST_BYTES:
            raise ValueError(f"digest: {len(digest)} bytes, content_digest gives {keys.DIGEST_BYTES}")
        for key, _ in self._scan("contents", keys.member(namespace, digest)):
            return keys.format_id(key[-keys.ID_BYTES :])
        return None

    def changes(self, namespace: int, after_seq: int, *, limit: int | None = None) -> list[Change] | None:
        """What an index that has applied `after_seq` must apply to have all of this snapshot, or the first
        `limit` changes of it. The records are today's, so an id stands in its last change only.

        None when the change log no longer reaches back so far, or `after_seq` is of a commit that this store
        has not seen (an older backup): the index must be rebuilt then.
        """
        self._require(namespace)
        if after_seq < self._counters(namespace).floor or after_seq > self.seq:
            return None
        last: dict[bytes, int] = {}
        seqs: list[int] = []
        start = keys.change(namespace, after_seq + 1)
        for key, value in self._scan("changes", keys.namespace(namespace), start=start):
            if limit is not None and len(seqs) == limit:
                break
            seqs.append(keys.parse_change(key))
            for at in range(0, len(value), keys.ID_BYTES):
                last[value[at : at + keys.ID_BYTES]] = seqs[-1]
        ids: dict[int, list[bytes]] = {seq: [] for seq in seqs}
        for id, seq in last.items():
            ids[seq].append(id)
        return [self._change(namespace, seq, ids[seq]) for seq in seqs]

    def changed(self, namespace: int, after_seq: int) -> set[str] | None:
        """Ids of the memories that changed or went after `after_seq`; None where `changes` is None."""
        self._require(namespace)
        if after_seq < self._counters(namespace).floor or after_seq > self.seq:
            return None
        start = keys.change(namespace, after_seq + 1)
        return {
            keys.format_id(value[at : at + keys.ID_BYTES])
            for _, value in self._scan("changes", keys.namespace(namespace), start=start)
            for at in range(0, len(value), keys.ID_BYTES)
        }

    def packed(self, namespace: int, ids: Iterable[str]) -> list[tuple[bytes, bytes]]:
        """(record, vectors) as they lie on disk of those memories of the namespace that have vectors,
        invalidated ones as well; in the order of `ids`."""
        table = self._require(namespace).vectors_table
        found = []
        for id in ids:
            key = keys.member(namespace, keys.parse_id(id))
            record, vectors = self._get("memories", key), self._get(table, key)
            if record is not None and vectors is not None:
                found.append((record, vectors))
        return found

    def is_erased(self, id: str) -> bool:
        """Whether the memory was erased: its id is never used again."""
        return self._get("erased", keys.parse_id(id)) is not None

    def erased(self) -> Iterator[tuple[str, datetime]]:
        """The ledger of erased memories, by id, to be replayed on a restored backup."""
        for key, value in self._scan("erased"):
            yield keys.format_id(key), records.from_microseconds(keys.parse_number(value))

    # tasks

    def task(self, id: str) -> Task | None:
        return self._owned("tasks", keys.parse_id(id), Task)

    def tasks(self, namespace: int, *, after_id: str = "", limit: int | None = None) -> Iterator[Task]:
        """Tasks in the order of their ids; arguments as for `scan_memories`."""
        return self._members("tasks", namespace, Task, after_id, limit)

    def steps(self, task_id: str, *, after: int = 0) -> Iterator[Step]:
        """The steps of a task numbered above `after`, in order; none when there is no such task."""
        raw = keys.parse_id(task_id)
        number = self._owner(raw)
        if number is None:
            return
        start = keys.part(number, raw, after + 1)
        for _, value in self._scan("steps", keys.member(number, raw), start=start):
            yield records.decode(value, Step)

    def exposed(self, task_id: str, memory_id: str) -> bool:
        """Whether the task was shown the memory, or wrote it. An unknown task counts as shown everything, and
        so does one that was there when the process last died: nobody can say what it saw."""
        raw = keys.parse_id(task_id)
        number = self._owner(raw)
        if number is None or self._get("tasks", keys.member(number, raw)) is None:
            return True
        memory = keys.parse_id(memory_id)
        if int.from_bytes(raw[:6]) <= self._number(b"exposures_cut") // 1000:  # milliseconds of a UUIDv7
            return True
        if self._unsaved(keys.format_id(raw), keys.format_id(memory)):
            return True
        return self._get("exposures", keys.pair(number, raw, memory)) is not None

    def shown(self, namespace: int) -> list[tuple[str, int]]:
        """(id, how many tasks were shown it) of every memory of the namespace that any was, by id."""
        self._require(namespace)
        found = self._scan("shown", keys.namespace(namespace))
        return [(keys.format_id(key[4:]), keys.parse_number(value)) for key, value in found]

    # jobs

    def job(self, id: str) -> HindsightJob | None:
        return self._owned("jobs", keys.parse_id(id), HindsightJob)

    def jobs(
        self, *, states: Collection[JobState] | None = None, namespace: int | None = None
    ) -> Iterator[HindsightJob]:
        """Jobs in the order of their ids, of one namespace or all, in any of `states` (None: all). Asking for
        queued and running ones only is cheap: those have a table of their own."""
        for key in self._job_keys(states, namespace):
            value = self._get("jobs", key)
            if value is None:
                raise InternalError(f"job {keys.format_id(key[4:])} is listed and missing", reason="ORPHAN")
            job = records.decode(value, HindsightJob)
            if states is None or job.state in states:
                yield job

    def _job_keys(self, states: Collection[JobState] | None, namespace: int | None) -> list[bytes]:
        if namespace is not None:
            self._require(namespace)
        if states is not None and OPEN_STATES.issuperset(states):
            found = [value + key for key, value in self._scan("waiting")]
        else:
            found = sorted((key for key, _ in self._scan("jobs", values=False)), key=lambda key: key[4:])
        numbers = {keys.parse_namespace(key) for key in found}
        wanted = {n for n in numbers if (namespace is None or n == namespace) and self._namespace(n)}
        return [key for key in found if keys.parse_namespace(key) in wanted]

    # the rest

    def answer(self, principal: str, method: str, request_id: str, digest: bytes) -> bytes | None:
        """What an earlier call with this request_id was answered; None when there was none.
        `AlreadyExistsError` (REQUEST_ID_REUSED) when that call's request had another digest."""
        value = self._get("answers", keys.answer(principal, method, request_id))
        if value is None:
            return None
        record = records.decode(value, AnswerRecord)
        if record.digest != digest:
            raise AlreadyExistsError(
                f"request_id: {request_id!r} was used for another {method} request; take a new one for a new "
                "request, and the same one only to retry the very same",
                reason="REQUEST_ID_REUSED",
                field="request_id",
            )
        return record.answer

    def audit(
        self, *, after_seq: int = 0, after_place: int | None = None, limit: int | None = None
    ) -> Iterator[AuditEvent]:
        """Audit events of commits above `after_seq`, oldest first; with `after_place` also those of that very
        commit behind this place. The note of an event goes with its memory."""
        start = (
            keys.audit(after_seq + 1, 0) if after_place is None else keys.audit(after_seq, after_place + 1)
        )
        for count, (key, value) in enumerate(self._scan("audit", start=start)):
            if count == limit:
                return
            seq, place = keys.parse_audit(key)
            event = records.decode(value, AuditEvent)
            yield replace(event, place=place, note=self._audit_note(event, seq, place))

    def _audit_note(self, event: AuditEvent, seq: int, place: int) -> str:
        namespace = self.namespace(event.namespace)
        if namespace is None or not event.memory_id:
            return ""
        key = keys.audit_note(namespace.number, keys.parse_id(event.memory_id), seq, place)
        return (self._get("audit_notes", key) or b"").decode()

    def erasing(self) -> list[int]:
        """Numbers of the namespaces from which text was erased that files may still hold."""
        return [keys.parse_namespace(key) for key, _ in self._scan("erasing", values=False)]

    def tokens(self) -> list[tuple[bytes, Token]]:
        """(digest of the secret, token) of all, revoked ones as well."""
        return [(digest, records.decode(value, Token)) for digest, value in self._scan("tokens")]

    def created_by(self, principal: str) -> Created:
        """What a caller made in this store so far, whatever became of it."""
        value = self._get("created", keys.principal(principal))
        return Created(*CREATED.unpack(value)) if value else Created()

    def entries(self, tables: Iterable[str] | None = None) -> dict[str, int]:
        """Entries of each of `tables`, of all by default."""
        names = self._tables if tables is None else tables
        return {name: int(self._txn.stat(self._tables[name])["entries"]) for name in names}

    # within the store

    def _of_todays_model(self, number: int, memory: Memory) -> Memory:
        """The record of a memory tells the model it had when it was written; a move changes no records."""
        namespace = self._namespace(number)
        if namespace is not None and namespace.generation and memory.embedding_model:
            memory.embedding_model = namespace.embedding_model
            memory.embedding_dimension = namespace.embedding_dimension
        return memory

    def _change(self, number: int, seq: int, ids: Collection[bytes]) -> Change:
        puts: list[tuple[bytes, bytes]] = []
        removes: list[bytes] = []
        namespace = self._require(number)
        for id in ids:
            key = keys.member(number, id)
            record = self._get("memories", key)
            packed = self._get(namespace.vectors_table, key)
            if record is not None and packed is not None and _is_live(record):
                puts.append((record, packed))
            else:
                removes.append(id)
        return Change(number, seq, puts, removes, generation=namespace.generation)


def _is_live(record: bytes) -> bool:
    return "invalidate_time" not in records.unpack(record)


def _unpack_vectors(packed: bytes, dimension: int) -> Vectors:
    return np.frombuffer(packed, dtype="<f4").reshape(-1, dimension)

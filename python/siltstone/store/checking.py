"""The store against itself: what is derived from records must be what they say, and nothing must hang in the
air. LMDB keeps no checksums, so a page that a disk changed shows here."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from siltstone.errors import SiltstoneError
from siltstone.model import OPEN_STATES, HindsightJob, Memory, Task
from siltstone.store import keys, records
from siltstone.store.reader import Reader
from siltstone.store.records import NamespaceRecord
from siltstone.store.tables import COUNTERS, Counters
from siltstone.store.writer import Writer

_MEMBER_BYTES = 4 + keys.ID_BYTES
# Entries of these go with a memory, or a task, whose key theirs begin with.
_OF_MEMORY = ("vectors", "other_vectors", "revisions", "former_vectors", "sources", "shown", "audit_notes")
_OF_TASK = ("steps", "exposures")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, in words. `table`, `key` and `value` are the entry that mends it (None: that it goes);
    without a table nothing here can."""

    text: str
    table: str = ""
    key: bytes = b""
    value: bytes | None = None


@dataclass(slots=True)
class Checked:
    """What was looked at."""

    memories: int = 0  # live ones
    vectors: int = 0
    unreadable: int = 0  # memories of which nobody can say whether they are live


def problems(reader: Reader, record: NamespaceRecord, checked: Checked | None = None) -> Iterator[Problem]:
    """What is wrong in a namespace. Each memory, task and job is read once, with what hangs on it."""
    checked = checked or Checked()
    prefix = keys.namespace(record.number)
    yield from _memories(reader, record, checked)
    yield from _contents(reader, record)
    for owner, tables in (("memories", _OF_MEMORY), ("tasks", _OF_TASK)):
        for table in tables:
            for key, _ in reader._scan(table, prefix, values=False):
                if reader._get(owner, key[:_MEMBER_BYTES]) is None:
                    id = keys.format_id(key[4:_MEMBER_BYTES])
                    yield Problem(f"{table}: an entry of {id}, which is not there", table, key)
    for key, value in reader._scan("tasks", prefix):
        yield from _readable("task", key, value, Task)
        yield from _owned("task", key, reader)
    for key, value in reader._scan("jobs", prefix):
        unreadable = list(_readable("job", key, value, HindsightJob))
        yield from unreadable
        yield from _owned("job", key, reader)
        if not unreadable:
            yield from _waiting(reader, key, records.decode(value, HindsightJob))
    if not checked.unreadable:
        yield from _counters(reader, record, checked)


def strays(reader: Reader) -> Iterator[Problem]:
    """What is wrong in the tables that no namespace's number prefixes."""
    for id, value in reader._scan("owners"):
        if reader._namespace(keys.parse_namespace(value)) is None:
            continue  # a deleted one is being purged
        if not any(reader._get(table, value + id) is not None for table in ("memories", "tasks", "jobs")):
            yield Problem(f"owners: an entry of {keys.format_id(id)}, which is not there", "owners", id)
    for id, value in reader._scan("waiting"):
        if reader._namespace(keys.parse_namespace(value)) and reader._get("jobs", value + id) is None:
            yield Problem(f"job {keys.format_id(id)}: it is in the queue and not there", "waiting", id)


def mend(writer: Writer, found: Iterator[Problem]) -> int:
    """Put right what can be of what is found in the writer's own snapshot; how much."""
    mendable = [problem for problem in found if problem.table]
    for problem in mendable:
        if problem.value is None:
            writer._delete(problem.table, problem.key)
        else:
            writer._put(problem.table, problem.key, problem.value)
    return len(mendable)


def _memories(reader: Reader, record: NamespaceRecord, checked: Checked) -> Iterator[Problem]:
    for key, value in reader._scan("memories", keys.namespace(record.number)):
        unreadable = list(_readable("memory", key, value, Memory))
        yield from unreadable
        yield from _owned("memory", key, reader)
        if unreadable:
            checked.unreadable += 1
            continue
        memory = records.decode(value, Memory)
        name = f"memory {memory.id}"
        if memory.invalidate_time is None:
            checked.memories += 1
            entry = keys.pair(record.number, keys.content_digest(memory.content), key[4:])
            if reader._get("contents", entry) is None:
                yield Problem(f"{name}: its content is not in the table of contents", "contents", entry, b"")
        yield from _vectors(reader, record, memory, key, checked)
        for id in (*memory.supersedes, *memory.conflicts_with, memory.superseded_by):
            if id and reader.memory(id) is None:
                yield Problem(f"{name}: it refers to {id}, which is not there; update or restore it by hand")


def _vectors(
    reader: Reader, record: NamespaceRecord, memory: Memory, key: bytes, checked: Checked
) -> Iterator[Problem]:
    packed = reader._get(record.vectors_table, key)
    dimension = record.embedding_dimension
    name, remedy = f"memory {memory.id}", "; update its content, which embeds it anew, or restore a backup"
    if packed is None or not dimension or not packed or len(packed) % (4 * dimension):
        yield Problem(f"{name}: its vectors are missing or of another dimension{remedy}")
    elif not np.isfinite(np.frombuffer(packed, dtype="<f4")).all():
        yield Problem(f"{name}: its vectors are not finite{remedy}")
    else:
        checked.vectors += len(packed) // (4 * dimension)


def _contents(reader: Reader, record: NamespaceRecord) -> Iterator[Problem]:
    for key, _ in reader._scan("contents", keys.namespace(record.number), values=False):
        id = key[-keys.ID_BYTES :]
        value = reader._get("memories", keys.member(record.number, id))
        try:
            memory = None if value is None else records.decode(value, Memory)
        except SiltstoneError:
            continue  # told of as a memory
        digest = memory and not memory.invalidate_time and keys.content_digest(memory.content)
        if digest != key[4 : 4 + keys.DIGEST_BYTES]:
            text = f"memory {keys.format_id(id)}: the table of contents holds a text that is not its"
            yield Problem(text, "contents", key)


def _waiting(reader: Reader, key: bytes, job: HindsightJob) -> Iterator[Problem]:
    listed = reader._get("waiting", key[4:]) is not None
    if listed != (job.state in OPEN_STATES):
        text = f"job {job.id}: it is {job.state} and {'still' if listed else 'not'} in the queue"
        yield Problem(text, "waiting", key[4:], None if listed else key[:4])


def _counters(reader: Reader, record: NamespaceRecord, checked: Checked) -> Iterator[Problem]:
    told = reader._counters(record.number)
    changes = reader._scan("changes", keys.namespace(record.number))
    counted = Counters(checked.memories, sum(len(v) // keys.ID_BYTES for _, v in changes), told.floor)
    if told != counted:
        yield Problem(
            f"namespace {record.name!r}: {counted.memories} memories and {counted.changed} changes, "
            f"but counted {told.memories} and {told.changed}",
            "counters",
            keys.namespace(record.number),
            COUNTERS.pack(counted.memories, counted.changed, counted.floor),
        )


def _readable(kind: str, key: bytes, value: bytes, cls: type) -> Iterator[Problem]:
    try:
        records.decode(value, cls)
    except SiltstoneError as error:
        text = f"{kind} {keys.format_id(key[4:_MEMBER_BYTES])}: {error.message}; restore it from a backup"
        yield Problem(text)


def _owned(kind: str, key: bytes, reader: Reader) -> Iterator[Problem]:
    if reader._get("owners", key[4:]) != key[:4]:
        text = f"{kind} {keys.format_id(key[4:])}: it cannot be found by its id"
        yield Problem(text, "owners", key[4:], key[:4])

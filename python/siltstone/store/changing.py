"""What changes a snapshot, below the operations of `Writer`: entries put and deleted, and their traces in the
change log, the counters and the tables that follow others."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar

from siltstone.errors import InvalidArgumentError, NotFoundError
from siltstone.model import Memory, Revision, Source, Task
from siltstone.store import keys, records
from siltstone.store.environment import Snapshot
from siltstone.store.ids import IdFactory
from siltstone.store.pending import Entry, Pending
from siltstone.store.reader import Change, Created, Reader
from siltstone.store.records import AnswerRecord, NamespaceRecord
from siltstone.store.tables import COUNTERS, Counters

T = TypeVar("T")

_READ_BY_ALL = frozenset({"meta", "names", "namespaces", "counters"})  # by every operation of a group
_CHANGES_TRIMMED_AT_ONCE = 1000
_MEMBER_TABLES = ("memories", "tasks", "jobs")  # their ids are in `owners`
_PURGED_TABLES = (
    *_MEMBER_TABLES,
    "vectors",
    "other_vectors",
    "revisions",
    "former_vectors",
    "sources",
    "contents",
    "changes",
    "steps",
    "exposures",
    "shown",
    "audit_notes",
)


class Changing(Reader):
    """See `Writer`."""

    def __init__(
        self,
        snapshot: Snapshot,
        pending: Pending,
        *,
        time: int,
        ids: IdFactory,
        retention: int,
        unsaved: Callable[[str, str], bool],
        counted: Collection[str] = (),
    ) -> None:
        super().__init__(snapshot, unsaved)
        self._pending = pending
        self._counted = counted  # tables whose entries are asked for
        self._ids = ids
        self._retention = retention
        self._time = max(time, self._number(b"clock") + 1)
        self._commit_seq = self.seq + 1
        self._dirty = False
        self._touched: dict[int, dict[bytes, None]] = {}  # ids in the order of their first change
        self._audited = 0
        self._gone: list[int] = []
        self.principal = ""
        self.created = Created()
        self.now = records.from_microseconds(self._time)

    @property
    def deleted(self) -> bool:
        """Whether it deleted a namespace, so that there is something to purge."""
        return bool(self._gone)

    def finish(self) -> list[Change]:
        """Write the change log, seq and clock; what the operation did to each index."""
        if not self._dirty:
            return []
        self._put("meta", b"seq", keys.number(self._commit_seq))
        self._put("meta", b"clock", keys.number(self._time))
        changes = []
        for number, ids in self._touched.items():
            if self._namespace(number) is None:
                continue  # deleted by the same operation: its collection goes as a whole
            self._put("changes", keys.change(number, self._commit_seq), b"".join(ids))
            self._count(number, changed=len(ids))
            self._trim_changes(number)
            changes.append(self._change(number, self._commit_seq, ids))
        changes += [Change(number, self._commit_seq, [], [], deleted=True) for number in self._gone]
        return changes

    def purge(self, limit: int) -> bool:
        """Remove up to `limit` entries of deleted namespaces; whether there may be more. Not an operation: it
        changes the transaction itself, after everything that is pending was written."""
        left = limit
        for key, value in list(self._scan("namespaces")):
            if not records.decode(value, NamespaceRecord).deleted:
                continue
            for table in _PURGED_TABLES:
                gone = self._first_keys(table, key, left)
                for member in gone:
                    self._txn.delete(member, db=self._tables[table])
                    # An import may have given the id to a namespace of the same name meanwhile.
                    if table in _MEMBER_TABLES and self._get("owners", member[4:]) == key:
                        self._txn.delete(member[4:], db=self._tables["owners"])
                    if table == "jobs":
                        self._txn.delete(member[4:], db=self._tables["waiting"])
                left -= len(gone)
                if not left:
                    return True
            self._txn.delete(key, db=self._tables["counters"])
            self._txn.delete(key, db=self._tables["namespaces"])
        return False

    def has_deleted(self) -> bool:
        """Whether a namespace waits to be purged."""
        entries = super().entries(
            ("names", "namespaces")
        )  # a name goes at once, the namespace when it is purged
        return entries["names"] < entries["namespaces"]

    def _get(self, table: str, key: bytes) -> bytes | None:
        known, value = self._pending.look(table, key)
        if not known:
            value = super()._get(table, key)
            if table in _READ_BY_ALL:
                self._pending.remember(table, key, value)
        return value

    def _scan(
        self, table: str, prefix: bytes = b"", *, start: bytes = b"", values: bool = True
    ) -> Iterator[Entry]:
        stored = super()._scan(table, prefix, start=start, values=values)
        return iter(self._pending.over(stored, table, prefix, start))

    def _scan_back(self, table: str, prefix: bytes, *, values: bool = True) -> Iterator[Entry]:
        stored = super()._scan_back(table, prefix, values=values)
        return iter(self._pending.over(stored, table, prefix, back=True))

    def entries(self, tables: Iterable[str] | None = None) -> dict[str, int]:
        """Of each of `tables`, which are among those counted; by default of all those."""
        stored = super().entries(self._counted if tables is None else tables)
        return {table: count + self._pending.more(table) for table, count in stored.items()}

    def _put(self, table: str, key: bytes, value: bytes) -> None:
        self._dirty = True
        if table in self._counted and self._get(table, key) is None:
            self._pending.count(table, 1)
        self._pending.set(table, key, value)

    def _delete(self, table: str, key: bytes) -> None:
        if self._get(table, key) is not None:
            self._dirty = True
            if table in self._counted:
                self._pending.count(table, -1)
            self._pending.set(table, key, None)

    def _first_keys(self, table: str, prefix: bytes, limit: int) -> list[bytes]:
        found: list[bytes] = []
        for key, _ in self._scan(table, prefix, values=False):
            if len(found) == limit:
                break
            found.append(key)
        return found

    def _delete_all(self, table: str, prefix: bytes) -> int:
        gone = [key for key, _ in self._scan(table, prefix, values=False)]
        for key in gone:
            self._delete(table, key)
        return len(gone)

    def _delete_answer(self, key: bytes) -> None:
        value = self._get("answers", key)
        if value is not None:
            time = records.to_microseconds(records.decode(value, AnswerRecord).time)
            self._delete("answer_times", keys.timed(time, key))
            self._delete("answers", key)

    def _named(self, name: str) -> NamespaceRecord:
        record = self.namespace(name)
        if record is None:
            raise NotFoundError(
                f"namespace: there is no {name!r}", reason="NAMESPACE_NOT_FOUND", field="namespace"
            )
        return record

    def _put_namespace(self, record: NamespaceRecord) -> None:
        self._put("namespaces", keys.namespace(record.number), records.encode(record))
        self._namespaces.pop(record.number, None)

    def _old(self, table: str, namespace: NamespaceRecord, id: bytes, cls: type[T]) -> T | None:
        """The stored state under an id; one that belongs to something else is refused."""
        value = self._get(table, keys.member(namespace.number, id))
        if value is not None:
            return records.decode(value, cls)
        if self._get("owners", id) is not None:
            raise InvalidArgumentError(
                f"id: {keys.format_id(id)} belongs to something else, or to another namespace than "
                f"{namespace.name!r}; leave it empty for a new one",
                field="id",
            )
        return None

    def _existing_task(self, id: str) -> Task:
        task = self.task(id)
        if task is None:
            raise NotFoundError(f"task_id: there is no task {id}", reason="TASK_NOT_FOUND", field="task_id")
        return task

    def _note_source(self, member: bytes, source: Source) -> None:
        """See `Reader.came_from`. A table of its own: the revisions of a memory may be many."""
        for kind, id in (("task", source.task_id), ("trajectory", source.trajectory)):
            if id:
                self._put("sources", member + keys.source_digest(kind, id), b"")

    def _keep_vectors_of_revisions(self, key: bytes, namespace: NamespaceRecord) -> None:
        """Before a memory's vectors are replaced: leave them with its newest revision, which had them."""
        newest, value = next(self._scan_back("revisions", key), (b"", b""))
        if newest and self._get("former_vectors", newest) is None:
            packed = self._get(namespace.vectors_table, key) or b""
            self._put("former_vectors", newest, packed)
            revision = records.decode(value, Revision)
            if packed and revision.memory.embedding_model != namespace.embedding_model:
                # The namespace was moved since: the vectors of the same text are of today's model.
                revision.memory.embedding_model = namespace.embedding_model
                revision.memory.embedding_dimension = namespace.embedding_dimension
                self._put("revisions", newest, records.encode(revision))

    def _follow_content(self, number: int, id: bytes, old: Memory | None, new: Memory | None) -> None:
        """Keep content hashes and the counter of live memories in step with a change of one."""
        before = None if old is None or old.invalidate_time else keys.content_digest(old.content)
        after = None if new is None or new.invalidate_time else keys.content_digest(new.content)
        if before != after:
            if before is not None:
                self._delete("contents", keys.pair(number, before, id))
            if after is not None:
                self._put("contents", keys.pair(number, after, id), b"")
        live = (after is not None) - (before is not None)
        if live:
            self._count(number, memories=live)

    def _touch(self, number: int, id: bytes) -> None:
        self._touched.setdefault(number, {})[id] = None

    def _count(self, number: int, *, memories: int = 0, changed: int = 0, floor: int | None = None) -> None:
        old = self._counters(number)
        new = Counters(old.memories + memories, old.changed + changed, old.floor if floor is None else floor)
        self._put("counters", keys.namespace(number), COUNTERS.pack(new.memories, new.changed, new.floor))

    def _trim_changes(self, number: int) -> None:
        """Keep the change log near its retention; a little slack, so that not every commit trims."""
        surplus = self._counters(number).changed - self._retention
        if surplus <= self._retention // 100:
            return
        gone, floor = 0, None
        for key, value in list(self._first_entries(number)):
            if gone >= surplus:
                break
            self._delete("changes", key)
            gone += len(value) // keys.ID_BYTES
            floor = keys.parse_change(key)
        self._count(number, changed=-gone, floor=floor)

    def _first_entries(self, number: int) -> Iterable[tuple[bytes, bytes]]:
        for count, entry in enumerate(self._scan("changes", keys.namespace(number))):
            if count == _CHANGES_TRIMMED_AT_ONCE:
                return
            yield entry

"""The tables of one snapshot, entry by entry, below the questions of `Reader`."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import lmdb

from siltstone.errors import InternalError, NotFoundError
from siltstone.store import keys, records
from siltstone.store.environment import Snapshot
from siltstone.store.records import NamespaceRecord

T = TypeVar("T")

COUNTERS = struct.Struct(">QQQ")


@dataclass(frozen=True, slots=True)
class Counters:
    memories: int = 0  # live ones: not invalidated
    changed: int = 0  # ids in the change log
    floor: int = 0  # the change log is whole above this seq


class Tables:
    """See `Reader`."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._txn = snapshot.txn
        self._tables = snapshot.tables
        self._namespaces: dict[int, NamespaceRecord | None] = {}

    def _get(self, table: str, key: bytes) -> bytes | None:
        value: bytes | None = self._txn.get(key, db=self._tables[table])
        return value

    def _scan(
        self, table: str, prefix: bytes = b"", *, start: bytes = b"", values: bool = True
    ) -> Iterator[tuple[bytes, bytes]]:
        """Entries with the prefix from `start` on, in order of their keys."""
        try:
            with self._txn.cursor(db=self._tables[table]) as cursor:
                found = cursor.set_range(start or prefix) if start or prefix else cursor.first()
                while found:
                    key = cursor.key()
                    if not key.startswith(prefix):
                        return
                    yield key, cursor.value() if values else b""
                    found = cursor.next()
        except lmdb.Error as error:
            raise InternalError(
                f"reading {table} failed, or went on after its snapshot was closed: {error}"
            ) from error

    def _scan_back(self, table: str, prefix: bytes, *, values: bool = True) -> Iterator[tuple[bytes, bytes]]:
        """Entries of a table of `keys.part` with the prefix of a `keys.member`, the last first."""
        behind = prefix + b"\xff" * 5  # above every number of four bytes
        with self._txn.cursor(db=self._tables[table]) as cursor:
            found = cursor.prev() if cursor.set_range(behind) else cursor.last()
            while found and cursor.key().startswith(prefix):
                yield cursor.key(), cursor.value() if values else b""
                found = cursor.prev()

    def _number(self, key: bytes) -> int:
        value = self._get("meta", key)
        return keys.parse_number(value) if value else 0

    def _namespace(self, number: int) -> NamespaceRecord | None:
        if number not in self._namespaces:
            value = self._get("namespaces", keys.namespace(number))
            record = None if value is None else _namespace_record(value)
            self._namespaces[number] = None if record is None or record.deleted else record
        return self._namespaces[number]

    def _require(self, number: int) -> NamespaceRecord:
        record = self._namespace(number)
        if record is None:
            raise NotFoundError(
                f"namespace: there is none with the number {number}, or no longer",
                reason="NAMESPACE_NOT_FOUND",
                field="namespace",
            )
        return record

    def _owner(self, id: bytes) -> int | None:
        value = self._get("owners", id)
        if value is None:
            return None
        number = keys.parse_namespace(value)
        return number if self._namespace(number) else None

    def _owned_bytes(self, table: str, id: bytes) -> bytes | None:
        number = self._owner(id)
        return None if number is None else self._get(table, keys.member(number, id))

    def _owned(self, table: str, id: bytes, cls: type[T]) -> T | None:
        value = self._owned_bytes(table, id)
        return None if value is None else records.decode(value, cls)

    def _members(
        self, table: str, namespace: int, cls: type[T], after_id: str, limit: int | None
    ) -> Iterator[T]:
        self._require(namespace)
        prefix = keys.namespace(namespace)
        for count, (_, value) in enumerate(self._scan(table, prefix, start=behind(namespace, after_id))):
            if count == limit:
                return
            yield records.decode(value, cls)

    def _counters(self, number: int) -> Counters:
        value = self._get("counters", keys.namespace(number))
        return Counters(*COUNTERS.unpack(value)) if value else Counters()


@lru_cache(maxsize=4096)
def _namespace_record(value: bytes) -> NamespaceRecord:
    """Of the same bytes the same record, which never changes: every call reads one or two."""
    return records.decode(value, NamespaceRecord)


def behind(namespace: int, after_id: str) -> bytes:
    """The key at which a scan of a namespace starts behind an id; "" for the first."""
    return keys.following(keys.member(namespace, keys.parse_id(after_id, "after_id"))) if after_id else b""

"""What the operations of one transaction changed, in memory until all of them are through.

LMDB could nest a transaction in another for each operation, but merges the pages of the two at every end, so
that a group would cost the square of its length; and its way to undo one waits for readers. Here an operation
that fails is undone by its journal, and the group goes to LMDB at the end, in the order of its keys.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from heapq import merge
from operator import itemgetter
from typing import Any

Entry = tuple[bytes, bytes]


class Pending:
    """Entries put, and entries deleted, by table; later changes win."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[bytes, bytes | None]] = {}  # None: deleted
        self._sorted: dict[str, list[bytes]] = {}
        self._journal: list[tuple[str, bytes, bool, bytes | None]] = []  # what stood there before
        self._more: dict[str, int] = {}  # entries of a table that is counted, beyond those stored
        self._more_kept: dict[str, int] = {}
        self._read: dict[tuple[str, bytes], bytes | None] = {}  # as it is stored

    def set(self, table: str, key: bytes, value: bytes | None) -> None:
        """Put an entry; None deletes it."""
        entries = self._tables.get(table)
        if entries is None:
            entries = self._tables[table] = {}
            self._sorted[table] = []
        known = key in entries
        if not known:
            insort(self._sorted[table], key)
        self._journal.append((table, key, known, entries.get(key)))
        entries[key] = value

    def look(self, table: str, key: bytes) -> tuple[bool, bytes | None]:
        """Whether the entry is known here, changed or remembered, and what it is."""
        entries = self._tables.get(table)
        if entries is not None and key in entries:
            return True, entries[key]
        read = (table, key)
        return (True, self._read[read]) if read in self._read else (False, None)

    def remember(self, table: str, key: bytes, value: bytes | None) -> None:
        """What is stored, for the operations to come: it stays so until the end of the transaction."""
        self._read[table, key] = value

    def count(self, table: str, difference: int) -> None:
        """A change added so many entries to a table."""
        self._more[table] = self.more(table) + difference

    def more(self, table: str) -> int:
        """By how many entries the changes made a table larger, as `count` was told."""
        return self._more.get(table, 0)

    def keep(self) -> None:
        """The operation is through."""
        self._journal.clear()
        self._more_kept = self._more.copy()

    def undo(self) -> None:
        """The operation failed: whatever changed since the last `keep` did not."""
        for table, key, known, value in reversed(self._journal):
            if known:
                self._tables[table][key] = value
            else:
                del self._tables[table][key]
                order = self._sorted[table]
                del order[bisect_left(order, key)]
        self._journal.clear()
        self._more = self._more_kept.copy()

    def over(
        self, stored: Iterable[Entry], table: str, prefix: bytes, start: bytes = b"", *, back: bool = False
    ) -> Iterable[Entry]:
        """What is `stored` in a table under a prefix, from `start` on, as it is with these changes.

        Args:
            back: the last first, as `stored` is then too.
        """
        order = self._sorted.get(table, ())
        changed = []
        for at in range(bisect_left(order, max(start, prefix)), len(order)):
            if not order[at].startswith(prefix):
                break
            changed.append(order[at])
        if not changed:
            return stored
        if back:
            changed.reverse()
        return self._merged(stored, self._tables[table], changed, back)

    def _merged(
        self, stored: Iterable[Entry], entries: dict[bytes, bytes | None], changed: list[bytes], back: bool
    ) -> Iterator[Entry]:
        last = None
        # Of two with one key, the first comes first.
        here: Iterable[tuple[bytes, bytes | None]] = ((key, entries[key]) for key in changed)
        for key, value in merge(here, stored, key=itemgetter(0), reverse=back):
            if key != last and value is not None:
                yield key, value
            last = key

    def write(self, txn: Any, tables: dict[str, Any]) -> None:
        """Hand all of it to LMDB."""
        for table, order in self._sorted.items():
            entries, handle = self._tables[table], tables[table]
            for key in order:
                value = entries[key]
                if value is None:
                    txn.delete(key, db=handle)
                else:
                    txn.put(key, value, db=handle)

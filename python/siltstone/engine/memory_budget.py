"""How much memory the indexes take, who uses them, and which must go when it is too much."""

import itertools
import os
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

_EACH = 10_000  # bytes that a collection takes besides what it counts, however small: tables and their slack
_ROOM = 0.1  # share of the limit that is freed at a time: who looks for the least recently used looks at all
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class MemoryBudget:
    """Sizes and uses of collections by number. Safe for many threads.

    Args:
        limit: bytes that all together may take.

    Attributes:
        lock: held by who takes a collection out of use, so that nobody begins to hold it meanwhile.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.lock = threading.RLock()
        self._total = 0
        self._ticks = itertools.count()
        self._bytes: dict[int, int] = {}
        self._used: dict[int, int] = {}  # number → when it was last used
        self._held: dict[int, int] = {}  # number → by how many

    def use(self, number: int) -> None:
        self._used[number] = next(self._ticks)

    @contextmanager
    def holding(self, numbers: Collection[int]) -> Iterator[None]:
        """Until the end none of them is `surplus`."""
        with self.lock:
            for number in numbers:
                self._held[number] = self._held.get(number, 0) + 1
        try:
            yield
        finally:
            with self.lock:
                for number in numbers:
                    self._held[number] -= 1
                    if not self._held[number]:
                        del self._held[number]

    def held(self, number: int) -> bool:
        """Only true or false for as long as `lock` is held."""
        return number in self._held

    def measured(self, number: int, size: int) -> None:
        """The collection is in memory and counts so many bytes."""
        size += _EACH
        with self.lock:
            self._total += size - self._bytes.get(number, 0)
            self._bytes[number] = size

    def gone(self, number: int) -> None:
        """The collection left memory."""
        with self.lock:
            self._total -= self._bytes.pop(number, 0)
            self._used.pop(number, None)

    def surplus(self) -> list[int]:
        """Where all take more than the limit: the collections to take out of memory, the least recently used
        first, until there is some room; those that are held stay."""
        with self.lock:
            if self._total <= self.limit:
                return []
            over = self._total - self.limit * (1.0 - _ROOM)
            found: list[int] = []
            for number in sorted(self._bytes, key=lambda number: self._used.get(number, -1)):
                if over <= 0:
                    break
                if number not in self._held:
                    found.append(number)
                    over -= self._bytes[number]
            return found


def half_of_memory() -> int:
    """Half of what this process may use, in bytes: of the machine's memory, or of its container's."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _CGROUP_LIMITS:
        try:
            text = Path(path).read_text().strip()
        except OSError:
            continue
        if text.isdecimal():
            found.append(int(text))
    return min(found) // 2

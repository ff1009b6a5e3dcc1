"""The truth: a durable store of one data directory."""

import atexit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from siltstone.errors import InvalidArgumentError
from siltstone.store.committer import Committer, now_microseconds
from siltstone.store.environment import Environment
from siltstone.store.reader import Change, Reader
from siltstone.store.writer import ALWAYS_THERE, Writer

T = TypeVar("T")

CHANGES_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """`file_bytes` is what the data file takes on disk, `map_size` what it may grow to before the map grows,
    `entries` the entries of each table."""

    seq: int
    file_bytes: int
    map_size: int
    entries: dict[str, int]


class Store:
    """One data directory, open in one process only. Safe to call from any thread.

    The namespaces `default` and `public` are always there.

    Args:
        path: the directory, created when missing.
        applier: called with the changes of each group of commits, in strict order of their seq, by one
            thread, after they are durable and before their callers return. When it raises, that is logged
            and the writes stand: it must itself note that its index has to be rebuilt.
        map_size: see `Environment`.
        max_group: at most so many operations share a transaction.
        clock: microseconds since 1970-01-01 UTC.
        retention: about how many changed ids the change log of a namespace keeps.

    Raises:
        FailedPreconditionError: (DATA_LOCKED) another process, or another store of this one, has it open;
            (FORMAT_VERSION, NOT_A_STORE) the files are not of this release.
    """

    def __init__(
        self,
        path: Path,
        *,
        applier: Callable[[list[Change]], None],
        map_size: int | None = None,
        max_group: int = 256,
        clock: Callable[[], int] = now_microseconds,
        retention: int = CHANGES_KEPT,
    ) -> None:
        if max_group < 1 or retention < 1:
            raise InvalidArgumentError(f"max_group ({max_group}) and retention ({retention}) are at least 1")
        self._environment = Environment(path, map_size)
        try:
            self._committer = Committer(
                self._environment, applier, clock=clock, max_group=max_group, retention=retention
            )
            self.commit(_create_missing)
        except BaseException:
            self.close()
            raise
        atexit.register(self.close)

    @contextmanager
    def read(self) -> Iterator[Reader]:
        """One consistent snapshot. Cheap, may be nested, and must not be held for long: pages that it can see
        are not used again, and the map cannot grow.

        Raises:
            UnavailableError: the store is closed.
        """
        with self._environment.read() as snapshot:
            yield Reader(snapshot)

    def commit(self, operation: Callable[[Writer], T], *, timeout: float | None = None) -> T:
        """Run `operation` in the writer thread's transaction and return its value, once that is durable and
        applied to the index.

        An exception from it undoes what it wrote, and only that, and is raised here. It may be run more than
        once, so it must depend on nothing but its Writer, and change nothing else.

        Args:
            timeout: seconds; None waits for as long as it takes.

        Raises:
            DeadlineExceededError: not done in time. It says whether the write was cancelled before it began
                or may still happen.
            ResourceExhaustedError: (DISK_FULL) nothing was kept, and the store goes on once there is space;
                (OVERLOADED) too many writes wait; (WRITE_TOO_LARGE) split it.
            UnavailableError: (CLOSED) the store is closed; (STORAGE_FAILED) the disk did not confirm the
                write: it is not acknowledged, and after a restart either there or not.
        """
        return self._committer.commit(operation, timeout)

    def copy(self, target: Path) -> None:
        """Write a compacted copy into the directory `target`, which exists and is empty: one consistent
        snapshot, without free pages, that opens as a store. Writes go on meanwhile, into new pages."""
        self._environment.copy(target)

    def info(self) -> StoreInfo:
        with self.read() as reader:
            return StoreInfo(
                seq=reader.seq,
                file_bytes=(self._environment.path / "data.mdb").stat().st_size,
                map_size=self._environment.map_size(),
                entries=reader.entries(),
            )

    def close(self) -> None:
        """Take no more, finish what was accepted, wait (at most 10 s) for open reads, and close the files.
        Does nothing the second time, nor in a forked child."""
        if self._environment.forked():
            return
        atexit.unregister(self.close)
        if hasattr(self, "_committer"):
            self._committer.close()
        self._environment.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _create_missing(writer: Writer) -> None:
    for name in ALWAYS_THERE:
        if writer.namespace(name) is None:
            writer.create_namespace(name)

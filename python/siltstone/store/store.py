"""The truth: a durable store of one data directory."""

import atexit
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from siltstone.errors import InvalidArgumentError, SiltstoneError
from siltstone.store.committer import Committer, now_microseconds
from siltstone.store.dumping import Frozen
from siltstone.store.environment import Environment
from siltstone.store.exposures import Exposures, Pairs
from siltstone.store.reader import Change, Reader
from siltstone.store.writer import ALWAYS_THERE, Writer

T = TypeVar("T")
log = logging.getLogger(__name__)

CHANGES_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """`file_bytes` is what the data file takes on disk, `map_size` what it may grow to before the map grows,
    `entries` the entries of each table. `reads` are under way, the oldest for `oldest_read_s` seconds;
    `writes_waiting` are accepted and not yet answered, `unapplied` commits not yet in the index."""

    seq: int
    file_bytes: int
    map_size: int
    entries: dict[str, int]
    reads: int
    oldest_read_s: float
    writes_waiting: int
    unapplied: int


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
        max_namespaces, max_memories: what would add to more than so many is refused; None: no limit. Memories
            of deleted namespaces count until they are purged.

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
        max_namespaces: int | None = None,
        max_memories: int | None = None,
    ) -> None:
        if max_group < 1 or retention < 1:
            raise InvalidArgumentError(f"max_group ({max_group}) and retention ({retention}) are at least 1")
        self._environment = Environment(path, map_size)
        self._exposures = Exposures(self._save_exposures)
        try:
            self._committer = Committer(
                self._environment,
                applier,
                clock=clock,
                max_group=max_group,
                retention=retention,
                unsaved=self._exposures.holds,
                limits={
                    table: most
                    for table, most in (("names", max_namespaces), ("memories", max_memories))
                    if most is not None
                },
            )
            self.commit(_create_missing)
            self._exposures.start()
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
            yield Reader(snapshot, self._exposures.holds)

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
            ResourceExhaustedError: (TOO_MANY_MEMORIES, TOO_MANY_NAMESPACES) a limit of this store;
                (DISK_FULL) nothing was kept, and the store goes on once there is space;
                (OVERLOADED) too many writes wait; (WRITE_TOO_LARGE) split it.
            UnavailableError: (CLOSED) the store is closed; (STORAGE_FAILED) the disk did not confirm the
                write: it is not acknowledged, and after a restart either there or not.
        """
        return self._committer.commit(operation, timeout)

    def copy(self, target: Path) -> None:
        """Write a compacted copy into the directory `target`, which exists and is empty: one consistent
        snapshot, without free pages, that opens as a store. Writes go on meanwhile, into new pages."""
        self._environment.copy(target)

    @contextmanager
    def frozen(self) -> Iterator[Frozen]:
        """One consistent state of the store in a file of its own, made now and deleted at the end: it can be
        read for as long as it takes, and holds up nobody. Needs as much disk as the live data takes.

        Raises:
            ResourceExhaustedError: (DISK_FULL) no room for the copy.
        """
        with self._environment.frozen_copy() as directory:
            copy = Frozen.open(directory)
            try:
                yield copy
            finally:
                copy.close()

    def compact(self, *, timeout: float | None = None) -> None:
        """Finish purging deleted namespaces and make the data file anew from its live entries, so that
        nothing erased or deleted is left in it, free pages and the slack of pages included; what
        `Reader.erasing` told is settled by it. Needs as much disk again as the live data takes. Writes wait
        meanwhile, reads only for the moment in which the new file takes the old one's place.

        Raises:
            ResourceExhaustedError: (DISK_FULL) no room for the copy; UnavailableError: (READS_HELD) a read is
                held for too long. The old file stays and works.
        """
        self._committer.compact(timeout)

    def show(self, task_id: str, memory_ids: Iterable[str]) -> None:
        """Note, before the task gets to see them, that it was shown these memories. Costs no write: `exposed`
        knows at once, the disk within about a second. An unknown task is ignored, since it counts as shown
        everything."""
        self._exposures.add(task_id, memory_ids)

    def save_exposures(self) -> bool:
        """Put on disk what `show` noted; whether all of it is there now."""
        return self._exposures.flush()

    def _save_exposures(self, pairs: Pairs) -> None:
        def operation(writer: Writer) -> None:
            for task_id, memory_ids in pairs.items():
                if writer.task(task_id) is not None:
                    writer.put_exposures(task_id, sorted(memory_ids))

        self.commit(operation)

    def info(self) -> StoreInfo:
        reads, oldest_read_s = self._environment.reads()
        writes_waiting, unapplied = self._committer.waiting()
        with self.read() as reader:
            return StoreInfo(
                seq=reader.seq,
                file_bytes=(self._environment.path / "data.mdb").stat().st_size,
                map_size=self._environment.map_size(),
                entries=reader.entries(),
                reads=reads,
                oldest_read_s=oldest_read_s,
                writes_waiting=writes_waiting,
                unapplied=unapplied,
            )

    def close(self) -> None:
        """Take no more, finish what was accepted, wait (at most 10 s) for open reads, and close the files.
        Does nothing the second time, nor in a forked child."""
        if self._environment.forked():
            return
        atexit.unregister(self.close)
        if hasattr(self, "_committer"):
            self._close_exposures()
            self._committer.close()
        self._environment.close()

    def _close_exposures(self) -> None:
        try:
            if self._exposures.close():
                self.commit(Writer.mark_closed)
        except SiltstoneError as error:  # the tasks of this run then count as shown everything
            log.warning("the log of what tasks were shown was not closed: %s", error)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _create_missing(writer: Writer) -> None:
    for name in ALWAYS_THERE:
        if writer.namespace(name) is None:
            writer.create_namespace(name)
    writer.mark_open()

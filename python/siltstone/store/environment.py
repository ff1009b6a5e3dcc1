"""The LMDB environment: opened once, read by many, grown and closed only while nobody reads.

LMDB's own rules that this file keeps: the map may not be resized while a transaction of this process is open,
nothing may touch the environment after it is closed (both crash), and one process opens a file once.
"""

import logging
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lmdb

from siltstone.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    UnavailableError,
)
from siltstone.store import upgrades
from siltstone.store.compacting import copy_live_entries
from siltstone.store.datafile import note_created, refuse_when_cut, sync_directory
from siltstone.store.failures import translate, translated
from siltstone.store.lockfile import LockFile
from siltstone.store.upgrades import FORMER

MIN_MAP_SIZE = 128 << 10
RESERVED_MAP_SIZE = 64 << 30  # sparse: address space, not disk
MODEST_MAP_SIZE = 1 << 30  # where a reserved map takes disk or address space is short
MAX_READERS = 2048
GROW_TIMEOUT = 30.0  # seconds to wait for open reads before the map can grow
CLOSE_TIMEOUT = 10.0
COMPACTING = "compacting"  # directory of the copy that will take the data file's place
FROZEN = "frozen"  # directory of copies that backups are made from
RESTORING = "restoring"  # directory of what a restore makes, until it takes the data file's place

_TABLES = (
    "meta",  # format, seq, clock, the next namespace number
    "names",  # name → namespace number
    "namespaces",  # number → NamespaceRecord
    "counters",  # namespace → counts and the floor of its change log
    "owners",  # id of a memory, task or job → namespace
    "memories",  # namespace, id → Memory
    "vectors",  # namespace, id → packed float32, of namespaces with an even generation
    "other_vectors",  # the same of those with an odd one; each also holds what the next generation will have
    "revisions",  # namespace, id, revision → Revision
    "former_vectors",  # namespace, id, revision → the vectors that this revision was the last to have
    "sources",  # namespace, id of a memory, digest of a task or trajectory that wrote it or said it → nothing
    "contents",  # namespace, digest of the content, id of a live memory → nothing
    "changes",  # namespace, seq → ids, 16 bytes each
    "tasks",  # namespace, id → Task
    "steps",  # namespace, task id, number → Step
    "jobs",  # namespace, id → HindsightJob
    "waiting",  # id of a job that is queued or running → namespace
    "exposures",  # namespace of the task, task id, memory id → time
    "shown",  # namespace, id of a memory → how many tasks were shown it
    "answers",  # digest of principal, method, request_id → AnswerRecord
    "answer_times",  # time, key in answers → nothing
    "audit",  # seq, place → AuditEvent without its note
    "audit_notes",  # namespace, id of a memory, seq, place → the note of that event
    "tokens",  # digest of the secret → Token
    "created",  # digest of a principal → how many memories and namespaces it made
    "erased",  # id of an erased memory → time
    "erasing",  # namespace → nothing: files may still hold text that was erased from it
)
_NOT_COMPACTED = frozenset({"erasing"})  # a compacted file holds no such text

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A transaction and the handles of the tables in it."""

    txn: Any
    tables: dict[str, Any]


class Environment:
    """The files of one data directory.

    Args:
        path: the directory; created, for its owner only, when it is missing.
        map_size: bytes of address space reserved, doubled when they are full; None for a generous default.
    """

    def __init__(self, path: Path, map_size: int | None = None) -> None:
        if map_size is not None and map_size < MIN_MAP_SIZE:
            raise InvalidArgumentError(
                f"map_size: {map_size} is below {MIN_MAP_SIZE} bytes", field="map_size"
            )
        self.path = path
        self._pid = os.getpid()
        self._gate = threading.Condition()
        self._readers = 0
        self._since: dict[object, float] = {}  # each open read → when it began
        self._pausing = False
        self._closed = False
        self._local = threading.local()
        with translated(path):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = LockFile(path)
        try:
            with translated(path):
                for unfinished in (COMPACTING, FROZEN, RESTORING):
                    shutil.rmtree(path / unfinished, ignore_errors=True)
                refuse_when_cut(path)
                _allocate_reader_table(path / "lock.mdb")
                self._env = _open(path, map_size)
        except BaseException:
            self._lock.release()
            raise
        try:
            with translated(path):
                self._env.reader_check()
                self._tables = self._open_tables()
                note_created(path)
        except BaseException:
            self._env.close()
            self._lock.release()
            raise

    @contextmanager
    def read(self) -> Iterator[Snapshot]:
        """A consistent snapshot. A thread that already reads is let in even while reads are paused: the
        writer would wait for it, and it for the writer."""
        held = self._held()
        with self._gate:
            while self._pausing and not held[0] and not self._closed:
                self._gate.wait()
            self.refuse_when_unusable()
            self._readers += 1
        held[0] += 1
        read = object()
        self._since[read] = time.monotonic()
        try:
            txn = self._env.begin()
            try:
                yield Snapshot(txn, self._tables)
            finally:
                txn.abort()
        except lmdb.Error as error:  # an OSError of the body is not the store's
            raise translate(error, self.path) from error
        finally:
            held[0] -= 1
            del self._since[read]
            with self._gate:
                self._readers -= 1
                if not self._readers:
                    self._gate.notify_all()
                    if self._closed:
                        self._shut()

    def reads(self) -> tuple[int, float]:
        """How many reads are open, and for how many seconds the oldest has been."""
        began = list(self._since.values())
        return len(began), time.monotonic() - min(began) if began else 0.0

    def reading(self) -> bool:
        """Whether this thread is inside `read`."""
        return self._held()[0] > 0

    @contextmanager
    def write(self) -> Iterator[Snapshot]:
        """A write transaction, committed at the end, undone by an exception. Only the writer thread calls
        this, and ends it before it calls `grow` or `close`."""
        txn = self._env.begin(write=True)
        try:
            yield Snapshot(txn, self._tables)
        except BaseException:
            # py-lmdb aborts only at a moment when no other thread is inside LMDB: under many small reads
            # that overlap, it would wait for seconds.
            with self._paused():
                txn.abort()
            raise
        txn.commit()

    def grow(self) -> None:
        """Double the map. Waits until nobody reads; who comes to read meanwhile waits.
        `UnavailableError` when a read is held for too long."""
        with self._paused(), self._gate:
            self._wait_for_readers()
            with translated(self.path):
                self._env.set_mapsize(2 * self._env.info()["map_size"])

    def _wait_for_readers(self) -> None:
        if not self._gate.wait_for(lambda: not self._readers, GROW_TIMEOUT):
            raise UnavailableError(
                f"the data file must move and a read was held open for {GROW_TIMEOUT:.0f} s; retry",
                reason="READS_HELD",
            )

    @contextmanager
    def _paused(self) -> Iterator[None]:
        """Let no new read in. Only the writer thread calls this."""
        with self._gate:
            self._pausing = True
        try:
            yield
        finally:
            with self._gate:
                self._pausing = False
                self._gate.notify_all()

    def copy(self, target: Path) -> None:
        """Write a compacted copy of the data into the empty directory `target`, as of now; writes go on."""
        with translated(target), self.read():  # keeps the map from moving
            self._env.copy(str(target), compact=True)

    @contextmanager
    def frozen_copy(self) -> Iterator[Path]:
        """A directory with a copy of the data as of now, deleted at the end; after a crash, at the next
        start."""
        parent = self.path / FROZEN
        with translated(self.path):
            parent.mkdir(mode=0o700, exist_ok=True)
            directory = Path(tempfile.mkdtemp(dir=parent))
        try:
            self.copy(directory)
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def compact(self) -> None:
        """Put a copy of the live entries in the place of the data file, so that nothing deleted is left in
        it. Only the writer thread calls this, between transactions. Reads go on while the copy is written
        and wait while it takes its place.

        Raises:
            UnavailableError: (READS_HELD) a read was held for too long; the file is as it was.
            ResourceExhaustedError: the disk has no room for the copy; the file is as it was.
        """
        target = self.path / COMPACTING
        try:
            with translated(self.path):
                shutil.rmtree(target, ignore_errors=True)
                target.mkdir(mode=0o700)
                with self.read() as snapshot:
                    size = int(self._env.info()["map_size"])
                    copy_live_entries(snapshot.txn, snapshot.tables, target, size, _NOT_COMPACTED)
            with self._paused(), self._gate:
                self._wait_for_readers()
                self._replace(target / "data.mdb", size)
            shutil.rmtree(self.path / FORMER, ignore_errors=True)  # they hold what was deleted since
        finally:
            shutil.rmtree(target, ignore_errors=True)

    def _replace(self, data: Path, map_size: int) -> None:
        self._env.close()
        try:
            with translated(self.path):
                try:
                    os.replace(data, self.path / "data.mdb")
                    sync_directory(self.path)
                finally:
                    self._env = _open(self.path, map_size)
                    self._tables = self._open_tables()
        except BaseException:
            if not self._is_open():
                self._closed = True  # nobody may touch a closed environment
                self._lock.release()
            raise

    def _is_open(self) -> bool:
        try:
            return bool(self._env.info())
        except lmdb.Error:
            return False

    def map_size(self) -> int:
        with self.read():
            return int(self._env.info()["map_size"])

    def close(self) -> None:
        """Refuse new reads, wait for open ones and close the files. When a read is held for longer than
        `CLOSE_TIMEOUT`, the end of that read closes them. In a forked child nothing happens."""
        if self.forked():
            return
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._gate.notify_all()
            if self._gate.wait_for(lambda: not self._readers, CLOSE_TIMEOUT):
                self._shut()
            else:
                log.warning("%d reads of %s are still open; the last one closes it", self._readers, self.path)

    def _shut(self) -> None:
        self._env.close()
        self._lock.release()

    def _held(self) -> list[int]:
        held: list[int] | None = getattr(self._local, "held", None)
        if held is None:
            held = self._local.held = [0]
        return held

    def forked(self) -> bool:
        """Whether this is a child process of the one that opened it: LMDB must not be touched here."""
        return os.getpid() != self._pid

    def refuse_when_unusable(self) -> None:
        if self._closed:
            raise UnavailableError("the store is closed", reason="CLOSED")
        if self.forked():
            raise FailedPreconditionError(
                "the store was opened before this process was forked; open it after the fork",
                reason="FORKED",
            )

    def _open_tables(self) -> dict[str, Any]:
        while True:
            try:
                with self._env.begin(write=True) as txn:
                    tables = {name: self._env.open_db(name.encode(), txn=txn) for name in _TABLES}
                    written = upgrades.written_format(txn, tables["meta"])
                    if written is None:
                        upgrades.begin(txn, tables)
                    elif written[0] > upgrades.FORMAT_VERSION:
                        raise FailedPreconditionError(
                            f"{self.path} was written in store format {written[0]} by {written[1]}, this "
                            f"release reads formats 1 to {upgrades.FORMAT_VERSION}; use the release that "
                            "wrote it, or a newer one",
                            reason="FORMAT_VERSION",
                        )
                if written is not None and written[0] < upgrades.FORMAT_VERSION:
                    upgrades.upgrade(self._env, tables, written[0], self.path)
                return tables
            except lmdb.MapFullError:
                self._env.set_mapsize(2 * self._env.info()["map_size"])


def _open(path: Path, map_size: int | None) -> Any:
    size = map_size or (
        RESERVED_MAP_SIZE if sys.platform == "linux" and sys.maxsize > 1 << 32 else MODEST_MAP_SIZE
    )
    while True:
        try:
            return lmdb.open(
                str(path),
                map_size=size,
                subdir=True,
                mode=0o700,
                max_dbs=len(_TABLES),
                max_readers=MAX_READERS,
                lib_version=0,
            )
        except (lmdb.Error, MemoryError):
            if map_size or size <= MODEST_MAP_SIZE:
                raise
            size //= 2  # an address space limit: less is reserved, and grown when it is full


def _allocate_reader_table(path: Path) -> None:
    """Give LMDB's lock file its blocks before LMDB maps it: in a sparse file, a new reader on a full disk
    would touch a block that cannot be had, and the process would die of SIGBUS."""
    if hasattr(os, "posix_fallocate"):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, 64 * MAX_READERS + 4096)
        finally:
            os.close(descriptor)

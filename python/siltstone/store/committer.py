"""Group commit: one thread writes, one applies, and a caller waits for both.

While one transaction syncs, operations gather for the next, so that many callers share a sync. One that fails
leaves nothing and the others of its group go on.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import Any, TypeVar

import lmdb

from siltstone.errors import (
    DeadlineExceededError,
    InternalError,
    ResourceExhaustedError,
    UnavailableError,
)
from siltstone.store.environment import Environment, Snapshot
from siltstone.store.failures import translate
from siltstone.store.ids import IdFactory
from siltstone.store.limits import refuse_when_full
from siltstone.store.pending import Pending
from siltstone.store.reader import Change
from siltstone.store.writer import Writer

MAX_WAITING = 10_000  # operations accepted and not yet answered
GATHER_TIMEOUT = 0.001  # seconds; a sync takes several times that
PURGED_AT_ONCE = 1000  # entries of deleted namespaces that go with one group
APPLIER_TIMEOUT = 10.0  # seconds that closing waits for a last apply

T = TypeVar("T")
log = logging.getLogger(__name__)


class _Operation:
    __slots__ = ("between", "changes", "done", "error", "function", "value")

    def __init__(self, function: Callable[[Writer], Any], between: Callable[[], None] | None = None) -> None:
        self.function = function
        self.between = between  # instead of it, with no transaction open
        self.done = threading.Lock()  # held until then: a fraction of what an event costs
        self.done.acquire()
        self.value: Any = None
        self.error: BaseException | None = None
        self.changes: list[Change] = []


class _RunAlone(Exception):
    """An operation broke the group's transaction; run each in one of its own to see which."""


class Committer:
    """See `Store.commit`."""

    def __init__(
        self,
        environment: Environment,
        applier: Callable[[list[Change]], None],
        *,
        clock: Callable[[], int],
        max_group: int,
        retention: int,
        unsaved: Callable[[str, str], bool],
        limits: Mapping[str, int],
    ) -> None:
        self._limits = limits
        self._environment = environment
        self._unsaved = unsaved
        self._applier = applier
        self._clock = clock
        self._max_group = max_group
        self._retention = retention
        self._ids = IdFactory()
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._queue: deque[_Operation] = deque()
        self._waiting = 0
        self._unapplied = 0
        self._gathering = 1  # so many must be queued for the writer to be woken
        self._last_group = 0
        self._closing = False
        self._applying: SimpleQueue[Sequence[_Operation] | None] = SimpleQueue()
        with environment.read() as snapshot:
            self._purging = self._writer(snapshot, Pending()).has_deleted()
        # Daemons, for a program that ends without closing; Store closes at exit.
        self._threads = [
            threading.Thread(target=self._write_groups, name="siltstone-writer", daemon=True),
            threading.Thread(target=self._apply_groups, name="siltstone-applier", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def commit(self, function: Callable[[Writer], T], timeout: float | None) -> T:
        if threading.current_thread() in self._threads or self._environment.reading():
            raise InternalError(
                "commit inside a read, an operation or the applier would wait for itself; end that first",
                reason="NESTED_COMMIT",
            )
        self._environment.refuse_when_unusable()
        value: T = self._wait_for(_Operation(function), timeout)
        return value

    def compact(self, timeout: float | None) -> None:
        """See `Store.compact`."""

        def purge_and_compact() -> None:
            while self._purging:
                self._write([])
            with self._environment.read() as snapshot:
                if self._writer(snapshot, Pending()).has_deleted():
                    raise UnavailableError("a deleted namespace could not be purged; see the log, then retry")
            self._environment.compact()

        self._environment.refuse_when_unusable()
        self._wait_for(_Operation(_nothing, purge_and_compact), timeout)

    def _wait_for(self, operation: _Operation, timeout: float | None) -> Any:
        with self._lock:
            if self._closing:
                raise UnavailableError("the store is closed", reason="CLOSED")
            if self._waiting >= MAX_WAITING:
                raise ResourceExhaustedError(
                    f"{self._waiting} writes are waiting already; retry later", reason="OVERLOADED"
                )
            self._waiting += 1
            self._queue.append(operation)
            if len(self._queue) >= self._gathering or self._closing:
                self._arrived.notify()
        if not operation.done.acquire(timeout=-1 if timeout is None else min(timeout, threading.TIMEOUT_MAX)):
            self._give_up(operation, timeout)
        if operation.error is not None:
            raise operation.error
        return operation.value

    def waiting(self) -> tuple[int, int]:
        """Operations accepted and not yet answered, and commits that the index has not yet applied."""
        return self._waiting, self._unapplied

    def close(self) -> None:
        """Take no more, write and apply what was accepted, end the threads."""
        with self._lock:
            self._closing = True
            self._arrived.notify()
        writer, applier = self._threads
        writer.join()
        applier.join(APPLIER_TIMEOUT)
        if applier.is_alive():
            log.error("the applier did not return in %.0f s; its index must be rebuilt", APPLIER_TIMEOUT)

    def _give_up(self, operation: _Operation, timeout: float | None) -> None:
        with self._lock:
            if operation in self._queue:
                self._queue.remove(operation)
                self._waiting -= 1
                raise DeadlineExceededError(
                    f"the write did not start within {timeout} s and was cancelled; nothing was written"
                )
        if operation.done.locked():
            raise DeadlineExceededError(
                f"the write was not done within {timeout} s and may still happen; "
                "retry with the same request_id"
            )

    def _write_groups(self) -> None:
        while (group := self._next_group()) is not None:
            together = [operation for operation in group if operation.between is None]
            try:
                if together or not group:
                    self._write(together)
            except BaseException as error:  # the thread must outlive it: nobody else writes
                log.exception("a group of %d writes failed", len(together))
                _fail(together, InternalError(f"the writer failed: {error}"))
            for operation in group:
                if operation.between is not None:
                    try:
                        operation.between()
                    except BaseException as error:
                        operation.error = error
            with self._lock:
                self._unapplied += sum(len(operation.changes) for operation in group)
            self._applying.put(group)
        self._applying.put(None)

    def _next_group(self) -> list[_Operation] | None:
        """The operations that wait; none of them when there is only something to purge; None at the end.

        The callers of the last group are just being answered, and most come back at once. Without waiting a
        moment for them, two halves of the callers would take turns, each with a sync of its own.
        """
        with self._lock:
            expected = min(len(self._queue) + self._last_group, self._max_group)
            while not self._queue:
                if self._closing:
                    return None
                if self._purging:
                    return []
                self._arrived.wait()
            if len(self._queue) < expected:
                self._gathering = expected
                self._arrived.wait_for(lambda: len(self._queue) >= expected or self._closing, GATHER_TIMEOUT)
                self._gathering = 1
            self._last_group = min(len(self._queue), self._max_group)
            return [self._queue.popleft() for _ in range(self._last_group)]

    def _write(self, group: list[_Operation]) -> None:
        while True:
            try:
                return self._transact(group)
            except lmdb.MapFullError:
                try:
                    self._environment.grow()
                except Exception as error:
                    return self._refuse(group, error)
            except _RunAlone:
                for operation in group:
                    self._write([operation])
                return None
            except (lmdb.Error, OSError) as error:
                return self._refuse(group, translate(error, self._environment.path))

    def _refuse(self, group: list[_Operation], error: Exception) -> None:
        log.error("a group of %d writes was undone: %s", len(group), error)
        self._purging = False  # or it would fail on and on; taken up by the next deletion or start
        _fail(group, error)

    def _transact(self, group: list[_Operation]) -> None:
        deleted = False
        purging = False
        with self._environment.write() as snapshot:
            try:
                pending = Pending()
                for operation in group:
                    deleted |= self._run(operation, self._writer(snapshot, pending), pending)
                pending.write(snapshot.txn, snapshot.tables)
            except lmdb.MapFullError:
                raise
            except lmdb.Error as error:
                if len(group) > 1:
                    raise _RunAlone from error
                raise
            if self._purging:
                purging = self._writer(snapshot, Pending()).purge(PURGED_AT_ONCE)
        self._purging = purging or deleted

    def _run(self, operation: _Operation, writer: Writer, pending: Pending) -> bool:
        """Carry out one operation, or note why it failed; whether it deleted a namespace."""
        operation.value, operation.error, operation.changes = None, None, []
        try:
            before = writer.entries(self._limits)
            operation.value = operation.function(writer)
            refuse_when_full(before, writer.entries(self._limits), self._limits)
            operation.changes = writer.finish()
        except lmdb.Error:
            raise  # of the transaction, which is everybody's
        except BaseException as error:
            operation.value, operation.error = None, error
            pending.undo()
            return False
        pending.keep()
        return writer.deleted

    def _writer(self, snapshot: Snapshot, pending: Pending) -> Writer:
        return Writer(
            snapshot,
            pending,
            time=self._clock(),
            ids=self._ids,
            retention=self._retention,
            unsaved=self._unsaved,
            counted=self._limits.keys(),
        )

    def _apply_groups(self) -> None:
        while (group := self._applying.get()) is not None:
            changes = [change for operation in group for change in operation.changes]
            if changes:
                try:
                    self._applier(changes)
                except BaseException:  # the writes are durable: their callers must hear so
                    log.exception("applying %d changes to the index failed", len(changes))
            with self._lock:
                self._waiting -= len(group)
                self._unapplied -= len(changes)
            for operation in group:
                operation.changes = []
                operation.done.release()


def _nothing(_: Writer) -> None:
    pass


def _fail(group: list[_Operation], error: Exception) -> None:
    for operation in group:
        operation.value, operation.changes, operation.error = None, [], error


def now_microseconds() -> int:
    """The system's clock, microseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1000

"""Removes memories whose validity ended long ago."""

import logging
import threading
from datetime import UTC, datetime, timedelta

from siltstone.engine.unlinking import unlink
from siltstone.errors import SiltstoneError
from siltstone.store import Store, Writer

_LOOKED_AT = 1000  # memories read in one snapshot
_AT_ONCE = 50  # memories removed in one commit, so that no writer waits for more

log = logging.getLogger(__name__)


class Sweeper:
    """Args:
    grace: how long expired memories are kept.
    every: seconds between two sweeps; with 0 there is none but by `sweep`.
    """

    def __init__(self, store: Store, *, grace: timedelta, every: float) -> None:
        self._store = store
        self._grace = grace
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="siltstone-sweeper", daemon=True)

    def start(self) -> None:
        if self._every:
            self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def sweep(self, now: datetime) -> int:
        """Remove every memory that had expired a grace time before `now`; how many those were. What was
        revived meanwhile stays."""
        before = now - self._grace
        removed = 0
        with self._store.read() as reader:
            numbers = [record.number for record in reader.namespaces()]
        for number in numbers:
            try:
                removed += self._sweep(number, before)
            except SiltstoneError as error:
                if error.reason != "NAMESPACE_NOT_FOUND":  # deleted meanwhile
                    raise
        return removed

    def _sweep(self, number: int, before: datetime) -> int:
        removed, after = 0, ""
        while not self._stop.is_set():
            with self._store.read() as reader:
                ids, after = reader.expired(number, before, after_id=after, limit=_LOOKED_AT)
            for at in range(0, len(ids), _AT_ONCE):
                removed += self._remove(ids[at : at + _AT_ONCE], before)
            if not after:
                break
        return removed

    def _remove(self, ids: list[str], before: datetime) -> int:
        def operation(writer: Writer) -> int:
            writer.principal = "sweeper"
            count = 0
            for id in ids:
                memory = writer.memory(id)
                if memory is not None and memory.valid_until is not None and memory.valid_until < before:
                    unlink(writer, memory)
                    writer.remove_memory(memory, "expired")
                    count += 1
            return count

        return self._store.commit(operation)

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                removed = self.sweep(datetime.now(UTC))
            except Exception:
                log.exception("expired memories could not be removed; the next sweep tries again")
            else:
                if removed:
                    log.info("removed %d memories that expired over %s ago", removed, self._grace)

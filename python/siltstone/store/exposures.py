"""What tasks were shown, on its way to the disk.

A write for each search would cost it several milliseconds, so what was shown gathers in memory and goes down
with the next batch. Until then it is answered from here. What a crash loses must not look as if it had never
been shown: see `Writer.mark_open`.
"""

import logging
import threading
from collections.abc import Callable, Iterable

from siltstone.errors import InvalidArgumentError, SiltstoneError
from siltstone.store import keys

MAX_PENDING = 100_000  # pairs; beyond, tasks are remembered whole
INTERVAL = 1.0  # seconds between batches

log = logging.getLogger(__name__)

Pairs = dict[str, set[str]]


class Exposures:
    """Args:
    save: makes (task id → memory ids) durable, or raises.
    """

    def __init__(self, save: Callable[[Pairs], None], interval: float = INTERVAL) -> None:
        self._save = save
        self._interval = interval
        self._lock = threading.Lock()
        self._saving = threading.Lock()
        self._pending: Pairs = {}
        self._count = 0
        self._cut: set[str] = set()  # tasks whose pairs were too many to keep: shown everything
        self._arrived = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="siltstone-exposures", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, task_id: str, memory_ids: Iterable[str]) -> None:
        """Note it, before the task gets to see anything. An id that is none is no task's."""
        try:
            task = keys.format_id(keys.parse_id(task_id))
        except InvalidArgumentError:
            return
        with self._lock:
            if task in self._cut:
                return
            known = self._pending.setdefault(task, set())
            before = len(known)
            known.update(memory_ids)
            self._count += len(known) - before
            if self._count > MAX_PENDING:
                log.error(
                    "what tasks were shown cannot be saved; %d tasks count as shown all", len(self._pending)
                )
                self._cut |= self._pending.keys()
                self._pending, self._count = {}, 0
        self._arrived.set()

    def holds(self, task_id: str, memory_id: str) -> bool:
        """Whether the task was shown the memory and that is not on disk yet."""
        with self._lock:
            return task_id in self._cut or memory_id in self._pending.get(task_id, ())

    def flush(self) -> bool:
        """Save what gathered. False when that failed, or something was cut before: it is not all on disk."""
        with self._saving:
            with self._lock:
                batch = {task: set(ids) for task, ids in self._pending.items()}
            if batch:
                try:
                    self._save(batch)
                except SiltstoneError as error:
                    log.warning("what %d tasks were shown could not be saved yet: %s", len(batch), error)
                    return False
                self._forget(batch)
            return not self._cut

    def close(self) -> bool:
        """Save what is left and stop; as `flush`."""
        self._closing.set()
        self._arrived.set()
        if self._thread.is_alive():
            self._thread.join()
        return self.flush()

    def _forget(self, batch: Pairs) -> None:
        with self._lock:
            for task, ids in batch.items():
                kept = self._pending.get(task)
                if kept is not None:
                    kept -= ids
                    if not kept:
                        del self._pending[task]
            self._count = sum(len(ids) for ids in self._pending.values())

    def _run(self) -> None:
        while True:
            self._arrived.wait()
            if self._closing.wait(self._interval):
                return
            self._arrived.clear()
            if not self.flush() and self._pending:
                self._arrived.set()  # once more after the interval

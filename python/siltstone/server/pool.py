"""The workers that carry calls out."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Pool(ThreadPoolExecutor):
    """Workers that know how many calls are accepted and not yet done; gRPC does not tell.

    Args:
        max_waiting: so many calls may wait for a worker; `full` says when they do.
    """

    def __init__(self, name: str, workers: int, max_waiting: int) -> None:
        super().__init__(workers, thread_name_prefix=f"siltstone-{name}")
        self.workers = workers
        self.max_waiting = max_waiting
        self._open = 0
        self._changed = threading.Condition()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with self._changed:
            self._open += 1
        try:
            future = super().submit(fn, *args, **kwargs)
        except BaseException:
            self._done()
            raise
        future.add_done_callback(self._done)
        return future

    def _done(self, _: Future[Any] | None = None) -> None:
        with self._changed:
            self._open -= 1
            if not self._open:
                self._changed.notify_all()

    def running(self) -> int:
        return min(self._open, self.workers)

    def waiting(self) -> int:
        return max(self._open - self.workers, 0)

    def full(self) -> bool:
        return self._open >= self.workers + self.max_waiting

    def wait_idle(self, timeout: float) -> bool:
        until = time.monotonic() + timeout
        with self._changed:
            while self._open:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True

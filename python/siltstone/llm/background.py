"""Coroutines for callers that wait in threads of their own, and may stop waiting at any moment."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from siltstone.hindsight.watching import Check

T = TypeVar("T")

_LOOK_S = 0.1  # between two looks whether the result is still wanted
_CLOSE_S = 5.0


class Background:
    """An event loop in a thread, started when it is first needed. Safe for many threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T], check: Check) -> T:
        """What the coroutine returns or raises. `check` is asked ten times a second; what it raises cancels
        the coroutine, and is raised without waiting for that."""
        future = asyncio.run_coroutine_threadsafe(work, self._running())
        try:
            while True:
                try:
                    return future.result(_LOOK_S)
                except TimeoutError:
                    if future.done():
                        raise  # the coroutine's own
                    check()
        finally:
            future.cancel()

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """End what runs, then run `last`, then the thread."""
        with self._lock:
            loop, thread, self._loop = self._loop, self._thread, None
        if loop is None or thread is None:
            last.close()
            return
        asyncio.run_coroutine_threadsafe(self._end(last), loop)
        thread.join(_CLOSE_S)

    async def _end(self, last: Coroutine[Any, Any, None]) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        try:
            await asyncio.wait_for(asyncio.gather(*others, return_exceptions=True), _CLOSE_S / 2)
            await asyncio.wait_for(last, _CLOSE_S / 4)
        finally:
            asyncio.get_running_loop().stop()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name=self._name, daemon=True
                )
                self._thread.start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

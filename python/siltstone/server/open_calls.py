"""Calls that wait for their callers: for a message that does not come, for an answer to be taken.

gRPC would wait for ever. A caller that opens calls and sends nothing would hold all workers; one that asks
and reads nothing would fill the memory with answers.
"""

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

from siltstone.errors import ResourceExhaustedError

log = logging.getLogger(__name__)

_SWEEPS_A_WAIT = 4  # so a call may wait a quarter longer than it should
_MAX_PAUSE_S = 5.0


class OpenCall:
    """One call from its worker's first look at it until its last byte is taken."""

    __slots__ = ("_calls", "context", "since", "taken", "unread")

    def __init__(self, calls: "OpenCalls", context: Any) -> None:
        self._calls = calls
        self.context = context
        self.since: float | None = None  # waits for its caller since then, on the monotonic clock
        self.taken = 0  # bytes of the message at hand
        self.unread = 0  # bytes of its answer

    def messages(self, stream: Iterator[bytes]) -> Iterator[bytes]:
        """What the caller sends. ResourceExhaustedError (OVERLOADED) when the messages of all calls together
        are more than the memory is to hold."""
        while True:
            self.since = time.monotonic()
            try:
                message = next(stream)
            except StopIteration:
                return
            finally:
                self.since = None
            self._calls.take(self, len(message) if isinstance(message, bytes) else 0)
            yield message

    def answers(self, stream: Iterator[bytes]) -> Iterator[bytes]:
        """What the caller is sent, part by part."""
        for part in stream:
            self.since = time.monotonic()
            yield part
            self.since = None

    def answer(self, data: bytes) -> bytes:
        """The whole answer: the worker is free from now on, the memory is not."""
        self.since = time.monotonic()
        self._calls.take(self, 0)
        self._calls.keep(self, len(data))
        return data


class OpenCalls:
    """Cancels calls that wait too long for their callers, or whose answers pile up.

    Args:
        idle_s: seconds that a call may wait for its caller.
        max_pending_bytes: of all messages that are worked on; a message beyond it is refused, unless it is
            the only one.
        max_unread_bytes: of all answers that are not yet taken; beyond it the oldest are given up.
    """

    def __init__(self, idle_s: float, max_pending_bytes: int, max_unread_bytes: int) -> None:
        self._idle_s = idle_s
        self._max_pending = max_pending_bytes
        self._pending = 0
        self._max_unread = max_unread_bytes
        self._lock = threading.Lock()
        self._calls: dict[OpenCall, None] = {}  # in the order in which they were opened
        self._unread = 0
        self.given_up = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sweep_often, name="siltstone-open-calls", daemon=True)
        self._thread.start()

    def open(self, context: Any) -> OpenCall:
        call = OpenCall(self, context)
        with self._lock:
            self._calls[call] = None
        if not context.add_callback(lambda: self._ended(call)):
            self._ended(call)
        return call

    def take(self, call: OpenCall, size: int) -> None:
        """Note how large the message is that a call works on from now on, instead of the one before."""
        with self._lock:
            others = self._pending - call.taken
            if size and others and others + size > self._max_pending:
                raise ResourceExhaustedError(
                    f"this message has {size:,} bytes, and those that are worked on have {others:,} of "
                    f"{self._max_pending:,} (max_pending_bytes); try again in a moment, or send smaller ones",
                    reason="OVERLOADED",
                )
            if call in self._calls:  # else the caller has gone meanwhile
                self._pending = others + size
                call.taken = size

    def pending_bytes(self) -> int:
        return self._pending

    def keep(self, call: OpenCall, size: int) -> None:
        with self._lock:
            if call not in self._calls:
                return  # the caller has gone meanwhile
            call.unread = size
            self._unread += size
            excess = self._unread - self._max_unread
            late = []
            for other in self._calls:
                if excess <= 0:
                    break
                if other.unread and other is not call:
                    late.append(other)
                    excess -= other.unread
        self._give_up(late, "answers that nobody takes fill the memory")

    def unread_bytes(self) -> int:
        return self._unread

    def sweep(self) -> None:
        """Give up what has waited too long."""
        before = time.monotonic() - self._idle_s
        with self._lock:
            late = [call for call in self._calls if call.since is not None and call.since < before]
        self._give_up(late, f"their callers sent or took nothing for {self._idle_s:g} s")

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def _give_up(self, calls: list[OpenCall], why: str) -> None:
        for call in calls:
            call.context.cancel()
        if calls:
            self.given_up += len(calls)
            log.warning("gave up %d calls: %s", len(calls), why)

    def _ended(self, call: OpenCall) -> None:
        with self._lock:
            if call in self._calls:
                del self._calls[call]
                self._unread -= call.unread
                self._pending -= call.taken

    def _sweep_often(self) -> None:
        while not self._stop.wait(min(self._idle_s / _SWEEPS_A_WAIT, _MAX_PAUSE_S)):
            self.sweep()

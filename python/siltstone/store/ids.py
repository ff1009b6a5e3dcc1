"""Time-ordered ids: UUID version 7 (RFC 9562, section 5.7), strictly increasing within the process."""

import secrets
import threading

_TAIL_BITS = 74  # rand_a and rand_b together
_STEP_BITS = 32  # ids of one millisecond are this far apart at most, so that they stay hard to guess


class IdFactory:
    """Makes ids; safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._millisecond = 0
        self._tail = 0

    def make(self, time: int) -> bytes:
        """A new id of 16 bytes for `time`, microseconds since 1970. A clock set back changes no order: the
        millisecond of the last id is kept then."""
        with self._lock:
            millisecond = time // 1000
            if millisecond > self._millisecond:
                self._start(millisecond)
            else:
                self._tail += 1 + secrets.randbits(_STEP_BITS)
                if self._tail >> _TAIL_BITS:
                    self._start(self._millisecond + 1)
            return _compose(self._millisecond, self._tail)

    def _start(self, millisecond: int) -> None:
        self._millisecond = millisecond
        self._tail = secrets.randbits(_TAIL_BITS - 1)  # the upper half is room to count on


def _compose(millisecond: int, tail: int) -> bytes:
    rand_a, rand_b = tail >> 62, tail & (1 << 62) - 1
    value = millisecond << 80 | 7 << 76 | rand_a << 64 | 2 << 62 | rand_b
    return value.to_bytes(16, "big")

"""Long work asks now and then whether anybody still waits for it."""

import time
from collections.abc import Callable

Check = Callable[[], object]
"""Returns where the work is still wanted; what it raises ends the work and reaches the caller."""

_EVERY_S = 0.05


def unwatched() -> None:
    """The check of work that goes on to its end in any case."""


def seldom(check: Check) -> Check:
    """`check`, asked at most twenty times a second however often this is called."""
    if check is unwatched:
        return check
    due = 0.0

    def ask() -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            check()
            due = now + _EVERY_S

    return ask

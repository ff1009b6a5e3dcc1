"""Who calls, and until when."""

import time
from dataclasses import dataclass

from siltstone.errors import DeadlineExceededError


@dataclass(frozen=True, slots=True)
class Call:
    """The circumstances of one call.

    Args:
        principal: the caller's name; request ids belong to it.
        deadline: on `time.monotonic`'s clock; None: as long as it takes.
    """

    principal: str = "local"
    deadline: float | None = None

    def remaining(self) -> float | None:
        """Seconds left, None without a deadline; DeadlineExceededError once it has passed."""
        if self.deadline is None:
            return None
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise DeadlineExceededError("the deadline passed before the work began; nothing was done")
        return left

"""Who calls, with what rights, and until when."""

import time
from dataclasses import dataclass

from siltstone.errors import DeadlineExceededError, PermissionDeniedError
from siltstone.model import ROLES


@dataclass(frozen=True, slots=True)
class Call:
    """The circumstances of one call.

    Args:
        principal: the caller's name; request ids belong to it.
        deadline: on `time.monotonic`'s clock; None: as long as it takes.
        roles: what the caller may do, of `ROLES`. Without access tokens whoever reaches the service is its
            owner and has them all, less those it gave up for the call.
    """

    principal: str = "local"
    deadline: float | None = None
    roles: frozenset[str] = ROLES

    def remaining(self) -> float | None:
        """Seconds left, None without a deadline; DeadlineExceededError once it has passed."""
        if self.deadline is None:
            return None
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise DeadlineExceededError("the deadline passed before the work began; nothing was done")
        return left

    def require(self, role: str, to: str, field: str = "") -> None:
        """PermissionDeniedError unless the caller has the role; `to` says what it is needed for."""
        if role not in self.roles:
            where = f"{field}: " if field else ""
            has = ", ".join(sorted(self.roles)) or "none"
            raise PermissionDeniedError(
                f"{where}to {to} takes the role {role}; this caller has {has}",
                reason="ROLE_REQUIRED",
                field=field,
            )

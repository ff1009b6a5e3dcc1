"""Who calls, with what rights, and until when."""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from siltstone.engine.patterns import EVERYTHING, Patterns
from siltstone.errors import DeadlineExceededError, PermissionDeniedError, UnavailableError
from siltstone.model import ROLES

OWNER = "local"  # whoever reaches a service without tokens, and the service itself
PUBLIC = "public"  # the namespace that all who may read anything may read


def _still_valid() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Call:
    """The circumstances of one call.

    Args:
        principal: the caller's name; request ids belong to it.
        deadline: on `time.monotonic`'s clock; None: as long as it takes.
        roles: what the caller may do, of `ROLES`. Without access tokens whoever reaches the service is its
            owner and has them all, less those it gave up for the call.
        waiting: whether anybody still waits for the answer; None: always.
        namespaces: where it may do that.
        still_valid: raises UnauthenticatedError once the caller's token is revoked or expired; asked again
            with each message of a stream.
    """

    principal: str = OWNER
    deadline: float | None = None
    roles: frozenset[str] = ROLES
    waiting: Callable[[], bool] | None = None
    namespaces: Patterns = EVERYTHING
    still_valid: Callable[[], None] = _still_valid

    def remaining(self) -> float | None:
        """Seconds left, None without a deadline. Long work asks between its steps and lets through what is
        raised.

        Raises:
            DeadlineExceededError: the deadline has passed.
            UnavailableError: (CALLER_GONE) the caller cancelled or went away, or the service stops.
        """
        left = None if self.deadline is None else self.deadline - time.monotonic()
        if left is not None and left <= 0:
            raise DeadlineExceededError("the deadline passed before the work was done; nothing was done")
        if self.waiting is not None and not self.waiting():
            raise UnavailableError(
                "nobody waits for the answer any more; nothing was done", reason="CALLER_GONE"
            )
        return left

    def sees(self, namespace: str) -> bool:
        """Whether a namespace is there for this caller at all; one that it does not see is as one that never
        was."""
        return self.namespaces.match(namespace) or (namespace == PUBLIC and "reader" in self.roles)

    def require(self, role: str, to: str, field: str = "") -> None:
        """PermissionDeniedError unless the caller has the role; `to` says what it is needed for."""
        self.require_any((role,), to, field)

    def require_any(self, roles: Collection[str], to: str, field: str = "") -> None:
        """The same for one of several roles."""
        if self.roles.isdisjoint(roles):
            where = f"{field}: " if field else ""
            has = ", ".join(sorted(self.roles)) or "none"
            raise PermissionDeniedError(
                f"{where}to {to} takes the role {' or '.join(roles)}; this caller has {has}",
                reason="ROLE_REQUIRED",
                field=field,
            )

"""Every error a caller can meet, the same in process and over gRPC.

SiltstoneError
├── InvalidArgumentError      the request itself is wrong; change it
├── FailedPreconditionError   the request is fine, the state is not (another model, a finished task)
├── NotFoundError             no such memory, task, job, or namespace for this caller
├── AlreadyExistsError        a request_id with another payload, or a duplicate under on_duplicate=REJECT
├── StaleRevisionError        somebody changed it since it was read; read again, then retry
├── PermissionDeniedError     this caller may not do that
├── UnauthenticatedError      no token, or one that is not known
├── ResourceExhaustedError    a limit or the disk is full
├── UnavailableError          the server is starting, stopping or unreachable; retry
├── DeadlineExceededError     the caller's deadline passed; a write may still have happened (use request_id)
├── UnimplementedError        this version does not have it
└── InternalError             a fault of ours
"""

from typing import ClassVar


class SiltstoneError(Exception):
    """Base of every error Siltstone raises.

    Args:
        message: what is wrong, naming the field, the value and the remedy.
        reason: UPPER_SNAKE code that programs compare; by default the class's own.
        field: the request field at fault, as a path like ``drafts[2].confidence``; "" if none.

    `request_id` is what the server's logs have the failed call under; "" in process.
    """

    status: ClassVar[str] = "INTERNAL"
    default_reason: ClassVar[str] = "INTERNAL"

    def __init__(self, message: str, *, reason: str | None = None, field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason or self.default_reason
        self.field = field
        self.request_id = ""


class InvalidArgumentError(SiltstoneError):
    status = "INVALID_ARGUMENT"
    default_reason = "INVALID_ARGUMENT"


class FailedPreconditionError(SiltstoneError):
    status = "FAILED_PRECONDITION"
    default_reason = "FAILED_PRECONDITION"


class NotFoundError(SiltstoneError):
    status = "NOT_FOUND"
    default_reason = "NOT_FOUND"


class AlreadyExistsError(SiltstoneError):
    status = "ALREADY_EXISTS"
    default_reason = "ALREADY_EXISTS"


class StaleRevisionError(SiltstoneError):
    status = "ABORTED"
    default_reason = "STALE_REVISION"


class PermissionDeniedError(SiltstoneError):
    status = "PERMISSION_DENIED"
    default_reason = "PERMISSION_DENIED"


class UnauthenticatedError(SiltstoneError):
    status = "UNAUTHENTICATED"
    default_reason = "UNAUTHENTICATED"


class ResourceExhaustedError(SiltstoneError):
    status = "RESOURCE_EXHAUSTED"
    default_reason = "RESOURCE_EXHAUSTED"


class UnavailableError(SiltstoneError):
    status = "UNAVAILABLE"
    default_reason = "UNAVAILABLE"


class DeadlineExceededError(SiltstoneError):
    status = "DEADLINE_EXCEEDED"
    default_reason = "DEADLINE_EXCEEDED"


class UnimplementedError(SiltstoneError):
    status = "UNIMPLEMENTED"
    default_reason = "UNIMPLEMENTED"


class InternalError(SiltstoneError):
    status = "INTERNAL"
    default_reason = "INTERNAL"


BY_STATUS: dict[str, type[SiltstoneError]] = {cls.status: cls for cls in SiltstoneError.__subclasses__()}

"""Exceptions ↔ google.rpc.Status, the one mapping of this border.

A status carries ErrorInfo (reason, domain "siltstone", metadata field), BadRequest where a field is at fault,
RetryInfo where a retry may help, and RequestInfo with the id that logs have the call under, after the shape
of AIP-193.
"""

from typing import Any

from google.protobuf.message import DecodeError
from google.rpc import code_pb2, error_details_pb2, status_pb2  # type: ignore[import-untyped]

from siltstone.errors import BY_STATUS, InternalError, SiltstoneError, UnavailableError

DOMAIN = "siltstone"
RETRY_SECONDS = 1
# A status travels in HTTP/2 trailers, of which peers accept 8 KiB; the text is in it three times, once
# percent-encoded and twice in base64.
MAX_TEXT_BYTES = 1000
MAX_FIELD_BYTES = 200

# What only gRPC itself, a proxy or another server answers.
_FOREIGN = {"OUT_OF_RANGE": "INVALID_ARGUMENT", "CANCELLED": "UNAVAILABLE"}


def to_status(error: SiltstoneError, request_id: str = "") -> Any:
    """The google.rpc.Status of an exception; a text over 1,000 bytes is cut. `request_id` is what the logs
    have the call under."""
    text, field = _cut(error.message, MAX_TEXT_BYTES), _cut(error.field, MAX_FIELD_BYTES)
    status = status_pb2.Status(code=code_pb2.Code.Value(error.status), message=text)
    info = error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN)
    if field:
        info.metadata["field"] = field
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=field, description=text, reason=error.reason
        )
        status.details.add().Pack(error_details_pb2.BadRequest(field_violations=[violation]))
    if error.status in ("UNAVAILABLE", "RESOURCE_EXHAUSTED"):
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.seconds = RETRY_SECONDS
        status.details.add().Pack(retry)
    status.details.add().Pack(info)
    if request_id:
        status.details.add().Pack(error_details_pb2.RequestInfo(request_id=request_id))
    return status


def from_status(code: str, message: str, details: bytes | None = None) -> SiltstoneError:
    """The exception of a gRPC status.

    Args:
        code: name of the status code, such as "NOT_FOUND".
        details: a serialised google.rpc.Status, as in the trailer ``grpc-status-details-bin``.
    """
    kind = BY_STATUS.get(_FOREIGN.get(code, code), InternalError)
    info = _detail(details, error_details_pb2.ErrorInfo) if details else None
    if info is None or info.domain != DOMAIN:
        return kind(message or code)
    error = kind(message, reason=info.reason, field=info.metadata.get("field", ""))
    request = _detail(details, error_details_pb2.RequestInfo)
    error.request_id = request.request_id if request else ""
    return error


def said_by_server(details: bytes | None) -> bool:
    """Whether a Siltstone server itself answered; otherwise the connection or something between failed."""
    info = _detail(details, error_details_pb2.ErrorInfo) if details else None
    return info is not None and info.domain == DOMAIN


def connection_lost(address: str, detail: str) -> UnavailableError:
    # What a server with TLS does to a caller without it.
    tls = "; if it has TLS, say by which authority it is known (--tls-ca)" if "closed" in detail else ""
    return UnavailableError(
        f"no Siltstone server answers at {address} ({detail}); start one with `siltstone serve --address "
        f"{address}`, or name another address{tls}",
        reason="CONNECTION_FAILED",
    )


def _detail(details: bytes | None, kind: Any) -> Any:
    """The first detail of that kind, or None."""
    try:
        status = status_pb2.Status.FromString(details or b"")
        for detail in status.details:
            found = kind()
            if detail.Unpack(found):
                return found
    except DecodeError:
        pass
    return None


def _cut(text: str, size: int) -> str:
    data = text.encode(errors="replace")
    if len(data) <= size:
        return data.decode()
    return data[: size - 3].decode(errors="ignore") + "…"

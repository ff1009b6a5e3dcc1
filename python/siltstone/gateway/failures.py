"""Failures of a call, as the gateway's doors show them."""

import logging

from siltstone.errors import InternalError, SiltstoneError
from siltstone.watching import request_id

_log = logging.getLogger(__name__)


def understood(error: Exception) -> SiltstoneError:
    """Any failure of a call as one of Siltstone's errors; what is not foreseen is logged, not shown."""
    if isinstance(error, SiltstoneError):
        return error
    _log.error("a call failed in an unforeseen way", exc_info=error)
    return InternalError(f"a fault in the gateway; its log says more under request id {request_id()}")


def error_data(error: SiltstoneError) -> dict[str, str]:
    """An error as every door of the gateway shows it."""
    return {
        "status": error.status,
        "reason": error.reason,
        "field": _encodable(error.field),
        "message": _encodable(error.message),
        "request_id": error.request_id or request_id(),
    }


def _encodable(words: str) -> str:
    """What a caller sent may come back in an error, lone surrogates too, which no answer can carry."""
    return words.encode("utf-8", "backslashreplace").decode()

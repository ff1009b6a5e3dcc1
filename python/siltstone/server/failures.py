"""Exceptions → statuses, at the outermost place of a call."""

import logging
from typing import Any, NoReturn

import grpc
from grpc_status import rpc_status

from siltstone.errors import InternalError, SiltstoneError
from siltstone.watching import REQUEST_ID_HEADER, Request, current
from siltstone.wire import to_status

log = logging.getLogger(__name__)


def abort(context: grpc.ServicerContext, rpc: str, error: Exception) -> NoReturn:
    """End the call with the status of `error`; what is not foreseen is logged and not shown."""
    request = current.get() or Request("")
    if isinstance(error, grpc.RpcError):
        request.status = "CANCELLED"
        raise error  # the caller has gone; gRPC knows
    if not isinstance(error, SiltstoneError):
        log.error("%s failed in an unforeseen way, request id %s", rpc, request.id, exc_info=error)
        error = InternalError(
            f"{rpc} failed inside the server; its log tells more under request id {request.id}",
            reason="INTERNAL",
        )
    request.status, request.reason = error.status, error.reason
    status: Any = rpc_status.to_status(to_status(error, request.id))
    # Aborting replaces the trailing metadata that was set before.
    trailers = (*status.trailing_metadata, (REQUEST_ID_HEADER, request.id))
    context.abort_with_status(status._replace(trailing_metadata=trailers))
    raise AssertionError("abort_with_status always raises")

"""One gRPC handler an operation, from the table: decode → engine → encode, and exceptions to statuses.

gRPC hands over and takes plain bytes: what it cannot decode itself it would call INTERNAL, though the caller
is at fault.
"""

from __future__ import annotations  # grpc's classes take type arguments in stubs only

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from siltstone.engine.call import Call
from siltstone.errors import InvalidArgumentError, ResourceExhaustedError
from siltstone.operations import OPERATIONS
from siltstone.server.callers import Callers
from siltstone.server.failures import abort
from siltstone.wire import METHODS, Method, from_proto, parse, to_proto

_CENTURY_S = 3.2e9


class Handlers:
    """The handlers of every service over one engine.

    Args:
        engine: has a method for each operation: ``method(request, call) -> response``. Where requests are a
            stream it takes an iterator of them, where responses are one it returns an iterable.
        callers: knows who calls.
        max_streams: how many streams may be open at once; each holds a worker for as long as it is open.
    """

    def __init__(self, engine: Any, callers: Callers, max_streams: int) -> None:
        self._engine = engine
        self._callers = callers
        self._max_streams = max_streams
        self._streams = threading.BoundedSemaphore(max_streams)

    def of(self, service: str) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """RPC name → handler, for one service by its short name."""
        return {
            rpc: self._handler(method)
            for rpc, method in METHODS.items()
            if method.operation.service == service
        }

    def _handler(self, method: Method) -> grpc.RpcMethodHandler[Any, Any]:
        operation = method.operation
        if operation.request_stream and operation.response_stream:
            return grpc.stream_stream_rpc_method_handler(self._search_stream(method))
        if operation.response_stream:
            return grpc.unary_stream_rpc_method_handler(self._response_stream(method))
        if operation.request_stream:
            return grpc.stream_unary_rpc_method_handler(self._request_stream(method))
        return grpc.unary_unary_rpc_method_handler(self._unary(method))

    def _unary(self, method: Method) -> Callable[[bytes, grpc.ServicerContext], bytes]:
        operation = method.operation

        def handle(data: bytes, context: grpc.ServicerContext) -> bytes:
            try:
                run, call = self._begin(method, context)
                return _encode(method, run(_decode(method, data), call))
            except Exception as error:
                abort(context, operation.rpc, error)

        return handle

    def _request_stream(self, method: Method) -> Callable[[Iterator[bytes], grpc.ServicerContext], bytes]:
        def handle(stream: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
            try:
                run, call = self._begin(method, context)
                with self._stream():
                    return _encode(method, run((_decode(method, data) for data in stream), call))
            except Exception as error:
                abort(context, method.operation.rpc, error)

        return handle

    def _response_stream(self, method: Method) -> Callable[[bytes, grpc.ServicerContext], Iterator[bytes]]:
        def handle(data: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
            try:
                run, call = self._begin(method, context)
                with self._stream():
                    for part in run(_decode(method, data), call):
                        yield _encode(method, part)
            except Exception as error:
                abort(context, method.operation.rpc, error)

        return handle

    def _search_stream(
        self, method: Method
    ) -> Callable[[Iterable[bytes], grpc.ServicerContext], Iterator[bytes]]:
        """StreamSearchMemories: each message is a batch of its own to the engine."""
        search = getattr(self._engine, OPERATIONS["BatchSearchMemories"].method)

        def handle(stream: Iterable[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
            try:
                call = self._call(context)
                with self._stream():
                    for data in stream:
                        call.still_valid()
                        yield _encode(method, search(_decode(method, data), call))
            except Exception as error:
                abort(context, method.operation.rpc, error)

        return handle

    def _begin(self, method: Method, context: grpc.ServicerContext) -> tuple[Callable[..., Any], Call]:
        call = self._call(context)
        return getattr(self._engine, method.operation.method), call

    def _call(self, context: grpc.ServicerContext) -> Call:
        """The circumstances of a call. UnauthenticatedError for want of a good token; DeadlineExceededError
        when it waited for a worker past its deadline."""
        left = context.time_remaining()
        # Without a deadline gRPC's is at the end of time, not None.
        endless = left is None or left > _CENTURY_S
        caller = self._callers.of(context)
        call = Call(
            principal=caller.principal,
            deadline=None if endless else time.monotonic() + left,
            roles=caller.roles,
            namespaces=caller.namespaces,
            still_valid=caller.still_valid,
            waiting=context.is_active,
        )
        call.remaining()
        return call

    @contextmanager
    def _stream(self) -> Iterator[None]:
        """The place of one stream among those that may be open."""
        if not self._streams.acquire(blocking=False):
            raise ResourceExhaustedError(
                f"{self._max_streams} streams are open, as many as this server takes; close one, or send "
                "batches instead",
                reason="TOO_MANY_STREAMS",
            )
        try:
            yield
        finally:
            self._streams.release()


def _decode(method: Method, data: bytes) -> Any:
    return from_proto(parse(method.request, data), method.operation.request)


def _encode(method: Method, response: object) -> bytes:
    try:
        data: bytes = to_proto(response, method.response).SerializeToString()
    except InvalidArgumentError as error:
        # The caller's argument is not what is invalid.
        raise RuntimeError(f"the engine's answer has no form on the wire: {error}") from error
    return data

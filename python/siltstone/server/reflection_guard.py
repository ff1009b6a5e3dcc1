"""Reflection tells the contract to those who may call: where tokens are needed, it needs one too."""

from __future__ import annotations  # grpc's classes take type arguments in stubs only

from collections.abc import Callable, Iterator
from typing import Any

import grpc

from siltstone.server.callers import Callers
from siltstone.server.failures import abort

_SERVICE = "/grpc.reflection."


class ReflectionGuard(grpc.ServerInterceptor):
    """Asks for the caller before gRPC's own reflection service answers. The other services are Siltstone's,
    whose handlers ask by themselves, and health, which is open."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler[Any, Any] | None],
        details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        handler = continuation(details)
        if handler is None or not str(details.method).startswith(_SERVICE):
            return handler
        answer: Any = handler.stream_stream

        def asked(messages: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
            try:
                self._callers.of(context)
            except Exception as error:
                abort(context, "reflection", error)
            yield from answer(messages, context)

        return grpc.stream_stream_rpc_method_handler(
            asked,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )

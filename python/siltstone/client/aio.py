"""`siltstone.AsyncClient`. Its types are in aio.pyi, generated from `Api`: every method is awaitable."""

import asyncio
import copy
import time
from collections.abc import Callable, Iterable
from typing import Any, Self

import grpc
import grpc.aio
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from siltstone.api import Api
from siltstone.client.plan import (
    CHANNEL_OPTIONS,
    Plan,
    again,
    check_timeout,
    credentials,
    failure,
    handed_on,
    metadata,
    plan,
    read,
    result,
    stub,
)
from siltstone.errors import FailedPreconditionError, UnavailableError
from siltstone.files import Sink
from siltstone.wire import CALLER_HEADER
from siltstone.wire.errors import connection_lost


class AsyncClient(Api):
    """The methods of `Client`, awaitable. Belongs to the event loop of its first call."""

    def __init__(
        self,
        address: str = "127.0.0.1:50051",
        *,
        token: str | None = None,
        timeout: float | None = 60.0,
        roles: Iterable[str] | None = None,
        tls_ca: str = "",
        tls_client_cert: str = "",
        tls_client_key: str = "",
    ) -> None:
        self.address = address
        self.timeout = check_timeout(timeout)
        self._metadata = metadata(token, roles)
        self._tls = credentials(tls_ca, tls_client_cert, tls_client_key)
        self._channel: Any = None
        self._closed = False
        self._stubs: dict[str, Any] = {}

    async def ready(self, *, timeout: float = 5.0) -> None:
        """Return when the server says that it serves; UnavailableError when it does not, or nothing answers
        within `timeout` seconds."""
        check = self._open().unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=HealthCheckRequest.SerializeToString,
            response_deserializer=HealthCheckResponse.FromString,
        )
        try:
            answer = await check(HealthCheckRequest(), timeout=timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            code: Any = error
            raise connection_lost(self.address, code.details() or code.code().name) from None
        if answer.status != HealthCheckResponse.SERVING:
            raise UnavailableError(
                f"the server at {self.address} is starting or stopping; try again", reason="NOT_SERVING"
            )

    def on_behalf_of(self, token: str, caller: str) -> Self:
        """The same client over the same connection, for a call that is passed on for somebody else: with that
        caller's token, and the address that it came from. Not to be closed."""
        self._open()
        other = copy.copy(self)
        kept = [(key, value) for key, value in self._metadata if key not in ("authorization", CALLER_HEADER)]
        other._metadata = [*kept, *metadata(token, None), (CALLER_HEADER, caller)]
        return other

    async def close(self) -> None:
        """Close the connection; calls that run fail."""
        self._closed = True
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _call(
        self,
        rpc: str,
        given: dict[str, Any],
        then: Callable[[Any], Any] | None = None,
        sink: Sink | None = None,
    ) -> Any:
        ready = plan(rpc, given, self.timeout)
        until = None if ready.timeout is None else time.monotonic() + ready.timeout
        for pause in (*ready.pauses, None):
            try:
                answer = await self._send(ready, until, sink)
            except grpc.RpcError as error:
                raised = failure(ready, error, self.address)
                if not again(raised, pause, until):
                    raise raised from None
                await asyncio.sleep(pause or 0)
            else:
                return result(ready, answer, self.address, then)
        raise AssertionError("the last attempt returns or raises")

    async def _send(self, ready: Plan, until: float | None, sink: Sink | None) -> Any:
        operation = ready.method.operation
        answer = self._stub(ready)(
            iter(ready.messages) if operation.request_stream else next(iter(ready.messages)),
            timeout=None if until is None else max(until - time.monotonic(), 0.001),
            metadata=[*self._metadata, *handed_on()],
        )
        if not operation.response_stream:
            return await answer
        assert sink is not None
        try:
            async for message in answer:
                sink.take(read(ready, message, self.address))
            return sink.finish()
        finally:
            answer.cancel()  # when it failed here; no harm when it is done
            sink.abandon()

    def _open(self) -> Any:
        if self._closed:
            raise FailedPreconditionError("this client is closed; make another", reason="CLIENT_CLOSED")
        if self._channel is None:
            self._channel = (
                grpc.aio.secure_channel(self.address, self._tls, options=CHANNEL_OPTIONS)
                if self._tls
                else grpc.aio.insecure_channel(self.address, options=CHANNEL_OPTIONS)
            )
        return self._channel

    def _stub(self, ready: Plan) -> Any:
        channel = self._open()
        path = ready.method.path
        if path not in self._stubs:
            self._stubs[path] = stub(channel, ready.method)
        return self._stubs[path]

"""`siltstone.AsyncClient`. Its types are in aio.pyi, generated from `Api`: every method is awaitable."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Self

import grpc
import grpc.aio

from siltstone.api import Api
from siltstone.client.plan import (
    CHANNEL_OPTIONS,
    Plan,
    again,
    check_timeout,
    failure,
    metadata,
    plan,
    result,
    stub,
)
from siltstone.errors import FailedPreconditionError


class AsyncClient(Api):
    """The methods of `Client`, awaitable. Belongs to the event loop of its first call."""

    def __init__(
        self, address: str = "127.0.0.1:50051", *, token: str | None = None, timeout: float | None = 60.0
    ) -> None:
        self.address = address
        self.timeout = check_timeout(timeout)
        self._metadata = metadata(token)
        self._channel: Any = None
        self._closed = False
        self._stubs: dict[str, Any] = {}

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

    async def _call(self, rpc: str, given: dict[str, Any], then: Callable[[Any], Any] | None = None) -> Any:
        ready = plan(rpc, given, self.timeout)
        until = None if ready.timeout is None else time.monotonic() + ready.timeout
        for pause in (*ready.pauses, None):
            try:
                answer = await self._send(ready, until)
            except grpc.RpcError as error:
                raised = failure(ready, error, self.address)
                if not again(raised, pause, until):
                    raise raised from None
                await asyncio.sleep(pause or 0)
            else:
                return result(ready, answer, self.address, then)
        raise AssertionError("the last attempt returns or raises")

    async def _send(self, ready: Plan, until: float | None) -> Any:
        operation = ready.method.operation
        answer = self._stub(ready)(
            iter(ready.messages) if operation.request_stream else ready.messages[0],
            timeout=None if until is None else max(until - time.monotonic(), 0.001),
            metadata=self._metadata,
        )
        return [message async for message in answer] if operation.response_stream else await answer

    def _stub(self, ready: Plan) -> Any:
        if self._closed:
            raise FailedPreconditionError("this client is closed; make another", reason="CLIENT_CLOSED")
        if self._channel is None:
            self._channel = grpc.aio.insecure_channel(self.address, options=CHANNEL_OPTIONS)
        path = ready.method.path
        if path not in self._stubs:
            self._stubs[path] = stub(self._channel, ready.method)
        return self._stubs[path]

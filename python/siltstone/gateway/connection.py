"""A connection's end of patience: uvicorn itself waits for ever for a caller that connects and says nothing,
or half a request's head, and each such connection is one of the files that the process may have open."""

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


def bounded(idle_s: float) -> Any:
    """uvicorn's protocol, which gives up a connection when no request's head comes whole in `idle_s` seconds,
    or a little later. Bodies and answers have their bounds in `Watch`; between an answer and the next request
    uvicorn has its own."""
    return type("BoundedProtocol", (_Bounded, AutoHTTPProtocol), {"idle_s": idle_s})


class _Bounded(asyncio.Protocol):
    idle_s: float
    cycle: Any = None  # uvicorn's: the latest request, and its answer

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._transport = transport
        self._begun = True  # a request that is not whole yet
        self._seen: object = self  # the request before that one, when it was last looked
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._begun = self.cycle is None or self.cycle.response_complete

    def connection_lost(self, error: Exception | None) -> None:
        self._next.cancel()
        super().connection_lost(error)

    def _look(self) -> None:
        if self._begun and self.cycle is self._seen:
            self._transport.abort()
            return
        self._seen = self.cycle if self._begun else self
        self._next = asyncio.get_running_loop().call_later(self.idle_s, self._look)

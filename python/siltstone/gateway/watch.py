"""What every HTTP request passes first: it gets its id, is counted and timed, or is turned away when there
are too many. A caller that sends or takes nothing for too long is cut off."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from siltstone.errors import DeadlineExceededError, ResourceExhaustedError
from siltstone.gateway.answers import error_answer
from siltstone.watching import (
    REQUEST_ID_HEADER,
    TRACE_HEADERS,
    Figure,
    Metrics,
    Request,
    current,
    taken_or_new,
)
from siltstone.watching.tracing import ended, span

log = logging.getLogger(__name__)

# Path → door, for figures and logs; a label for any path that anybody asks for would grow without end.
_DOORS = {"/mcp": "mcp", "/healthz": "health", "/readyz": "health", "/metrics": "metrics"}
_ALWAYS = frozenset({"health", "metrics"})


class _Idle(Exception):
    """The caller sent or took nothing for too long."""


class _TooMuch(Exception):
    """The bodies of all requests under way are more than the memory is to hold."""


class Watch:
    """ASGI middleware, the outermost.

    Args:
        figures: where requests are counted.
        max_calls: requests carried out at once; those for health and figures do not count.
        max_pending_bytes: bodies of all requests under way, unless there is only one.
        idle_s: seconds that a request may wait for its caller.
    """

    def __init__(
        self, app: ASGIApp, figures: Metrics, max_calls: int, max_pending_bytes: int, idle_s: float
    ) -> None:
        self.app = app
        self._max_calls = max_calls
        self._idle_s = idle_s
        self._running = 0
        self._max_pending = max_pending_bytes
        self._pending = 0
        self._seconds = figures.seconds("gateway_seconds", "From a request's arrival to its answer", "door")
        self._requests = figures.counter("gateway_requests", "Requests by HTTP status", "door", "status")
        figures.ask("gateway", lambda: [Figure("gateway_running", "Requests under way", self._running)])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = Headers(scope=scope)
        door = "v1" if scope["path"].startswith("/v1/") else _DOORS.get(scope["path"], "other")
        request = Request(taken_or_new(headers.get(REQUEST_ID_HEADER)))
        current.set(request)
        began = time.monotonic()
        talk = _Talk(receive, send, request.id, self._idle_s, self._hold)
        trace = {name: headers[name] for name in TRACE_HEADERS if name in headers}
        with span(f"{scope['method']} {door}", kind="SERVER", headers=trace) as made:
            if made is not None:
                made.set_attribute("siltstone.request_id", request.id)
            self._running += 1
            try:
                if self._running > self._max_calls and door not in _ALWAYS:
                    await error_answer(_overloaded(self._max_calls))(scope, talk.receive, talk.send)
                else:
                    await self.app(scope, talk.receive, talk.send)
            except _Idle:
                await talk.give_up(scope)
            except _TooMuch:
                await error_answer(_too_much(self._max_pending))(scope, receive, talk.send)
            finally:
                self._running -= 1
                self._pending -= talk.held
                seconds = time.monotonic() - began
                self._seconds.labels(door).observe(seconds)
                self._requests.labels(door, str(talk.status)).inc()
                ended(made, "OK" if talk.status < 400 else str(talk.status))
                log.debug(
                    "request", extra={"door": door, "status": talk.status, "seconds": round(seconds, 4)}
                )
        return None

    def _hold(self, held: int, more: int) -> None:
        if self._pending > held and self._pending + more > self._max_pending:
            raise _TooMuch
        self._pending += more


class _Talk:
    """A request's two directions, with their waits bounded and the id on the answer."""

    def __init__(
        self, receive: Receive, send: Send, request_id: str, idle_s: float, hold: Callable[[int, int], None]
    ) -> None:
        self._receive = receive
        self._send = send
        self._request_id = request_id
        self._idle_s = idle_s
        self._body_ended = False
        self._hold = hold
        self.held = 0  # bytes of its body
        self.status = 0  # of the answer; 0 before it began

    async def receive(self) -> Message:
        if self._body_ended:
            return await self._receive()  # tells when the caller goes away, which may take for ever
        message: Message = await self._bounded(self._receive())
        self._body_ended = not message.get("more_body", False)
        size = len(message.get("body", b""))
        self._hold(self.held, size)
        self.held += size
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            MutableHeaders(scope=message)[REQUEST_ID_HEADER] = self._request_id
        await self._bounded(self._send(message))

    async def give_up(self, scope: Scope) -> None:
        """Say so where nothing was said yet; else the connection is simply closed."""
        log.warning("gave up a request: its caller sent or took nothing for %g s", self._idle_s)
        if not self.status:
            error = DeadlineExceededError(
                f"body: nothing came for {self._idle_s:g} s; send it at once",
                reason="BODY_TOO_SLOW",
                field="body",
            )
            answer = error_answer(error, 408)
            answer.headers["Connection"] = "close"
            await answer(scope, self._receive, self.send)

    async def _bounded(self, step: Any) -> Any:
        try:
            return await asyncio.wait_for(step, self._idle_s)
        except TimeoutError:
            raise _Idle from None


def _too_much(most: int) -> ResourceExhaustedError:
    return ResourceExhaustedError(
        f"body: the requests under way have as many bytes as this gateway holds at once, {most:,} "
        "(max_pending_bytes); try again in a moment, or send smaller ones",
        reason="OVERLOADED",
        field="body",
    )


def _overloaded(most: int) -> ResourceExhaustedError:
    return ResourceExhaustedError(
        f"{most} requests are under way, as many as this gateway takes; try again in a moment",
        reason="OVERLOADED",
    )

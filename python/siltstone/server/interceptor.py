"""What every call passes first: it gets its id, is counted and timed, or is turned away when there are too
many.

Calls to Siltstone's own services become calls with a stream of messages here, of which a unary one takes the
first: gRPC itself would hold a worker without limit until the message has come, and would read the whole
message of a call that is about to be turned away.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import grpc
from grpc_health.v1 import health

from siltstone.errors import InvalidArgumentError, ResourceExhaustedError, SiltstoneError
from siltstone.server.failures import abort
from siltstone.server.open_calls import OpenCall, OpenCalls
from siltstone.server.pool import Pool
from siltstone.watching import REQUEST_ID_HEADER, TRACE_HEADERS, Metrics, Request, current, taken_or_new
from siltstone.watching.metrics import Figure
from siltstone.watching.tracing import ended, span
from siltstone.wire import METHODS

log = logging.getLogger(__name__)

_RPCS = {method.path: rpc for rpc, method in METHODS.items()}
_HEALTH = f"/{health.SERVICE_NAME}/"
_HEADERS = frozenset({REQUEST_ID_HEADER, *TRACE_HEADERS})
_LOG_EVERY_S = 1.0  # of calls turned away, of which there are thousands a second


class Interceptor(grpc.ServerInterceptor):
    """See the module.

    Args:
        pool: carries out the calls to Siltstone's services.
        open_calls: watches over those that wait for their callers.
        metrics: where calls are counted.
        slow_call_s: seconds from which a call is logged as slow.
        admit: raises for callers that are not let in, of whom not a byte of a message is read.
    """

    def __init__(
        self,
        pool: Pool,
        open_calls: OpenCalls,
        metrics: Metrics,
        slow_call_s: float,
        admit: Callable[[grpc.ServicerContext], object],
    ) -> None:
        self._pool = pool
        self._admit = admit
        self._open_calls = open_calls
        self._figures = metrics.once("rpcs", lambda: _RpcFigures(metrics))
        self._slow_call_s = slow_call_s
        # Health must answer, and calls must be turned away, also when all workers are busy.
        self._quick = Pool("quick", 2, max_waiting=0)
        # Reflection is a stream that its callers hold open.
        self._reflection = Pool("reflection", 2, max_waiting=0)
        self._refused = _Refusals()
        metrics.ask("server", self._now)

    def close(self) -> None:
        for pool in (self._quick, self._reflection):
            pool.shutdown(wait=False, cancel_futures=True)

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        """Runs in gRPC's own thread, one call at a time, so it only looks and decides."""
        handler = continuation(details)
        if handler is None:
            return None
        rpc = _RPCS.get(details.method)
        if rpc is None and details.method.startswith(_HEALTH):
            return _with_behaviour(handler, _aside(_behaviour(handler), self._quick))
        pool = self._pool if rpc else self._reflection
        rpc = rpc or "ServerReflection"
        headers = {k: v for k, v in details.invocation_metadata if k in _HEADERS and isinstance(v, str)}
        request = Request(taken_or_new(headers.get(REQUEST_ID_HEADER)))
        if pool.full():
            return grpc.stream_unary_rpc_method_handler(
                _aside(self._refusal(rpc, request, pool), self._quick)
            )
        if pool is self._reflection:
            return _with_behaviour(handler, _aside(self._reflecting(_behaviour(handler)), pool))
        return self._watched(handler, rpc, request, headers)

    def _refusal(self, rpc: str, request: Request, pool: Pool) -> Callable[[Any, Any], Any]:
        arrived = time.monotonic()

        def refuse(_: Any, context: grpc.ServicerContext) -> Any:
            current.set(request)
            error = ResourceExhaustedError(
                f"{pool.workers} calls are under way and {pool.max_waiting} wait, as many as this server "
                "takes; try again in a moment, or send batches instead of single calls",
                reason="OVERLOADED",
            )
            try:
                abort(context, rpc, error)
            finally:
                self._figures.note(rpc, request, time.monotonic() - arrived)
                if count := self._refused.to_tell():
                    log.warning("turned %d calls away: too many wait for a worker", count)

        return refuse

    def _reflecting(self, behaviour: Any) -> Callable[[Any, Any], Any]:
        def reflect(stream: Iterator[Any], context: grpc.ServicerContext) -> Any:
            call = self._open_calls.open(context)
            return call.answers(behaviour(call.messages(stream), context))

        return reflect

    def _watched(self, handler: Any, rpc: str, request: Request, headers: Mapping[str, str]) -> Any:
        arrived = time.monotonic()
        behaviour = _behaviour(handler)

        def given(call: OpenCall, stream: Iterator[bytes], context: Any) -> Any:
            """What the behaviour takes: the messages, or the only one."""
            try:
                self._admit(context)
            except Exception as refusal:
                abort(context, rpc, refusal)
            messages = call.messages(stream)
            if handler.request_streaming:
                return messages
            try:
                message = next(messages, None)
                if message is None:
                    raise InvalidArgumentError("the call holds no message", reason="INVALID_MESSAGE")
            except SiltstoneError as error:
                abort(context, rpc, error)
            return message

        def answer(stream: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
            with self._at_work(rpc, request, headers, context, arrived) as call:
                return call.answer(behaviour(given(call, stream, context), context))

        def answers(stream: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
            with self._at_work(rpc, request, headers, context, arrived) as call:
                yield from call.answers(behaviour(given(call, stream, context), context))

        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(answers)
        return grpc.stream_unary_rpc_method_handler(answer)

    @contextmanager
    def _at_work(
        self, rpc: str, request: Request, headers: Mapping[str, str], context: Any, arrived: float
    ) -> Iterator[OpenCall]:
        began = time.monotonic()
        self._figures.waited.observe(began - arrived)
        current.set(request)
        context.set_trailing_metadata(((REQUEST_ID_HEADER, request.id),))
        with span(f"siltstone.{rpc}", kind="SERVER", headers=headers) as made:
            if made is not None:
                made.set_attribute("siltstone.request_id", request.id)
            try:
                yield self._open_calls.open(context)
            except (GeneratorExit, grpc.RpcError):
                request.status = "CANCELLED"
                raise
            except BaseException:
                if request.status == "OK":
                    request.status = "INTERNAL"
                raise
            finally:
                ended(made, request.status)
                seconds = time.monotonic() - arrived
                self._figures.note(rpc, request, seconds)
                self._log(rpc, request, seconds)

    def _log(self, rpc: str, request: Request, seconds: float) -> None:
        level, text = logging.DEBUG, "call"
        if seconds >= self._slow_call_s:
            level, text = logging.WARNING, "slow call"
        elif request.status != "OK":
            level = logging.INFO
        if log.isEnabledFor(level):
            told = {"rpc": rpc, "status": request.status, "reason": request.reason}
            log.log(level, text, extra={**told, "seconds": round(seconds, 4)})

    def _now(self) -> Iterator[Figure]:
        yield Figure("calls_running", "Calls that have a worker", self._pool.running())
        yield Figure("calls_waiting", "Calls that wait for a worker", self._pool.waiting())
        yield Figure("workers", "Workers for calls", self._pool.workers)
        yield Figure("pending_message_bytes", "Messages that are worked on", self._open_calls.pending_bytes())
        yield Figure(
            "unread_answer_bytes",
            "Answers whose callers have not yet taken them",
            self._open_calls.unread_bytes(),
        )
        yield Figure(
            "calls_given_up",
            "Calls cancelled since the start, whose callers sent or took nothing",
            self._open_calls.given_up,
        )


class _RpcFigures:
    def __init__(self, metrics: Metrics) -> None:
        self._seconds = metrics.seconds("rpc_seconds", "From a call's arrival to its answer", "rpc")
        self._calls = metrics.counter("rpcs", "Calls by how they ended", "rpc", "status")
        self._rejects = metrics.counter("rejects", "Calls that were refused or failed, by reason", "reason")
        self.waited = metrics.seconds("rpc_wait_seconds", "From a call's arrival to its worker")

    def note(self, rpc: str, request: Request, seconds: float) -> None:
        if request.reason != "OVERLOADED":  # thousands that took no time would hide how long calls take
            self._seconds.labels(rpc).observe(seconds)
        self._calls.labels(rpc, request.status).inc()
        if request.reason:
            self._rejects.labels(request.reason).inc()


class _Refusals:
    """How many calls were turned away since that was last told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._told = 0.0

    def to_tell(self) -> int:
        """Counts one more; the count when it is time to tell it, else 0."""
        with self._lock:
            self._count += 1
            now = time.monotonic()
            if now - self._told < _LOG_EVERY_S:
                return 0
            self._told = now
            count, self._count = self._count, 0
            return count


def _behaviour(handler: Any) -> Any:
    return handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream


def _with_behaviour(handler: Any, behaviour: Any) -> Any:
    makers = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }
    make: Any = makers[handler.request_streaming, handler.response_streaming]
    return make(behaviour, handler.request_deserializer, handler.response_serializer)


def _aside(behaviour: Any, pool: Pool) -> Any:
    """The same behaviour, carried out by `pool`, which gRPC finds by this attribute."""

    def carried_out(*arguments: Any, **named: Any) -> Any:
        return behaviour(*arguments, **named)

    carried_out.experimental_thread_pool = pool  # type: ignore[attr-defined]
    # The health service's Watch has it: then gRPC hands over a callback for the answers.
    if getattr(behaviour, "experimental_non_blocking", False):
        carried_out.experimental_non_blocking = True  # type: ignore[attr-defined]
    return carried_out

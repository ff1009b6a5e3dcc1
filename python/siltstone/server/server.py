"""`serve`: a gRPC server over an engine, with health and reflection. Health is open to everybody."""

import errno
import socket
import threading
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from siltstone import address as addresses
from siltstone.errors import FailedPreconditionError, InvalidArgumentError
from siltstone.exposure import check_exposure
from siltstone.server.callers import Callers, Verifier
from siltstone.server.handlers import Handlers
from siltstone.server.interceptor import Interceptor
from siltstone.server.open_calls import OpenCalls
from siltstone.server.pool import Pool
from siltstone.server.reflection_guard import ReflectionGuard
from siltstone.server.tls import ServerTls, TlsFiles
from siltstone.watching import Metrics
from siltstone.wire import SERVICES

WORKERS = 32
MAX_WAITING = 256
MAX_MESSAGE_BYTES = 64 << 20
MAX_PENDING_BYTES = 256 << 20
MAX_UNREAD_BYTES = 256 << 20
IDLE_S = 60.0
SLOW_CALL_S = 5.0
GRACE_S = 10.0
# Calls beyond those that wait which still get an answer that says why; gRPC itself turns away what is more.
_TURNED_AWAY_AT_ONCE = 256
# A caller that vanished without a word is found out, in a minute and a half.
_KEEPALIVE_MS, _KEEPALIVE_TIMEOUT_MS = 60_000, 30_000
# How long an idle server waits for its last answers to leave before it cuts health watchers off.
_FLUSH_S = 0.5
_PROBE_S = 1.0


def serve(
    engine: Any,
    *,
    address: str = "127.0.0.1:50051",
    workers: int = WORKERS,
    max_waiting: int = MAX_WAITING,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    max_pending_bytes: int = MAX_PENDING_BYTES,
    max_unread_bytes: int = MAX_UNREAD_BYTES,
    idle_s: float = IDLE_S,
    slow_call_s: float = SLOW_CALL_S,
    grace_s: float = GRACE_S,
    tls: TlsFiles | None = None,
    verifier: Verifier | None = None,
    insecure: bool = False,
    private_address: str = "",
) -> "Server":
    """Start serving an engine.

    Args:
        engine: has a method for each operation, see `Handlers`, and its tokens (a `TokenBook`) as `tokens`;
            the caller closes it after `Server.stop`. The server's figures go where its own are,
            `engine.metrics`.
        address: host:port (port 0: any that is free) or unix:path.
        workers: calls carried out at once; many, since writers wait for the disk.
        max_waiting: calls that may wait for a worker; what comes beyond is RESOURCE_EXHAUSTED (OVERLOADED).
        max_message_bytes: largest request; a larger one is RESOURCE_EXHAUSTED.
        max_pending_bytes: messages, of all callers, that are worked on; one beyond it is RESOURCE_EXHAUSTED.
        max_unread_bytes: answers, of all callers, that are not yet taken; beyond it the oldest are cancelled.
        idle_s: seconds that a call may wait for its caller to send or take something; then it is cancelled.
        slow_call_s: seconds from which a call is logged as slow.
        grace_s: seconds that `Server.stop` lets running calls go on.
        tls: files for TLS at `address`; None: none.
        verifier: of tokens that another service issued.
        insecure: listen on an address that other machines reach though there is no TLS or nobody is asked for
            a token.
        private_address: a unix:path to listen on besides, without TLS, for this process's own gateway.

    Raises:
        FailedPreconditionError: (EXPOSED) other machines reach the address, see `insecure`; (TLS_UNUSABLE) a
            file of `tls` cannot be used.
        FailedPreconditionError: the address is taken (ADDRESS_IN_USE) or cannot be had (ADDRESS_UNAVAILABLE).
        InvalidArgumentError: an argument is out of range.
    """
    server = Server(
        engine,
        address=address,
        workers=workers,
        max_waiting=max_waiting,
        max_message_bytes=max_message_bytes,
        max_pending_bytes=max_pending_bytes,
        max_unread_bytes=max_unread_bytes,
        idle_s=idle_s,
        slow_call_s=slow_call_s,
        grace_s=grace_s,
        tls=tls,
        verifier=verifier,
        insecure=insecure,
        private_address=private_address,
    )
    try:
        server.start()
    except BaseException:
        server.stop(0)  # or its threads stay
        raise
    return server


class Server:
    """A gRPC server; see `serve` for its arguments. `address` has the real port once started."""

    def __init__(
        self,
        engine: Any,
        *,
        address: str,
        workers: int,
        max_waiting: int,
        max_message_bytes: int,
        max_pending_bytes: int,
        max_unread_bytes: int,
        idle_s: float,
        slow_call_s: float,
        grace_s: float,
        tls: TlsFiles | None = None,
        verifier: Verifier | None = None,
        insecure: bool = False,
        private_address: str = "",
    ) -> None:
        for name, value in (
            ("workers", workers),
            ("max_waiting", max_waiting),
            ("max_message_bytes", max_message_bytes),
            ("max_pending_bytes", max_pending_bytes),
            ("max_unread_bytes", max_unread_bytes),
        ):
            if value < 1:
                raise InvalidArgumentError(f"{name}: {value} is out of range; give 1 or more", field=name)
        _parts(address)
        callers = Callers(engine.tokens, verifier)
        closed = callers.closed or bool(tls and tls.client_ca)
        check_exposure(address, tls=tls is not None, closed=closed, insecure=insecure)
        self._tls = ServerTls(tls) if tls else None
        self._private_address = private_address
        self.address = address
        self._grace_s = grace_s
        self._pool = Pool("grpc", workers, max_waiting)
        self._open_calls = OpenCalls(idle_s, max_pending_bytes, max_unread_bytes)
        metrics = getattr(engine, "metrics", None)
        if not isinstance(metrics, Metrics):
            metrics = Metrics()
        self._interceptor = Interceptor(self._pool, self._open_calls, metrics, slow_call_s, callers.of)
        self._stopped = threading.Event()
        self._health = health.HealthServicer()
        self._grpc = grpc.server(
            self._pool,
            interceptors=[self._interceptor, ReflectionGuard(callers)],
            maximum_concurrent_rpcs=workers + max_waiting + _TURNED_AWAY_AT_ONCE,
            options=[
                ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
                ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
                ("grpc.so_reuseport", 0),  # or a second server would share the port in silence
                ("grpc.max_receive_message_length", max_message_bytes),
                ("grpc.max_send_message_length", -1),
            ],
        )
        handlers = Handlers(engine, callers, max_streams=max(1, workers // 2))
        for name, service in SERVICES.items():
            table = handlers.of(service.name)
            self._grpc.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, table),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._grpc)
        reflection.enable_server_reflection(
            (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), self._grpc
        )

    def start(self) -> None:
        """Listen and answer from now on."""
        self.address = _bind(self._grpc, self.address, self._tls)
        if self._private_address:
            _bind(self._grpc, self._private_address, None)
        self._grpc.start()
        for name in ("", *SERVICES):
            self._health.set(name, health_pb2.HealthCheckResponse.SERVING)

    def stop(self, grace_s: float | None = None) -> bool:
        """Refuse new calls, let running ones end, at most `grace_s` seconds (default: the server's), then cut
        them off. Returns whether all had ended."""
        grace = self._grace_s if grace_s is None else grace_s
        self._health.enter_graceful_shutdown()
        done = self._grpc.stop(grace)
        ended = self._pool.wait_idle(grace)
        # Health watchers never end by themselves and would use up the whole grace.
        if not done.wait(min(grace, _FLUSH_S)):
            self._grpc.stop(None).wait()
        self._pool.shutdown(wait=ended, cancel_futures=True)
        self._open_calls.close()
        self._interceptor.close()
        self._stopped.set()
        return ended

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the server has stopped; whether it has."""
        return self._stopped.wait(timeout)


def _bind(server: grpc.Server, address: str, tls: ServerTls | None) -> str:
    """Bind and return the address with the real port."""
    host, port = _parts(address)
    if port is not None:
        # First, since gRPC would log the failure in its own words.
        _probe(address, host, port)
    else:
        _probe_unix(address)
    try:
        if tls is None:
            bound = server.add_insecure_port(address)
        else:
            bound = server.add_secure_port(address, tls.credentials)
    except RuntimeError:
        bound = 0
    if not bound:
        raise _unavailable(address, "see the log", taken=False)
    return address if port is None else addresses.join(host, bound)


def _parts(address: str) -> tuple[str, int | None]:
    """Host and port; "" and None for unix:path."""
    if addresses.is_unix(address):
        return "", None
    try:
        return addresses.split(address)
    except ValueError as error:
        raise InvalidArgumentError(f"address: {address!r}: {error}, or unix:path", field="address") from None


def _probe(address: str, host: str, port: int) -> None:
    """Whether the address can be had, and the system's own reason, which gRPC swallows."""
    try:
        family, kind, proto, _, target = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, proto) as probe:
            # As gRPC does: what only lingers of a former server is no hindrance.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(target)
            probe.listen(1)
    except OSError as error:
        why = error.strerror or str(error)
        raise _unavailable(address, why, taken=error.errno == errno.EADDRINUSE) from None


def _probe_unix(address: str) -> None:
    """Whether somebody listens at a socket's path: gRPC would take it from them in silence."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_S)
        try:
            probe.connect(address.partition(":")[2])
        except OSError:
            return  # nobody, or gRPC says what is wrong with it
    raise _unavailable(address, "another server listens there", taken=True)


def _unavailable(address: str, why: str, *, taken: bool) -> FailedPreconditionError:
    return FailedPreconditionError(
        f"cannot listen on {address}: {why}; end what listens there, or choose another with --address",
        reason="ADDRESS_IN_USE" if taken else "ADDRESS_UNAVAILABLE",
        field="address",
    )

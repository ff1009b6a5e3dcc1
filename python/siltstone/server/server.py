"""`serve`: a gRPC server over an engine, with health and reflection."""

import errno
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from siltstone.errors import FailedPreconditionError, InvalidArgumentError
from siltstone.server.handlers import Handlers
from siltstone.wire import SERVICES

WORKERS = 32
MAX_MESSAGE_BYTES = 64 << 20
GRACE_S = 10.0
# How long an idle server waits for its last answers to leave before it cuts health watchers off.
_FLUSH_S = 0.5


def serve(
    engine: Any,
    *,
    address: str = "127.0.0.1:50051",
    workers: int = WORKERS,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    grace_s: float = GRACE_S,
) -> "Server":
    """Start serving an engine.

    Args:
        engine: has a method for each operation, see `Handlers`; the caller closes it after `Server.stop`.
        address: host:port (port 0: any that is free) or unix:path.
        workers: calls carried out at once; many, since writers wait for the disk.
        max_message_bytes: largest request; a larger one is RESOURCE_EXHAUSTED.
        grace_s: seconds that `Server.stop` lets running calls go on.

    Raises:
        FailedPreconditionError: the address is taken (ADDRESS_IN_USE) or cannot be had (ADDRESS_UNAVAILABLE).
        InvalidArgumentError: an argument is out of range.
    """
    server = Server(
        engine, address=address, workers=workers, max_message_bytes=max_message_bytes, grace_s=grace_s
    )
    server.start()
    return server


class Server:
    """A gRPC server; see `serve` for its arguments. `address` has the real port once started."""

    def __init__(
        self, engine: Any, *, address: str, workers: int, max_message_bytes: int, grace_s: float
    ) -> None:
        for name, value in (("workers", workers), ("max_message_bytes", max_message_bytes)):
            if value < 1:
                raise InvalidArgumentError(f"{name}: {value} is out of range; give 1 or more", field=name)
        self.address = address
        self._grace_s = grace_s
        self._pool = _Pool(workers)
        self._stopped = threading.Event()
        self._health = health.HealthServicer()
        self._grpc = grpc.server(
            self._pool,
            options=[
                ("grpc.so_reuseport", 0),  # or a second server would share the port in silence
                ("grpc.max_receive_message_length", max_message_bytes),
                ("grpc.max_send_message_length", -1),
            ],
        )
        handlers = Handlers(engine, max_streams=max(1, workers // 2))
        for name, service in SERVICES.items():
            table = handlers.of(service.name)
            self._grpc.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, table),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._grpc)
        reflection.enable_server_reflection(
            (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), self._grpc
        )

    def start(self) -> None:
        """Listen and answer from now on."""
        self.address = _bind(self._grpc, self.address)
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
        self._stopped.set()
        return ended

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the server has stopped; whether it has."""
        return self._stopped.wait(timeout)


class _Pool(ThreadPoolExecutor):
    """Workers that know whether a call is accepted and not yet done; gRPC does not tell."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers, thread_name_prefix="siltstone-grpc")
        self._open = 0
        self._changed = threading.Condition()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with self._changed:
            self._open += 1
        try:
            future = super().submit(fn, *args, **kwargs)
        except BaseException:
            self._done()
            raise
        future.add_done_callback(self._done)
        return future

    def _done(self, _: Future[Any] | None = None) -> None:
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def wait_idle(self, timeout: float) -> bool:
        until = time.monotonic() + timeout
        with self._changed:
            while self._open:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True


def _bind(server: grpc.Server, address: str) -> str:
    """Bind and return the address with the real port."""
    if address.startswith("unix:"):
        host, port = address, None
    else:
        host, _, digits = address.rpartition(":")
        if not host or not digits.isdecimal() or int(digits) > 65535:
            raise InvalidArgumentError(
                f"address: {address!r} is no host:port; give one such as 127.0.0.1:50051, or unix:path",
                field="address",
            )
        port = int(digits)
    try:
        bound = server.add_insecure_port(address)
    except RuntimeError:
        bound = 0
    if not bound:
        taken, why = (False, "see the log") if port is None else _why(host, port)
        raise FailedPreconditionError(
            f"cannot listen on {address}: {why}; end what listens there, or choose another with --address",
            reason="ADDRESS_IN_USE" if taken else "ADDRESS_UNAVAILABLE",
            field="address",
        ) from None
    return address if port is None else f"{host}:{bound}"


def _why(host: str, port: int) -> tuple[bool, str]:
    """Whether the port is taken, and the system's own reason, which gRPC swallows."""
    try:
        family, kind, proto, _, target = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, proto) as probe:
            probe.bind(target)
    except OSError as error:
        return error.errno == errno.EADDRINUSE, error.strerror or str(error)
    return True, "it was taken a moment ago"

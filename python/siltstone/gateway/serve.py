"""Running the gateway: in a thread, or in the foreground until a signal."""

import asyncio
import errno
import logging
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Self

import uvicorn

from siltstone import address as addresses
from siltstone.client import AsyncClient
from siltstone.errors import FailedPreconditionError, InternalError, InvalidArgumentError
from siltstone.exposure import check_exposure, check_tls, is_local
from siltstone.gateway.app import IDLE_S, MAX_BODY_BYTES, MAX_CALLS, MAX_PENDING_BYTES, build_app
from siltstone.gateway.connection import bounded
from siltstone.gateway.guard import check_hosts
from siltstone.model import AGENT_ROLES

GRACE_SECONDS = 5

_log = logging.getLogger(__name__)


class Gateway:
    """The gateway's HTTP side in a thread of its own.

    Args:
        server_address: of the gRPC server, as ``127.0.0.1:50051``. It need not be there yet.
        address: where to listen, as ``127.0.0.1:8765``; port 0 takes a free one.
        token: shown to the server for callers that bring none of their own.
        allowed_hosts: names besides the loopback ones that it may be reached by.
        namespace: what a tool call that names no namespace means.
        timeout: seconds a call may take; ten times as long for those that look at a whole log.
        max_body_bytes, max_calls, max_pending_bytes, idle_s: see `build_app`.
        tls_cert, tls_key: PEM files for HTTPS; "": plain HTTP.
        insecure: listen on an address that other machines reach without TLS, and without asking for a token.
        tls_ca, tls_client_cert, tls_client_key: how it connects to the server, see `siltstone.Client`.
        connect: makes the client, entered in the gateway's own event loop; by default an `AsyncClient`.

    MCP calls come from agents and keep to `AGENT_ROLES`; the HTTP/JSON door has the caller's own roles.

    Where other machines reach it, each caller brings a token of its own: the gateway's would be everybody's.

    Raises:
        InvalidArgumentError: `address` or `allowed_hosts` cannot be read.
        FailedPreconditionError: (EXPOSED) other machines reach the address and there is no TLS;
            (TLS_UNUSABLE) its files cannot be used.
    """

    def __init__(
        self,
        server_address: str = "127.0.0.1:50051",
        *,
        address: str = "127.0.0.1:8765",
        token: str | None = None,
        allowed_hosts: Sequence[str] = (),
        namespace: str = "default",
        timeout: float = 60.0,
        max_body_bytes: int = MAX_BODY_BYTES,
        max_calls: int = MAX_CALLS,
        max_pending_bytes: int = MAX_PENDING_BYTES,
        idle_s: float = IDLE_S,
        tls_cert: str = "",
        tls_key: str = "",
        insecure: bool = False,
        tls_ca: str = "",
        tls_client_cert: str = "",
        tls_client_key: str = "",
        connect: Callable[[], AbstractAsyncContextManager[Any]] | None = None,
    ) -> None:
        self.server_address = server_address
        self.address = address
        self._target = _target(address)
        with_tls = check_tls(tls_cert, tls_key)
        # It asks for tokens itself, so callers are known as soon as there is TLS.
        check_exposure(address, tls=with_tls, closed=True, insecure=insecure)
        ask = not is_local(address) and not (insecure and token is None)
        self._tls: dict[str, Any] = {"ssl_certfile": tls_cert, "ssl_keyfile": tls_key} if with_tls else {}
        options: dict[str, Any] = {
            "token": token,
            "timeout": timeout,
            "tls_ca": tls_ca,
            "tls_client_cert": tls_client_cert,
            "tls_client_key": tls_client_key,
        }
        self._connect = connect or (lambda: AsyncClient(server_address, **options))
        self._connect_agent = connect or (lambda: AsyncClient(server_address, roles=AGENT_ROLES, **options))
        self._settings: dict[str, Any] = {
            "namespace": namespace,
            "allowed_hosts": check_hosts(allowed_hosts),
            "max_body_bytes": max_body_bytes,
            "max_calls": max_calls,
            "max_pending_bytes": max_pending_bytes,
            "idle_s": idle_s,
            "ask": ask,
        }
        self._thread: threading.Thread | None = None
        self._server: uvicorn.Server | None = None
        self._serving = threading.Event()
        self._stopped = threading.Event()
        self._failure: BaseException | None = None

    def start(self) -> Self:
        """Listen and serve; `address` then has the real port.

        Raises:
            FailedPreconditionError: the port is taken (reason ADDRESS_IN_USE), or it was started before.
            InvalidArgumentError: this machine has no such address.
        """
        if self._thread is not None:
            raise FailedPreconditionError("this gateway was started before; make a new one")
        listener = self._listen()
        self._thread = threading.Thread(
            target=self._run, args=(listener,), name="siltstone-gateway", daemon=True
        )
        self._thread.start()
        self._serving.wait()
        if self._failure:
            self.stop()
        _log.info("gateway listens on %s, server at %s", self.address, self.server_address)
        return self

    def stop(self) -> None:
        """Finish the calls under way, for a few seconds at most, and stop. May be called twice.

        Raises:
            Exception: what made it stop by itself, if that is what happened.
        """
        if self._thread is None:
            return
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(GRACE_SECONDS + 5)
        if self._thread.is_alive():
            raise InternalError(f"the gateway on {self.address} did not stop in time")
        failure, self._failure = self._failure, None
        if failure:
            raise failure

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has stopped; False after `timeout` seconds."""
        return self._stopped.wait(timeout)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _listen(self) -> socket.socket:
        host, port = self._target
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            listener = socket.create_server((host, port), family=family, backlog=2048)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise FailedPreconditionError(
                    f"address: {self.address} is in use by another program; stop that or choose another port "
                    "with --gateway-address",
                    reason="ADDRESS_IN_USE",
                    field="address",
                ) from None
            raise InvalidArgumentError(
                f"address: cannot listen on {self.address}: {error.strerror or error}", field="address"
            ) from None
        # Connections inherit it; without it each answer on a kept connection waits 40 ms for an ACK.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.address = addresses.join(host, listener.getsockname()[1])
        return listener

    def _run(self, listener: socket.socket) -> None:
        try:
            asyncio.run(self._serve(listener))
        except BaseException as failure:
            self._failure = failure
        finally:
            listener.close()
            self._stopped.set()
            self._serving.set()

    async def _serve(self, listener: socket.socket) -> None:
        async with self._connect() as memories, self._connect_agent() as agents:
            app = build_app(memories, agents, **self._settings)
            self._server = uvicorn.Server(
                uvicorn.Config(
                    app,
                    http=bounded(self._settings["idle_s"]),
                    # stdout may belong to MCP or to the command line's answer, so no log of uvicorn's own.
                    log_config=None,
                    access_log=False,
                    lifespan="on",
                    ws="none",
                    timeout_graceful_shutdown=GRACE_SECONDS,
                    **self._tls,
                )
            )
            self._serving.set()
            await self._server.serve(sockets=[listener])
            if not self._server.started:
                raise InternalError("the gateway's HTTP side did not start; its log says why")


def serve_gateway(
    server_address: str = "127.0.0.1:50051",
    *,
    on_start: Callable[[Gateway], None] | None = None,
    **options: Any,
) -> None:
    """Serve until SIGINT or SIGTERM, then finish what is under way and return. Call it in the main thread.

    Takes and raises what `Gateway` does; `on_start` is called once it listens.
    """
    gateway = Gateway(server_address, **options)
    asked_to_stop = threading.Event()
    handled = (signal.SIGINT, signal.SIGTERM)
    former = {number: signal.signal(number, lambda *_: asked_to_stop.set()) for number in handled}
    try:
        with gateway:
            if on_start:
                on_start(gateway)
            while not asked_to_stop.is_set() and not gateway.wait(0.2):
                pass
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _target(address: str) -> tuple[str, int]:
    try:
        return addresses.split(address)
    except ValueError as error:
        raise InvalidArgumentError(f"address: {address!r}: {error}", field="address") from None

"""`siltstone serve`, `gateway` and `up`: what runs until it is told to stop."""

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from siltstone.cli.context import Context, reachable
from siltstone.cli.parser import Commands, UsageError, add_settings
from siltstone.errors import FailedPreconditionError, SiltstoneError
from siltstone.exposure import check_tls, is_local
from siltstone.watching import Metrics, logging_to, serve_metrics, start_tracing, stop_tracing

if TYPE_CHECKING:
    from siltstone.gateway import Gateway
    from siltstone.server import IssuedTokens, Server

_EXAMPLES = {"en": "examples/docker-network.en.json", "zh": "examples/docker-network.zh.json"}


def add(commands: Commands) -> None:
    add_settings(commands.add("serve", "run the gRPC server", run_serve))
    gateway = commands.add("gateway", "run the gateway: MCP, HTTP/JSON, health", run_gateway)
    gateway.add_argument("--stdio", action="store_true", help="speak MCP over standard input and output")
    add_settings(gateway)
    add_settings(commands.add("up", "run server and gateway in one process", run_up))


def run_serve(context: Context) -> int:
    with _told_to_stop() as stop, _watched(context, "siltstone"), _server(context) as server:
        answer = {"address": server.address, "data": context.settings.data}
        context.show(answer, lambda: _where(context, server.address))
        _until(context, stop)
    return 0


def run_gateway(context: Context) -> int:
    settings = context.settings
    address = reachable(settings.address)
    if context.args.stdio:
        if context.json:
            raise UsageError(
                "gateway: --stdio gives standard output to MCP, so --json cannot have it", field="json"
            )
        from siltstone.client import AsyncClient
        from siltstone.gateway import run_stdio
        from siltstone.model import AGENT_ROLES

        client = AsyncClient(address, timeout=settings.timeout_s, roles=AGENT_ROLES, **context.connection())
        with _watched(context, "siltstone-gateway"):
            run_stdio(client, namespace=settings.namespace)
        return 0
    with (
        _told_to_stop() as stop,
        _watched(context, "siltstone-gateway"),
        _gateway(context, address, context.connection()) as gateway,
    ):
        answer = {"address": address, "gateway_address": gateway.address}
        context.show(answer, lambda: context.text("gateway_listens", address=gateway.address))
        _until(context, stop, gateway)
    return 0


def run_up(context: Context) -> int:
    with (
        _told_to_stop() as stop,
        _watched(context, "siltstone"),
        _private_socket(context) as private,
        _server(context, private) as server,
        _gateway(context, private or reachable(server.address), _own_connection(context)) as gateway,
    ):
        answer = {
            "address": server.address,
            "gateway_address": gateway.address,
            "data": context.settings.data,
        }
        lines = (
            _where(context, server.address) + "\n" + context.text("gateway_listens", address=gateway.address)
        )
        context.show(answer, lambda: lines)
        example = _EXAMPLES["zh" if context.text.lang == "zh" else "en"]
        first = ["hindsight", example] if Path(example).is_file() else ["write", "…"]
        context.say("next_other_terminal", command=context.client_command(server.address, *first))
        context.say("stop_with")
        _until(context, stop, gateway)
    return 0


@contextmanager
def _private_socket(context: Context) -> Iterator[str]:
    """Where server and gateway of one process meet when the server has TLS, whose certificate need not name
    this machine; "" when they need no other place. Only this user can reach it."""
    if not context.settings.tls_cert:
        yield ""
        return
    with TemporaryDirectory(prefix="siltstone-") as directory:
        yield f"unix:{directory}/grpc"


def _own_connection(context: Context) -> dict[str, Any]:
    return {"token": context.settings.token or None}


def _verifier(context: Context) -> "IssuedTokens | None":
    """Of tokens that another service issued, when any of its settings is set."""
    from siltstone.server import IssuedTokens, Issuer

    settings = context.settings
    if not (settings.jwt_issuer or settings.jwt_audience or settings.jwt_keys):
        return None
    return IssuedTokens(
        Issuer(
            settings.jwt_issuer,
            settings.jwt_audience,
            settings.jwt_keys,
            settings.jwt_namespaces_claim,
            settings.jwt_roles_claim,
        )
    )


@contextmanager
def _server(context: Context, private_address: str = "") -> "Iterator[Server]":
    from siltstone.engine import Engine
    from siltstone.server import TlsFiles, serve

    settings = context.settings
    with_tls = check_tls(settings.tls_cert, settings.tls_key, settings.tls_client_ca)
    engine = Engine.open(settings.data, settings)
    try:
        with _busy_port_named(settings.address, "address"):
            server = serve(
                engine,
                address=settings.address,
                workers=settings.workers,
                max_waiting=settings.max_waiting_calls,
                max_message_bytes=settings.max_message_bytes,
                max_pending_bytes=settings.max_pending_bytes,
                max_unread_bytes=settings.max_unread_bytes,
                idle_s=settings.idle_s,
                slow_call_s=settings.slow_call_s,
                grace_s=settings.grace_s,
                tls=TlsFiles(settings.tls_cert, settings.tls_key, settings.tls_client_ca)
                if with_tls
                else None,
                verifier=_verifier(context),
                insecure=settings.insecure,
                private_address=private_address,
            )
        try:
            with _metrics(context, engine.metrics):
                yield server
        finally:
            engine.jobs.stop()  # who waits for one is told at once, and does not use up the grace
            server.stop()
    finally:
        engine.close()


@contextmanager
def _metrics(context: Context, metrics: Metrics) -> Iterator[None]:
    """The server's own /metrics, where one is asked for."""
    if not context.settings.metrics_address:
        yield
        return
    settings = context.settings
    if not (settings.insecure or is_local(settings.metrics_address)):
        raise FailedPreconditionError(
            f"metrics_address: {settings.metrics_address} can be reached from other machines, and asks "
            "nobody for a token; listen on 127.0.0.1, scrape the gateway's /metrics with a token, or say "
            "--insecure",
            reason="EXPOSED",
            field="metrics_address",
        )
    with serve_metrics(context.settings.metrics_address, metrics) as address:
        context.say("metrics_at", address=address)
        yield


@contextmanager
def _gateway(context: Context, server_address: str, connection: dict[str, Any]) -> "Iterator[Gateway]":
    from siltstone.gateway import Gateway

    settings = context.settings
    gateway = Gateway(
        server_address,
        address=settings.gateway_address,
        allowed_hosts=settings.allowed_hosts,
        namespace=settings.namespace,
        timeout=settings.timeout_s,
        max_body_bytes=settings.max_body_bytes,
        max_calls=settings.max_gateway_calls,
        max_pending_bytes=settings.max_pending_bytes,
        idle_s=settings.idle_s,
        tls_cert=settings.tls_cert,
        tls_key=settings.tls_key,
        insecure=settings.insecure,
        **connection,
    )
    with _busy_port_named(settings.gateway_address, "gateway_address"):
        gateway.start()
    try:
        yield gateway
    finally:
        gateway.stop()


@contextmanager
def _busy_port_named(address: str, setting: str) -> Iterator[None]:
    """Names the flag of this command line; the packages below cannot know which one it is."""
    try:
        yield
    except SiltstoneError as error:
        if error.reason != "ADDRESS_IN_USE":
            raise
        flag = "--" + setting.replace("_", "-")
        raise FailedPreconditionError(
            f"{setting}: {address} is in use by another program; stop that, or choose another with {flag}",
            reason="ADDRESS_IN_USE",
            field=setting,
        ) from error


@contextmanager
def _told_to_stop() -> Iterator[SimpleQueue[int]]:
    """A queue into which SIGINT and SIGTERM go. A second signal acts as usual, for a stop that hangs.

    Not an event: a signal that comes while its lock is held would wait for itself. `SimpleQueue.put` may be
    called at any instant.
    """
    stop: SimpleQueue[int] = SimpleQueue()
    handled = (signal.SIGINT, signal.SIGTERM)
    former = {number: signal.getsignal(number) for number in handled}

    def told(number: int, _frame: object) -> None:
        stop.put(number)
        for each in handled:
            signal.signal(each, former[each])

    for number in handled:
        signal.signal(number, told)
    try:
        yield stop
    finally:
        for number in handled:
            signal.signal(number, former[number])


def _until(context: Context, stop: SimpleQueue[int], gateway: "Gateway | None" = None) -> None:
    sys.stdout.flush()
    while not _told(stop, 0.5):
        if gateway is not None and gateway.wait(0):
            break  # it failed; stopping it raises why
    context.say("stopping")
    sys.stdout.flush()


def _told(stop: SimpleQueue[int], seconds: float) -> bool:
    try:
        stop.get(timeout=seconds)
    except Empty:
        return False
    return True


def _where(context: Context, address: str) -> str:
    listens = context.text("server_listens", address=address)
    return listens + "\n" + context.text("data_at", path=Path(context.settings.data).resolve())


def _watched(context: Context, service: str) -> ExitStack:
    """Logs to stderr, and traces where they are asked for, until it is closed."""
    settings = context.settings
    stack = ExitStack()
    stack.enter_context(logging_to(sys.stderr, settings.log_level, settings.log_format))
    if settings.otlp_endpoint:
        stack.callback(stop_tracing, start_tracing(settings.otlp_endpoint, service))
    return stack

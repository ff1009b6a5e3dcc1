"""The gateway's HTTP side as one ASGI application."""

from collections.abc import Sequence
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from siltstone.errors import NotFoundError, PermissionDeniedError, UnauthenticatedError
from siltstone.gateway.answers import error_answer, json_answer
from siltstone.gateway.callers import CallerGuard, client_for
from siltstone.gateway.failures import understood
from siltstone.gateway.guard import LOOPBACK_NAMES, BrowserGuard, check_hosts
from siltstone.gateway.json_door import JsonDoor
from siltstone.gateway.mcp_server import build_server
from siltstone.gateway.watch import Watch
from siltstone.watching import Figure, Metrics
from siltstone.watching.metrics import CONTENT_TYPE

MAX_BODY_BYTES = 64 << 20
MAX_CALLS = 256
MAX_PENDING_BYTES = 256 << 20
IDLE_S = 60.0


def build_app(
    memories: Any,
    agents: Any,
    *,
    namespace: str = "default",
    allowed_hosts: Sequence[str] = (),
    max_body_bytes: int = MAX_BODY_BYTES,
    max_calls: int = MAX_CALLS,
    max_pending_bytes: int = MAX_PENDING_BYTES,
    idle_s: float = IDLE_S,
    ask: bool = False,
) -> Starlette:
    """``/mcp``, ``/v1/{Rpc}``, ``/healthz``, ``/readyz`` and ``/metrics`` over one server.

    Args:
        memories: the client behind ``/v1``.
        agents, namespace: the client behind ``/mcp``, and what it means; see `build_server`.
        allowed_hosts: names besides the loopback ones that the gateway may be reached by, each with its
            port or for any port.
        max_body_bytes: largest request.
        max_calls: requests carried out at once; what comes beyond is turned away.
        max_pending_bytes: bodies of all requests under way; a request beyond it is turned away.
        idle_s: seconds that a request may wait for its caller to send or take something.
        ask: refuse callers that bring no token of their own.

    Raises:
        InvalidArgumentError: an entry of `allowed_hosts` is no host name.
    """
    hosts = (*LOOPBACK_NAMES, *check_hosts(allowed_hosts))
    server = build_server(agents, namespace=namespace)
    manager = StreamableHTTPSessionManager(
        server,
        stateless=True,
        # JSON answers would lose progress and cancellation.
        json_response=False,
        # BrowserGuard checks every path, not only this one, and more strictly.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=max_body_bytes,
    )

    async def healthz(_request: Request) -> Response:
        return json_answer({"status": "ok"})

    async def readyz(_request: Request) -> Response:
        try:
            await memories.ready()
        except Exception as error:
            return error_answer(understood(error), 503)
        return json_answer({"status": "ok"})

    figures = Metrics("siltstone_gateway")

    async def metrics(request: Request) -> Response:
        """The gateway's figures and the server's, so that one target is enough to scrape."""
        try:
            server_text, up = await client_for(memories, request).metrics(), 1
        except (PermissionDeniedError, UnauthenticatedError) as error:
            return error_answer(error)
        except Exception as error:
            server_text, up = "", 0
            understood(error)
        figures.ask("server_up", lambda: [Figure("server_up", "Whether the server answers", up)])
        return Response(figures.text() + server_text, media_type=CONTENT_TYPE)

    door = JsonDoor(memories, max_body_bytes)
    return Starlette(
        routes=[
            # Stateless: a GET would open a stream on which nothing ever comes.
            Route("/mcp", StreamableHTTPASGIApp(manager), methods=["POST"]),
            Route("/v1/{rpc}", door.answer, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/metrics", metrics),
        ],
        middleware=[
            Middleware(
                Watch,
                figures=figures,
                max_calls=max_calls,
                max_pending_bytes=max_pending_bytes,
                idle_s=idle_s,
            ),
            Middleware(BrowserGuard, hosts=hosts),
            Middleware(CallerGuard, ask=ask),
        ],
        exception_handlers={HTTPException: _refused},
        lifespan=lambda _app: manager.run(),
    )


async def _refused(request: Request, error: Exception) -> Response:
    """What no route serves: another path, or another method."""
    assert isinstance(error, HTTPException)
    reason = NotFoundError(
        f"path: {request.method} {request.url.path} is not served; there are POST /mcp, POST /v1/{{Rpc}}, "
        "GET /healthz, GET /readyz and GET /metrics",
        field="path",
    )
    answer = error_answer(reason, error.status_code)
    answer.headers.update(error.headers or {})
    return answer

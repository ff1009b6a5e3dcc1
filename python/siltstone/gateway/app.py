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

from siltstone.errors import NotFoundError
from siltstone.gateway.answers import error_answer, json_answer
from siltstone.gateway.failures import understood
from siltstone.gateway.guard import LOOPBACK_NAMES, BrowserGuard, check_hosts
from siltstone.gateway.json_door import MAX_BODY_BYTES, JsonDoor
from siltstone.gateway.mcp_server import build_server


def build_app(
    memories: Any, agents: Any, *, namespace: str = "default", allowed_hosts: Sequence[str] = ()
) -> Starlette:
    """``/mcp``, ``/v1/{Rpc}``, ``/healthz`` and ``/readyz`` over one server.

    Args:
        memories: the client behind ``/v1``.
        agents, namespace: the client behind ``/mcp``, and what it means; see `build_server`.
        allowed_hosts: names besides the loopback ones that the gateway may be reached by, each with its
            port or for any port.

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
        max_request_body_size=MAX_BODY_BYTES,
    )

    async def healthz(_request: Request) -> Response:
        return json_answer({"status": "ok"})

    async def readyz(_request: Request) -> Response:
        try:
            await memories.ready()
        except Exception as error:
            return error_answer(understood(error), 503)
        return json_answer({"status": "ok"})

    door = JsonDoor(memories)
    return Starlette(
        routes=[
            # Stateless: a GET would open a stream on which nothing ever comes.
            Route("/mcp", StreamableHTTPASGIApp(manager), methods=["POST"]),
            Route("/v1/{rpc}", door.answer, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
        ],
        middleware=[Middleware(BrowserGuard, hosts=hosts)],
        exception_handlers={HTTPException: _refused},
        lifespan=lambda _app: manager.run(),
    )


async def _refused(request: Request, error: Exception) -> Response:
    """What no route serves: another path, or another method."""
    assert isinstance(error, HTTPException)
    reason = NotFoundError(
        f"path: {request.method} {request.url.path} is not served; there are POST /mcp, POST /v1/{{Rpc}}, "
        "GET /healthz and GET /readyz",
        field="path",
    )
    answer = error_answer(reason, error.status_code)
    answer.headers.update(error.headers or {})
    return answer

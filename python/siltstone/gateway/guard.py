"""What a browser may not do: reach the gateway under a foreign name, or from a page of another origin.

A page on any site can send requests to a port of the machine it is shown on. It cannot choose the Host
header freely (DNS rebinding keeps the attacker's name in it) and cannot leave out Origin.
"""

import re
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from siltstone.errors import InvalidArgumentError, PermissionDeniedError
from siltstone.gateway.answers import error_answer

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
# Probes of a container runtime name the address they reach; these say nothing worth stealing.
OPEN_PATHS = frozenset({"/healthz", "/readyz"})

_HOST = re.compile(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?")


def check_hosts(hosts: Sequence[str]) -> tuple[str, ...]:
    """Host names as the guard compares them, or InvalidArgumentError for one that is none."""
    for host in hosts:
        if not _HOST.fullmatch(host.lower()):
            raise InvalidArgumentError(
                f"allowed_hosts: {host!r} is no host name such as memory.example.org or example.org:8765",
                field="allowed_hosts",
            )
    return tuple(host.lower() for host in hosts)


class BrowserGuard:
    """ASGI middleware: 421 for a Host that is not ours, 403 for an Origin that is not that same Host."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self.app = app
        self.hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            headers = Headers(scope=scope)
            host = headers.get("host", "").lower()
            match = _HOST.fullmatch(host)
            if match is None or not self.hosts & {host, match[1]}:
                refusal = PermissionDeniedError(
                    f"host: {host!r} is not a name of this gateway; reach it as localhost or start it with "
                    "--allowed-host and that name",
                    reason="HOST_NOT_ALLOWED",
                    field="host",
                )
                return await error_answer(refusal, 421)(scope, receive, send)
            origin = headers.get("origin", "").lower()
            if origin and origin.partition("://")[2] != host:
                refusal = PermissionDeniedError(
                    f"origin: pages of {origin!r} may not call this gateway; call it from a program",
                    reason="ORIGIN_NOT_ALLOWED",
                    field="origin",
                )
                return await error_answer(refusal)(scope, receive, send)
        return await self.app(scope, receive, send)

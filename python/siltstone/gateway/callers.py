"""Whose token a call carries on to the server: the HTTP caller's own, or for want of one the gateway's."""

import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from siltstone.errors import UnauthenticatedError
from siltstone.gateway.answers import error_answer
from siltstone.gateway.guard import OPEN_PATHS

MAX_BYTES = 8192  # of what a caller shows; more than that, gRPC itself would turn away as too many calls
_BEARER = re.compile(r"bearer[ ]+([\x21-\x7e]+)[ ]*", re.IGNORECASE)  # RFC 6750, 2.1, and any ASCII


def client_for(client: Any, request: Request | None) -> Any:
    """The client that acts for whoever sent a request; over stdio there is none, and one caller.

    Raises:
        UnauthenticatedError: its Authorization header is no bearer token.
    """
    token = None if request is None else token_of(request.headers.getlist("authorization"))
    if token is None or request is None:
        return client
    return client.on_behalf_of(token, _address(request.client.host if request.client else ""))


def _address(host: str) -> str:
    """The caller's address; "" for what a proxy in front says and is none."""
    try:
        return str(ip_address(host.partition("%")[0]))
    except ValueError:
        return ""


def token_of(headers: Sequence[str]) -> str | None:
    """The token in the values of Authorization; None when there is no such header."""
    if not headers:
        return None
    match = _BEARER.fullmatch(headers[0])
    if len(headers) > 1 or match is None or len(headers[0]) > MAX_BYTES:
        raise UnauthenticatedError(
            "authorization: is no bearer token; send one header, 'Authorization: Bearer TOKEN'",
            reason="MALFORMED_TOKEN",
            field="authorization",
        )
    return match[1]


class CallerGuard:
    """ASGI middleware: 401 for a header that is no bearer token and, with `ask`, for none. Whether a token is
    good the server knows."""

    def __init__(self, app: ASGIApp, ask: bool) -> None:
        self.app = app
        self.ask = ask

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            try:
                token = token_of(Headers(scope=scope).getlist("authorization"))
                if token is None and self.ask:
                    raise UnauthenticatedError(
                        "authorization: is missing; other machines reach this gateway, so each caller brings "
                        "an access token of its own, as 'Authorization: Bearer TOKEN'",
                        reason="TOKEN_REQUIRED",
                        field="authorization",
                    )
            except UnauthenticatedError as error:
                return await error_answer(error)(scope, receive, send)
        return await self.app(scope, receive, send)

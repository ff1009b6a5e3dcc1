"""Who calls: from the metadata of a gRPC call to a principal with roles and namespaces."""

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import unquote

import grpc

from siltstone.engine.call import OWNER
from siltstone.engine.patterns import EVERYTHING, Patterns
from siltstone.engine.tokens import PREFIX, TokenBook
from siltstone.errors import UnauthenticatedError
from siltstone.model import ROLES, check_roles
from siltstone.server.throttle import Throttle
from siltstone.wire import CALLER_HEADER, ROLES_HEADER

MAX_BYTES = 8192  # of what a caller shows
_REMEMBERED = 4096  # digests of what was good
_BEARER = re.compile(r"bearer[ ]+([\x21-\x7e]+)[ ]*", re.IGNORECASE)  # RFC 6750, 2.1, and any ASCII


@dataclass(frozen=True, slots=True)
class Caller:
    """Who showed a good token; `still_valid` raises UnauthenticatedError once it is good no longer."""

    principal: str
    roles: frozenset[str]
    namespaces: Patterns
    still_valid: Callable[[], None]


# Asked for before a call's message is read and again when it is carried out, by the same thread.
_known: ContextVar[tuple[grpc.ServicerContext, Caller] | None] = ContextVar("siltstone_caller", default=None)


class Verifier(Protocol):
    """Knows tokens that another service issued."""

    def caller(self, token: str) -> Caller:
        """UnauthenticatedError for one that is not good."""


class Callers:
    """Args:
    tokens: of the store.
    verifier: of tokens from elsewhere, if any are taken.
    """

    def __init__(self, tokens: TokenBook, verifier: Verifier | None = None) -> None:
        self._tokens = tokens
        self._verifier = verifier
        self._throttle = Throttle()
        self._lock = threading.Lock()
        self._good: OrderedDict[bytes, None] = OrderedDict()  # digests of what was good, least recent first

    @property
    def closed(self) -> bool:
        """Whether nobody is let in without a token."""
        return self._verifier is not None or self._tokens.in_use

    def of(self, context: grpc.ServicerContext) -> Caller:
        """The caller of a gRPC call, with the roles it keeps for it.

        Raises:
            UnauthenticatedError: no token where one is needed, or one that is not good.
            ResourceExhaustedError: too many that are not good came from its address.
        """
        known = _known.get()
        if known is not None and known[0] is context:
            return known[1]
        metadata = [(key, value) for key, value in context.invocation_metadata() or ()]
        caller = self._identified(_values(metadata, "authorization"), context, metadata)
        for text in _values(metadata, ROLES_HEADER):
            kept = check_roles(role.strip() for role in text.split(",") if role.strip())
            caller = Caller(caller.principal, caller.roles & kept, caller.namespaces, caller.still_valid)
        _known.set((context, caller))
        return caller

    def _identified(
        self, shown: list[str], context: grpc.ServicerContext, metadata: list[tuple[str, Any]]
    ) -> Caller:
        if not shown:
            if self.closed:
                raise UnauthenticatedError(
                    "authorization: this service takes calls with an access token only; send one (--token, "
                    "SILTSTONE_TOKEN, 'Authorization: Bearer …'); `siltstone token create` makes them",
                    reason="TOKEN_REQUIRED",
                    field="authorization",
                )
            return OPEN
        if len(shown) > 1:
            raise _malformed("is sent more than once")
        match = _BEARER.fullmatch(shown[0])
        if match is None or len(shown[0]) > MAX_BYTES:
            raise _malformed("is not 'Bearer' and a token")
        peer = _peer(context)
        behind = next(iter(_values(metadata, CALLER_HEADER)), "")
        digest = hashlib.sha256(match[1].encode()).digest()
        if not self._was_good(digest):
            self._throttle.check(peer, behind)
        try:
            caller = self._good_caller(match[1])
        except UnauthenticatedError:
            self._throttle.failed(peer, behind)
            self._forget(digest)
            raise
        self._remember(digest)
        return caller

    def _good_caller(self, secret: str) -> Caller:
        if self._verifier is not None and not secret.startswith(PREFIX):
            return self._verifier.caller(secret)
        token = self._tokens.find(secret)
        if token is None:
            raise _not_good()
        id = token.id

        def still_valid() -> None:
            if not self._tokens.good(id):
                raise _not_good()

        return Caller(
            f"token {id} {token.name}", frozenset(token.roles), Patterns(tuple(token.namespaces)), still_valid
        )

    def _was_good(self, digest: bytes) -> bool:
        with self._lock:
            return digest in self._good

    def _remember(self, digest: bytes) -> None:
        with self._lock:
            self._good[digest] = None
            self._good.move_to_end(digest)
            if len(self._good) > _REMEMBERED:
                self._good.popitem(last=False)

    def _forget(self, digest: bytes) -> None:
        with self._lock:
            self._good.pop(digest, None)


OPEN = Caller(OWNER, ROLES, EVERYTHING, lambda: None)
"""Whoever reaches a service that has no tokens."""


def _values(metadata: Iterable[tuple[str, Any]], name: str) -> list[str]:
    return [
        value if isinstance(value, str) else value.decode("ascii", "replace")
        for key, value in metadata
        if key == name
    ]


def _peer(context: grpc.ServicerContext) -> str:
    """The address that the connection comes from, without its port: gRPC says ipv4:1.2.3.4:5, ipv6:[::1]:5
    (with the brackets percent-encoded in some versions) or unix:path."""
    kind, _, rest = unquote(context.peer()).partition(":")
    if kind not in ("ipv4", "ipv6"):
        return kind
    return rest.rpartition(":")[0].strip("[]")


def _malformed(problem: str) -> UnauthenticatedError:
    return UnauthenticatedError(
        f"authorization: {problem}; send it once, as 'Bearer TOKEN'",
        reason="MALFORMED_TOKEN",
        field="authorization",
    )


def _not_good() -> UnauthenticatedError:
    return UnauthenticatedError(
        "authorization: this token is not known here, or was revoked; ask an administrator for another",
        reason="UNKNOWN_TOKEN",
        field="authorization",
    )

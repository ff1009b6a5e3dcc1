"""What both clients do alike: from arguments to messages, from an answer or a failure to a result."""

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any

import grpc

from siltstone.data import from_data
from siltstone.errors import (
    DeadlineExceededError,
    InternalError,
    InvalidArgumentError,
    ResourceExhaustedError,
    SiltstoneError,
    UnimplementedError,
)
from siltstone.model import check_roles
from siltstone.watching import REQUEST_ID_HEADER, carrier, request_id
from siltstone.wire import METHODS, ROLES_HEADER, Method, from_proto, from_status, to_proto
from siltstone.wire.errors import connection_lost, said_by_server

CHANNEL_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # A restarted server is found again in moments, not after gRPC's minute.
    ("grpc.initial_reconnect_backoff_ms", 100),
    # This one also bounds the time that one connection may take, so it must outlast a busy machine.
    ("grpc.min_reconnect_backoff_ms", 5000),
    ("grpc.max_reconnect_backoff_ms", 2000),
    # Calls without a deadline end when the other side is gone. More often than every five minutes, servers
    # of gRPC's own settings refuse.
    ("grpc.keepalive_time_ms", 360_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    # A proxy for the web in the environment must not swallow calls to a server of one's own.
    ("grpc.enable_http_proxy", 0),
]
SYSTEM_ROOTS = "system"
PAUSES = (0.1, 0.4)
"""Seconds before each repeat of a call whose connection was lost."""

LONG = 10
"""How many times the timeout the operations have that look at a whole log or store, or wait for it."""

_LONG = frozenset(
    {
        "SummarizeTrajectory",
        "StreamTrajectory",
        "DeleteNamespace",
        "CheckStore",
        "ReembedMemories",
        "CompactStore",
        "ForgetMemories",
    }
)
# A whole store may go over the wire; the connection's own keepalive tells when the other side is gone.
_ENDLESS = frozenset({"CreateBackup", "StreamBackup", "ExportMemories", "ImportMemories"})
# Repeating these after a lost connection could do the thing twice, or call a success an error.
_ONCE = frozenset({"CancelHindsightJob", "CreateToken", "CreateBackup", "RevokeToken"})


@dataclass(frozen=True, slots=True)
class Plan:
    """One call, ready to send. `messages` is one message, or a stream that is made as it is sent, once."""

    method: Method
    messages: Iterable[Any]
    timeout: float | None  # seconds
    pauses: tuple[float, ...]  # before each repeat


def check_timeout(timeout: float | None) -> float | None:
    if timeout is not None and not timeout > 0:
        raise InvalidArgumentError(
            f"timeout: {timeout} is no time to wait; give seconds above 0, or None to wait for ever",
            field="timeout",
        )
    return timeout


def metadata(token: str | None, roles: Iterable[str] | None) -> list[tuple[str, str]]:
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise InvalidArgumentError(
            "token: holds what no token holds; give it as it was shown, without blanks or line ends",
            field="token",
        )
    sent = [("authorization", f"Bearer {token}")] if token else []
    if roles is not None:
        sent.append((ROLES_HEADER, ",".join(sorted(check_roles(roles)))))
    return sent


def handed_on() -> list[tuple[str, str]]:
    """What a call made on behalf of a request hands on: its id, and its trace."""
    id = request_id()
    return [*([(REQUEST_ID_HEADER, id)] if id else []), *carrier().items()]


def credentials(ca: str, cert: str, key: str) -> grpc.ChannelCredentials | None:
    """TLS by these PEM files; None without any. InvalidArgumentError for files that cannot be read, and for a
    certificate without its key."""
    if bool(cert) != bool(key):
        missing = "tls_client_key" if cert else "tls_client_cert"
        raise InvalidArgumentError(
            f"{missing}: is missing; a client's certificate and its key go together", field=missing
        )
    if not ca and not cert:
        return None
    return grpc.ssl_channel_credentials(
        None if ca in ("", SYSTEM_ROOTS) else _pem(ca, "tls_ca"),
        _pem(key, "tls_client_key") if key else None,
        _pem(cert, "tls_client_cert") if cert else None,
    )


def _pem(path: str, field: str) -> bytes:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InvalidArgumentError(
            f"{field}: cannot read {path!r}: {error.strerror}; give the path of a PEM file", field=field
        ) from None
    if b"-----BEGIN " not in data:
        raise InvalidArgumentError(f"{field}: {path!r} holds nothing in PEM; give a PEM file", field=field)
    return data


def plan(rpc: str, given: Mapping[str, Any], timeout: float | None) -> Plan:
    """Raises InvalidArgumentError when `given` is no request of that RPC."""
    method = METHODS[rpc]
    operation = method.operation
    if operation.request_stream:
        messages = (to_proto(from_data(operation.request, m), method.request) for m in given["messages"])
        # The first holds what was asked: what is wrong with it must be told before gRPC's thread takes over.
        sent: Iterable[Any] = chain([next(messages)], messages)
    else:
        # A write can be repeated when the connection is lost, because the server knows it again by this.
        if not given.get("request_id") and any(f.name == "request_id" for f in fields(operation.request)):
            given = {**given, "request_id": str(uuid.uuid4())}
        sent = [to_proto(from_data(operation.request, given), method.request)]
    streams = operation.request_stream or operation.response_stream
    if rpc in _ENDLESS:
        timeout = None
    return Plan(
        method,
        sent,
        timeout * LONG if timeout is not None and (rpc in _LONG or given.get("wait")) else timeout,
        () if streams or rpc in _ONCE else PAUSES,
    )


def result(plan: Plan, answer: Any, address: str, then: Callable[[Any], Any] | None) -> Any:
    """What the caller gets from an answer; of a stream, what its sink made of it."""
    if plan.method.operation.response_stream:
        return answer
    response = read(plan, answer, address)
    return then(response) if then else response


def read(plan: Plan, message: Any, address: str) -> Any:
    """A message of the answer."""
    operation = plan.method.operation
    try:
        return from_proto(message, operation.response)
    except InvalidArgumentError as error:
        raise InternalError(
            f"the answer of {address} to {operation.rpc} cannot be read ({error}); client and server are of "
            "different versions",
            reason="UNREADABLE_ANSWER",
        ) from None


def failure(plan: Plan, error: grpc.RpcError, address: str) -> SiltstoneError:
    """The exception for what gRPC raised."""
    call: Any = error  # every RpcError of a call is a grpc.Call too
    code, text = call.code(), call.details() or ""
    rpc = plan.method.operation.rpc
    trailers = dict(call.trailing_metadata() or ())
    details = trailers.get("grpc-status-details-bin")
    if said_by_server(details):
        return from_status(code.name, text, details)
    if code is grpc.StatusCode.UNAVAILABLE:
        return connection_lost(address, text)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlineExceededError(
            f"{rpc}: no answer from {address} within {plan.timeout} s; it may still have happened, repeating "
            "it with the same request_id is safe; wait longer with timeout="
        )
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in text:
        return ResourceExhaustedError(
            f"{rpc}: the message is larger than the server takes ({text}); send less at once, or start the "
            "server with a larger --max-message-bytes",
            reason="MESSAGE_TOO_LARGE",
        )
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and text.startswith("Concurrent RPC limit"):
        return ResourceExhaustedError(
            f"{rpc}: {address} has more calls than it can even turn away; try again in a moment",
            reason="OVERLOADED",
        )
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return UnimplementedError(
            f"{rpc}: not known at {address}; that is a Siltstone server of another version, or none"
        )
    return from_status(code.name, text)


def stub(channel: Any, method: Method) -> Any:
    """What sends a method's messages over a channel, sync or async."""
    kinds = ("unary", "stream")
    operation = method.operation
    make = getattr(channel, f"{kinds[operation.request_stream]}_{kinds[operation.response_stream]}")
    return make(
        method.path,
        request_serializer=method.request.SerializeToString,
        response_deserializer=method.response.FromString,
    )


def again(error: SiltstoneError, pause: float | None, until: float | None) -> bool:
    """Whether to repeat a call after `pause`; `until` is on `time.monotonic`'s clock."""
    if pause is None or error.reason != "CONNECTION_FAILED":
        return False
    return until is None or time.monotonic() + pause < until

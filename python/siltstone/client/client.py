"""`siltstone.Client`."""

import time
from collections.abc import Callable, Iterable
from typing import Any, Self

import grpc

from siltstone.api import Api
from siltstone.client.plan import (
    CHANNEL_OPTIONS,
    Plan,
    again,
    check_timeout,
    credentials,
    failure,
    handed_on,
    metadata,
    plan,
    read,
    result,
    stub,
)
from siltstone.errors import FailedPreconditionError
from siltstone.files import Sink, pour


class Client(Api):
    """The methods of `Api` over gRPC. Safe for many threads; close it, or use it in a ``with``.

    Args:
        address: host:port, or unix:path. The connection is made at the first call.
        token: what the server knows the caller by.
        timeout: seconds a call may take, connecting included; None: for ever. Ten times as long for what
            looks at a whole log or store, or waits for that: summarize_trajectory, finish_task and
            create_hindsight_job with wait, forget, delete_namespace, check, compact, reembed. For ever for
            backup, export and import_.
        tls_ca: PEM file of the authority by which it knows the server, or "system" for those that gRPC
            brings; "": no TLS.
        tls_client_cert, tls_client_key: PEM files of what it shows a server that asks for certificates.
        roles: which of the caller's roles its calls use; None: all. It can only give up, never gain: a
            program that acts for an agent takes ``siltstone.model.AGENT_ROLES``.

    A call whose connection is lost is repeated at most twice; writes carry a request_id, so that they happen
    once. UnavailableError when nothing answers at the address.
    """

    def __init__(
        self,
        address: str = "127.0.0.1:50051",
        *,
        token: str | None = None,
        timeout: float | None = 60.0,
        roles: Iterable[str] | None = None,
        tls_ca: str = "",
        tls_client_cert: str = "",
        tls_client_key: str = "",
    ) -> None:
        self.address = address
        self.timeout = check_timeout(timeout)
        self._metadata = metadata(token, roles)
        tls = credentials(tls_ca, tls_client_cert, tls_client_key)
        self._channel: grpc.Channel | None = (
            grpc.secure_channel(address, tls, options=CHANNEL_OPTIONS)
            if tls
            else grpc.insecure_channel(address, options=CHANNEL_OPTIONS)
        )
        self._stubs: dict[str, Any] = {}

    def close(self) -> None:
        """Close the connection; calls that run fail with UnavailableError."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _call(
        self,
        rpc: str,
        given: dict[str, Any],
        then: Callable[[Any], Any] | None = None,
        sink: Sink | None = None,
    ) -> Any:
        ready = plan(rpc, given, self.timeout)
        until = None if ready.timeout is None else time.monotonic() + ready.timeout
        for pause in (*ready.pauses, None):
            try:
                answer = self._send(ready, until, sink)
            except grpc.RpcError as error:
                raised = failure(ready, error, self.address)
                if not again(raised, pause, until):
                    raise raised from None
                time.sleep(pause or 0)
            else:
                return result(ready, answer, self.address, then)
        raise AssertionError("the last attempt returns or raises")

    def _send(self, ready: Plan, until: float | None, sink: Sink | None) -> Any:
        operation = ready.method.operation
        answer = self._stub(ready)(
            iter(ready.messages) if operation.request_stream else next(iter(ready.messages)),
            timeout=None if until is None else max(until - time.monotonic(), 0.001),
            metadata=[*self._metadata, *handed_on()],
        )
        if not operation.response_stream:
            return answer
        assert sink is not None
        try:
            return pour((read(ready, message, self.address) for message in answer), sink)
        finally:
            answer.cancel()  # when it failed here; no harm when it is done

    def _stub(self, ready: Plan) -> Any:
        if self._channel is None:
            raise FailedPreconditionError("this client is closed; make another", reason="CLIENT_CLOSED")
        path = ready.method.path
        if path not in self._stubs:
            self._stubs[path] = stub(self._channel, ready.method)
        return self._stubs[path]

"""The plain HTTP/JSON door: ``POST /v1/{Rpc}``, the request's fields in, the response's fields out."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from siltstone.data import to_data
from siltstone.errors import (
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    SiltstoneError,
    UnimplementedError,
)
from siltstone.gateway.answers import error_answer, json_answer
from siltstone.gateway.callers import client_for
from siltstone.gateway.failures import understood
from siltstone.operations import OPERATIONS

UNARY = tuple(o.rpc for o in OPERATIONS.values() if not (o.request_stream or o.response_stream))


class JsonDoor:
    """Serves every unary operation over `memories`, a client whose calls are awaitable."""

    def __init__(self, memories: Any, max_body_bytes: int) -> None:
        self._memories = memories
        self._max_body_bytes = max_body_bytes

    async def answer(self, request: Request) -> Response:
        rpc = request.path_params["rpc"]
        if rpc not in UNARY:
            return error_answer(_not_here(rpc))
        if request.method != "POST":
            return _wrong_method(rpc, request.method)
        content_type = request.headers.get("content-type", "")
        if content_type.partition(";")[0].strip().lower() != "application/json":
            return _wrong_content_type(content_type)
        body = await _read(request, self._max_body_bytes)
        if body is None:
            return _too_large(self._max_body_bytes)
        try:
            given = _parse(body)
            response = await client_for(self._memories, request)._call(rpc, given)
            return json_answer(to_data(response))
        except Exception as failure:
            return error_answer(understood(failure))


def _not_here(rpc: str) -> SiltstoneError:
    if rpc in OPERATIONS:
        return UnimplementedError(
            f"rpc: {rpc} streams, which this door does not; use gRPC or the command line", field="rpc"
        )
    return NotFoundError(
        f"rpc: there is no {rpc!r}; there are {', '.join(UNARY)}", reason="UNKNOWN_RPC", field="rpc"
    )


def _wrong_method(rpc: str, method: str) -> Response:
    error = UnimplementedError(
        f"method: {method} is not served; POST the request's fields as JSON to /v1/{rpc}",
        reason="METHOD_NOT_ALLOWED",
        field="method",
    )
    answer = error_answer(error, 405)
    answer.headers["Allow"] = "POST"
    return answer


def _wrong_content_type(content_type: str) -> Response:
    error = InvalidArgumentError(
        f"content-type: expected application/json, got {content_type!r}",
        reason="UNSUPPORTED_MEDIA_TYPE",
        field="content-type",
    )
    return error_answer(error, 415)


def _too_large(most: int) -> Response:
    error = ResourceExhaustedError(
        f"body: larger than {most:,} bytes (max_body_bytes); split it into several calls",
        reason="BODY_TOO_LARGE",
        field="body",
    )
    return error_answer(error, 413)


async def _read(request: Request, most: int) -> bytes | None:
    """The body, or None once it is over `most` bytes, without reading the rest."""
    body = bytearray()
    async for chunk in request.stream():
        if len(body) + len(chunk) > most:
            return None
        body += chunk
    return bytes(body)


def _parse(body: bytes) -> dict[str, Any]:
    try:
        given = json.loads(body.decode(), parse_constant=_no_constant, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(
            f"body: not JSON: {error}; send an object with the request's fields, {{}} for none",
            reason="NOT_JSON",
            field="body",
        ) from None
    if not isinstance(given, dict):
        raise InvalidArgumentError(
            "body: expected an object with the request's fields, {} for none", reason="NOT_JSON", field="body"
        )
    return given


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of a key given twice, one value would be dropped in silence."""
    given: dict[str, Any] = {}
    for key, value in pairs:
        if key in given:
            raise ValueError(f"the key {key!r} stands twice in one object")
        given[key] = value
    return given


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")

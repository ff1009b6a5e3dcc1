"""JSON answers of the HTTP doors."""

import json
from typing import Any

from starlette.responses import Response

from siltstone.errors import SiltstoneError
from siltstone.gateway.failures import error_data

# https://cloud.google.com/apis/design/errors, the mapping gRPC gateways use
HTTP_STATUS = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}

RETRY_SECONDS = 1


def json_answer(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")
    return Response(body, status, headers, "application/json")


def error_answer(error: SiltstoneError, status: int | None = None) -> Response:
    """``{"error": {status, reason, field, message}}`` under `status`, by default the error's own."""
    code = status or HTTP_STATUS[error.status]
    headers = {"WWW-Authenticate": "Bearer"} if code == 401 else {}
    if code in (429, 503):
        headers["Retry-After"] = str(RETRY_SECONDS)
    return json_answer({"error": error_data(error)}, code, headers)

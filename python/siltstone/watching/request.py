"""The request that this thread, or this task of an event loop, works on.

Its id is what logs, errors and traces are found by. It has nothing to do with the field ``request_id`` of a
write, which makes the write idempotent.
"""

import re
import uuid
from contextvars import ContextVar
from dataclasses import dataclass

REQUEST_ID_HEADER = "x-request-id"
"""Metadata of gRPC and header of HTTP that carry the id, both ways."""

# What goes into logs as it came: nothing that could end a line or pass for another field.
_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


@dataclass(slots=True)
class Request:
    """`status` and `reason` are how it ended, as in `siltstone.errors`; "OK" and "" when all went well."""

    id: str
    status: str = "OK"
    reason: str = ""


current: ContextVar[Request | None] = ContextVar("siltstone_request", default=None)


def request_id() -> str:
    """The id of the request at hand; "" outside any."""
    request = current.get()
    return request.id if request else ""


def taken_or_new(given: str | None) -> str:
    """The caller's id, if it is one that a log can hold, else a new one."""
    return given if given and _ID.fullmatch(given) else uuid.uuid4().hex

"""Logs to stderr, as lines for people or as one JSON object a line, each with the id of its request.

Logs hold no text that a caller sent. An exception's own text may quote some, so that of an unforeseen one is
left out: its type and the places in the code stay.
"""

import json
import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, Any

from siltstone.watching.request import request_id
from siltstone.watching.tracing import trace_id

# Attributes of a record that `extra=` may add and both formats show.
FIELDS = ("rpc", "door", "status", "reason", "seconds")


@contextmanager
def logging_to(stream: IO[str], level: str, format: str) -> Iterator[None]:
    """Send the logs of this process to `stream` while the block runs.

    Args:
        level: debug, info, warning or error.
        format: text or json.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    root = logging.getLogger()
    former = root.level
    root.addHandler(handler)
    root.setLevel(level.upper())
    if level != "debug":
        # They tell each start and request at level info.
        for library in ("uvicorn", "mcp", "opentelemetry"):
            logging.getLogger(library).setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(former)


class TextFormatter(logging.Formatter):
    """``time LEVEL logger: message name=value …``, and an exception's places on lines of their own."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage().replace("\n", "\\n")
        line = f"{self.formatTime(record)} {record.levelname} {record.name}: {message}"
        told = {**_fields(record), "request_id": request_id()}
        parts = [line, *(f"{name}={value}" for name, value in told.items() if value != "")]
        # Not by the base class: another handler's formatter may have left the exception's text on the record.
        return "\n".join([" ".join(parts), *_places(record)])


class JsonFormatter(logging.Formatter):
    """Keys: time (RFC 3339, UTC), level, logger, message; request_id and trace_id inside a request; the
    `FIELDS` that a record has; exception, a list of lines."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in (("request_id", request_id()), ("trace_id", trace_id())):
            if value:
                entry[name] = value
        entry.update(_fields(record))
        if lines := _places(record):
            entry["exception"] = lines
        return json.dumps(entry, ensure_ascii=False, default=str).encode(errors="backslashreplace").decode()


def places(error: BaseException) -> list[str]:
    """An exception and its causes, outermost first: types, and file:line in function, innermost place last.
    Of a failure of the system its text too, since that names no more than a file."""
    lines: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(lines) < 200:
        text = f": {seen}" if isinstance(seen, OSError) else ""
        lines.append(f"{type(seen).__module__}.{type(seen).__qualname__}{text}")
        lines += [
            f"  {frame.filename}:{frame.lineno} in {frame.name}"
            for frame in traceback.extract_tb(seen.__traceback__)[-50:]
        ]
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return lines


def _places(record: logging.LogRecord) -> list[str]:
    return places(record.exc_info[1]) if record.exc_info and record.exc_info[1] else []


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in FIELDS if getattr(record, name, "") != ""}

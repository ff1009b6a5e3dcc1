"""The lines of an export, as `docs/export.md` describes them: JSON objects, one a line, UTF-8."""

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from siltstone.data import from_data, to_data
from siltstone.engine.validate import Vector, invalid
from siltstone.errors import FailedPreconditionError
from siltstone.model import Memory, Revision

VERSION = 1
MAX_LINE_BYTES = 64 << 20  # a longer one is refused, and not kept in memory
_KEY = "siltstone_export"
_EMPTY: tuple[Any, ...] = ("", [], {})


@dataclass(frozen=True, slots=True)
class MemoryRow:
    memory: Memory
    vectors: Vector | None  # (passages, dimension), of the model that the memory names


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """`vectors` are those that this state was the last to have; None where the next one had them too, an
    empty array where it had none."""

    memory_id: str
    revision: Revision
    vectors: Vector | None


@dataclass(frozen=True, slots=True)
class End:
    memories: int
    revisions: int


Row = MemoryRow | RevisionRow | End


def header_line(*, time: datetime, seq: int, version: str, namespaces: Iterable[dict[str, Any]]) -> bytes:
    return _line(
        {
            _KEY: VERSION,
            "time": to_data(time),
            "seq": seq,
            "release": version,
            "namespaces": list(namespaces),
        }
    )


def memory_line(memory: Memory, vectors: Vector | None) -> bytes:
    row: dict[str, Any] = {"memory": _short(memory)}
    if vectors is not None:
        row["vectors"] = _packed(vectors)
    return _line(row)


def revision_line(memory_id: str, revision: Revision, packed: bytes | None) -> bytes:
    """`packed`: see `RevisionRow`, as little-endian float32."""
    state = {
        "memory_id": memory_id,
        "revision": revision.revision,
        "update_time": to_data(revision.update_time),
        "reason": revision.reason,
        "memory": _short(revision.memory),
    }
    row: dict[str, Any] = {"revision": state}
    if packed is not None:
        row["vectors"] = base64.b64encode(packed).decode()
    return _line(row)


def end_line(end: End) -> bytes:
    return _line({"end": {"memories": end.memories, "revisions": end.revisions}})


def check_header(line: bytes) -> None:
    """FailedPreconditionError (EXPORT_FORMAT) unless it is the first line of an export of a known version."""
    try:
        header = json.loads(line)
        version = header[_KEY]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise FailedPreconditionError(
            f'line 1: no export begins like this; its first line is {{"{_KEY}": {VERSION}, …}}, see '
            "docs/export.md",
            reason="EXPORT_FORMAT",
        ) from None
    if version != VERSION:
        raise FailedPreconditionError(
            f"line 1: an export of version {version!r}; this release reads {VERSION}, import it with the "
            "release that wrote it, or a newer one",
            reason="EXPORT_FORMAT",
        )


def parse(line: bytes) -> Row:
    """The row of a line behind the first; InvalidArgumentError says what is wrong with it."""
    try:
        row = json.loads(line)
    except UnicodeDecodeError as error:
        raise invalid("line", f"is not UTF-8 (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        raise invalid("line", f"is no JSON: {error}") from None
    if not isinstance(row, dict) or len(row.keys() & {"memory", "revision", "end"}) != 1:
        raise invalid("line", 'is no object with one of the keys "memory", "revision" and "end"')
    if unknown := sorted(row.keys() - {"memory", "revision", "end", "vectors"}):
        raise invalid(unknown[0], "unknown; a line has memory, revision or end, and vectors")
    if "memory" in row:
        memory = from_data(Memory, row["memory"], "memory")
        return MemoryRow(memory, _unpacked(row.get("vectors"), memory.embedding_dimension))
    if "revision" in row:
        state = row["revision"]
        if not isinstance(state, dict):
            raise invalid("revision", "is no object")
        memory_id = from_data(str, state.pop("memory_id", None), "revision.memory_id")
        revision = from_data(Revision, state, "revision")
        vectors = _unpacked(row.get("vectors"), revision.memory.embedding_dimension)
        return RevisionRow(memory_id, revision, vectors)
    return from_data(End, row["end"], "end")


def memory_id_of(line: bytes) -> str:
    """Id of the memory that a bad line is about, as far as that can be told; else ""."""
    try:
        id = json.loads(line)["memory"]["id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return id if isinstance(id, str) else ""


def lines_of(parts: Iterable[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """(number from 1, line without its end) of bytes that are cut anywhere; blank lines are left out, a line
    longer than `MAX_LINE_BYTES` is None, a byte order mark before the first is dropped."""
    number, held, too_long = 1, bytearray(), False
    for part in parts:
        start = 0
        while (end := part.find(b"\n", start)) >= 0:
            held += part[start:end] if not too_long else b""
            yield from _one_line(number, held, too_long)
            number, held, too_long, start = number + 1, bytearray(), False, end + 1
        if not too_long:
            held += part[start:]
            if len(held) > MAX_LINE_BYTES:
                held, too_long = bytearray(), True
    yield from _one_line(number, held, too_long)


def _one_line(number: int, held: bytearray, too_long: bool) -> Iterator[tuple[int, bytes | None]]:
    if too_long or len(held) > MAX_LINE_BYTES:
        yield number, None
        return
    line = bytes(held).strip(b" \t\r")
    if number == 1:
        line = line.removeprefix(b"\xef\xbb\xbf")
    if line:
        yield number, line


def _short(memory: Memory) -> dict[str, Any]:
    """What is empty says nothing."""
    return {name: value for name, value in to_data(memory).items() if value not in _EMPTY}


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _packed(vectors: Vector) -> str:
    return base64.b64encode(np.ascontiguousarray(vectors, dtype="<f4").tobytes()).decode()


def _unpacked(text: object, dimension: int) -> Vector | None:
    if text is None:
        return None
    try:
        raw = base64.b64decode(from_data(str, text, "vectors"), validate=True)
    except (binascii.Error, ValueError):
        raise invalid("vectors", "is no base64") from None
    if len(raw) % (4 * dimension if dimension > 0 else 1) or (raw and dimension <= 0):
        raise invalid("vectors", f"has {len(raw)} bytes, no multiple of {dimension} (dimension) float32")
    vectors = np.frombuffer(raw, dtype="<f4").reshape(-1, max(dimension, 1))
    lengths = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    if not ((lengths > 0) & np.isfinite(lengths)).all():
        raise invalid("vectors", "holds a NaN, an infinity, or a vector of length 0")
    return vectors

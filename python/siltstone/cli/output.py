"""What reaches the terminal: JSON verbatim; for people, aligned columns with control characters shown."""

import json
import re
import textwrap
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from siltstone.data import to_data

# Control characters, and those that reorder or break lines: a stored text must not move the cursor, set the
# window's title, or show a command in another order than it stands there.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def as_json(value: object) -> str:
    """One JSON object on one line, text as it is."""
    return json.dumps(to_data(value), ensure_ascii=False, allow_nan=False)


def visible(text: str) -> str:
    """Text with its control characters written out as ``\\x1b``; line ends and tabs stay."""
    return _UNSAFE.sub(lambda match: _escape(ord(match[0])), text)


def one_line(text: str) -> str:
    """Text for a line of its own: control characters written out, white space collapsed."""
    return " ".join(visible(text).split())


def width(text: str) -> int:
    """Columns that `text` takes in a terminal: two for wide East Asian characters, none for marks."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def clip(text: str, columns: int) -> str:
    """`text` if it fits into `columns`, else its beginning with an ellipsis."""
    if width(text) <= columns:
        return text
    taken = 0
    for i, character in enumerate(text):
        taken += _columns(character)
        if taken > columns - 1:
            return text[:i] + "…"
    return text


def table(heads: Sequence[str], rows: Sequence[Sequence[object]], *, below: Sequence[str] = ()) -> str:
    """Columns two spaces apart; numbers to the right. `below[i]`, if any, is set under row i, indented."""
    cells = [[one_line(_cell(value)) for value in row] for row in rows]
    right = [all(isinstance(row[i], int | float) for row in rows) and bool(rows) for i in range(len(heads))]
    widths = [max(width(line[i]) for line in [list(heads), *cells]) for i in range(len(heads))]
    lines = [_line(heads, widths, right)]
    for i, row in enumerate(cells):
        lines.append(_line(row, widths, right))
        if below:
            lines.append(indented(below[i], "   "))
    return "\n".join(lines)


def pairs(rows: Sequence[tuple[str, object]]) -> str:
    """Names and values, a line each; an empty value is left out; long text is indented below its name."""
    shown = [(name, visible(_cell(value))) for name, value in rows if value not in ("", None, [], {})]
    column = max((width(name) for name, _ in shown), default=0)
    lines = []
    for name, value in shown:
        head = name + " " * (column - width(name) + 2)
        lines.append(head + value if "\n" not in value else f"{name}\n{textwrap.indent(value, '  ')}")
    return "\n".join(lines)


def indented(text: str, prefix: str) -> str:
    return textwrap.indent(visible(text), prefix, lambda _: True)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, datetime):
        return str(to_data(value)).replace(".000000Z", "Z")
    if isinstance(value, list | tuple):
        return ", ".join(_cell(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={_cell(item)}" for key, item in value.items())
    return "" if value is None else str(value)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = []
    for cell, columns, to_right in zip(cells, widths, right, strict=True):
        space = " " * (columns - width(cell))
        parts.append(space + cell if to_right else cell + space)
    return "  ".join(parts).rstrip()


def error_json(status: str, reason: str, field: str, message: str) -> str:
    return as_json({"error": _error(status, reason, field, message)})


def _error(status: str, reason: str, field: str, message: str) -> dict[str, Any]:
    return {"status": status, "reason": reason, "field": field, "message": message}

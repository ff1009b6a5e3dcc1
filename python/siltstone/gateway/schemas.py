"""JSON Schemas of the tools: building blocks for inputs, and outputs derived from the model.

Inputs are written for a language model, so every property says what it is for. An optional property is
only absent from ``required``; "or null" unions are avoided because some clients reject them. Unions at the
root are avoided for the same reason.
"""

import dataclasses
import types
import typing
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from siltstone.model import MemoryType, Outcome, Role, Verification

Schema = dict[str, Any]


def text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def texts(description: str, **more: Any) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": description, **more}


def whole(description: str, low: int, high: int | None = None, **more: Any) -> Schema:
    limits = {"minimum": low} if high is None else {"minimum": low, "maximum": high}
    return {"type": "integer", "description": description, **limits, **more}


def fraction(description: str, **more: Any) -> Schema:
    return {"type": "number", "description": description, "minimum": 0, "maximum": 1, **more}


def flag(description: str, default: bool = False) -> Schema:
    return {"type": "boolean", "description": description, "default": default}


def choice(kind: Iterable[str], description: str, **more: Any) -> Schema:
    return {"type": "string", "enum": [str(k) for k in kind], "description": description, **more}


def time(description: str) -> Schema:
    return text(f"{description} RFC 3339 with a time zone, as 2026-05-01T08:00:00Z.", format="date-time")


def one_of(description: str, *kinds: Schema, **more: Any) -> Schema:
    return {"anyOf": [*kinds], "description": description, **more}


def record(properties: dict[str, Schema], required: Iterable[str] = (), **more: Any) -> Schema:
    schema = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    if required := list(required):
        schema["required"] = required
    return schema


_TIME_ATTRIBUTE = record({"time": time("The time.")}, ["time"])
_VALUES = ({"type": "string"}, {"type": "number"}, {"type": "boolean"}, _TIME_ATTRIBUTE)

ATTRIBUTES: Schema = {
    "type": "object",
    "additionalProperties": one_of("Text, a number, true, false, or {time: …}.", *_VALUES),
    "description": 'Exact facts to filter by, name → value: {"mysql": "8.0", "port": 3306}.',
}

LESSON = record(
    {
        "problem": text("What went wrong or had to be done."),
        "root_cause": text("Why."),
        "solution": text("What solved it."),
        "evidence": {
            "type": "array",
            "description": "Which steps prove it.",
            "items": record(
                {
                    "field": choice(("problem", "root_cause", "solution"), "What the step proves."),
                    "step": whole("Number of the step in the trajectory.", 0),
                    "quote": text("The step's own words."),
                },
                ["field", "step"],
            ),
        },
    },
    description="The memory as a lesson, where it is one. Leave out what is not known.",
)

STEP = record(
    {
        "role": choice(Role, "Who acted.", default=Role.AGENT.value),
        "text": text("What was said or thought."),
        "tool": text("The tool called."),
        "arguments": {"type": "object", "description": "The tool's arguments."},
        "result": text("What the tool gave back."),
        "is_error": flag("Whether the result is a failure."),
        "time": time("When."),
        "remember": flag("Keep what this step says as a memory."),
    },
    description="An action and what it gave are one step.",
)


def _some(description: str, kind: type[StrEnum] | None = None) -> Schema:
    item: Schema = {"type": "string"} if kind is None else {"type": "string", "enum": [k.value for k in kind]}
    return one_of(description, item, {"type": "array", "items": item})


def _range(bound: Schema) -> Schema:
    return record(dict.fromkeys(("gt", "gte", "lt", "lte"), bound), minProperties=1)


def _ref(name: str, description: str) -> Schema:
    return {"$ref": f"#/$defs/{name}", "description": description}


def _filter() -> Schema:
    condition = record(
        {name: {"$ref": "#/$defs/Value"} for name in ("eq", "gt", "gte", "lt", "lte")},
        description="Bounds; text compares as versions.",
        minProperties=1,
    )
    return record(
        {
            "tags_any": _some("At least one of these tags."),
            "tags_all": _some("Every one of these tags."),
            "task_type": _some("Kind of task it came from."),
            "tools_used": _some("Tool it is about."),
            "outcome": _some("How its task ended.", Outcome),
            "verification": _some("How far it is verified.", Verification),
            "memory_type": _some(
                "SEMANTIC: what is so; EPISODIC: what happened; PROCEDURAL: how to.", MemoryType
            ),
            "ids": _some("Only these ids."),
            "attributes": {
                "type": "object",
                "additionalProperties": one_of(
                    "A value, or bounds.",
                    *({"type": k} for k in ("string", "number", "boolean")),
                    _TIME_ATTRIBUTE,
                    condition,
                ),
                "description": 'Name → value or bounds: {"mysql": {"gte": "8.0", "lt": "9"}}.',
            },
            "event_time": _ref("Times", 'When it happened: {"gte": "2026-05-01T00:00:00Z"}.'),
            "create_time": _ref("Times", "When it was stored."),
            "update_time": _ref("Times", "When it was last changed."),
            "confidence": _range({"type": "number"}) | {"description": '0..1: {"gte": 0.8}.'},
            "not": _ref("Filter", "What must not hold."),
            "any_of": {
                "type": "array",
                "items": {"$ref": "#/$defs/Filter"},
                "description": "At least one of these filters holds.",
            },
        },
        description="Every key given must hold. A list means any of it (tags_all: all of it).",
    )


FILTER_DEFS: Schema = {
    "Filter": _filter(),
    "Times": _range({"type": "string", "format": "date-time"}),
    "Value": {"anyOf": list(_VALUES)},
}


def filter_of(description: str) -> Schema:
    """A property that takes a filter; the schema around it needs ``$defs=FILTER_DEFS``."""
    return _ref("Filter", description)


def output_of(kind: type) -> Schema:
    """The schema of ``to_data(kind(…))``: what is None is left out, so such a field is not required."""
    definitions: dict[str, Schema] = {}
    root = _dataclass(kind, definitions)
    return {**root, "$defs": definitions} if definitions else root


def _dataclass(kind: type, definitions: dict[str, Schema]) -> Schema:
    properties: dict[str, Schema] = {}
    required = []
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        members = [m for m in _members(hints[field.name]) if m is not type(None)]
        name = field.name.rstrip("_")
        if len(members) == len(_members(hints[field.name])):
            required.append(name)
        shapes = [_shape(m, definitions) for m in members]
        properties[name] = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
    return {"type": "object", "properties": properties, "required": required}


def _members(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return typing.get_args(hint)
    return (hint,)


def _shape(kind: Any, definitions: dict[str, Schema]) -> Schema:
    origin = typing.get_origin(kind)
    if origin is list:
        return {"type": "array", "items": _shape(typing.get_args(kind)[0], definitions)}
    if origin is dict:
        # A time beside text says that it is one, as `to_data` gives it.
        members = [
            _TIME_ATTRIBUTE if m is datetime else _shape(m, definitions)
            for m in _members(typing.get_args(kind)[1])
        ]
        return {
            "type": "object",
            "additionalProperties": members[0] if len(members) == 1 else {"anyOf": members},
        }
    if kind is Any:
        return {}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = {}
            definitions[kind.__name__] = _dataclass(kind, definitions)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if issubclass(kind, StrEnum):
        return {"type": "string", "enum": [k.value for k in kind]}
    names = {
        str: "string",
        bool: "boolean",
        int: "integer",
        float: "number",
        datetime: "string",
        timedelta: "string",
    }
    return {"type": names[kind]}

"""Records: model dataclasses as msgpack maps with a format version.

Field names are the model's. A field that is empty and empty by default is left out. Times are integers,
microseconds since 1970-01-01 UTC. The id of a memory, a task or a job is 16 bytes; relations stay text. An
attribute that is a time is ``{"time": µs}``. The arguments of a step are JSON text, the one form that holds
whatever a tool was given (integers of any size, for one).

Reading ignores fields it does not know and refuses a format version it does not know.
"""

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

import msgpack

from siltstone.errors import FailedPreconditionError, InternalError, InvalidArgumentError
from siltstone.model import HindsightJob, Memory, Task
from siltstone.store import keys

FORMAT_VERSION = 1

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_WITH_ID = (Memory, Task, HindsightJob)

_VECTORS = ("vectors", "other_vectors")

T = TypeVar("T")
Convert = Callable[[Any], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class NamespaceRecord:
    """A namespace. `number` prefixes its keys and is never used again; the dimension is 0 and the model ""
    until vectors are bound to it.

    Attributes:
        generation: how often it was moved to another model. Its vectors lie in `vectors` when that is even,
            in `other_vectors` when odd.
        embedding_name: by which the model is opened; "" where it is that of the settings.
        next_model, next_dimension, next_name: the model that it is being moved to, whose vectors gather in
            the other table; "" and 0 where it is not.
        clearing: the other table holds vectors that nobody needs any more.
    """

    number: int
    name: str
    create_time: datetime
    embedding_model: str = ""
    embedding_dimension: int = 0
    deleted: bool = False
    generation: int = 0
    embedding_name: str = ""
    next_model: str = ""
    next_dimension: int = 0
    next_name: str = ""
    clearing: bool = False

    @property
    def vectors_table(self) -> str:
        return _VECTORS[self.generation % 2]

    @property
    def other_table(self) -> str:
        return _VECTORS[1 - self.generation % 2]


@dataclasses.dataclass(frozen=True, slots=True)
class AnswerRecord:
    """What an earlier call with a request_id was answered."""

    time: datetime
    digest: bytes
    answer: bytes


def to_microseconds(time: datetime) -> int:
    if time.tzinfo is None:
        raise ValueError(f"the time {time.isoformat()} has no time zone; give it one, as UTC")
    return (time - EPOCH) // _MICROSECOND


def from_microseconds(time: int) -> datetime:
    return EPOCH + timedelta(0, 0, time)


def encode(record: object) -> bytes:
    """A dataclass of the model as bytes; `InvalidArgumentError` names a field that cannot be stored."""
    fields = to_map(record)
    fields["v"] = FORMAT_VERSION
    try:
        return bytes(msgpack.packb(fields))
    except (UnicodeEncodeError, OverflowError, TypeError, ValueError):
        raise _unstorable(record, fields) from None


def decode(data: bytes, cls: type[T], without: Collection[str] = ()) -> T:
    """The dataclass back from `encode`'s bytes; the fields `without` are not read and have their defaults."""
    fields = unpack(data)
    for name in without:
        fields.pop(name, None)
    return from_map(fields, cls)


def unpack(data: bytes) -> dict[str, Any]:
    """The map of a record, its format version checked and its values as they lie on disk."""
    try:
        fields: dict[str, Any] = msgpack.unpackb(data)
        version = fields.pop("v")
    except Exception as error:
        raise InternalError(f"a record cannot be read: {error}", reason="RECORD_UNREADABLE") from error
    if version != FORMAT_VERSION:
        raise FailedPreconditionError(
            f"a record has format version {version!r}, this release reads {FORMAT_VERSION}; "
            "use the release that wrote it, or a newer one",
            reason="FORMAT_VERSION",
        )
    return fields


def to_map(record: object) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, empty, convert in _layout(type(record)).encoders:
        value = getattr(record, name)
        if not value and value == empty:
            continue
        try:
            fields[name] = convert(value)
        except InvalidArgumentError:
            raise
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(f"{name}: {error}", field=name) from error
    return fields


def from_map(fields: dict[str, Any], cls: type[T]) -> T:
    decoders = _layout(cls).decoders
    values = {}
    try:
        for name, value in fields.items():
            convert = decoders.get(name, _unknown)
            if convert is None:
                values[name] = value
            elif convert is not _unknown:
                values[name] = convert(value)
        return cls(**values)
    except (AttributeError, TypeError, ValueError, KeyError, OverflowError) as error:
        raise InternalError(
            f"a {cls.__name__} cannot be read: {error}", reason="RECORD_UNREADABLE"
        ) from error


@dataclasses.dataclass(frozen=True)
class _Layout:
    encoders: list[tuple[str, object, Convert]]  # name, the empty value that is left out, conversion
    decoders: dict[str, Convert | None]  # None: as it is


_layouts: dict[type, _Layout] = {}


def _layout(cls: type) -> _Layout:
    layout = _layouts.get(cls)
    if layout is None:
        layout = _layouts[cls] = _make_layout(cls)
    return layout


def _make_layout(cls: type) -> _Layout:
    hints = typing.get_type_hints(cls)
    encoders: list[tuple[str, object, Convert]] = []
    decoders: dict[str, Convert | None] = {}
    for field in dataclasses.fields(cls):
        empty: object = field.default
        if field.default_factory is not dataclasses.MISSING:
            empty = field.default_factory()
        if field.name == "id" and cls in _WITH_ID:
            convert: tuple[Convert, Convert | None] = (keys.parse_id, keys.format_id)
        else:
            convert = _conversion(hints[field.name])
        encoders.append((field.name, empty, convert[0]))
        decoders[field.name] = convert[1]
    return _Layout(encoders, decoders)


def _conversion(hint: Any) -> tuple[Convert, Convert | None]:
    """How a value of this type is written and read."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        if datetime in arguments and str in arguments:
            return _write_attribute, _read_attribute
        (inner,) = (a for a in arguments if a is not types.NoneType)
        write, read = _conversion(inner)
        return _optional(write), read and _optional(read)
    if origin is list:
        write, read = _conversion(arguments[0])
        return _each(write), read and _each(read)
    if origin is dict:
        if arguments[1] is Any:
            return _write_json, json.loads
        write, read = _conversion(arguments[1])
        return _each_value(write), read and _each_value(read)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return to_map, lambda fields: from_map(fields, hint)
    if issubclass(hint, StrEnum):
        return lambda value: hint(value).value, {member.value: member for member in hint}.__getitem__
    return _SCALARS[hint]


def _unknown(value: Any) -> Any:
    """Stands for the conversion of a field that this release does not know."""
    raise AssertionError("it is left out")


def _optional(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _each(convert: Convert) -> Convert:
    return lambda items: [convert(item) for item in items]


def _each_value(convert: Convert) -> Convert:
    return lambda items: {_text(key): convert(value) for key, value in items.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not an integer")
    return value


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"{value!r} is not bytes")
    return value


def _write_attribute(value: Any) -> Any:
    if isinstance(value, datetime):
        return {"time": to_microseconds(value)}
    if not isinstance(value, str | int | float):
        raise TypeError(f"{value!r} is neither text, a number, a truth value nor a time")
    return value


def _read_attribute(value: Any) -> Any:
    return from_microseconds(value["time"]) if isinstance(value, dict) else value


def _write_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_SCALARS: dict[Any, tuple[Convert, Convert | None]] = {
    str: (_text, None),
    int: (_integer, None),
    float: (float, None),
    bool: (bool, None),
    bytes: (_bytes, None),
    datetime: (to_microseconds, from_microseconds),
}


def _unstorable(record: object, fields: dict[str, Any]) -> InvalidArgumentError:
    for name, value in fields.items():
        try:
            msgpack.packb(value)
        except UnicodeEncodeError:
            return InvalidArgumentError(f"{name}: holds a lone surrogate; send valid Unicode", field=name)
        except (OverflowError, TypeError, ValueError) as error:
            return InvalidArgumentError(f"{name}: cannot be stored: {error}", field=name)
    return InvalidArgumentError(f"a {type(record).__name__} cannot be stored")

"""Dataclasses ↔ protobuf messages, by type hints and descriptors.

A dataclass and a message with the same field names make a codec, compiled once into closures. What a
message leaves unset is the dataclass's default; a field without presence (no ``optional``) says what it
holds, zero included, except that a page_size of 0 is the default (AIP-158). Required are times, messages
and enums without a default; an empty required text is the engine's to refuse.

The codec checks everything `siltstone.data` does, so what it decodes needs no second look: numbers are
finite, enums known, times in range (protobuf itself guarantees UTF-8).
"""

import dataclasses
import threading
import types
import typing
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar, cast

from google.protobuf.descriptor import Descriptor

from siltstone.model import AttributeValue
from siltstone.wire import values
from siltstone.wire.fault import Fault

T = TypeVar("T")
Put = Callable[[Any, Any], None]  # message to fill, value
Write = Callable[[Any, str, Any], None]  # message, name of the field in it, value
Take = Callable[[Any], Any]  # what protobuf holds → value

_ATTRIBUTE = frozenset(typing.get_args(AttributeValue))
_ZERO_IS_DEFAULT = "page_size"
_PACKED = "vector_packed"


def to_proto(value: object, message_class: type[T]) -> T:
    """The message of a dataclass.

    Raises:
        InvalidArgumentError: a number does not fit its field; `field` is its path.
    """
    message: Any = message_class()
    try:
        _codec(type(value), message.DESCRIPTOR).put(message, value)
    except Fault as fault:
        raise fault.error() from None
    return cast(T, message)


def from_proto(message: Any, kind: type[T]) -> T:
    """The dataclass of a message.

    Raises:
        InvalidArgumentError: something is missing or wrong; `field` is its path.
    """
    try:
        return cast(T, _codec(kind, message.DESCRIPTOR).take(message))
    except Fault as fault:
        raise fault.error() from None


class _Codec:
    """One dataclass with one message."""

    __slots__ = ("kind", "lists", "readers", "required", "vectors", "writers", "zeros")

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.writers: list[tuple[str, str, Write | None, bool]] = []  # attribute, field, empty is written too
        self.readers: dict[int, tuple[str, Take | None]] = {}  # by field number; None: as it is
        self.zeros: dict[str, Any] = {}  # fields whose unset state is not the dataclass's default
        self.lists: list[str] = []  # the same for lists, which must be new each time
        self.required: list[tuple[str, str]] = []  # attribute, name in the message
        self.vectors = False

    def put(self, message: Any, value: Any) -> None:
        name, item = "", None
        try:
            for attribute, name, write, presence in self.writers:
                item = getattr(value, attribute)
                if item or (presence and item is not None):
                    if write is None:
                        setattr(message, name, item)
                    else:
                        write(message, name, item)
        except Fault as fault:
            fault.under(name)
            raise
        except (ValueError, TypeError, KeyError) as error:
            # The engine calls a number beyond its bounds so too, and they are narrower than the field's.
            reason = "OUT_OF_RANGE" if type(item) is int else None
            raise Fault(f"{_shown(item)} does not fit the field: {error}", reason, at=name) from None

    def take(self, message: Any) -> Any:
        given = self.zeros.copy()
        for name in self.lists:
            given[name] = []
        readers = self.readers
        for descriptor, raw in message.ListFields():
            name, read = readers[descriptor.number]
            if read is not None:
                try:
                    raw = read(raw)
                except Fault as fault:
                    fault.under(descriptor.name)
                    raise
            given[name] = raw
        if self.vectors and message.vector and message.HasField(_PACKED):
            raise Fault("vector is given too; give one of the two", at=_PACKED)
        for attribute, name in self.required:
            if attribute not in given:
                raise Fault("missing", "MISSING_FIELD", at=name)
        return self.kind(**given)


_CODECS: dict[tuple[type, str], _Codec] = {}
_LOCK = threading.Lock()


def _codec(kind: type, descriptor: Descriptor) -> _Codec:
    found = _CODECS.get((kind, descriptor.full_name))
    if found is None:
        with _LOCK:
            # Published only when whole: another thread must not meet one without its fields.
            building = dict(_CODECS)
            found = _compile(kind, descriptor, building)
            _CODECS.update(building)
    return found


def _compile(kind: type, descriptor: Descriptor, building: dict[tuple[type, str], _Codec]) -> _Codec:
    key = (kind, descriptor.full_name)
    if key in building:
        return building[key]
    codec = building[key] = _Codec(kind)
    hints = typing.get_type_hints(kind)
    fields = dict(descriptor.fields_by_name)
    for field in dataclasses.fields(kind):
        name = field.name.rstrip("_")  # "not" is no name a Python field can have
        if name not in fields:
            raise TypeError(f"{descriptor.full_name} has no field {name} for {kind.__name__}.{field.name}")
        fd = fields.pop(name)
        hint = _without_none(hints[field.name])
        if name == "vector" and _PACKED in fields:
            packed = fields.pop(_PACKED)
            codec.vectors = True
            codec.writers.append((field.name, name, _write_packed, True))
            codec.readers[fd.number] = (field.name, values.take_vector)
            codec.readers[packed.number] = (field.name, values.unpack_vector)
            continue
        write, take = _field(hint, fd, building)
        if name == _ZERO_IS_DEFAULT:
            write = _write_page_size
        codec.writers.append((field.name, name, write, fd.has_presence or name == _ZERO_IS_DEFAULT))
        codec.readers[fd.number] = (field.name, take)
        _unset(codec, field, fd)
    if fields:
        raise TypeError(f"{kind.__name__} has no field for {descriptor.full_name}.{', '.join(fields)}")
    return codec


def _unset(codec: _Codec, field: "dataclasses.Field[Any]", fd: Any) -> None:
    """What the dataclass gets when the message says nothing."""
    required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    if fd.is_repeated or _is(fd, "google.protobuf.FieldMask"):
        if required:
            codec.lists.append(field.name)
    elif fd.message_type is not None or fd.enum_type is not None or fd.has_presence:
        if required:
            codec.required.append((field.name, fd.name))
    elif (required or field.default != fd.default_value) and fd.name != _ZERO_IS_DEFAULT:
        codec.zeros[field.name] = fd.default_value


def _field(hint: Any, fd: Any, building: dict[Any, _Codec]) -> tuple[Write | None, Take | None]:
    """How a field is written and read; None: the value is what protobuf takes, or gives."""
    if fd.message_type is not None and fd.message_type.GetOptions().map_entry:
        return _map_field(hint, fd, building)
    if fd.is_repeated:
        (item_hint,) = typing.get_args(hint)
        if fd.message_type is not None:
            put, take = _message(item_hint, fd, building)
            return _write_messages(put), lambda raw: values.take_items(raw, take)
        check, take_scalar = _scalar(item_hint, fd)
        return _write_list(check), (lambda raw: values.take_items(raw, take_scalar)) if take_scalar else list
    if fd.message_type is not None:
        put, take = _message(hint, fd, building)
        return _write_time if put is values.put_time else _write_message(put), take
    check, read = _scalar(hint, fd)
    return _write_scalar(check) if check else None, read


def _map_field(hint: Any, fd: Any, building: dict[Any, _Codec]) -> tuple[Write, Take]:
    value_fd = fd.message_type.fields_by_name["value"]
    value_hint = typing.get_args(hint)[1]
    if value_fd.message_type is None:
        return lambda m, name, v: getattr(m, name).update(v), dict
    put, take = _message(value_hint, value_fd, building)

    def write(message: Any, name: str, value: dict[str, Any]) -> None:
        container = getattr(message, name)
        for key, item in value.items():
            put(container[key], item)

    def read(raw: Any) -> dict[str, Any]:
        result = {}
        for key, item in raw.items():
            try:
                result[key] = take(item)
            except Fault as fault:
                fault.under(key)
                raise
        return result

    return write, read


def _message(hint: Any, fd: Any, building: dict[Any, _Codec]) -> tuple[Put, Take]:
    hint = _without_none(hint)
    if dataclasses.is_dataclass(hint):
        codec = _compile(cast(type, hint), fd.message_type, building)
        return codec.put, codec.take
    if frozenset(typing.get_args(hint)) == _ATTRIBUTE:
        return values.put_attribute, values.take_attribute
    known: dict[tuple[Any, str], tuple[Put, Take]] = {
        (datetime, "Timestamp"): (values.put_time, values.take_time),
        (timedelta, "Duration"): (values.put_span, values.take_span),
        (dict, "Struct"): (values.put_struct, values.take_struct),
        (list, "FieldMask"): (lambda m, v: m.paths.extend(v), lambda m: list(m.paths)),
    }
    return known[typing.get_origin(hint) or hint, fd.message_type.name]


def _scalar(hint: Any, fd: Any) -> tuple[Callable[[Any], Any] | None, Take | None]:
    """How a value is turned into what protobuf takes, and back; None: it is the same."""
    if fd.enum_type is not None:
        return _enum(hint, fd)
    if hint is float:
        return None, values.take_number
    if hint not in (str, int, bool, bytes):
        raise TypeError(f"{fd.full_name}: no protobuf form of {hint}")
    return None, None


def _enum(kind: type[StrEnum], fd: Any) -> tuple[Callable[[Any], int], Take]:
    by_name = fd.enum_type.values_by_name
    prefix = fd.enum_type.values[0].name.removesuffix("UNSPECIFIED")
    numbers = {member: by_name[prefix + member.name].number for member in kind}
    if len(numbers) + 1 != len(by_name):
        raise TypeError(f"{fd.enum_type.full_name} and {kind.__name__} have different values")
    members = {number: member for member, number in numbers.items()}

    def take(number: int) -> StrEnum:
        member = members.get(number)
        if member is None:
            known = ", ".join(prefix + m.name for m in kind)
            raise Fault(f"{number} is none of {known}")
        return member

    return numbers.__getitem__, take


def _write_scalar(check: Callable[[Any], Any]) -> Write:
    def write(message: Any, name: str, value: Any) -> None:
        setattr(message, name, check(value))

    return write


def _write_list(check: Callable[[Any], Any] | None) -> Write:
    def write(message: Any, name: str, value: Any) -> None:
        getattr(message, name).extend(map(check, value) if check else value)

    return write


def _write_message(put: Put) -> Write:
    def write(message: Any, name: str, value: Any) -> None:
        inner = getattr(message, name)
        inner.SetInParent()
        put(inner, value)

    return write


def _write_time(message: Any, name: str, value: datetime) -> None:
    values.put_time(getattr(message, name), value)


def _write_messages(put: Put) -> Write:
    def write(message: Any, name: str, items: list[Any]) -> None:
        add = getattr(message, name).add
        i = 0
        try:
            for i, item in enumerate(items):  # noqa: B007 - where the fault is
                put(add(), item)
        except Fault as fault:
            fault.under(f"[{i}]")
            raise

    return write


def _write_page_size(message: Any, name: str, value: int) -> None:
    if value == 0:
        # Sent as it is it would mean the default, though the caller meant none.
        raise Fault("0 is out of range; give 1 to 1,000", "OUT_OF_RANGE")
    message.page_size = value


def _write_packed(message: Any, name: str, value: list[float]) -> None:
    message.vector_packed = values.pack_vector(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _is(fd: Any, message: str) -> bool:
    return fd.message_type is not None and fd.message_type.full_name == message


def _without_none(hint: Any) -> Any:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        members = tuple(m for m in typing.get_args(hint) if m is not type(None))
        return members[0] if len(members) == 1 else typing.Union[members]  # noqa: UP007 - a union of a tuple
    return hint

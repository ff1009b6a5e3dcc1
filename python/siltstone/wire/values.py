"""Values that protobuf has a form of its own for: times, spans, attributes, plain data, packed vectors.

`put_x` fills a message from a value, `take_x` reads one back; both raise `Fault`.
"""

import math
import struct
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from siltstone.wire.fault import Fault

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_DURATION = 315_576_000_000  # seconds; the limit of google.protobuf.Duration
_EXACT = 2**53  # above it a double no longer holds every whole number


def put_time(message: Any, value: datetime) -> None:
    # Setting a field, be it to 0, is what makes the message be there.
    since = value - _EPOCH
    message.seconds = since.days * 86400 + since.seconds
    if since.microseconds:
        message.nanos = since.microseconds * 1000


def take_time(message: Any) -> datetime:
    if not 0 <= message.nanos < 1_000_000_000:
        raise Fault(f"nanos is {message.nanos}; give 0 to 999,999,999")
    try:
        return _EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)
    except OverflowError:
        raise Fault(
            f"{message.seconds} seconds since 1970 is out of range; give a time between the years 1 and 9999"
        ) from None


def put_span(message: Any, value: timedelta) -> None:
    micros = value // timedelta(microseconds=1)
    seconds, rest = divmod(abs(micros), 1_000_000)
    if seconds > _MAX_DURATION:
        raise Fault(f"{value} is out of range; give a duration of at most 10,000 years")
    sign = -1 if micros < 0 else 1
    message.seconds = sign * seconds
    message.nanos = sign * rest * 1000


def take_span(message: Any) -> timedelta:
    seconds, nanos = message.seconds, message.nanos
    if not (abs(seconds) <= _MAX_DURATION and abs(nanos) < 1_000_000_000) or seconds * nanos < 0:
        raise Fault(
            f"{seconds} seconds and {nanos} nanos are no duration; give at most 10,000 years, nanos below a "
            "second, both of one sign"
        )
    micros = abs(nanos) // 1000
    return timedelta(seconds=seconds, microseconds=-micros if nanos < 0 else micros)


def put_attribute(message: Any, value: Any) -> None:
    if isinstance(value, str):
        message.string_value = value
    elif isinstance(value, bool):
        message.bool_value = value
    elif isinstance(value, datetime):
        put_time(message.time_value, value)
        message.time_value.SetInParent()
    else:
        message.number_value = value


def take_attribute(message: Any) -> Any:
    kind = message.WhichOneof("kind")
    if kind == "string_value" or kind == "bool_value":
        return getattr(message, kind)
    if kind == "number_value":
        return take_number(message.number_value)
    if kind == "time_value":
        return take_time(message.time_value)
    raise Fault("no value is set; set one of string_value, number_value, bool_value, time_value")


def take_number(value: float) -> float:
    if not math.isfinite(value):
        raise Fault(f"expected a finite number, got {value}")
    return value


def put_struct(message: Any, value: dict[str, Any]) -> None:
    fields = message.fields
    for key, item in value.items():
        _put_plain(fields[key], item)


def take_struct(message: Any) -> dict[str, Any]:
    result = {}
    for key, item in message.fields.items():
        try:
            result[key] = _take_plain(item)
        except Fault as fault:
            fault.under(key)
            raise
    return result


def _put_plain(message: Any, value: Any) -> None:
    if value is None:
        message.null_value = 0
    elif isinstance(value, bool):
        message.bool_value = value
    elif isinstance(value, str):
        message.string_value = value
    elif isinstance(value, dict):
        message.struct_value.SetInParent()
        put_struct(message.struct_value, value)
    elif isinstance(value, list):
        message.list_value.SetInParent()
        for item in value:
            _put_plain(message.list_value.values.add(), item)
    else:
        message.number_value = value


def _take_plain(message: Any) -> Any:
    kind = message.WhichOneof("kind")
    if kind == "number_value":
        number = take_number(message.number_value)
        # JSON has one kind of number; arguments such as a line or a port are meant whole.
        return int(number) if number.is_integer() and abs(number) <= _EXACT else number
    if kind == "struct_value":
        return take_struct(message.struct_value)
    if kind == "list_value":
        return take_items(message.list_value.values, _take_plain)
    if kind == "null_value":
        return None
    if kind is None:
        raise Fault("no kind of value is set; set null_value for null")
    return getattr(message, kind)


def take_items(items: Iterable[Any], take: Any) -> list[Any]:
    """Each item through `take`; a fault is put under its position."""
    result: list[Any] = []
    try:
        for item in items:
            result.append(take(item))
    except Fault as fault:
        fault.under(f"[{len(result)}]")
        raise
    return result


def pack_vector(value: list[float]) -> bytes:
    """Little-endian float32, four bytes a number."""
    try:
        return struct.pack(f"<{len(value)}f", *value)
    except OverflowError:
        at = next(i for i, number in enumerate(value) if not _fits_float32(number))
        raise Fault(f"number {at} is {value[at]}; float32 ends at 3.4e38", "INVALID_VECTOR") from None


def _fits_float32(number: float) -> bool:
    try:
        struct.pack("<f", number)
    except OverflowError:
        return False
    return True


def unpack_vector(packed: bytes) -> list[float]:
    if len(packed) % 4:
        raise Fault(
            f"{len(packed)} bytes are no whole number of float32; give 4 bytes a number, little-endian"
        )
    return take_vector(struct.unpack(f"<{len(packed) // 4}f", packed))


def take_vector(values: Iterable[float]) -> list[float]:
    vector = list(values)
    # A sum of float32 in doubles cannot overflow, so it is finite exactly when all of them are.
    if not math.isfinite(sum(vector)):
        at = next(i for i, number in enumerate(vector) if not math.isfinite(number))
        raise Fault(f"number {at} is {vector[at]}; all must be finite")
    return vector

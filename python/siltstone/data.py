"""Plain data (what JSON holds) ↔ the dataclasses of `siltstone.model`, strictly, by their type hints.

Every door uses the same two functions, so a field has one name, one type and one error everywhere.
Times are RFC 3339 text or aware datetimes, durations `timedelta` or text such as ``"30d"``, ``"90s"``.
"""

import dataclasses
import functools
import math
import re
import types
import typing
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar, cast

from siltstone.errors import InvalidArgumentError
from siltstone.model import AttributeCondition, AttributeValue, Filter

T = TypeVar("T")

MAX_DEPTH = 32
EXACT = 2**53  # whole numbers up to here are the same as a double, which is what gRPC and JSON carry
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d|w)")
_ATTRIBUTE = frozenset(typing.get_args(AttributeValue))
# "not" is no name a Python field can have.
_FIELD_NAMES = {"not": "not_"}
_DATA_NAMES = {v: k for k, v in _FIELD_NAMES.items()}


def from_data(kind: type[T], value: object, path: str = "") -> T:
    """Build a `kind` from plain data, or check one that is built already.

    Raises:
        InvalidArgumentError: a key is unknown or missing, or a value has the wrong type; `field` is its path.
    """
    return cast(T, _convert(kind, value, path, 0))


def to_data(value: object) -> Any:
    """The plain data of a model object: dicts, lists, text, numbers. Times are RFC 3339 in UTC, durations
    seconds as text (``"2592000s"``), a time that is an attribute ``{"time": …}`` so that it is none of text.
    What is None is left out. `from_data` gives the object back."""
    if isinstance(value, AttributeCondition):
        bounds = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {name: _attribute_data(bound) for name, bound in bounds.items() if bound is not None}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            _DATA_NAMES.get(name, name): to_data(item)
            for name in _hints(type(value))
            if (item := getattr(value, name)) is not None
        }
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return f"{value / timedelta(seconds=1):.6f}".rstrip("0").rstrip(".") + "s"
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, list | tuple):
        return [to_data(item) for item in value]
    if isinstance(value, dict):
        return {key: _attribute_data(item) for key, item in value.items()}
    return value


def _attribute_data(value: object) -> Any:
    return {"time": to_data(value)} if isinstance(value, datetime) else to_data(value)


def parse_time(value: object, path: str) -> datetime:
    """An aware datetime in UTC from one, or from RFC 3339 text."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise _wrong(path, "a time as RFC 3339 text such as 2026-05-01T08:00:00Z", value) from None
    if not isinstance(value, datetime):
        raise _wrong(path, "a datetime or RFC 3339 text", value)
    if value.tzinfo is None:
        raise InvalidArgumentError(
            f"{path}: {value.isoformat()} has no time zone; add one (Z or +08:00)",
            reason="TIME_WITHOUT_ZONE",
            field=path,
        )
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise _wrong(path, "a time between the years 1 and 9999", value) from None


def parse_duration(value: object, path: str) -> timedelta:
    """A timedelta from one, or from text such as ``"30d"`` or ``"1h30m"``."""
    if isinstance(value, timedelta):
        return value
    wanted = 'a duration such as "30d", "12h" or "90s"'
    if not isinstance(value, str):
        raise _wrong(path, wanted, value)
    parts = _DURATION.findall(value)
    if not parts or "".join(n + u for n, u in parts) != value.replace(" ", ""):
        raise _wrong(path, wanted, value)
    try:
        return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))
    except OverflowError:
        raise _wrong(path, "a duration below 2,700,000 years", value) from None


def check_text(value: str, path: str) -> str:
    """The text itself, if it can be stored as UTF-8."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgumentError(
                f"{path}: not valid Unicode, a lone surrogate stands at character {error.start}; remove it",
                reason="INVALID_UNICODE",
                field=path,
            ) from None
    return value


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


@functools.cache
def _required(kind: type) -> frozenset[str]:
    return frozenset(
        f.name
        for f in dataclasses.fields(kind)
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    )


def _wrong(path: str, wanted: str, value: object) -> InvalidArgumentError:
    return InvalidArgumentError(f"{path or 'value'}: expected {wanted}, got {_shown(value)}", field=path)


def _shown(value: object) -> str:
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # thousands of digits, or of levels
        shown = f"a {type(value).__name__} too large to show"
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _convert(kind: Any, value: object, path: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise InvalidArgumentError(f"{path}: nested deeper than {MAX_DEPTH} levels", field=path)
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        members = typing.get_args(kind)
        if type(None) in members:
            if value is None:
                return None
            members = tuple(m for m in members if m is not type(None))
        if frozenset(members) == _ATTRIBUTE:
            return _attribute(value, path)
        (kind,) = members
        return _convert(kind, value, path, depth)
    if origin is list:
        (item_kind,) = typing.get_args(kind)
        # A vector has hundreds of numbers: looked at one by one they would cost more than the search.
        if (
            item_kind is float
            and isinstance(value, list)
            and set(map(type, value)) == {float}
            and math.isfinite(sum(value))
        ):
            return value.copy()
        if isinstance(value, str | bytes | dict) or not hasattr(value, "__iter__"):
            raise _wrong(path, "a list", value)
        return [_convert(item_kind, v, f"{path}[{i}]", depth + 1) for i, v in enumerate(value)]
    if origin is dict:
        _, item_kind = typing.get_args(kind)
        if not isinstance(value, dict):
            raise _wrong(path, "an object", value)
        return {
            _scalar(str, k, f"{path} key", depth): _convert(item_kind, v, f"{path}.{k}", depth + 1)
            for k, v in value.items()
        }
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _dataclass(kind, value, path, depth)
    return _scalar(kind, value, path, depth)


def _scalar(kind: Any, value: object, path: str, depth: int) -> Any:
    if kind is Any:
        return _plain(value, path, depth)
    if kind is datetime:
        return parse_time(value, path)
    if kind is timedelta:
        return parse_duration(value, path)
    if kind is str:
        if not isinstance(value, str):
            raise _wrong(path, "text", value)
        return check_text(value, path)
    if kind is bool:
        if not isinstance(value, bool):
            raise _wrong(path, "true or false", value)
        return value
    if kind is int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise _wrong(path, "a whole number", value)
        number = value.__index__()
        if not -(2**63) <= number < 2**63:
            raise _wrong(path, "a whole number of at most 64 bits", value)
        return number
    if kind is float:
        return _number(value, path)
    if kind is bytes:
        if not isinstance(value, bytes):
            raise _wrong(path, "bytes", value)
        return value
    if issubclass(kind, StrEnum):
        if isinstance(value, str):
            try:
                return kind(value)
            except ValueError:
                pass
        raise _wrong(path, "one of " + ", ".join(kind), value)
    raise TypeError(f"no plain form of {kind}")


def _number(value: object, path: str) -> float:
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        raise _wrong(path, "a number", value)
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        number = math.inf
    if not math.isfinite(number):
        raise _wrong(path, "a finite number", value)
    return number


def _attribute(value: object, path: str) -> AttributeValue:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_text(value, path)
    if isinstance(value, datetime):
        return parse_time(value, path)
    if isinstance(value, dict) and value.keys() == {"time"}:
        return parse_time(value["time"], f"{path}.time")
    if hasattr(value, "__float__"):
        return _number(value, path)
    raise _wrong(path, "text, a number, true, false or a time", value)


def _plain(value: object, path: str, depth: int) -> Any:
    """Any JSON value."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_text(value, path)
    if isinstance(value, int):
        if abs(value) > EXACT:
            raise InvalidArgumentError(
                f"{path}: {_shown(value)} is beyond ±2^53, where JSON's numbers lose digits; send it as text",
                reason="OUT_OF_RANGE",
                field=path,
            )
        return value
    if isinstance(value, float):
        return _number(value, path)
    if isinstance(value, dict):
        return _convert(dict[str, Any], value, path, depth)
    if isinstance(value, list | tuple):
        return _convert(list[Any], value, path, depth)
    raise _wrong(path, "plain data (text, numbers, lists, objects)", value)


def _dataclass(kind: type, value: object, path: str, depth: int) -> object:
    hints = _hints(kind)
    if isinstance(value, kind):
        given = {name: getattr(value, name) for name in hints}
    elif isinstance(value, dict):
        given = {_FIELD_NAMES.get(str(k), str(k)): v for k, v in value.items()}
        for name in given:
            if name not in hints:
                known = ", ".join(sorted(_DATA_NAMES.get(n, n) for n in hints))
                at = _join(path, name)
                raise InvalidArgumentError(
                    f"{at}: unknown; the keys here are {known}", reason="UNKNOWN_FIELD", field=at
                )
    else:
        raise _wrong(path, f"an object ({kind.__name__})", value)
    for name in _required(kind) - given.keys():
        at = _join(path, name)
        raise InvalidArgumentError(f"{at}: missing", reason="MISSING_FIELD", field=at)
    if kind is Filter:
        given = {name: _filter_short_form(name, v) for name, v in given.items()}
    return kind(
        **{
            name: _convert(hints[name], v, _join(path, _DATA_NAMES.get(name, name)), depth + 1)
            for name, v in given.items()
        }
    )


def _filter_short_form(name: str, value: object) -> object:
    """In a filter one text stands for a list of it, and a bare attribute value for equality."""
    if name == "attributes" and isinstance(value, dict):
        return {key: _attribute_condition(item) for key, item in value.items()}
    if isinstance(value, str) and name not in ("event_time", "create_time", "update_time", "confidence"):
        return [value]
    return value


def _attribute_condition(value: object) -> object:
    bounds = isinstance(value, AttributeCondition) or (isinstance(value, dict) and value.keys() != {"time"})
    return value if bounds else {"eq": value}


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name

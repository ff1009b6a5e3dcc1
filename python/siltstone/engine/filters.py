"""A `Filter` in the form the core reads: see `rust_core.Index.select`."""

from datetime import datetime
from typing import Any

import msgpack

from siltstone.model import AttributeCondition, Filter, NumberRange, TimeRange
from siltstone.store.keys import parse_id
from siltstone.store.records import to_microseconds

_LISTS = ("tags_any", "tags_all", "task_type", "tools_used", "outcome", "verification", "memory_type")
_TIMES = ("event_time", "create_time", "update_time")
_BOUNDS = ("eq", "gt", "gte", "lt", "lte")


def is_empty(filter: Filter) -> bool:
    """Whether a filter lets everything through because it says nothing, nor do the filters inside it."""
    conditions = (filter_map(filter) or {}).keys() - {"not", "any_of"}
    return (
        not conditions
        and (filter.not_ is None or _is_closed(filter.not_))
        and (not filter.any_of or any(is_empty(part) for part in filter.any_of))
    )


def _is_closed(filter: Filter) -> bool:
    """Whether a filter lets nothing through, whatever the memories are."""
    return (filter.not_ is not None and is_empty(filter.not_)) or (
        bool(filter.any_of) and all(_is_closed(part) for part in filter.any_of)
    )


def packed(filter: Filter | None) -> bytes:
    data: bytes = msgpack.packb(filter_map(filter))
    return data


def filter_map(filter: Filter | None) -> dict[str, Any] | None:
    if filter is None:
        return None
    parts: dict[str, Any] = {name: [str(v) for v in getattr(filter, name)] for name in _LISTS}
    parts["ids"] = [parse_id(id) for id in filter.ids]
    parts["attributes"] = {name: _bounds(condition) for name, condition in filter.attributes.items()}
    parts |= {name: _bounds(getattr(filter, name)) for name in _TIMES}
    parts["confidence"] = _bounds(filter.confidence)
    parts["any_of"] = [filter_map(part) or {} for part in filter.any_of]
    parts = {name: value for name, value in parts.items() if value}
    if filter.not_ is not None:
        parts["not"] = filter_map(filter.not_) or {}
    return parts


def _bounds(condition: AttributeCondition | TimeRange | NumberRange | None) -> dict[str, Any]:
    given = {name: getattr(condition, name, None) for name in _BOUNDS}
    attribute = isinstance(condition, AttributeCondition)
    return {name: _value(v, attribute) for name, v in given.items() if v is not None}


def _value(value: Any, attribute: bool) -> Any:
    if isinstance(value, datetime):
        time = to_microseconds(value)
        return {"time": time} if attribute else time
    return value

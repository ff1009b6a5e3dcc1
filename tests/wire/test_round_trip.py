"""Any value of any dataclass of the model, made from its type hints, survives the wire."""

import dataclasses
import functools
import types
import typing
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from siltstone.data import from_data
from siltstone.model import AttributeValue, Filter
from siltstone.wire import METHODS, from_proto, parse, to_proto

ATTRIBUTE = frozenset(typing.get_args(AttributeValue))
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
VECTORS = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=5)
TEXTS = st.text(max_size=12) | st.sampled_from(["改用 MySQL 8.0，不再用 5.7", "🪨 silt → stone", "", "\x00"])
TIMES = st.datetimes(timezones=st.just(UTC))
SPANS = st.timedeltas(timedelta(days=-3_652_500), timedelta(days=3_652_500))
WHOLE = st.integers(-(2**31), 2**31 - 1)
PLAIN = st.recursive(
    st.none() | st.booleans() | TEXTS | NUMBERS | st.integers(-(2**53), 2**53),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)


@functools.cache
def values(hint: Any, name: str = "", filters: int = 0) -> st.SearchStrategy[Any]:
    """`filters` counts those around it: they nest twice at most."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        inner = [a for a in args if a is not type(None)]
        optional = st.none() if type(None) in args else st.nothing()
        if frozenset(inner) == ATTRIBUTE:
            return optional | TEXTS | NUMBERS | st.booleans() | TIMES
        (kind,) = inner
        return optional if kind is Filter and filters == 2 else optional | values(kind, name, filters)
    if name == "vector":
        return VECTORS
    if origin is list:
        if args[0] is Filter and filters == 2:
            return st.just([])
        return st.lists(values(args[0], "", filters), max_size=2)
    if origin is dict:
        item = PLAIN if args[1] is Any else values(args[1], "", filters)
        return st.dictionaries(TEXTS, item, max_size=2)
    if dataclasses.is_dataclass(hint):
        filters += hint is Filter
        hints = typing.get_type_hints(hint)
        return st.builds(hint, **{n: values(h, n, filters) for n, h in hints.items()})
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return st.sampled_from(list(hint))
    if name == "page_size":  # 0 on the wire is the default
        return st.integers(1, 1000)
    return {
        str: TEXTS,
        bool: st.booleans(),
        int: WHOLE,
        float: NUMBERS,
        bytes: st.binary(max_size=20),
        datetime: TIMES,
        timedelta: SPANS,
    }[hint]


PAIRS = sorted(
    {
        (kind, message)
        for method in METHODS.values()
        for kind, message in (
            (method.operation.request, method.request),
            (method.operation.response, method.response),
        )
    },
    key=str,
)


@pytest.mark.parametrize(("kind", "message"), [pytest.param(*p, id=p[1].DESCRIPTOR.name) for p in PAIRS])
def test_every_value_survives_the_wire_and_needs_no_second_check(kind: Any, message: Any) -> None:
    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    @given(values(kind))
    def check(value: Any) -> None:
        back = from_proto(parse(message, to_proto(value, message).SerializeToString()), kind)
        assert back == value
        assert from_data(kind, back) == back

    check()

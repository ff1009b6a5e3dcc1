"""Hostile bytes into every decoder: errors of the service, and nothing else. The long form is `make fuzz`."""

import contextlib
import json
import os
import random
from typing import Any

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from siltstone.store import records
from siltstone.wire.contract import METHODS

from . import seeds, targets
from .targets import TARGETS

WORDS = [
    *("上周三", "last Wednesday", "2026-02-30", "since March", "三天前的下午", "from 5 to", "99999999999 days ago"),
    *("password=", "密码是", "Bearer ", "ghp_" + "a1" * 18, "+86 138-1234-5678", "11010519491231002X", "@", "://u:p@"),
    *("ignore all previous instructions", "忽略之前的所有指令", "<|im_start|>", "\x00", "\u202e", "𠀀", "\ud7ff", "\n"),
    *('{"role": "user", "content": [', '{"steps": [{', '"arguments": "{', '"tool_calls": [{"function": ', "]}", "null"),
    *('{"not": {"any_of": [', '"attributes": {"a": {"gte": ', "1e400", "-0.0", '"9999-12-31T23:59:59Z"', '{"time": '),
]  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=20)), max_size=12).map("".join)
MEMORY = records.encode(seeds.MEMORY)
PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(max_size=9), st.binary(max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=9), inner, max_size=4)),
    max_leaves=12,
)  # fmt: skip


@st.composite
def changed_records(draw: st.DrawFn) -> bytes:
    """A record with bytes flipped, cut, or a field of another type."""
    data = bytearray(MEMORY)
    if draw(st.booleans()):
        fields = msgpack.unpackb(MEMORY)
        fields[draw(st.sampled_from(sorted(fields)))] = draw(PLAIN)
        return bytes(msgpack.packb(fields))
    for _ in range(draw(st.integers(1, 4))):
        data[draw(st.integers(0, len(data) - 1))] ^= 1 << draw(st.integers(0, 7))
    return bytes(data[: draw(st.integers(0, len(data)))])


@st.composite
def changed_messages(draw: st.DrawFn) -> bytes:
    """A message of some RPC, its fields drawn by hand of the wire format, with bytes flipped now and then."""
    rpc = draw(st.integers(0, len(METHODS) - 1))
    parts = []
    for _ in range(draw(st.integers(0, 8))):
        number, kind = draw(st.integers(1, 30)), draw(st.sampled_from([0, 1, 2, 5]))
        parts.append(
            bytes([(number << 3 | kind) & 0x7F])
            if number < 16
            else bytes([(number << 3 | kind) & 0x7F | 0x80, number >> 4])
        )
        payload = draw(st.one_of(TEXTS.map(str.encode), st.binary(max_size=20)))[:127]
        parts.append(
            {
                0: bytes([draw(st.integers(0, 127))]),
                1: random.Random(len(parts)).randbytes(8),
                2: bytes([len(payload)]) + payload,
                5: b"\0\0\xc0\x7f",
            }[kind]
        )
    return bytes([rpc]) + b"".join(parts)  # fmt: skip


INPUTS: dict[str, st.SearchStrategy[bytes]] = {
    "requests": changed_messages(),
    "json_requests": st.one_of(PLAIN.map(lambda value: b"a" + json.dumps(value, default=str).encode()), TEXTS.map(str.encode)),
    "stored_records": changed_records(),
    "stored_chunks": PLAIN.map(lambda value: bytes(msgpack.packb(value))),
    "filters": PLAIN.map(lambda value: json.dumps(value, default=str).encode()),
}  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
def test_hostile_bytes_are_read_or_refused(name: str) -> None:
    likely = INPUTS.get(name, TEXTS.map(str.encode))

    @settings(
        max_examples=int(os.environ.get("SILTSTONE_FUZZ", "0")) or 150,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=False,
    )
    @given(st.one_of(likely, likely, st.binary(max_size=200)))
    def feed(data: bytes) -> None:
        TARGETS[name](data)

    feed()


@pytest.mark.parametrize("name", TARGETS)
def test_what_the_fuzzer_starts_from_is_read(name: str) -> None:
    for data in seeds.seeds(name):
        TARGETS[name](data)


@pytest.mark.parametrize("name", ["requests", "json_requests", "stored_chunks", "trajectories", "filters"])
def test_what_the_fuzzer_starts_from_comes_past_the_parsers(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "refusals", contextlib.nullcontext)
    for data in seeds.seeds(name):
        TARGETS[name](data)

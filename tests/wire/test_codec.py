import contextlib
import dataclasses
import math
import struct
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from siltstone.errors import InvalidArgumentError
from siltstone.model import Filter, Memory, MemoryDraft, PartialWeights, SearchRequest, Step
from siltstone.model.requests import (
    FinishTaskRequest,
    ListMemoriesRequest,
    UpdateMemoryRequest,
    UpdateTaskRequest,
    VerifyMemoryRequest,
    WriteMemoriesRequest,
)
from siltstone.v1 import memory_pb2, memory_service_pb2, search_pb2, task_pb2, trajectory_pb2
from siltstone.wire import METHODS, from_proto, parse, to_proto

REQUESTS = {(method.operation.request, method.request) for method in METHODS.values()}


def over_the_wire(value: Any, message_class: Any) -> Any:
    return from_proto(parse(message_class, to_proto(value, message_class).SerializeToString()), type(value))


@pytest.mark.parametrize(("kind", "message"), sorted(REQUESTS, key=str))
def test_an_empty_request_has_the_defaults_of_its_dataclass(kind: Any, message: Any) -> None:
    if kind in (UpdateMemoryRequest, UpdateTaskRequest, VerifyMemoryRequest, FinishTaskRequest):
        with pytest.raises(InvalidArgumentError, match="missing"):
            from_proto(message(), kind)
        return
    decoded = from_proto(message(), kind)
    for field in dataclasses.fields(kind):
        if field.default is not dataclasses.MISSING:
            assert getattr(decoded, field.name) == field.default, field.name


def test_an_empty_draft_has_the_defaults_of_its_dataclass() -> None:
    assert from_proto(memory_pb2.MemoryDraft(), MemoryDraft) == MemoryDraft(content="")


def test_zero_and_unset_differ_where_unset_means_a_default() -> None:
    request = SearchRequest(include_public=False, min_score=0.0, query="", time_zone="")
    assert over_the_wire(request, search_pb2.SearchMemoriesRequest) == request
    draft = MemoryDraft(content="盐", confidence=0.0, position=0)
    assert over_the_wire(draft, memory_pb2.MemoryDraft) == draft
    weights = PartialWeights(gate=0.0, calibrate=False)
    assert over_the_wire(weights, search_pb2.PartialWeights) == weights


def test_a_page_size_of_zero_is_the_default() -> None:
    assert (
        from_proto(memory_service_pb2.ListMemoriesRequest(page_size=0), ListMemoriesRequest).page_size == 100
    )


def test_a_sender_refuses_a_page_size_of_zero_as_the_engine_does() -> None:
    with pytest.raises(InvalidArgumentError, match=r"^page_size: 0 is out of range"):
        to_proto(ListMemoriesRequest(page_size=0), memory_service_pb2.ListMemoriesRequest)


def test_a_memory_says_zero_when_it_is_zero() -> None:
    assert from_proto(memory_pb2.Memory(), Memory).confidence == 0.0


def test_whole_numbers_in_arguments_stay_whole() -> None:
    step = Step(arguments={"line": 17, "ratio": 0.5, "flags": [True, None, {"深": 2**53}]})
    back = over_the_wire(step, trajectory_pb2.Step).arguments
    assert back == step.arguments
    assert type(back["line"]) is int
    assert back["flags"][0] is True


def test_a_vector_may_come_as_floats_or_packed() -> None:
    floats = search_pb2.SearchMemoriesRequest(vector=[0.5, -1.0])
    packed = search_pb2.SearchMemoriesRequest(vector_packed=struct.pack("<2f", 0.5, -1.0))
    assert from_proto(floats, SearchRequest).vector == from_proto(packed, SearchRequest).vector == [0.5, -1.0]


def test_an_empty_vector_stays_empty_so_that_it_is_refused_not_ignored() -> None:
    assert over_the_wire(SearchRequest(vector=[]), search_pb2.SearchMemoriesRequest).vector == []


def write(**draft: Any) -> memory_service_pb2.WriteMemoriesRequest:
    return memory_service_pb2.WriteMemoriesRequest(
        drafts=[memory_pb2.MemoryDraft(content="a"), memory_pb2.MemoryDraft(content="b", **draft)]
    )


Far = {"seconds": 10**15}
WRONG: list[tuple[Any, type, str, str]] = [
    (write(vector_packed=b"12345"), WriteMemoriesRequest, "drafts[1].vector_packed", "5 bytes"),
    (
        write(vector_packed=b"1234", vector=[1.0]),
        WriteMemoriesRequest,
        "drafts[1].vector_packed",
        "one of the",
    ),
    (write(vector=[1.0, math.nan]), WriteMemoriesRequest, "drafts[1].vector", "number 1 is nan"),
    (write(confidence=math.inf), WriteMemoriesRequest, "drafts[1].confidence", "finite"),
    (
        write(memory_type=99),
        WriteMemoriesRequest,
        "drafts[1].memory_type",
        "99 is none of MEMORY_TYPE_SEMANTIC",
    ),
    (write(event_time=Far), WriteMemoriesRequest, "drafts[1].event_time", "between the years"),
    (write(ttl=Far), WriteMemoriesRequest, "drafts[1].ttl", "no duration"),
    (
        write(attributes={"端口": memory_pb2.AttributeValue()}),
        WriteMemoriesRequest,
        "drafts[1].attributes.端口",
        "no value is set",
    ),
    (search_pb2.Filter(outcome=[1, 0]), Filter, "outcome[1]", "0 is none of"),
    (memory_service_pb2.UpdateMemoryRequest(), UpdateMemoryRequest, "memory", "missing"),
    (task_pb2.FinishTaskRequest(task_id="x"), FinishTaskRequest, "outcome", "missing"),
]


@pytest.mark.parametrize(("message", "kind", "field", "text"), WRONG, ids=[f"{w[2]} {w[3]}" for w in WRONG])
def test_what_is_wrong_is_named_by_its_path(message: Any, kind: type, field: str, text: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        from_proto(message, kind)
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: ")
    assert text in str(caught.value)


def test_a_number_inside_arguments_that_is_not_finite_is_named_by_its_path() -> None:
    step = trajectory_pb2.Step()
    step.arguments.fields["a"].list_value.values.add().number_value = math.nan
    with pytest.raises(InvalidArgumentError, match=r"^arguments\.a\[0\]: .*finite"):
        from_proto(step, Step)


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (SearchRequest(top_k=2**40), "top_k"),
        (SearchRequest(vector=[1e300]), "vector"),
        (SearchRequest(weights=PartialWeights(half_life=timedelta.max)), "weights.half_life"),
        (SearchRequest(now=datetime(2026, 1, 1)), "now"),
    ],
)
def test_what_does_not_fit_its_field_is_refused_by_the_sender(value: SearchRequest, field: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        to_proto(value, search_pb2.SearchMemoriesRequest)
    assert caught.value.field == field


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_an_invalid_argument(data: bytes) -> None:
    with contextlib.suppress(InvalidArgumentError):
        from_proto(parse(memory_service_pb2.WriteMemoriesRequest, data), WriteMemoriesRequest)


def test_text_that_is_not_utf8_is_an_invalid_argument() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse(search_pb2.SearchMemoriesRequest, b"\x0a\x02\xff\xfe")
    assert caught.value.reason == "INVALID_MESSAGE"


def test_times_keep_their_microseconds_and_lose_their_offset() -> None:
    local = datetime.fromisoformat("1969-12-31T23:59:59.999999+08:00")
    back = over_the_wire(Memory(event_time=local), memory_pb2.Memory).event_time
    assert back == local
    assert back.tzinfo is UTC


def test_the_first_moment_of_1970_is_a_time_and_not_none() -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC)
    assert over_the_wire(SearchRequest(now=moment), search_pb2.SearchMemoriesRequest).now == moment


def test_codecs_are_compiled_once_under_many_threads() -> None:
    from siltstone.wire import codec

    codec._CODECS.clear()
    faults: list[BaseException] = []
    request = SearchRequest(filter=Filter(not_=Filter(any_of=[Filter(tags_any=["标签"])])))

    def work() -> None:
        try:
            assert over_the_wire(request, search_pb2.SearchMemoriesRequest) == request
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not faults

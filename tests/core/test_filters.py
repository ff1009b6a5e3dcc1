"""What filters let through, and what they refuse."""

from typing import Any

import msgpack
import pytest

AXIS = [1.0, 0, 0, 0, 0, 0, 0, 0]


@pytest.fixture
def filled(core: Any) -> Any:
    core.put(
        1,
        "first",
        AXIS,
        tags=["db", "数据库"],
        task_type="fix",
        tools_used=["psql"],
        outcome="SUCCESS",
        memory_type="SEMANTIC",
        verification="CONFIRMED",
        attributes={"mysql": "8.0.30", "retries": 3, "hot": True, "since": {"time": 1000}},
        confidence=0.9,
        event_time=100,
        create_time=1_000,
        update_time=10_000,
    )
    core.put(
        2,
        "second",
        AXIS,
        tags=["db"],
        task_type="部署",
        outcome="FAILURE",
        memory_type="EPISODIC",
        verification="REFUTED",
        attributes={"mysql": "8.0.4", "retries": 3.5, "hot": False, "since": {"time": 2000}},
        confidence=0.4,
        event_time=200,
        create_time=2_000,
        update_time=20_000,
    )
    core.put(3, "third", AXIS, tags=["net"], attributes={"mysql": "5.7"}, superseded_by="x", event_time=300)
    core.put(4, "fourth", AXIS, attributes={"mysql": "latest"}, valid_until=core.now, event_time=-5)
    return core


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        (None, [1, 2, 3, 4]),
        ({}, [1, 2, 3, 4]),
        ({"tags_any": []}, [1, 2, 3, 4]),
        ({"tags_any": ["数据库", "net"]}, [1, 3]),
        ({"tags_all": ["db", "数据库"]}, [1]),
        ({"tags_any": ["unknown"]}, []),
        ({"task_type": ["部署"]}, [2]),
        ({"tools_used": ["psql"]}, [1]),
        ({"outcome": ["SUCCESS", "FAILURE"]}, [1, 2]),
        ({"verification": ["CONFIRMED"]}, [1]),
        ({"memory_type": ["EPISODIC"]}, [2]),
        ({"ids": [(3).to_bytes(16, "big"), (99).to_bytes(16, "big")]}, [3]),
        ({"attributes": {"mysql": {"eq": "8.0.4"}}}, [2]),
        (
            {"attributes": {"mysql": {"gt": "8.0.4"}}},
            [1, 4],
        ),  # "latest" is no version, so it compares as text
        ({"attributes": {"mysql": {"gte": "8.0", "lt": "9"}}}, [1, 2]),
        ({"attributes": {"mysql": {"lte": "5.7.0"}}}, [3]),
        ({"attributes": {"retries": {"gt": 3}}}, [2]),
        ({"attributes": {"retries": {"eq": 3}}}, [1]),
        ({"attributes": {"retries": {"eq": "3"}}}, []),
        ({"attributes": {"hot": {"eq": True}}}, [1]),
        ({"attributes": {"hot": {"eq": 1}}}, []),
        ({"attributes": {"since": {"gte": {"time": 1500}}}}, [2]),
        ({"attributes": {"since": {"gte": 1500}}}, []),
        ({"event_time": {"gte": 100, "lt": 200}}, [1]),
        ({"event_time": {"gt": 100, "lte": 300}}, [2, 3]),
        ({"create_time": {"gte": 1_500}}, [2]),
        ({"update_time": {"lt": 15_000}}, [1, 3, 4]),
        ({"confidence": {"gte": 0.5}}, [1, 3, 4]),
        ({"not": {"tags_any": ["db"]}}, [3, 4]),
        ({"not": {"not": {"tags_any": ["db"]}}}, [1, 2]),
        ({"any_of": [{"tags_any": ["net"]}, {"task_type": ["fix"]}]}, [1, 3]),
        ({"any_of": [{"tags_any": ["net"]}, {}], "confidence": {"lt": 0.5}}, [2]),
        ({"tags_any": ["db"], "not": {"outcome": ["FAILURE"]}}, [1]),
    ],
)
def test_a_filter_lets_through_what_meets_every_part(filled: Any, filter: Any, expected: list[int]) -> None:
    assert filled.select(filter) == expected
    shown = filled.found(
        AXIS, filter=filter, include_superseded=True, include_expired=True, include_refuted=True, top_k=100
    )
    assert sorted(shown) == expected


def test_flags_leave_out_superseded_expired_and_refuted_memories(filled: Any) -> None:
    assert filled.found(AXIS) == [1]
    assert sorted(filled.found(AXIS, include_superseded=True)) == [1, 3]
    assert sorted(filled.found(AXIS, include_expired=True)) == [1, 4]
    assert sorted(filled.found(AXIS, include_refuted=True)) == [1, 2]
    assert filled.select(None, include_superseded=False, include_expired=False, include_refuted=False) == [1]
    assert sorted(filled.found(AXIS, now=filled.now - 1)) == [1, 4]


def test_a_replaced_memory_is_found_by_its_new_fields_only(filled: Any) -> None:
    filled.put(1, "first", AXIS, tags=["moved"], attributes={"mysql": "9.1"}, event_time=7)
    assert filled.select({"tags_any": ["db"]}) == [2]
    assert filled.select({"tags_any": ["moved"]}) == [1]
    assert filled.select({"attributes": {"mysql": {"gte": "8.0", "lt": "9"}}}) == [2]
    assert filled.select({"event_time": {"lt": 50, "gte": 0}}) == [1]
    assert filled.select({"task_type": ["fix"]}) == []


def nested(levels: int) -> Any:
    filter: Any = {"tags_any": ["db"]}
    for _ in range(levels - 1):
        filter = {"any_of": [filter]}
    return filter


def test_sixteen_levels_pass_and_seventeen_are_refused(filled: Any) -> None:
    assert filled.select(nested(16)) == [1, 2]
    assert filled.found(AXIS, filter=nested(16)) == [1]
    for levels in (17, 40, 5_000):
        with pytest.raises(ValueError, match="nested deeper than 16"):
            filled.select(nested(levels)) if levels < 500 else filled.index.select(
                1, b"\x81\xa3not" * levels + b"\x80", 0
            )


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ({"tag": ["db"]}, r"filter.tag: unknown field `tag`"),
        ({"tags_any": "db"}, r"filter.tags_any: "),
        ({"any_of": [{}, {"nott": {}}]}, r"filter.any_of\[1\].nott: unknown field"),
        ({"ids": [b"short"]}, r"filter.ids\[0\]: 5 bytes; an id has 16"),
        ({"attributes": {"mysql": {}}}, r"filter.attributes.mysql: no bound"),
        ({"attributes": {"mysql": {"is": 1}}}, r"filter.attributes.mysql.is: unknown field"),
        ({"attributes": {"mysql": {"gt": float("nan")}}}, r"filter.attributes.mysql.gt: NaN"),
        ({"attributes": {"t": {"gt": {"date": 1}}}}, r"filter.attributes.t.gt: "),
        ({"event_time": {"gte": "today"}}, r"filter.event_time.gte: "),
        ({"event_time": {"from": 1}}, r"filter.event_time.from: unknown field"),
        ({"confidence": {"gte": float("nan")}}, r"filter.confidence.gte: NaN"),
        ([1], r"filter"),
    ],
)
def test_a_bad_filter_is_refused_by_name(filled: Any, filter: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        filled.select(filter)
    with pytest.raises(ValueError, match=r"requests\[0\]\." + message):
        filled.search(AXIS, filter=filter)


def test_bytes_that_are_no_msgpack_are_refused(filled: Any) -> None:
    for broken in (b"", b"\xc1", msgpack.packb({"tags_any": ["db"]})[:-1]):
        with pytest.raises(ValueError, match="filter"):
            filled.index.select(1, broken, 0)

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from siltstone.errors import FailedPreconditionError, InternalError, InvalidArgumentError
from siltstone.model import (
    Action,
    AuditEvent,
    Evidence,
    ExtractedLesson,
    Hindsight,
    HindsightJob,
    JobState,
    Lesson,
    LessonEvidence,
    Memory,
    MemoryType,
    Outcome,
    Related,
    Revision,
    Role,
    Source,
    Step,
    Task,
    TaskStatus,
    Token,
    Verdict,
    Verification,
    WriteReceipt,
)
from siltstone.store import AnswerRecord, NamespaceRecord, keys, records

ID = "01890a5d-ac96-774b-bcce-b302099a8057"

text = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["数据库 8.0 ≠ 5.7", "a\0b", "🪨\u200d", "", "\r\n"]
)
ids = st.just("") | st.binary(min_size=16, max_size=16).map(keys.format_id)
times = st.datetimes(timezones=st.just(UTC)).map(lambda time: time.replace(fold=0))
floats = st.floats(allow_nan=False).map(lambda x: x + 0.0)  # the default 0.0 equals -0.0, and is not stored
small = st.integers(-(2**63), 2**63)
texts = st.lists(text, max_size=3)


def made(cls, **fields):
    return st.builds(cls, **fields)


lessons = made(
    Lesson,
    problem=text,
    root_cause=text,
    solution=text,
    evidence=st.lists(made(LessonEvidence, field=text, step=small, quote=text), max_size=2),
)
sources = made(
    Source, task_id=text, trajectory=text, steps=st.lists(small, max_size=3), writer=text, extractor=text
)
evidence = made(
    Evidence,
    verdict=st.sampled_from(Verdict),
    time=times,
    task_id=text,
    trajectory=text,
    reviewer=text,
    note=text,
)
optional_time = st.none() | times
memories = made(
    Memory,
    id=ids,
    namespace=text,
    memory_type=st.sampled_from(MemoryType),
    content=text,
    summary=text,
    task_type=text,
    outcome=st.sampled_from(Outcome),
    lesson=st.none() | lessons,
    tags=texts,
    tools_used=texts,
    attributes=st.dictionaries(text, text | floats | st.booleans() | times | small, max_size=3),
    confidence=floats,
    verification=st.sampled_from(Verification),
    evidence=st.lists(evidence, max_size=2),
    create_time=optional_time,
    update_time=optional_time,
    event_time=optional_time,
    valid_until=optional_time,
    invalidate_time=optional_time,
    superseded_by=text,
    supersedes=texts,
    conflicts_with=texts,
    sequence=text,
    position=st.none() | small,
    source=st.none() | sources,
    revision=small,
    embedding_model=text,
    embedding_dimension=small,
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | floats.filter(lambda f: abs(f) != float("inf")) | text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2),
    max_leaves=5,
)
steps = made(
    Step,
    number=small,
    role=st.sampled_from(Role),
    text=text,
    tool=text,
    arguments=st.dictionaries(text, json_values, max_size=2),
    result=text,
    is_error=st.booleans(),
    time=optional_time,
)
tasks = made(
    Task,
    id=ids,
    namespace=text,
    goal=text,
    task_type=text,
    status=st.sampled_from(TaskStatus),
    outcome=st.sampled_from(Outcome),
    steps_done=texts,
    current_hypothesis=text,
    pending=texts,
    findings=texts,
    variables=st.dictionaries(text, text, max_size=2),
    step_count=small,
    create_time=optional_time,
    update_time=optional_time,
    finish_time=optional_time,
    hindsight_job_id=text,
    revision=small,
)
receipts = made(
    WriteReceipt,
    action=st.sampled_from(Action),
    memory=memories,
    related=st.lists(made(Related, id=text, relation=text, similarity=floats), max_size=2),
)
hindsights = made(
    Hindsight,
    lessons=st.lists(
        made(
            ExtractedLesson,
            lesson=lessons,
            task_type=text,
            outcome=st.sampled_from(Outcome),
            tools_used=texts,
            tags=texts,
            confidence=floats,
        ),
        max_size=2,
    ),
    receipts=st.lists(receipts, max_size=1),
    summary=text,
    summary_tokens=small,
    outcome=st.sampled_from(Outcome),
    steps=small,
    format=text,
    extractor=text,
    skipped=texts,
)
jobs = made(
    HindsightJob,
    id=ids,
    namespace=text,
    task_id=text,
    state=st.sampled_from(JobState),
    attempts=small,
    error=text,
    create_time=optional_time,
    update_time=optional_time,
    hindsight=st.none() | hindsights,
)
EVERY = {
    "memory": memories,
    "revision": made(Revision, revision=small, update_time=times, reason=text, memory=memories),
    "task": tasks,
    "step": steps,
    "job": jobs,
    "audit event": made(
        AuditEvent,
        seq=small,
        time=times,
        namespace=text,
        memory_id=text,
        action=text,
        principal=text,
        note=text,
    ),
    "token": made(
        Token, id=text, name=text, namespaces=texts, roles=texts, create_time=optional_time, secret=text
    ),
    "namespace": made(
        NamespaceRecord,
        number=small,
        name=text,
        create_time=times,
        embedding_model=text,
        embedding_dimension=small,
        deleted=st.booleans(),
    ),
    "answer": made(AnswerRecord, time=times, digest=st.binary(), answer=st.binary()),
}


@pytest.mark.parametrize("kind", EVERY)
@given(data=st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_record_comes_back_as_it_was(kind, data):
    record = data.draw(EVERY[kind])
    back = records.decode(records.encode(record), type(record))
    assert back == record
    assert repr(back) == repr(record)  # tells 1 from 1.0 and from True


def test_the_record_has_the_fields_and_types_that_the_index_reads():
    time = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    memory = Memory(
        id=ID,
        content="升级到 8.0",
        tags=["数据库"],
        tools_used=["psql"],
        task_type="修复",
        outcome=Outcome.SUCCESS,
        sequence="run",
        position=0,
        attributes={"mysql": "8.0", "n": 3, "x": 0.5, "ok": True, "at": time},
        confidence=1,
        create_time=time,
        update_time=time,
        event_time=time,
        valid_until=time,
        superseded_by=ID,
        embedding_model="m",
        embedding_dimension=4,
    )
    us = 1_767_323_045_678_901
    assert msgpack.unpackb(records.encode(memory)) == {
        "v": 1,
        "id": keys.parse_id(ID),
        "namespace": "default",
        "memory_type": "SEMANTIC",
        "verification": "PENDING",
        "content": "升级到 8.0",
        "tags": ["数据库"],
        "tools_used": ["psql"],
        "task_type": "修复",
        "outcome": "SUCCESS",
        "sequence": "run",
        "position": 0,
        "attributes": {"mysql": "8.0", "n": 3, "x": 0.5, "ok": True, "at": {"time": us}},
        "confidence": 1.0,
        "create_time": us,
        "update_time": us,
        "event_time": us,
        "valid_until": us,
        "superseded_by": ID,
        "embedding_model": "m",
        "embedding_dimension": 4,
    }
    assert isinstance(msgpack.unpackb(records.encode(memory))["confidence"], float)


def test_a_default_that_is_not_empty_is_written_and_an_empty_value_of_it_too():
    fields = msgpack.unpackb(records.encode(Memory()))
    assert fields["confidence"] == 0.7
    assert "tags" not in fields
    assert "valid_until" not in fields
    zero = records.decode(records.encode(Memory(confidence=0.0, namespace="")), Memory)
    assert (zero.confidence, zero.namespace) == (0.0, "")


def test_a_time_in_another_zone_is_the_same_moment():
    zone = timezone(timedelta(hours=8))
    memory = Memory(event_time=datetime(2026, 1, 1, 8, tzinfo=zone))
    back = records.decode(records.encode(memory), Memory)
    assert back.event_time == memory.event_time
    assert back.event_time.tzinfo is UTC


def test_integers_of_any_size_in_arguments_survive():
    step = Step(arguments={"n": 10**40, "嵌套": [{"x": None}]})
    assert records.decode(records.encode(step), Step) == step


def test_a_field_that_is_left_out_is_not_read_and_the_others_are():
    fields = msgpack.unpackb(records.encode(Memory(content="换了密码", tags=["登录"])))
    fields["lesson"] = "no lesson at all"
    data = msgpack.packb(fields)
    with pytest.raises(InternalError):
        records.decode(data, Memory)
    assert records.decode(data, Memory, ("lesson",)) == Memory(content="换了密码", tags=["登录"])


def test_a_field_of_a_later_release_is_ignored():
    fields = msgpack.unpackb(records.encode(Memory(content="x", lesson=Lesson(problem="p"))))
    fields["colour"] = "red"
    fields["lesson"]["colour"] = "red"
    back = records.decode(msgpack.packb(fields), Memory)
    assert back == Memory(content="x", lesson=Lesson(problem="p"))


def test_a_format_version_of_a_later_release_is_refused():
    data = msgpack.packb({**msgpack.unpackb(records.encode(Memory())), "v": 2})
    with pytest.raises(FailedPreconditionError, match="format version 2") as caught:
        records.decode(data, Memory)
    assert caught.value.reason == "FORMAT_VERSION"


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x90", b"\x80", records.encode(Memory())[:-3], msgpack.packb({"v": 1, "id": 3})]
)
def test_damaged_bytes_are_an_error_and_no_empty_record(data):
    with pytest.raises(InternalError) as caught:
        records.decode(data, Memory)
    assert caught.value.reason == "RECORD_UNREADABLE"


def test_an_unknown_word_of_an_enum_is_an_error():
    fields = msgpack.unpackb(records.encode(Memory()))
    with pytest.raises(InternalError, match="WEIRD"):
        records.decode(msgpack.packb({**fields, "outcome": "WEIRD"}), Memory)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("content", "a\ud800b"),
        ("content", None),
        ("content", 3),
        ("tags", ["ok", 3]),
        ("tags", ["\udfff"]),
        ("event_time", datetime(2026, 1, 1)),
        ("outcome", "MAYBE"),
        ("position", 1.5),
        ("position", 2**70),
        ("confidence", "high"),
        ("attributes", {"k": [1]}),
        ("attributes", {"k": 2**70}),
        ("attributes", {3: "k"}),
        ("id", "7"),
    ],
)
def test_what_cannot_be_stored_is_refused_by_name(field, value):
    with pytest.raises(InvalidArgumentError) as caught:
        records.encode(replace(Memory(), **{field: value}))
    assert caught.value.field == field
    assert caught.value.message.startswith(field)


def test_arguments_that_are_no_json_are_refused_by_name():
    with pytest.raises(InvalidArgumentError) as caught:
        records.encode(Step(arguments={"x": object()}))
    assert caught.value.field == "arguments"
    assert json.loads(records.unpack(records.encode(Step(arguments={"x": 1})))["arguments"]) == {"x": 1}

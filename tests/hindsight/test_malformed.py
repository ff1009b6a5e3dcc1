"""Whatever comes in, nothing but InvalidArgumentError comes out, and it says where and what."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from siltstone.errors import InvalidArgumentError
from siltstone.hindsight import lesson_text, look_back, read_trajectory, summarize_run, trajectory_digest

DEEP = json.loads("[" * 200 + "]" * 200)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("", "empty"),
        ("just some words", "neither JSON nor JSONL"),
        ("不是日志", "neither JSON nor JSONL"),
        ({"hello": 1}, "an object with hello"),
        ([], "an empty list"),
        ([1, 2], "a list of int"),
        (None, "a NoneType"),
        (3.5, "a float"),
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        ("[" * 100_000, "nested too deeply"),
        ('{"messages": [{"role": "user", "content": NaN}]}', "NaN is not a JSON value"),
        ({"messages": []}, "nothing readable"),
        ({"messages": [{"content": "x"}]}, "messages[0].role: is missing; give one of"),
        ({"messages": ["x"]}, "messages[0]: expected an object, got str"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content: expected text or a list"),
        (
            {"messages": [{"role": "assistant", "content": "", "tool_calls": 1}]},
            "tool_calls: expected a list",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{}]}]},
            "tool_calls[0].function: expected an object",
        ),
        ({"steps": [{"thought": "x"}, {"odd": 1}]}, "steps[1]: has none of"),
        ({"steps": [{"thought": 3}]}, "steps[0].thought: expected text, got int"),
        ({"steps": [{"thought": "x", "action": [1]}]}, "steps[0].action: expected text or an object"),
        ({"steps": [{"text": "x", "odd": 1}]}, "steps[0]: unknown fields odd"),
        ({"steps": [{"text": "x", "role": "KING"}]}, "steps[0].role: 'KING' is none of"),
        ({"steps": [{"text": "x", "time": "昨天"}]}, "steps[0].time: '昨天' is no RFC 3339 time"),
        ({"steps": [{"text": "x", "is_error": 1}]}, "steps[0].is_error: expected true or false"),
        ({"steps": [{"text": "ok"}, {"text": "bad \ud800"}]}, "steps[1]: lone surrogate at character 4"),
        ({"steps": [{"text": "x", "arguments": {"n": math.nan}}]}, "steps[0]: nan is not a finite number"),
        ({"steps": [{"text": "x", "arguments": {"n": 2**80}}]}, "steps[0]: an integer does not fit"),
        ({"steps": [{"text": "x", "arguments": {"n": DEEP}}]}, "steps[0]: nested deeper than 32"),
        ({"steps": [{"text": "x", "arguments": {1: 2}}]}, "steps[0]: key '1' is not text"),
        ({"steps": [{"text": "x", "arguments": {"a": {1}}}]}, "steps[0]: a value of type set"),
        ({"outcome": "so so", "steps": [{"text": "x"}]}, "outcome: 'so so' is no outcome"),
        ({"goal": 5, "steps": [{"text": "x"}]}, "goal: expected text, got int"),
    ],
)
def test_a_malformed_log_is_refused_and_the_place_is_named(source, said):
    with pytest.raises(InvalidArgumentError) as caught:
        read_trajectory(source)
    assert said in caught.value.message


def test_an_unknown_format_names_the_known_ones():
    with pytest.raises(
        InvalidArgumentError,
        match=r"Codex session logs .* OpenAI chat messages .* agent runs .* own trajectories",
    ):
        read_trajectory({"hello": 1})


def test_a_lone_surrogate_in_json_text_is_refused():
    with pytest.raises(InvalidArgumentError, match=r"messages\[0\]: lone surrogate"):
        read_trajectory('[{"role": "user", "content": "\\ud83d"}]')


def test_too_many_steps_are_refused():
    with pytest.raises(InvalidArgumentError, match="20001 entries, at most 20000"):
        read_trajectory({"steps": [{"text": "x"}] * 20_001})


def test_empty_content_and_missing_answers_are_no_error():
    messages = [
        {"role": "user", "content": "看看磁盘"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "df"}}]},
        {"role": "assistant", "content": None},
        {"role": "tool", "tool_call_id": "nobody", "content": None},
    ]
    steps = read_trajectory(messages).trajectory.steps
    seen = [(step.tool, step.arguments, step.result) for step in steps]
    assert seen == [
        ("", {}, ""),
        ("df", {}, ""),
        ("", {}, ""),
    ]


NAMES = st.sampled_from(
    [
        *(
            "role",
            "content",
            "tool_calls",
            "tool_call_id",
            "function",
            "name",
            "arguments",
            "messages",
            "steps",
        ),
        *(
            "thought",
            "action",
            "observation",
            "message",
            "tool",
            "args",
            "text",
            "result",
            "is_error",
            "number",
        ),
        *("time", "goal", "task", "outcome", "id", "type", "instructions", "error"),
        *("payload", "call_id", "output", "input", "summary", "uuid", "data", "kwargs", "lc", "status"),
        *("history", "model_output", "state", "info", "trajectory", "traj", "simulations", "reward"),
        *("jsonrpc", "method", "params", "tool_use_id", "system", "object", "item", "isError"),
        *("interacted_element", "metadata", "toolUseResult", "isSidechain", "calls", "query"),
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(
        [
            *(
                "user",
                "assistant",
                "tool",
                "AGENT",
                "success",
                "Error: x",
                "因为端口没开",
                '{"a": 1}',
                "\ud800",
            ),
            *("function_call", "function_call_output", "reasoning", "message", "tool_use", "tool_result"),
            *("response_item", "event_msg", "session_meta", "human", "ai", "2.0", "tools/call", "summary"),
            *("browser_click", "response", "item.completed", "command_execution", "text", "exec_command_end"),
        ]
    )
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=25,
)
STEP = st.dictionaries(NAMES, JSON, max_size=6)


CONTAINERS = ["messages", "steps", "history", "traj", "trajectory", "output", "simulations"]
LOG = (
    JSON
    | st.lists(STEP, max_size=4)
    | st.dictionaries(st.sampled_from([*CONTAINERS, "goal", "info", "system"]), st.lists(STEP, max_size=4))
    | st.fixed_dictionaries({"messages": st.lists(STEP, max_size=4), "goal": st.text(max_size=20)})
)


@settings(max_examples=200, deadline=None)
@given(LOG)
def test_arbitrary_json_never_raises_anything_but_invalid_argument(value):
    try:
        trajectory = read_trajectory(value).trajectory
    except InvalidArgumentError:
        return
    lessons = look_back(trajectory)
    assert lessons == look_back(trajectory)
    assert len(trajectory_digest(trajectory)) == 64
    assert all(lesson_text(lesson) for lesson in lessons)
    summarize_run(trajectory, lessons)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200) | st.binary(max_size=200))
def test_arbitrary_text_and_bytes_never_raise_anything_but_invalid_argument(source):
    with pytest.raises(InvalidArgumentError):
        read_trajectory(source)


@pytest.mark.parametrize(
    "piece", ["x", "error: failed. ", "a\n", "报错。", "password= ", "://a:", "a.b", "  "]
)
def test_huge_texts_are_looked_at_within_seconds(run_of, piece):
    huge = piece * (400_000 // len(piece))
    trajectory = run_of(
        huge, {"text": huge, "do": huge, "gives": huge}, {"text": huge, "do": "ls", "gives": huge}
    )
    lessons = look_back(trajectory)
    assert all(len(lesson.lesson.solution) < 3_000 for lesson in lessons)


def test_a_message_without_a_role_is_told_the_roles_there_are() -> None:
    with pytest.raises(InvalidArgumentError, match=r"messages\[1\]\.role: is missing; give one of system"):
        read_trajectory([{"role": "user", "content": "修好构建"}, {"role": None, "content": "好"}])

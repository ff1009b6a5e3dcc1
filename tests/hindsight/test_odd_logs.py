"""Logs that are right but unusual: capitals, gaps in the numbers, wrapped outputs, nothing in them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from siltstone.errors import InvalidArgumentError
from siltstone.hindsight import look_back, read_trajectory, summarize_folded
from siltstone.hindsight.folding import fold
from siltstone.model import Outcome, Role, Step, Trajectory


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def codex_run(output: Any, said: str = "完成") -> str:
    lines = [
        codex("session_meta", id="x"),
        codex(
            "response_item",
            type="message",
            role="user",
            content=[{"type": "input_text", "text": "修复测试 a.py"}],
        ),
        codex(
            "response_item",
            type="function_call",
            name="shell",
            arguments='{"command": "pytest"}',
            call_id="1",
        ),
        codex("response_item", type="function_call_output", call_id="1", output=output),
        codex(
            "response_item", type="message", role="assistant", content=[{"type": "output_text", "text": said}]
        ),
    ]
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)


@pytest.mark.parametrize(
    "log",
    [
        [{"role": "USER", "content": "修好 a"}, {"role": "Assistant", "content": "好"}],
        [
            {"role": "USER", "content": "fix a"},
            {"role": "ASSISTANT", "content": [{"type": "thinking", "thinking": "x"}]},
        ],
        [{"type": "message", "role": "USER", "content": [{"type": "input_text", "text": "fix a"}]}],
        {"task": "t", "steps": [{"role": "USER", "message": "fix a"}, {"thought": "x", "action": "ls"}]},
        {"goal": "g", "steps": [{"role": "user", "text": "fix a"}, {"role": "USER", "text": "b"}]},
    ],
    ids=["chat", "anthropic", "responses", "agent run", "own"],
)
def test_roles_are_read_in_capitals_and_without(log: Any) -> None:
    assert read_trajectory(log).trajectory.steps[0].role is Role.USER


@pytest.mark.parametrize(
    ("output", "result", "failed"),
    [
        (
            json.dumps({"output": "1 failed", "metadata": {"exit_code": 1, "duration_seconds": 0.5}}),
            "1 failed",
            True,
        ),
        (json.dumps({"output": "没有问题", "metadata": {"exit_code": 0}}), "没有问题", False),
        ({"content": "AssertionError: 1 != 2", "success": False}, "AssertionError: 1 != 2", True),
        (json.dumps({"content": [{"type": "text", "text": "页面没了"}], "isError": True}), "页面没了", True),
        (json.dumps({"Ok": {"content": [{"type": "text", "text": "done"}]}}), "done", False),
        (json.dumps({"Err": "no such server"}), "no such server", True),
        (json.dumps({"stdout": "a", "stderr": "b", "exit_code": 3}), "a\nb", True),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nE  boom: 坏了", "E  boom: 坏了", True),
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\nfine", "fine", False),
        (
            '{"output": "an answer of an API", "rows": 3}',
            '{"output": "an answer of an API", "rows": 3}',
            False,
        ),
        ('{"broken', '{"broken', False),
    ],
)
def test_the_output_of_a_codex_tool_is_read_out_of_its_wrapping(
    output: Any, result: str, failed: bool
) -> None:
    step = next(step for step in read_trajectory(codex_run(output)).trajectory.steps if step.tool)
    assert (step.result, step.is_error) == (result, failed)


def test_no_lesson_quotes_the_wrapping_of_an_output() -> None:
    output = json.dumps({"output": "AssertionError: 1 != 2", "metadata": {"exit_code": 1}})
    lessons = look_back(read_trajectory(codex_run(output, "没能修复。"), outcome=Outcome.FAILURE).trajectory)
    assert "AssertionError: 1 != 2" in lessons[0].lesson.problem
    assert "exit_code" not in str(lessons)


@pytest.mark.parametrize("said", ["改好了", "Fixed it.", "已经修好了。", "All tests pass now.", "搞定！"])
def test_a_bare_claim_after_an_error_is_neither_a_failure_nor_a_solution(said: str) -> None:
    trajectory = read_trajectory(codex_run("AssertionError: 1 != 2", said)).trajectory
    assert trajectory.outcome is Outcome.UNKNOWN
    for lesson in look_back(trajectory):
        assert lesson.outcome is not Outcome.FAILURE
        assert said not in lesson.lesson.solution


@pytest.mark.parametrize("said", ["改好了，把端口改成了 3307。", "I fixed it by changing the port to 3307."])
def test_a_claim_that_says_how_is_the_solution(said: str) -> None:
    (lesson,) = look_back(read_trajectory(codex_run("AssertionError: 1 != 2", said)).trajectory)
    assert lesson.outcome is Outcome.UNKNOWN
    assert "3307" in lesson.lesson.solution


@pytest.mark.parametrize("said", ["没有改好。", "It is not fixed yet.", "The tests are not working."])
def test_a_denied_claim_is_none(said: str) -> None:
    lessons = look_back(read_trajectory(codex_run("AssertionError: 1 != 2", said)).trajectory)
    assert [lesson.outcome for lesson in lessons] == [Outcome.FAILURE]


def test_a_run_without_steps_teaches_nothing() -> None:
    log = {"task_id": 1, "reward": 0.0, "info": {"task": {"instruction": "退掉去上海的机票"}}, "traj": []}
    trajectory = read_trajectory(log).trajectory
    assert (trajectory.outcome, look_back(trajectory)) == (Outcome.FAILURE, [])


def gapped(numbers: list[int]) -> Trajectory:
    """The steps of a network case under these numbers."""
    check = {"tool": "bash", "arguments": {"command": "curl http://api:3000"}}
    steps = [
        Step(result="curl: (7) 拒绝连接", is_error=True, **check),
        Step(text="原因是 api 只监听 127.0.0.1。", tool="bash", arguments={"command": "sed -i s/a/b/ app"}),
        Step(result="HTTP/1.1 200 OK", **check),
    ]
    for step, number in zip(steps, numbers, strict=True):
        step.number = number
    return Trajectory(goal="让 web 访问 api", outcome=Outcome.SUCCESS, steps=steps)


def test_steps_keep_their_numbers_across_gaps() -> None:
    (lesson,) = look_back(gapped([3, 17, 40]))
    assert {entry.step for entry in lesson.lesson.evidence} <= {3, 17, 40}
    assert (lesson.lesson.root_cause, lesson.confidence) == ("原因是 api 只监听 127.0.0.1。", 0.8)
    assert [step.numbers for step in fold(gapped([3, 17, 40]))] == [[3], [17], [40]]
    same = look_back(gapped([1, 2, 3]))
    assert [e.quote for e in lesson.lesson.evidence] == [e.quote for e in same[0].lesson.evidence]


@pytest.mark.parametrize("numbers", [[0, 0, 0], [5, 5, 6], [3, 2, 1], [-1, 2, 3]])
def test_steps_whose_numbers_do_not_rise_are_numbered_anew(numbers: list[int]) -> None:
    assert [step.numbers for step in fold(gapped(numbers))] == [[1], [2], [3]]


def test_the_own_format_keeps_numbers_that_rise() -> None:
    steps = [{"number": n, "text": f"第 {n} 步"} for n in (4, 9)]
    read = read_trajectory({"goal": "g", "steps": steps}).trajectory.steps
    assert [step.number for step in read] == [4, 9]
    again = read_trajectory({"goal": "g", "steps": list(reversed(steps))}).trajectory.steps
    assert [step.number for step in again] == [1, 2]
    with pytest.raises(InvalidArgumentError) as caught:
        read_trajectory({"goal": "g", "steps": [{"number": "4", "text": "x"}]})
    assert caught.value.field == "steps[0].number"


@pytest.mark.parametrize("lines", [[1, 2], [None], [["a"]], [{"role": "user"}], ["{}", 7]])
def test_lines_that_are_no_text_are_refused_by_their_number(lines: list[Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^line \d: expected text or bytes"):
        read_trajectory(iter(lines))


def test_however_many_lines_are_broken_a_hundred_are_told_and_all_are_counted() -> None:
    def lines() -> Iterator[str]:
        yield '{"role": "user", "content": "修好 a"}\n'
        yield from ("{\n" for _ in range(20_000))

    reading = read_trajectory(lines())
    assert reading.skipped_count == 20_000
    assert len(reading.skipped) == 101
    assert reading.skipped[0].startswith("line 2: not JSON")
    assert reading.skipped[100] == "… and 19900 more, 20000 in all"


def test_a_run_tells_how_many_steps_it_has_after_folding() -> None:
    clicks = [
        Step(tool="browser_click", arguments={"element": f"按钮 {n}", "ref": f"e{n}"}) for n in range(9)
    ]
    assert summarize_folded(Trajectory(goal="点", steps=clicks), [])[1] == 1


ODD_LINES = {
    "no JSON": '{"role": ',
    "no object": "[1, 2]",
    "half a character": '{"role": "user", "content": "\\ud83d"}',
    "too large a number": '{"role": "user", "content": "x", "n": 1' + "0" * 30 + "}",
    "too deep": '{"role": "user", "content": ' + "[" * 40 + "]" * 40 + "}",
    "no role": '{"role": "king", "content": "x"}',
    "no text": '{"role": "user", "content": 7}',
}


@pytest.mark.parametrize("odd", ODD_LINES.values(), ids=ODD_LINES)
def test_a_bad_line_of_any_kind_is_skipped_by_its_number_and_the_rest_is_read(odd: str) -> None:
    good = [
        '{"role": "user", "content": "修好端口"}',
        "",
        '{"role": "assistant", "content": "改为 3307 ✓👩‍🔧\\u0000"}',
    ]
    for source in ("\n".join([*good, odd, good[0]]), iter([*good, odd, good[0]])):
        reading = read_trajectory(source)
        assert (reading.skipped_count, reading.skipped[0].split(":")[0].split(".")[0]) == (1, "line 4")
        assert [step.text for step in reading.trajectory.steps] == [
            "修好端口",
            "改为 3307 ✓👩‍🔧\x00",
            "修好端口",
        ]


def test_a_bad_message_of_a_list_is_refused_by_its_place() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        read_trajectory([{"role": "user", "content": "x"}, {"role": "king", "content": "x"}])
    assert caught.value.field == "messages[1].role"


def test_lines_none_of_which_can_be_read_are_an_error_that_says_why() -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"nothing readable in it \(line 1.role: 'king' is none of"
    ):
        read_trajectory("\n".join([ODD_LINES["no role"]] * 2))


@pytest.mark.parametrize(
    ("first", "odd"),
    [
        ({"type": "human", "content": "修好"}, {"type": "alien", "content": "x"}),
        ({"text": "修好"}, {"text": "x", "odd": 1}),
        (
            {"type": "user", "message": {"role": "user", "content": "修好"}, "uuid": "1", "sessionId": "s"},
            {"type": "user", "message": {"role": "user", "content": 7}, "uuid": "2", "sessionId": "s"},
        ),
        (
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "修好"}]},
            {"type": "message", "role": "king", "content": []},
        ),
        (
            codex(
                "response_item", type="message", role="user", content=[{"type": "input_text", "text": "修好"}]
            ),
            codex("response_item", type="message", role="king", content=[]),
        ),
        (
            {"role": "user", "content": "修好"},
            {"role": "assistant", "content": [{"type": "tool_use", "name": 3}]},
        ),
        (
            {"name": "browser_click", "arguments": {"element": "修好"}},
            {"name": "browser_click", "result": {"content": 3, "isError": 1}},
        ),
    ],
    ids=["langchain", "own", "claude code", "responses", "codex", "anthropic", "mcp"],
)
def test_every_format_of_lines_skips_a_malformed_one(first: Any, odd: Any) -> None:
    lines = [
        json.dumps(entry, ensure_ascii=False)
        for entry in (first, odd, first | {"uuid": "3"} if "uuid" in first else first)
    ]
    reading = read_trajectory("\n".join(lines))
    assert len(reading.trajectory.steps) >= 2
    assert "修好" in str(reading.trajectory.steps[-1])

"""The three adapters, and how a log's format is found from the data."""

import json

import pytest
from siltstone.errors import InvalidArgumentError
from siltstone.hindsight import read_trajectory
from siltstone.model import Outcome, Role


def call(key, name, arguments):
    return {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}


CHAT = [
    {"role": "system", "content": "You are a helper."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "为什么构建失败？"}, {"type": "image_url", "image_url": {}}],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("1", "run_command", '{"command": "make"}'), call("2", "look", "not json")],
    },
    {"role": "tool", "tool_call_id": "2", "content": "0 errors"},
    {"role": "tool", "tool_call_id": "1", "content": "make: cc: No such file or directory\nexit code 2"},
    {"role": "assistant", "content": "缺少编译器。"},
]


def test_a_tool_call_and_the_answer_with_its_id_become_one_step():
    reading = read_trajectory(CHAT)
    steps = reading.trajectory.steps
    assert [step.number for step in steps] == [1, 2, 3, 4, 5]
    assert [step.role for step in steps] == [Role.SYSTEM, Role.USER, Role.AGENT, Role.AGENT, Role.AGENT]
    assert (steps[2].tool, steps[2].arguments, steps[2].is_error) == (
        "run_command",
        {"command": "make"},
        True,
    )
    assert (steps[3].tool, steps[3].arguments, steps[3].is_error) == ("look", {"input": "not json"}, False)
    assert steps[4].text == "缺少编译器。"


def test_parts_that_are_not_text_are_reported_not_dropped_silently():
    assert read_trajectory(CHAT).skipped == ["messages[1].content[1]: a part of type 'image_url' is not read"]


def test_the_goal_is_the_first_request_unless_one_is_given():
    assert read_trajectory(CHAT).trajectory.goal == "为什么构建失败？"
    assert read_trajectory({"goal": "修好构建", "messages": CHAT}).trajectory.goal == "修好构建"
    assert read_trajectory(CHAT, goal="build").trajectory.goal == "build"


@pytest.mark.parametrize(
    ("label", "outcome"),
    [
        ("success", Outcome.SUCCESS),
        ("FAILED", Outcome.FAILURE),
        (True, Outcome.SUCCESS),
        ("unlabelled", Outcome.UNKNOWN),
        ("部分成功", Outcome.PARTIAL),
    ],
)
def test_outcomes_are_read_in_their_usual_spellings(label, outcome):
    assert read_trajectory({"outcome": label, "messages": CHAT}).trajectory.outcome is outcome


def test_the_callers_outcome_wins():
    row = {"outcome": "success", "messages": CHAT}
    assert read_trajectory(row, outcome=Outcome.FAILURE).trajectory.outcome is Outcome.FAILURE


def test_the_same_log_reads_alike_as_objects_json_bytes_and_lines():
    lines = "\n".join(json.dumps(message, ensure_ascii=False) for message in CHAT)
    expected = read_trajectory(CHAT).trajectory
    assert read_trajectory(json.dumps(CHAT)).trajectory == expected
    assert read_trajectory(json.dumps({"messages": CHAT}).encode()).trajectory == expected
    assert read_trajectory("\ufeff" + lines).trajectory == expected
    assert read_trajectory(b"\xef\xbb\xbf" + lines.encode()).trajectory == expected


def test_broken_lines_are_skipped_with_their_numbers():
    lines = [json.dumps(message) for message in CHAT]
    lines.insert(1, '{"role": "user", "content": ')
    lines.insert(3, '{"role": "user", "content": NaN}')
    reading = read_trajectory("\n".join(lines))
    assert reading.skipped[0].startswith("line 2: not JSON: ")
    assert reading.skipped[1] == "line 4: not JSON: NaN is not a JSON value"
    assert len(reading.trajectory.steps) == 5


def test_a_swe_agent_command_is_called_by_its_first_word(example):
    trajectory = read_trajectory(example("swe-agent.json")).trajectory
    assert [step.tool for step in trajectory.steps] == ["ls", "open", "edit", "python", "submit"]
    assert trajectory.steps[2].arguments["command"].startswith("edit 15:15\n")
    assert trajectory.steps[2].result.startswith("[File: ")
    assert trajectory.task_type == "software-engineering"
    assert trajectory.outcome is Outcome.SUCCESS


def test_a_tau_bench_call_and_its_observation_become_one_step(published):
    row = published["tau-airline/39/1"]
    trajectory = read_trajectory(row).trajectory
    assert (trajectory.id, trajectory.goal, trajectory.format) == (row["id"], row["task"], "agent-run")
    assert (trajectory.task_type, trajectory.outcome) == ("customer-service", Outcome.FAILURE)
    calls = [step for step in trajectory.steps if step.tool]
    assert [step.tool for step in calls] == [
        "get_user_details",
        "get_reservation_details",
        "cancel_reservation",
    ]
    assert calls[2].arguments == {"reservation_id": "H8Q05L"}
    assert '"status": "cancelled"' in calls[2].result
    assert trajectory.steps[-1].text == "###STOP###"


def test_a_react_action_is_a_tool_with_its_bracketed_input(published):
    steps = read_trajectory(published["hotpot/54bb11f4/t1"]).trajectory.steps
    assert [(s.number, s.tool, s.arguments) for s in steps] == [
        (1, "Search", {"input": "Jack Benny Binion"}),
        (2, "Lookup", {"input": "father"}),
        (3, "Finish", {"input": "Benny"}),
    ]
    assert [step.is_error for step in steps] == [False, False, True]


def test_a_webvoyager_observation_is_the_result_of_the_action_before_it(published):
    row = published["webvoyager/taskWolfram Alpha--6"]
    steps = read_trajectory(row).trajectory.steps
    assert steps[0].role is Role.USER
    assert steps[0].text == row["steps"][0]["observation"]
    assert [step.tool for step in steps[1:]] == ["Type", "Scroll", "ANSWER"]
    assert steps[1].result == row["steps"][1]["observation"]
    assert steps[3].result == ""
    assert not any(step.is_error for step in steps)


def test_browser_actions_given_as_objects_are_read_with_their_final_error():
    row = {
        "task": "shop: create a brand",
        "instructions": [{"do": "Click “Save”", "expect": "saved"}],
        "error": "Failed at step 2",
        "steps": [
            {"n": 0, "action": {"name": "fill", "args": {"label": "名称", "text": "耐克"}}},
            {"n": 1, "action": {"name": "finish", "args": {"reason": "已填好名称。"}}},
        ],
    }
    trajectory = read_trajectory(row).trajectory
    assert trajectory.goal == "shop: create a brand\nClick “Save”"
    assert trajectory.steps[0].arguments == {"label": "名称", "text": "耐克"}
    assert trajectory.steps[1].text == "已填好名称。"
    assert (trajectory.steps[2].result, trajectory.steps[2].is_error) == ("Failed at step 2", True)


def test_siltstones_own_format_keeps_every_field():
    row = {
        "goal": "备份数据库",
        "outcome": "SUCCESS",
        "id": "t-1",
        "task_type": "ops",
        "steps": [
            {"role": "USER", "text": "请备份"},
            {
                "number": 9,
                "role": "AGENT",
                "text": "开始",
                "tool": "backup",
                "arguments": {"path": "备份.sql", "n": 2},
                "result": "完成",
                "is_error": True,
                "time": "2026-03-01T08:00:00+08:00",
            },
        ],
    }
    trajectory = read_trajectory(row).trajectory
    step = trajectory.steps[1]
    assert (trajectory.format, trajectory.id, trajectory.task_type) == ("siltstone", "t-1", "ops")
    assert (step.number, step.tool, step.arguments) == (2, "backup", {"path": "备份.sql", "n": 2})
    assert step.is_error is True
    assert step.time is not None
    assert step.time.isoformat() == "2026-03-01T00:00:00+00:00"


def test_a_file_of_several_trajectories_is_refused_with_their_number(published):
    text = "\n".join(json.dumps(row) for row in published.values())
    with pytest.raises(
        InvalidArgumentError, match=f"holds {len(published)} trajectories; give one at a time"
    ):
        read_trajectory(text)

"""Each format, in English and Chinese: found from the data, calls joined with their results, errors seen."""

import json
from pathlib import Path

import pytest
from siltstone.errors import InvalidArgumentError
from siltstone.hindsight import look_back, read_trajectory
from siltstone.hindsight.adapters import ADAPTERS
from siltstone.model import Outcome, Role

DOCS = Path(__file__).resolve().parents[2] / "docs/adapters.md"
PATCH = "*** Begin Patch\n*** Update File: app.py\n+host = '0.0.0.0'\n*** End Patch"


def lines(*entries):
    return "\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)


def shown(trajectory):
    return [(s.role.value, s.text, s.tool, s.arguments, s.result, s.is_error) for s in trajectory.steps]


RESPONSES = [
    {"role": "user", "content": "Why does the build fail?"},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look at the output first."}]},
    {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": '{"command": ["make"]}'},
    {"type": "function_call_output", "call_id": "c1", "output": "cc: command not found"},
    {"type": "web_search_call", "id": "w1", "action": {"query": "install cc"}, "status": "completed"},
    {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": PATCH},
    {
        "type": "custom_tool_call_output",
        "call_id": "c2",
        "output": '{"output":"ok","metadata":{"exit_code":0}}',
    },
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "缺少编译器，已安装。"}],
    },
]


def test_responses_items_become_steps_with_the_reasoning_before_them():
    trajectory = read_trajectory(RESPONSES).trajectory
    assert trajectory.format == "openai-responses"
    assert shown(trajectory) == [
        ("USER", "Why does the build fail?", "", {}, "", False),
        ("AGENT", "Look at the output first.", "shell", {"command": ["make"]}, "cc: command not found", True),
        ("AGENT", "", "web_search", {"query": "install cc"}, "", False),
        ("AGENT", "", "apply_patch", {"input": PATCH}, "ok", False),
        ("AGENT", "缺少编译器，已安装。", "", {}, "", False),
    ]


def test_a_whole_response_is_read_with_its_input_and_its_failure():
    row = {
        "object": "response",
        "id": "resp_1",
        "status": "failed",
        "instructions": "Be brief.",
        "input": "修好构建",
        "output": RESPONSES[1:4],
    }
    trajectory = read_trajectory(row).trajectory
    assert (trajectory.format, trajectory.id, trajectory.goal) == ("openai-responses", "resp_1", "修好构建")
    assert trajectory.outcome is Outcome.FAILURE
    assert [step.role for step in trajectory.steps] == [Role.SYSTEM, Role.USER, Role.AGENT]
    assert read_trajectory(lines(row, row)).trajectory.steps[-1].is_error


ANTHROPIC = [
    {"role": "user", "content": "磁盘满了，帮我看看"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "先看用量。", "signature": "x"},
            {"type": "text", "text": "我来查看。"},
            {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "df -h"}},
            {"type": "tool_use", "id": "t2", "name": "bash", "input": {"command": "du -sh /var"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "40G /var"}]},
            {"type": "tool_result", "tool_use_id": "t1", "content": "denied", "is_error": True},
            {"type": "image", "source": {"type": "base64", "data": "AAAA"}},
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "/var 占满了磁盘。"}]},
]


def test_anthropic_blocks_become_steps_and_results_find_their_calls():
    reading = read_trajectory({"system": "You help.", "messages": ANTHROPIC})
    assert reading.trajectory.format == "anthropic-messages"
    assert shown(reading.trajectory) == [
        ("SYSTEM", "You help.", "", {}, "", False),
        ("USER", "磁盘满了，帮我看看", "", {}, "", False),
        ("AGENT", "先看用量。\n我来查看。", "bash", {"command": "df -h"}, "denied", True),
        ("AGENT", "", "bash", {"command": "du -sh /var"}, "40G /var", False),
        ("AGENT", "/var 占满了磁盘。", "", {}, "", False),
    ]
    assert reading.skipped == ["messages[2].content[2]: a block of type 'image' is not read"]
    assert read_trajectory(ANTHROPIC).trajectory.format == "anthropic-messages"


def claude(kind, content, uuid, **fields):
    role = "assistant" if kind == "assistant" else "user"
    return {
        "type": kind,
        "message": {"role": role, "content": content},
        "uuid": uuid,
        "parentUuid": None,
        "sessionId": "s-1",
        "isSidechain": False,
        "timestamp": "2026-03-01T00:00:00.000Z",
        **fields,
    }


CLAUDE = [
    {"type": "summary", "summary": "Fix the port", "leafUuid": "u9"},
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
    claude("user", "<command-name>/clear</command-name>", "u0"),
    claude("user", "服务连不上，修一下", "u1"),
    claude(
        "assistant",
        [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "curl api:3000"}}],
        "u2",
    ),
    claude(
        "user",
        [{"type": "tool_result", "tool_use_id": "t1", "content": "", "is_error": True}],
        "u3",
        toolUseResult={"stdout": "", "stderr": "curl: (7) Failed to connect", "interrupted": False},
    ),
    claude("user", "Search the code for listen", "u4", isSidechain=True),
    claude("assistant", [{"type": "text", "text": "原因是只监听 127.0.0.1。"}], "u5"),
    claude("user", "服务连不上，修一下", "u1"),
]


def test_a_claude_code_session_is_read_without_what_the_program_put_in():
    reading = read_trajectory(lines(*CLAUDE))
    trajectory = reading.trajectory
    assert (trajectory.format, trajectory.id, trajectory.goal) == ("claude-code", "s-1", "服务连不上，修一下")
    assert reading.skipped == []
    assert shown(trajectory) == [
        ("SYSTEM", "<command-name>/clear</command-name>", "", {}, "", False),
        ("USER", "服务连不上，修一下", "", {}, "", False),
        ("AGENT", "", "Bash", {"command": "curl api:3000"}, "curl: (7) Failed to connect", True),
        ("SYSTEM", "Search the code for listen", "", {}, "", False),
        ("AGENT", "原因是只监听 127.0.0.1。", "", {}, "", False),
    ]
    assert trajectory.steps[1].time.isoformat() == "2026-03-01T00:00:00+00:00"


def test_a_sub_agents_own_log_has_its_orders_as_the_goal():
    log = lines(
        *(
            claude(kind, text, uuid, isSidechain=True)
            for kind, text, uuid in [("user", "Find the port", "a"), ("assistant", "It is 3000.", "b")]
        )
    )
    assert read_trajectory(log).trajectory.goal == "Find the port"


def test_what_claude_code_streams_tells_its_failure():
    log = lines(
        {"type": "system", "subtype": "init", "session_id": "s-2"},
        {"type": "user", "message": {"role": "user", "content": "Go"}, "session_id": "s-2"},
        {"type": "result", "subtype": "error_max_turns", "is_error": True, "session_id": "s-2"},
    )
    trajectory = read_trajectory(log).trajectory
    assert (trajectory.format, trajectory.id, trajectory.outcome) == ("claude-code", "s-2", Outcome.FAILURE)


def codex(kind, payload):
    return {"timestamp": "2026-03-01T08:00:00Z", "type": kind, "payload": payload}


def said(role, text):
    part = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": part, "text": text}]}


CODEX = [
    codex("session_meta", {"id": "x-1", "cwd": "/app", "cli_version": "0.46.0"}),
    codex("response_item", said("user", "<environment_context>\n<cwd>/app</cwd>\n</environment_context>")),
    codex("response_item", said("user", "测试失败了，请修复")),
    codex("event_msg", {"type": "user_message", "message": "测试失败了，请修复", "kind": "plain"}),
    codex("turn_context", {"cwd": "/app", "model": "m"}),
    codex(
        "response_item", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "先跑测试。"}]}
    ),
    codex(
        "response_item",
        {
            "type": "function_call",
            "name": "shell",
            "call_id": "c1",
            "arguments": '{"command": ["bash", "-lc", "pytest -q"], "workdir": "/app"}',
        },
    ),
    codex(
        "event_msg", {"type": "exec_command_end", "call_id": "c1", "aggregated_output": "1 f", "exit_code": 1}
    ),
    codex(
        "response_item",
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": '{"output":"test_a did not hold","metadata":{"exit_code":1,"duration_seconds":0.4}}',
        },
    ),
    codex(
        "response_item",
        {
            "type": "function_call",
            "name": "exec_command",
            "call_id": "c2",
            "arguments": '{"cmd": "ls missing"}',
        },
    ),
    codex(
        "response_item",
        {
            "type": "function_call_output",
            "call_id": "c2",
            "output": "Wall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nnothing there",
        },
    ),
    codex("event_msg", {"type": "agent_message", "message": "已修复。"}),
    codex("response_item", said("assistant", "已修复。")),
]


def test_a_codex_session_is_read_with_its_exit_codes_and_without_its_echoes():
    reading = read_trajectory(lines(*CODEX))
    trajectory = reading.trajectory
    assert (trajectory.format, trajectory.id, trajectory.goal) == ("codex", "x-1", "测试失败了，请修复")
    assert reading.skipped == []
    assert [(s.role.value, s.tool, s.result, s.is_error) for s in trajectory.steps] == [
        ("SYSTEM", "", "", False),
        ("USER", "", "", False),
        ("AGENT", "shell", "test_a did not hold", True),
        ("AGENT", "exec_command", trajectory.steps[3].result, True),
        ("AGENT", "", "", False),
    ]
    assert trajectory.steps[2].text == "先跑测试。"
    assert trajectory.steps[3].result.endswith("nothing there")


def test_older_and_streamed_codex_logs_are_read_too():
    old = lines(
        {"id": "x-0", "timestamp": "2025-08-01T00:00:00Z", "instructions": None},
        {"record_type": "state"},
        said("user", "Run it"),
        {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "local_shell_call_output", "call_id": "c", "output": "a.txt"},
    )
    trajectory = read_trajectory(old).trajectory
    assert (trajectory.format, trajectory.id, trajectory.goal) == ("codex", "x-0", "Run it")
    assert trajectory.steps[-1].result == "a.txt"
    command = {"type": "command_execution", "command": "false", "aggregated_output": "no", "exit_code": 1}
    streamed = lines(
        {"type": "thread.started", "thread_id": "x-2"},
        {"type": "item.completed", "item": command},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "It fails."}},
        {"type": "turn.failed", "error": {"message": "stopped"}},
    )
    trajectory = read_trajectory(streamed).trajectory
    assert (trajectory.format, trajectory.id, trajectory.outcome) == ("codex", "x-2", Outcome.FAILURE)
    assert (trajectory.steps[0].arguments, trajectory.steps[0].is_error) == ({"command": "false"}, True)


def test_a_codex_log_of_events_alone_keeps_what_was_said():
    log = lines(
        codex("session_meta", {"id": "x-3"}),
        codex("event_msg", {"type": "user_message", "message": "看看日志"}),
        codex("event_msg", {"type": "agent_message", "message": "日志正常。"}),
    )
    assert [s.text for s in read_trajectory(log).trajectory.steps] == ["看看日志", "日志正常。"]


def swe_agent(status):
    return {
        "environment": "swe_main",
        "trajectory": [
            {"action": "ls\n", "observation": "app.py", "response": "r", "state": "{}", "thought": "Look."},
            {"action": "edit 1:1\nx = 2\nend_of_edit", "observation": "done", "thought": "改一下。"},
            {"action": "", "observation": "", "thought": "Nothing to do.", "response": ""},
        ],
        "history": [
            {"role": "system", "content": "SETTING"},
            {"role": "user", "content": "A demonstration", "is_demo": True},
            {"role": "user", "content": "ISSUE:\n变量 x 错了"},
        ],
        "info": {"exit_status": status, "submission": "diff"},
    }


def test_a_native_swe_agent_file_has_its_goal_in_the_history():
    trajectory = read_trajectory(json.dumps(swe_agent("submitted"))).trajectory
    assert (trajectory.format, trajectory.goal) == ("swe-agent", "ISSUE:\n变量 x 错了")
    assert trajectory.outcome is Outcome.UNKNOWN
    assert [(s.role.value, s.tool, s.text) for s in trajectory.steps] == [
        ("USER", "", "ISSUE:\n变量 x 错了"),
        ("AGENT", "ls", "Look."),
        ("AGENT", "edit", "改一下。"),
        ("AGENT", "", "Nothing to do."),
    ]


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("submitted", Outcome.UNKNOWN),
        ("submitted (exit_cost)", Outcome.UNKNOWN),
        ("exit_cost", Outcome.FAILURE),
        ("early_exit", Outcome.FAILURE),
        (None, Outcome.UNKNOWN),
    ],
)
def test_a_swe_agent_run_that_never_handed_in_has_failed(status, outcome):
    assert read_trajectory(swe_agent(status)).trajectory.outcome is outcome


def browser_use(success):
    state = {"url": "https://shop.example", "title": "Shop", "tabs": [], "screenshot": "AAAA"}
    password = {"node_name": "INPUT", "xpath": "/a/b", "attributes": {"type": "password", "name": "pw"}}
    return {
        "history": [
            {
                "model_output": {
                    "evaluation_previous_goal": "Unknown",
                    "memory": "",
                    "next_goal": "打开商店并登录",
                    "action": [{"go_to_url": {"url": "https://shop.example"}}],
                },
                "result": [{"is_done": False, "extracted_content": "Navigated"}],
                "state": {**state, "interacted_element": [None]},
                "metadata": {"step_start_time": 1772323200.5, "step_number": 1},
            },
            {
                "model_output": {
                    "current_state": {"memory": "m", "next_goal": "Log in"},
                    "action": [
                        {"input_text": {"index": 3, "text": "hunter2!x"}},
                        {"click_element_by_index": {"index": 4}},
                    ],
                },
                "result": [{"extracted_content": "Input"}, {"error": "Element 4 does not exist"}],
                "state": {**state, "interacted_element": [password, None]},
            },
            {
                "model_output": {"next_goal": "Say so", "action": [{"done": {"text": "登录失败"}}]},
                "result": [{"is_done": True, "success": success, "extracted_content": "登录失败"}],
                "state": state,
            },
        ]
    }


@pytest.mark.parametrize(
    ("success", "outcome"),
    [(True, Outcome.SUCCESS), (False, Outcome.FAILURE), (None, Outcome.UNKNOWN)],
)
def test_a_browser_use_history_is_a_step_an_action_with_its_outcome(success, outcome):
    trajectory = read_trajectory(browser_use(success)).trajectory
    assert (trajectory.format, trajectory.goal) == ("browser-use", "打开商店并登录")
    assert trajectory.outcome is outcome
    assert [(s.tool, s.result, s.is_error) for s in trajectory.steps] == [
        ("go_to_url", "Navigated", False),
        ("input_text", "Input", False),
        ("click_element_by_index", "Element 4 does not exist", True),
        ("done", "登录失败", False),
    ]
    assert trajectory.steps[1].arguments["element"] == "input pw password"
    assert trajectory.steps[0].time is not None
    assert "hunter2!x" not in str(look_back(trajectory))


TAU = {
    "task_id": 7,
    "trial": 2,
    "reward": 0.0,
    "info": {"task": {"user_id": "u", "instruction": "你想取消预订 H8Q05L", "actions": [], "outputs": []}},
    "traj": [
        {"role": "system", "content": "# Airline policy"},
        {"role": "user", "content": "请取消 H8Q05L"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "1",
                    "type": "function",
                    "function": {"name": "cancel", "arguments": '{"id": "H8Q05L"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "1", "name": "cancel", "content": "Error: not allowed"},
    ],
}


def test_a_native_tau_bench_result_has_its_reward_as_outcome():
    trajectory = read_trajectory([TAU]).trajectory
    assert (trajectory.format, trajectory.id, trajectory.goal) == ("tau-bench", "7/2", "你想取消预订 H8Q05L")
    assert (trajectory.outcome, trajectory.task_type) == (Outcome.FAILURE, "customer-service")
    assert (trajectory.steps[-1].tool, trajectory.steps[-1].is_error) == ("cancel", True)
    assert read_trajectory({**TAU, "reward": 1.0}).trajectory.outcome is Outcome.SUCCESS
    with pytest.raises(InvalidArgumentError, match="holds 2 trajectories; give one at a time"):
        read_trajectory([TAU, TAU])


def test_a_tau2_simulation_is_read_with_its_scenario():
    run = {
        "id": "sim",
        "task_id": "3",
        "reward_info": {"reward": 1.0},
        "messages": [
            {"role": "user", "content": "Cancel it"},
            {"role": "assistant", "tool_calls": [{"id": "a", "name": "cancel", "arguments": {"id": "X"}}]},
            {"role": "tool", "id": "a", "content": "done"},
        ],
    }
    task = {"id": "3", "user_scenario": {"instructions": {"reason_for_call": "You want to cancel X."}}}
    trajectory = read_trajectory({"simulations": [run], "tasks": [task]}).trajectory
    assert (trajectory.format, trajectory.goal) == ("tau-bench", "You want to cancel X.")
    assert trajectory.outcome is Outcome.SUCCESS
    assert (trajectory.steps[1].tool, trajectory.steps[1].result) == ("cancel", "done")
    with pytest.raises(InvalidArgumentError, match="holds 2 runs; give one at a time"):
        read_trajectory({"simulations": [run, run], "tasks": [task]})


CALL = {"name": "query", "args": {"sql": "SELECT 1"}, "id": "q1", "type": "tool_call"}
LANGCHAIN = {
    "plain": [
        {"type": "system", "content": "Help."},
        {"type": "human", "content": "查询很慢"},
        {"type": "ai", "content": "Let me look.", "tool_calls": [CALL]},
        {"type": "tool", "content": "timeout", "tool_call_id": "q1", "name": "query", "status": "error"},
        {"type": "ai", "content": [{"type": "text", "text": "缺少索引。"}]},
    ]
}
LANGCHAIN["data"] = [{"type": m["type"], "data": m} for m in LANGCHAIN["plain"]]
LANGCHAIN["dumpd"] = [
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", name + "Message"],
        "kwargs": {key: value for key, value in message.items() if key != "type"},
    }
    for name, message in zip(["System", "Human", "AI", "Tool", "AI"], LANGCHAIN["plain"], strict=True)
]


@pytest.mark.parametrize("form", LANGCHAIN)
@pytest.mark.parametrize("wrapped", [False, True])
def test_langchain_messages_read_alike_in_each_form(form, wrapped):
    messages = LANGCHAIN[form]
    trajectory = read_trajectory({"messages": messages} if wrapped else messages).trajectory
    assert trajectory.format == "langchain"
    assert shown(trajectory) == [
        ("SYSTEM", "Help.", "", {}, "", False),
        ("USER", "查询很慢", "", {}, "", False),
        ("AGENT", "Let me look.", "query", {"sql": "SELECT 1"}, "timeout", True),
        ("AGENT", "缺少索引。", "", {}, "", False),
    ]


def test_older_langchain_calls_are_found_where_they_were_kept():
    function = {"id": "q1", "type": "function", "function": {"name": "query", "arguments": '{"sql": "x"}'}}
    messages = [
        {"type": "human", "content": "Go"},
        {"type": "ai", "content": "", "additional_kwargs": {"tool_calls": [function]}},
        {"type": "tool", "content": "ok", "tool_call_id": "q1"},
    ]
    step = read_trajectory(messages).trajectory.steps[1]
    assert (step.tool, step.arguments, step.result) == ("query", {"sql": "x"}, "ok")


CLICK = {"element": "提交按钮", "ref": "e12"}


def test_playwright_call_records_are_read_with_their_failures():
    log = lines(
        {
            "name": "browser_navigate",
            "arguments": {"url": "https://a.example"},
            "result": "ok",
            "ts": 1772323200,
        },
        {
            "tool": "browser_click",
            "params": CLICK,
            "result": {"content": [{"type": "text", "text": "### Result\nno such element"}], "isError": True},
        },
        {"name": "browser_click", "args": CLICK, "error": "TimeoutError: 5000ms exceeded"},
    )
    trajectory = read_trajectory(log, goal="提交表单").trajectory
    assert trajectory.format == "mcp-calls"
    assert [(s.tool, s.arguments, s.result, s.is_error) for s in trajectory.steps] == [
        ("browser_navigate", {"url": "https://a.example"}, "ok", False),
        ("browser_click", CLICK, "### Result\nno such element", True),
        ("browser_click", CLICK, "TimeoutError: 5000ms exceeded", True),
    ]


def test_mcp_json_rpc_messages_are_joined_by_their_ids():
    def request(id, name):
        return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": {}}}

    log = lines(
        {"jsonrpc": "2.0", "id": 0, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 0, "result": {"tools": []}},
        request(1, "browser_snapshot"),
        request(2, "browser_close"),
        {"jsonrpc": "2.0", "id": 2, "error": {"code": -32000, "message": "closed"}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "页面"}]}},
    )
    steps = read_trajectory(log, goal="看页面").trajectory.steps
    assert [(s.tool, s.is_error) for s in steps] == [("browser_snapshot", False), ("browser_close", True)]
    assert steps[0].result == "页面"


def test_the_session_file_of_playwright_mcp_is_read():
    text = (
        '\n### Tool call: browser_navigate\n- Args\n```json\n{\n  "url": "https://a.example"\n}\n```\n'
        "- Code\n```js\nawait page.goto('https://a.example');\n```\n- Snapshot: 001.snapshot.yml\n\n\n"
        '### Tool call: browser_click\n- Args\n```json\n{"element": "登录"}\n```\n'
        "- Error\n```\nTimeoutError: no element\n```\n"
    )
    trajectory = read_trajectory(text, goal="登录").trajectory
    assert trajectory.format == "mcp-calls"
    assert [(s.tool, s.arguments, s.result, s.is_error) for s in trajectory.steps] == [
        ("browser_navigate", {"url": "https://a.example"}, "", False),
        ("browser_click", {"element": "登录"}, "TimeoutError: no element", True),
    ]


LOGS = {
    "codex": lines(*CODEX),
    "claude-code": lines(*CLAUDE),
    "openai-responses": lines(*RESPONSES),
    "anthropic-messages": lines(*ANTHROPIC),
    "langchain": lines(*LANGCHAIN["plain"]),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_reads_alike_as_text_bytes_and_lines(name):
    text = LOGS[name]
    expected = read_trajectory(text).trajectory
    assert expected.format == name
    assert read_trajectory(text.encode()).trajectory == expected
    assert read_trajectory(iter(text.splitlines(keepends=True))).trajectory == expected
    assert read_trajectory(iter(text.encode().splitlines())).trajectory == expected


@pytest.mark.parametrize("name", LOGS)
def test_broken_lines_anywhere_are_counted_and_the_rest_is_read(name):
    broken = ['{"type": ', *LOGS[name].splitlines(), "完", "[1]"]
    reading, whole = read_trajectory("\n".join(broken)), read_trajectory(LOGS[name])
    assert reading.trajectory == whole.trajectory
    assert reading.skipped_count == 3 + whole.skipped_count
    assert [entry.partition(":")[0] for entry in reading.skipped[:3]] == [
        "line 1",
        f"line {len(broken) - 1}",
        f"line {len(broken)}",
    ]


def test_a_line_that_is_not_utf8_is_skipped_like_any_broken_one():
    first, *rest = LOGS["codex"].encode().split(b"\n")
    reading = read_trajectory(b"\n".join([first, b'{"a": "\xff"}', *rest]))
    assert reading.skipped == ["line 2: not UTF-8 at byte 7; convert it to UTF-8"]


def test_more_broken_lines_than_are_named_are_still_counted():
    text = "\n".join([LOGS["codex"], *["{"] * 250])
    reading = read_trajectory(text)
    assert (reading.skipped_count, len(reading.skipped)) == (250, 101)
    assert reading.skipped[-1] == "… and 150 more, 250 in all"


def test_lines_are_read_one_by_one_and_only_steps_are_kept():
    alive = []

    def stream():
        for number in range(3_000):
            line = json.dumps(
                codex("event_msg", {"type": "token_count", "info": {"n": number, "x": "y" * 2_000}})
            )
            alive.append(number)
            yield line
        yield json.dumps(codex("response_item", said("user", "做完了")))

    trajectory = read_trajectory(stream()).trajectory
    assert len(alive) == 3_000
    assert [step.text for step in trajectory.steps] == ["做完了"]


def test_too_many_steps_in_lines_are_refused():
    def stream():
        for _ in range(20_001):
            yield '{"role": "user", "content": "x"}'

    with pytest.raises(InvalidArgumentError, match="more than 20000 steps; split the run"):
        read_trajectory(stream())


@pytest.mark.parametrize("source", [iter([]), iter(["\n", " "]), iter([b""])])
def test_a_stream_with_nothing_in_it_is_refused(source):
    with pytest.raises(InvalidArgumentError, match="empty"):
        read_trajectory(source)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (lines({"a": 1}, {"b": 2}), "a list of dict, the first with a"),
        ({"name": "x", "价格": 3}, "an object with name, 价格"),
        (lines(codex("turn_context", {}), codex("turn_context", {})), "nothing readable in it"),
    ],
)
def test_what_is_no_log_is_refused_with_what_was_seen_and_every_known_format(source, said):
    with pytest.raises(InvalidArgumentError) as caught:
        read_trajectory(source)
    assert said in caught.value.message
    for adapter in ADAPTERS:
        assert adapter.looks in caught.value.message


def test_the_table_of_formats_lists_each_adapter_and_no_other():
    rows = [
        line.split("|")[1].strip() for line in DOCS.read_text("utf-8").splitlines() if line.startswith("| `")
    ]
    assert rows == [f"`{adapter.name}`" for adapter in ADAPTERS]

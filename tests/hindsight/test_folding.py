"""Low-level actions fold into what they achieved, nothing is lost on the way, and failures stay."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from siltstone.hindsight import look_back, read_trajectory, summarize_run
from siltstone.hindsight.folding import fold
from siltstone.model import Outcome, Role, Step, Trajectory


def run(goal, *steps, **fields):
    made = [Step(number=n, **step) for n, step in enumerate(steps, start=1)]
    return Trajectory(goal=goal, steps=made, **fields)


def do(tool, _result="", _error=False, _text="", **arguments):
    return {"tool": tool, "arguments": arguments, "result": _result, "is_error": _error, "text": _text}


def texts(trajectory):
    return [(step.numbers, step.text) for step in fold(trajectory)]


PASSWORD = {"element": "Password textbox", "ref": "e4", "text": "hunter2!x"}
SHOP = [
    do("browser_navigate", url="https://shop.example/login"),
    do("browser_snapshot"),
    do("browser_type", element="User name", ref="e3", text="bob"),
    do("browser_type", **PASSWORD),
    do("browser_click", element="Sign in button", ref="e5"),
    do("browser_wait_for", time=2),
    do("browser_navigate", url="https://shop.example/brands"),
    do("browser_click", element="Add new brand", ref="e7"),
    do("browser_type", element="Name", ref="e9", text="Nike"),
    do("browser_select_option", element="Country", ref="e10", values=["Japan"]),
    do("browser_hover", element="Save", ref="e11"),
    do("browser_click", element="Save", ref="e11"),
    do("browser_take_screenshot"),
]


def test_a_log_in_and_a_form_fold_into_two_steps_with_their_numbers():
    assert texts(run("Add a brand", *SHOP)) == [
        ([1, 2, 3, 4, 5, 6], "opened https://shop.example/login; logged in as bob"),
        (
            [7, 8, 9, 10, 11, 12, 13],
            "opened https://shop.example/brands; submitted the form: Name = “Nike”, Country = “Japan”; "
            "clicked “Add new brand”",
        ),
    ]


def test_a_chinese_log_is_told_in_chinese():
    trajectory = run(
        "新建品牌",
        do("goto", url="https://shop.example"),
        do("fill", label="用户名", value="张三"),
        do("fill", label="密码", value="芝麻开门8"),
        do("click", label="登录"),
        do("click", label="品牌"),
        do("fill", label="名称", value="耐克"),
        do("press", key="Enter"),
        do("scroll", direction="down"),
    )
    assert texts(trajectory) == [
        ([1, 2, 3, 4], "打开了 https://shop.example；以 张三 登录"),
        ([5, 6, 7, 8], "提交了表单：名称 = “耐克”；点击了 “品牌”"),
    ]


def test_ids_paths_and_coordinates_of_a_page_never_show():
    trajectory = run(
        "Click around",
        do("click", xpath="/html/body/div[4]/a[2]", label="14"),
        do("click", selector="#root > div.btn"),
        do("computer", action="left_click", coordinate=[10, 20]),
        do("click", selector="button:has-text('Books')"),
        do("Click", input="[12]"),
    )
    assert texts(trajectory) == [([1, 2, 3, 4, 5], "clicked “Books”; clicked 4 elements")]


def test_a_form_filled_in_one_call_is_told_without_its_secrets():
    fields = [
        {"name": "Email", "type": "textbox", "ref": "e1", "value": "bob@example.org"},
        {"name": "Password", "type": "textbox", "ref": "e2", "value": "hunter2!x"},
    ]
    (step,) = fold(
        run("Log in", do("browser_fill_form", fields=fields), do("browser_press_key", key="Enter"))
    )
    assert step.text == "logged in as Email = bob@example.org"
    assert "hunter2!x" not in str(step)


FAILING = do("browser_click", "TimeoutError: 5000ms exceeded", True, element="Save", ref="e9")


def test_the_action_that_failed_is_there_with_its_error_and_its_count():
    trajectory = run(
        "Save it",
        do("browser_type", element="Name", ref="e1", text="Nike"),
        FAILING,
        do("browser_wait_for", time=1),
        FAILING,
        FAILING,
        FAILING,
    )
    (step,) = fold(trajectory)
    assert step.numbers == [1, 2, 3, 4, 5, 6]
    assert (step.failed, step.error) == (True, "TimeoutError: 5000ms exceeded")
    said = "filled in Name = “Nike”; failed at browser_click “Save” (tried 4 times)"
    assert step.text == f"{said}: TimeoutError: 5000ms exceeded"
    assert (6, "TimeoutError: 5000ms exceeded") in step.quotes


def test_a_failure_that_was_tried_again_with_success_is_none():
    trajectory = run("Save it", FAILING, do("browser_click", "ok", element="Save", ref="e9"))
    (step,) = fold(trajectory)
    assert (step.text, step.failed) == ("clicked “Save”", False)


def test_what_goes_on_after_a_failure_is_a_step_of_its_own():
    trajectory = run("Save it", FAILING, do("browser_click", "ok", element="Cancel", ref="e2"))
    assert [(s.numbers, s.failed, s.text) for s in fold(trajectory)] == [
        ([1], True, "failed at browser_click “Save”: TimeoutError: 5000ms exceeded"),
        ([2], False, "clicked “Cancel”"),
    ]


def test_a_verdict_about_actions_belongs_to_them():
    row = {
        "task": "shop: 新建品牌",
        "error": "Failed at step 2",
        "steps": [
            {"action": {"name": "click", "args": {"label": "3", "xpath": "/html/a"}}},
            {"action": {"name": "finish", "args": {"status": "success", "reason": "已点击“品牌”菜单。"}}},
            {"action": {"name": "scroll", "args": {"direction": "down"}}},
            {"action": {"name": "finish", "args": {"status": "fail", "reason": "页面上没有“保存”按钮。"}}},
        ],
    }
    (step,) = fold(read_trajectory(row).trajectory)
    assert step.numbers == [1, 2, 3, 4, 5]
    assert step.error == "页面上没有“保存”按钮。；Failed at step 2"
    assert step.text == f"已点击“品牌”菜单。；失败于 scroll：{step.error}"


def test_a_coarse_log_is_left_as_it_is():
    row = {
        "history": [
            {
                "model_output": {"next_goal": goal, "action": [{"click_element_by_index": {"index": n}}]},
                "result": [{"extracted_content": f"Clicked {n}"}],
                "state": {},
            }
            for n, goal in enumerate(["Open the shop", "Open the cart"])
        ]
    }
    trajectory = read_trajectory(row).trajectory
    assert [step.numbers for step in fold(trajectory)] == [[1], [2]]


SHELL = {"tool": "bash", "arguments": {"command": "make"}, "result": "error: no rule", "is_error": True}


@pytest.mark.parametrize(
    ("last", "goal", "said"),
    [
        (SHELL, "Build it", "bash: make: error: no rule (tried 4 times)"),
        (SHELL, "构建项目", "bash: make: error: no rule（尝试 4 次）"),
        (
            {**SHELL, "result": "ok", "is_error": False},
            "Build it",
            "bash: make (tried 4 times, the last worked)",
        ),
        ({**SHELL, "result": "好", "is_error": False}, "构建", "bash: make（尝试 4 次，最后成功）"),
    ],
)
def test_retries_of_any_call_collapse_with_their_count(last, goal, said):
    (step,) = fold(run(goal, SHELL, SHELL, SHELL, last))
    assert (step.text, step.count, step.numbers) == (said, 4, [1, 2, 3, 4])
    assert step.failed is last["is_error"]


def test_rounds_that_repeat_are_one_step_and_a_changed_call_ends_them():
    test = {"tool": "bash", "arguments": {"command": "pytest"}, "result": "1 failed", "is_error": True}
    look = {"tool": "read_file", "arguments": {"path": "a.py"}, "result": "x = 1"}
    edit = {"tool": "edit_file", "arguments": {"path": "a.py", "new": "x = 2"}, "result": "done"}
    folded = fold(run("Fix it", test, look, test, look, test, look, edit))
    assert [step.numbers for step in folded] == [[1, 2, 3, 4, 5, 6], [7]]
    assert folded[0].text == "bash: pytest: 1 failed → read_file(path=a.py) (loop, 3 times)"
    assert (folded[0].failed, folded[0].error, folded[0].count) == (True, "1 failed", 3)


def test_tools_that_only_sound_like_a_browsers_stay_as_they_are():
    trajectory = run(
        "Work",
        do("open", path="a.py"),
        do("select", query="SELECT 1"),
        do("check", name="disk"),
        do("bash", command="type ls"),
    )
    assert [step.low_level for step in fold(trajectory)] == [False] * 4


def test_messages_stay_and_part_what_was_done_before_and_after():
    user = {"role": Role.USER, "text": "Now the cart"}
    trajectory = run("Shop", do("browser_click", element="Home"), user, do("browser_click", element="Cart"))
    assert texts(trajectory) == [([1], "clicked “Home”"), ([2], "Now the cart"), ([3], "clicked “Cart”")]


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNKNOWN])
def test_lessons_and_summary_tell_what_was_achieved_and_quote_the_log(assert_proven, outcome):
    trajectory = run("Add a brand", *SHOP, FAILING, outcome=outcome)
    lessons = look_back(trajectory)
    shown = str(lessons) + summarize_run(trajectory, lessons)
    assert_proven(trajectory, lessons)
    assert "logged in as bob" in shown
    assert "TimeoutError: 5000ms exceeded" in shown
    assert "hunter2!x" not in shown


TOOLS = [
    "click",
    "fill",
    "scroll",
    "browser_navigate",
    "finish",
    "bash",
    "press",
    "wait",
    "select",
    "",
    "Type",
]
STEP = st.builds(
    Step,
    role=st.sampled_from([Role.AGENT, Role.TOOL]),
    tool=st.sampled_from(TOOLS),
    arguments=st.dictionaries(
        st.sampled_from(
            ["label", "text", "url", "password", "reason", "status", "command", "key", "fields", "input"]
        ),
        st.sampled_from(
            ["Save", "登录", "[3]; x", "fail", "Enter", "a\nb", 3, None, ["x"], [{"value": "v"}], ""]
        ),
        max_size=3,
    ),
    text=st.sampled_from(["", "Then save it.", "然后保存。"]),
    result=st.sampled_from(["", "ok", "Error: no element", "失败：没有元素"]),
    is_error=st.booleans(),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(STEP, max_size=14), st.sampled_from(["Save it", "保存"]))
def test_every_step_is_in_exactly_one_folded_step_and_quotes_are_verbatim(steps, goal):
    for number, step in enumerate(steps, start=1):
        step.number = number
    trajectory = Trajectory(goal=goal, steps=steps)
    folded = fold(trajectory)
    assert [n for step in folded for n in step.numbers] == list(range(1, len(steps) + 1))
    assert folded == fold(trajectory)
    for step in folded:
        assert step.text
        assert not step.failed or any(s.is_error or s.result or s.arguments for s in steps)
        for number, quote in step.quotes:
            original = steps[number - 1]
            leaves = [original.text, original.result, json.dumps(original.arguments, ensure_ascii=False)]
            written = json.dumps(quote, ensure_ascii=False)[1:-1]
            assert quote
            assert any(quote in leaf or written in leaf for leaf in leaves)
    if steps and steps[-1].is_error:
        assert folded[-1].failed

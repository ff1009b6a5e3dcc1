from siltstone.hindsight import derive_state
from siltstone.hindsight.state import DONE_BLOCK, MOST_DONE
from siltstone.model import DerivedState, Role, Step


def derived(*steps: Step) -> DerivedState:
    for number, step in enumerate(steps, 1):
        step.number = number
    return derive_state(steps)


def bash(command: str, result: str = "ok", text: str = "") -> Step:
    return Step(tool="bash", arguments={"command": command}, result=result, text=text)


def test_no_steps_leave_an_empty_state() -> None:
    assert derived() == DerivedState()


def test_actions_are_what_was_done_with_failures_named_and_repeats_counted() -> None:
    state = derived(
        bash("df -h"), bash("make test", "2 failed"), bash("make test", "2 failed"), bash("make build")
    )
    assert state.steps_done == ["bash: df -h", "bash: make test — failed (×2)", "bash: make build"]


def test_clicks_fold_into_what_they_achieved() -> None:
    state = derived(
        *(Step(tool="click", arguments={"selector": f"#field{i}"}) for i in range(5)),
        Step(tool="fill", arguments={"selector": "#name", "text": "Acme"}),
    )
    assert len(state.steps_done) == 1
    assert "Acme" in state.steps_done[0]


def test_the_last_error_stays_with_its_step_and_action_even_after_it_is_mended() -> None:
    state = derived(
        bash("curl http://api", "curl: (7) Failed to connect to api"),
        bash("sed -i s/127.0.0.1/0.0.0.0/ server.js"),
        bash("curl http://api", "HTTP/1.1 200 OK"),
    )
    assert state.last_error_step == 1
    assert "curl http://api" in state.last_error
    assert "Failed to connect" in state.last_error
    assert state.open_points == []


def test_what_fails_is_open_until_it_works() -> None:
    failing = bash("make test", "2 failed")
    assert any("make test" in point for point in derived(failing).open_points)
    assert derived(failing, bash("make test", "5 passed")).open_points == []


def test_what_a_person_asked_is_open_until_the_agent_speaks() -> None:
    asked = Step(role=Role.USER, text="I want to cancel my reservation ABC123.")
    assert any("cancel" in point for point in derived(asked).open_points)
    assert derived(asked, Step(text="Your reservation is cancelled.")).open_points == []


def test_announced_work_is_open_in_english_and_chinese() -> None:
    assert derived(Step(text="Fixed the parser. We still need to update the docs.")).open_points == [
        "We still need to update the docs."
    ]
    assert derived(Step(text="解析器修好了。还需要更新文档。")).open_points == ["还需要更新文档。"]


def test_the_hypothesis_is_the_last_one_stated() -> None:
    state = derived(Step(text="I think the cache is stale."), Step(text="Maybe the proxy drops the header."))
    assert state.current_hypothesis == "Maybe the proxy drops the header."
    for text in ("我怀疑是磁盘满了。", "原因可能是端口被占用。", "The cause may be a full disk."):
        assert derived(Step(text=text)).current_hypothesis == text


def test_a_hypothesis_that_is_ruled_out_is_dropped() -> None:
    supposed = Step(text="I suspect the proxy cache.")
    assert derived(supposed, Step(text="It is not the proxy cache.")).current_hypothesis == ""
    assert derived(supposed, Step(text="It is not the weather.")).current_hypothesis != ""
    assert derived(Step(text="可能是端口冲突。"), Step(text="排除了端口冲突。")).current_hypothesis == ""


def test_what_others_suppose_is_no_hypothesis() -> None:
    said = Step(role=Role.USER, text="I think the cache is stale.")
    page = Step(tool="read", result="I think the cache is stale.")
    assert derived(said, page).current_hypothesis == ""


def test_stated_causes_are_findings_once_each() -> None:
    cause = "The root cause is that api listens on 127.0.0.1 only."
    state = derived(Step(text=cause), Step(text=cause), Step(text="根本原因是监听地址写错了。"))
    assert state.findings == [cause, "根本原因是监听地址写错了。"]


def test_secrets_are_masked() -> None:
    state = derived(
        Step(
            tool="login",
            arguments={"user": "mia", "password": "hunter2-secret"},
            result="error: denied for hunter2-secret",
        ),
        Step(text="The cause is that the password is hunter2!secret indeed."),
    )
    assert "hunter2" not in repr(state)


def test_lists_are_bounded_and_lose_their_beginning_in_blocks() -> None:
    starts = []
    for count in range(1, 80):
        state = derived(*(bash(f"run{i}") for i in range(count)))
        assert len(state.steps_done) + state.dropped == count
        assert len(state.steps_done) <= MOST_DONE
        assert state.steps_done[-1] == f"bash: run{count - 1}"
        starts.append(state.steps_done[0])
    assert len(set(starts)) <= 1 + 80 // DONE_BLOCK


def test_huge_and_odd_texts_leave_short_lines() -> None:
    text = "可能是" + "汉" * 200_000 + "\x00\u202e" + "🙂" * 50_000
    state = derived(
        Step(text=text, tool="工具" * 30, arguments={"a": text}, result=text, is_error=True), Step(text=text)
    )
    assert len(repr(state)) < 4_000

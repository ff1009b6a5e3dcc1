from dataclasses import replace

import pytest
import siltstone
from siltstone.local import Local

STEPS = [
    {"role": "USER", "text": "web cannot reach api by its name"},
    {
        "tool": "run_command",
        "arguments": {"cmd": "curl http://api:3000"},
        "result": "curl: (7) Failed to connect",
        "is_error": True,
    },
    {
        "text": "The cause is that api listens on 127.0.0.1 only.",
        "tool": "read_file",
        "arguments": {"path": "server.js"},
        "result": "app.listen(3000, '127.0.0.1')",
    },
    {
        "text": "I change the listen address to 0.0.0.0.",
        "tool": "edit_file",
        "arguments": {"path": "server.js", "new": "app.listen(3000, '0.0.0.0')"},
        "result": "ok",
    },
    {"tool": "run_command", "arguments": {"cmd": "curl http://api:3000"}, "result": "HTTP/1.1 200 OK"},
]


def test_a_task_keeps_what_the_agent_set_word_for_word(mem: Local) -> None:
    task = mem.start_task("让 web 能访问 api", task_type="troubleshooting")
    assert (task.status, task.revision) == ("RUNNING", 1)
    task = mem.update_task(
        task.id,
        current_hypothesis="api 只监听 127.0.0.1",
        pending=["看监听地址"],
        findings=["名字能解析"],
        steps_done=["试了 curl"],
        variables={"端口": "3000"},
    )
    assert replace(mem.get_task(task.id), derived=None) == task
    assert task.current_hypothesis == "api 只监听 127.0.0.1"
    text = mem.render_task(task.id).text
    for words in (
        "让 web 能访问 api",
        "api 只监听 127.0.0.1",
        "看监听地址",
        "名字能解析",
        "试了 curl",
        "端口: 3000",
    ):
        assert words in text


def test_steps_are_numbered_on_and_the_last_error_is_rendered(mem: Local) -> None:
    task = mem.start_task("web must reach api")
    assert mem.append_steps(task.id, STEPS[:2]).step_count == 2
    rendered = mem.render_task(task.id)
    assert "Failed to connect" in rendered.text
    assert rendered.text.startswith("# Goal\nweb must reach api")
    assert mem.append_steps(task.id, STEPS[2:]).step_count == 5


@pytest.mark.parametrize("max_tokens", [16, 40, 800])
def test_a_rendering_never_exceeds_its_budget(mem: Local, max_tokens: int) -> None:
    task = mem.start_task("a goal that takes some words to say, and then more words " * 3)
    mem.append_steps(task.id, STEPS)
    mem.write("api should listen on 0.0.0.0")
    rendered = mem.render_task(task.id, max_tokens=max_tokens, with_memories=3)
    assert 0 < rendered.tokens <= max_tokens
    assert rendered.truncated == (max_tokens < 800)


def test_a_rendering_brings_the_best_memories_for_the_goal(mem: Local) -> None:
    id = mem.write("api should listen on 0.0.0.0 so that web can reach it").memory.id
    task = mem.start_task("web must reach api")
    rendered = mem.render_task(task.id, with_memories=1)
    assert rendered.memory_ids == [id]
    assert "0.0.0.0" in rendered.text


def test_a_stale_patch_is_refused_and_a_finished_task_takes_no_more(mem: Local) -> None:
    task = mem.start_task("x")
    mem.update_task(task.id, pending=["a"], revision=1)
    with pytest.raises(siltstone.StaleRevisionError):
        mem.update_task(task.id, pending=["b"], revision=1)
    mem.finish_task(task.id, "FAILURE", wait=True)
    for call in (
        lambda: mem.update_task(task.id, pending=["c"]),
        lambda: mem.append_steps(task.id, STEPS),
        lambda: mem.finish_task(task.id, "SUCCESS"),
    ):
        with pytest.raises(siltstone.FailedPreconditionError) as caught:
            call()
        assert caught.value.reason == "TASK_FINISHED"


def test_finishing_a_task_yields_its_lesson(mem: Local) -> None:
    task = mem.start_task("web must reach api by its service name")
    mem.append_steps(task.id, STEPS)
    job = mem.finish_task(task.id, "SUCCESS", wait=True)
    assert (job.state, job.task_id) == ("DONE", task.id)
    assert job.hindsight is not None
    [receipt] = job.hindsight.receipts
    assert receipt.action == "CREATED"
    memory = receipt.memory
    assert memory.lesson is not None
    assert "0.0.0.0" in memory.lesson.solution
    assert memory.source is not None
    assert memory.source.task_id == task.id
    assert mem.search("web cannot reach api").hits[0].memory.id == memory.id
    assert mem.list_hindsight_jobs()[0].id == job.id
    assert mem.get_task(task.id).hindsight_job_id == job.id


def test_the_same_trajectory_again_is_unchanged(mem: Local) -> None:
    trajectory = {"goal": "web must reach api by its service name", "outcome": "SUCCESS", "steps": STEPS}
    first = mem.summarize_trajectory(trajectory)
    assert [r.action for r in first.receipts] == ["CREATED"] * len(first.lessons)
    again = mem.summarize_trajectory(trajectory)
    assert [r.action for r in again.receipts] == ["UNCHANGED"] * len(first.lessons)
    assert len(mem.list()) == len(first.lessons)


def test_a_dry_run_writes_nothing(mem: Local) -> None:
    hindsight = mem.summarize_trajectory({"goal": "g", "outcome": "SUCCESS", "steps": STEPS}, dry_run=True)
    assert hindsight.lessons
    assert hindsight.receipts == []
    assert mem.list() == []


def test_the_summary_keeps_to_its_budget(mem: Local) -> None:
    hindsight = mem.summarize_trajectory(
        {"goal": "g " * 200, "outcome": "SUCCESS", "steps": STEPS}, max_tokens=20, dry_run=True
    )
    assert 0 < hindsight.summary_tokens <= 20


def test_a_cancelled_job_never_runs(tmp_path: object) -> None:
    from siltstone.config import Settings

    settings = Settings(embedding_model="hashing", hindsight_workers=0)
    with siltstone.open(f"{tmp_path}/data", settings=settings) as mem:
        task = mem.start_task("x")
        mem.append_steps(task.id, STEPS)
        job = mem.finish_task(task.id, "SUCCESS")
        assert mem.cancel_hindsight_job(job.id).state == "CANCELLED"
        assert mem.get_hindsight_job(job.id).state == "CANCELLED"
    with siltstone.open(f"{tmp_path}/data", settings=Settings(embedding_model="hashing")) as mem:
        assert mem.list() == []


def test_a_job_that_waited_when_the_service_ended_runs_at_the_next_start(tmp_path: object) -> None:
    from siltstone.config import Settings

    with siltstone.open(
        f"{tmp_path}/data", settings=Settings(embedding_model="hashing", hindsight_workers=0)
    ) as mem:
        task = mem.start_task("web must reach api")
        mem.append_steps(task.id, STEPS)
        job = mem.finish_task(task.id, "SUCCESS")
    with siltstone.open(f"{tmp_path}/data", settings=Settings(embedding_model="hashing")) as mem:
        mem.engine.jobs.wait(job.id, timeout=30)
        assert mem.get_hindsight_job(job.id).state == "DONE"
        assert len(mem.list()) == 1


@pytest.mark.parametrize("source", [{}, [], {"steps": []}, {"messages": [1, 2]}, "no-such-file.json", [[[]]]])
def test_what_is_no_trajectory_is_refused(mem: Local, source: object) -> None:
    with pytest.raises(siltstone.InvalidArgumentError):
        mem.summarize_trajectory(source)  # type: ignore[arg-type]


def test_finishing_a_task_costs_its_caller_one_commit(tmp_path: object) -> None:
    from siltstone.config import Settings

    settings = Settings(embedding_model="hashing", hindsight_workers=0)
    with siltstone.open(f"{tmp_path}/data", settings=settings) as mem:
        task = mem.start_task("x")
        mem.append_steps(task.id, STEPS)
        before = mem.engine.store.info().seq
        assert mem.finish_task(task.id, "SUCCESS").trigger == "FINISH"
        assert mem.engine.store.info().seq == before + 1


def test_lists_of_tasks_come_in_pages(mem: Local) -> None:
    ids = [mem.start_task(f"goal {i}").id for i in range(5)]
    first = mem.list_tasks(page_size=3)
    rest = mem.list_tasks(page_size=3, page_token=first.next_page_token)
    assert [t.id for t in [*first, *rest]] == ids
    mem.finish_task(ids[0], "SUCCESS", wait=True)
    assert [t.id for t in mem.list_tasks(status="FINISHED")] == ids[:1]


def test_a_task_finished_twice_alike_gives_its_job_again_and_otherwise_is_refused(mem: Local) -> None:
    task = mem.start_task("让 web 访问 api")
    mem.append_steps(task.id, [{"text": "端口是 3307"}])
    job = mem.finish_task(task.id, "SUCCESS")
    again = mem.finish_task(task.id, "SUCCESS", wait=True)
    assert (again.id, again.state) == (job.id, "DONE")
    assert len(mem.list_hindsight_jobs()) == 1
    with pytest.raises(siltstone.FailedPreconditionError, match="finished as SUCCESS") as caught:
        mem.finish_task(task.id, "FAILURE")
    assert caught.value.reason == "TASK_FINISHED"


@pytest.mark.parametrize("name", ["", "  ", "键" * 2000])
def test_a_variable_needs_a_name_of_ordinary_length(mem: Local, name: str) -> None:
    task = mem.start_task("清理磁盘", namespace="team/a")
    with pytest.raises(siltstone.InvalidArgumentError, match=r"variables key: (is blank|6000 bytes)"):
        mem.update_task(task.id, variables={"路径": "/var", name: "x"})
    assert mem.get_task(task.id).variables == {}

"""When a task is looked back over, and that it says a thing once however often that is."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.local import Local
from siltstone.model import HindsightJob

FIX: list[dict[str, Any]] = [
    {
        "tool": "run_command",
        "arguments": {"cmd": "curl http://api:3000"},
        "result": "curl: (7) Failed to connect to api port 3000: Connection refused",
        "is_error": True,
    },
    {
        "text": "The root cause is that api listens on 127.0.0.1 only.",
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
LOOK = {"tool": "read_file", "arguments": {"path": "notes.md"}, "result": "plain notes"}


def ended(mem: Local, id: str) -> HindsightJob:
    assert mem.engine.jobs.wait(id, timeout=30)
    return mem.get_hindsight_job(id)


def job_of(mem: Local, task_id: str) -> HindsightJob:
    return ended(mem, mem.get_task(task_id).hindsight_job_id)


def test_a_running_task_is_looked_back_over_every_ten_steps(mem: Local) -> None:
    task = mem.start_task("web must reach api by its service name")
    assert mem.append_steps(task.id, [*FIX, *[LOOK] * 5]).hindsight_job_id == ""
    task = mem.append_steps(task.id, [LOOK])
    assert task.hindsight_steps == 10
    job = job_of(mem, task.id)
    assert (job.state, job.trigger, job.progress) == ("DONE", "TURNS", 1.0)
    [memory] = mem.list()
    assert "0.0.0.0" in memory.content
    assert mem.get_task(task.id).memory_ids == [memory.id]
    assert mem.append_steps(task.id, [LOOK] * 9).hindsight_job_id == job.id
    assert mem.append_steps(task.id, [LOOK]).hindsight_job_id != job.id


def test_each_task_has_its_own_number_of_steps_and_zero_is_never(mem: Local) -> None:
    often, never = mem.start_task("a", hindsight_every=2), mem.start_task("b", hindsight_every=0)
    assert mem.append_steps(often.id, [LOOK] * 2).hindsight_job_id != ""
    assert mem.append_steps(never.id, [LOOK] * 50).hindsight_job_id == ""
    for wrong in (-1, 10_001):
        with pytest.raises(siltstone.InvalidArgumentError, match="hindsight_every"):
            mem.start_task("c", hindsight_every=wrong)


def test_while_a_task_runs_only_what_holds_already_is_kept(mem: Local) -> None:
    task = mem.start_task("web must reach api by its service name")
    mem.append_steps(task.id, FIX[:2])
    job = mem.create_hindsight_job(task.id, wait=True)
    assert (job.state, job.trigger) == ("DONE", "REQUEST")
    assert mem.list() == []


def test_several_looks_at_a_task_say_a_thing_once(mem: Local) -> None:
    task = mem.start_task("web must reach api by its service name", hindsight_every=0)
    mem.append_steps(task.id, FIX)
    first = mem.create_hindsight_job(task.id, wait=True)
    assert first.hindsight is not None
    assert [receipt.action for receipt in first.hindsight.receipts] == ["CREATED"]
    again = mem.create_hindsight_job(task.id, wait=True)
    assert again.hindsight is not None
    assert [receipt.action for receipt in again.hindsight.receipts] == ["UNCHANGED"]
    mem.append_steps(task.id, [LOOK])
    last = mem.finish_task(task.id, "SUCCESS", wait=True)
    assert last.hindsight is not None
    assert {receipt.action for receipt in last.hindsight.receipts} == {"UNCHANGED"}
    [memory] = mem.list()
    assert memory.source is not None
    assert (memory.source.task_id, memory.source.trajectory) == (task.id, f"task:{task.id}")
    assert memory.confidence == first.hindsight.receipts[0].memory.confidence


@pytest.mark.parametrize(
    "step",
    [
        {"text": "记住这个：生产库的端口是 3307。", "role": "USER"},
        {"text": "Note for next time: the production database listens on port 3307."},
        {"text": "The production database listens on port 3307.", "remember": True},
    ],
)
def test_what_a_step_asks_to_remember_is_kept_at_once(mem: Local, step: dict[str, Any]) -> None:
    task = mem.start_task("迁移数据库", task_type="migration")
    mem.append_steps(task.id, [LOOK])
    mem.append_steps(task.id, [step])
    job = job_of(mem, task.id)
    assert (job.state, job.trigger) == ("DONE", "REMEMBER")
    [memory] = mem.list()
    assert "3307" in memory.content
    assert (memory.memory_type, memory.tags, memory.task_type) == ("SEMANTIC", ["remember"], "migration")
    assert memory.source is not None
    assert memory.source.steps == [2]
    mem.finish_task(task.id, "SUCCESS", wait=True)
    assert [m.content for m in mem.list() if "remember" in m.tags] == [memory.content]


def test_not_to_remember_is_no_trigger(mem: Local) -> None:
    task = mem.start_task("x")
    assert mem.append_steps(task.id, [{"text": "I don't remember this."}]).hindsight_job_id == ""
    assert mem.append_steps(task.id, [{"tool": "t", "result": "remember this: x"}]).hindsight_job_id == ""


def test_an_idle_task_is_looked_back_over_once(mem: Local) -> None:
    idle, busy = mem.start_task("web must reach api"), mem.start_task("nothing done")
    mem.append_steps(idle.id, FIX)
    now = datetime.now(UTC)
    mem.engine.task_keeper.look_after(now + timedelta(minutes=29))
    assert mem.list_hindsight_jobs() == []
    mem.engine.task_keeper.look_after(now + timedelta(minutes=31))
    job = job_of(mem, idle.id)
    assert (job.state, job.trigger) == ("DONE", "IDLE")
    assert len(mem.list()) == 1
    mem.engine.task_keeper.look_after(now + timedelta(minutes=90))
    assert [j.id for j in mem.list_hindsight_jobs()] == [job.id]
    assert mem.get_task(busy.id).hindsight_job_id == ""
    assert mem.get_task(idle.id).revision == 1, "the service's own notes make nobody's view stale"


def test_a_job_that_waits_takes_up_what_comes(tmp_path: object) -> None:
    settings = Settings(embedding_model="hashing", hindsight_workers=0)
    with siltstone.open(f"{tmp_path}/data", settings=settings) as mem:
        task = mem.start_task("x", hindsight_every=2)
        for _ in range(4):
            mem.append_steps(task.id, [LOOK])
        [job] = mem.list_hindsight_jobs()
        assert (job.state, job.trigger) == ("QUEUED", "TURNS")
        assert mem.finish_task(task.id, "SUCCESS").id == job.id
        assert mem.get_hindsight_job(job.id).trigger == "FINISH"


def test_a_task_without_steps_is_not_looked_back_over_on_request(mem: Local) -> None:
    task = mem.start_task("x")
    with pytest.raises(siltstone.FailedPreconditionError) as caught:
        mem.create_hindsight_job(task.id)
    assert caught.value.reason == "NO_STEPS"

"""What becomes of finished tasks and ended jobs with time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.engine import task_keeper
from siltstone.local import Local
from siltstone.model import Task

from .test_triggers import FIX, LOOK


def later(**given: float) -> datetime:
    return datetime.now(UTC) + timedelta(**given)


def finished(mem: Local) -> Task:
    task = mem.start_task("web must reach api by its service name", hindsight_every=0)
    mem.append_steps(task.id, [*FIX, *[LOOK] * 20])
    assert mem.finish_task(task.id, "SUCCESS", wait=True).state == "DONE"
    return mem.get_task(task.id)


def steps(mem: Local, task_id: str) -> list[int]:
    with mem.engine.store.read() as reader:
        return [step.number for step in reader.steps(task_id)]


def test_after_a_week_a_finished_task_keeps_the_steps_that_its_memories_cite(mem: Local) -> None:
    task = finished(mem)
    mem.engine.task_keeper.look_after(later(days=6))
    assert len(steps(mem, task.id)) == 24
    mem.engine.task_keeper.look_after(later(days=8))
    [memory] = mem.list()
    assert memory.source is not None
    assert memory.source.task_id == task.id
    assert steps(mem, task.id) == memory.source.steps
    assert 0 < len(memory.source.steps) <= 4
    kept = mem.get_task(task.id)
    assert kept.compress_time is not None
    assert (kept.step_count, kept.revision, kept.goal) == (24, task.revision, task.goal)
    assert mem.render_task(task.id).text.startswith("# Goal\n")


def test_of_a_compressed_task_no_lessons_are_drawn_any_more(mem: Local) -> None:
    task = finished(mem)
    mem.engine.task_keeper.look_after(later(days=8))
    with pytest.raises(siltstone.FailedPreconditionError) as caught:
        mem.create_hindsight_job(task.id)
    assert caught.value.reason == "COMPRESSED"


def test_a_task_that_was_not_looked_back_over_keeps_its_steps(tmp_path: Path) -> None:
    settings = Settings(embedding_model="hashing", hindsight_workers=0)
    with siltstone.open(tmp_path / "data", settings=settings) as mem:
        task = mem.start_task("x")
        mem.append_steps(task.id, FIX)
        mem.finish_task(task.id, "SUCCESS")
        mem.engine.task_keeper.look_after(later(days=80))
        assert len(steps(mem, task.id)) == 4


def test_running_tasks_are_never_compressed_nor_dropped(mem: Local) -> None:
    task = mem.start_task("x")
    mem.append_steps(task.id, [LOOK] * 3)
    mem.engine.task_keeper.look_after(later(days=5000))
    assert len(steps(mem, task.id)) == 3


def test_after_its_time_a_finished_task_is_gone_and_its_memories_stay(
    mem: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_keeper, "_STEPS_AT_ONCE", 7)  # several small commits
    task = finished(mem)
    mem.engine.task_keeper.look_after(later(days=91))
    with pytest.raises(siltstone.NotFoundError):
        mem.get_task(task.id)
    assert steps(mem, task.id) == []
    [memory] = mem.list()
    assert memory.source is not None
    assert memory.source.task_id == task.id
    assert memory.source.steps
    assert mem.check().problems == []


def test_many_tasks_are_looked_at_in_portions(mem: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_keeper, "_LOOKED_AT", 3)
    ids = [mem.start_task(f"任务 {i}").id for i in range(8)]
    for id in ids[::2]:
        mem.finish_task(id, "UNKNOWN", wait=True)
    mem.engine.task_keeper.look_after(later(days=91))
    assert [task.id for task in mem.list_tasks()] == ids[1::2]


def test_ended_jobs_go_after_a_month_and_open_ones_stay(mem: Local) -> None:
    finished(mem)
    mem.engine.task_keeper.look_after(later(days=29))
    assert len(mem.list_hindsight_jobs()) == 1
    mem.engine.task_keeper.look_after(later(days=31))
    assert len(mem.list_hindsight_jobs()) == 0


def test_a_setting_of_zero_keeps_everything(tmp_path: Path) -> None:
    settings = Settings(
        embedding_model="hashing",
        hindsight_idle_minutes=0,
        task_compress_days=0,
        task_keep_days=0,
        job_keep_days=0,
    )
    with siltstone.open(tmp_path / "data", settings=settings) as mem:
        task = finished(mem)
        idle = mem.start_task("idle")
        mem.append_steps(idle.id, [LOOK])
        mem.engine.task_keeper.look_after(later(days=5000))
        assert len(steps(mem, task.id)) == 24
        assert len(mem.list_hindsight_jobs()) == 1
        assert mem.get_task(idle.id).hindsight_job_id == ""

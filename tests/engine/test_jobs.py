"""The queue of hindsight jobs: states, retries, cancelling, and what a job leaves."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.engine.call import Call
from siltstone.engine.jobs import Control, JobRunner, Keep, backoff
from siltstone.errors import InternalError
from siltstone.local import Local
from siltstone.model import Hindsight, HindsightJob, JobState, MemoryDraft, Task
from siltstone.model.requests import WriteMemoriesRequest
from siltstone.store import Store, Writer

BOUND = 30
Look = Callable[[HindsightJob, Control], Keep]


class Queue:
    """A store, and runners over it that retry without a pause."""

    def __init__(self, path: Path) -> None:
        self.store = Store(path, applier=lambda changes: None)
        self.runners: list[JobRunner] = []

    def runner(self, look: Look, *, threads: int = 1, attempts: int = 3, start: bool = True) -> JobRunner:
        runner = JobRunner(self.store, look, threads=threads, attempts=attempts, delay=lambda _: 0.0)
        self.runners.append(runner)
        if start:
            runner.start()
        return runner

    def job(self, goal: str = "g", **changes: object) -> HindsightJob:
        def operation(writer: Writer) -> HindsightJob:
            task = writer.put_task(Task(goal=goal))
            return writer.put_job(replace(HindsightJob(task_id=task.id), **changes))  # type: ignore[arg-type]

        return self.store.commit(operation)

    def now(self, id: str) -> HindsightJob:
        with self.store.read() as reader:
            job = reader.job(id)
        assert job is not None
        return job

    def close(self) -> None:
        for runner in self.runners:
            runner.close()
        self.store.close()


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    opened = Queue(tmp_path / "store")
    yield opened
    opened.close()


def nothing(job: HindsightJob, control: Control) -> Keep:
    return lambda writer: Hindsight(summary=f"looked at {job.task_id}")


def fail(job: HindsightJob, control: Control) -> Keep:
    raise RuntimeError("poison 毒")


def test_a_job_runs_and_tells_what_it_found(queue: Queue) -> None:
    runner = queue.runner(nothing)
    job = queue.job()
    runner.add(job)
    assert runner.wait(job.id, BOUND)
    done = queue.now(job.id)
    assert (done.state, done.attempts, done.error) == ("DONE", 1, "")
    assert done.hindsight == Hindsight(summary=f"looked at {job.task_id}")
    assert runner.with_progress(done).progress == 1.0


def test_a_poisonous_job_is_tried_so_often_and_blocks_no_other(queue: Queue) -> None:
    poison, good = queue.job("poison"), queue.job("good")

    def look(job: HindsightJob, control: Control) -> Keep:
        return fail(job, control) if job.id == poison.id else nothing(job, control)

    runner = queue.runner(look)
    assert runner.wait(good.id, BOUND)
    assert runner.wait(poison.id, BOUND)
    assert queue.now(good.id).state == "DONE"
    failed = queue.now(poison.id)
    assert (failed.state, failed.attempts, failed.retry_time) == ("FAILED", 3, None)
    assert failed.error == "RuntimeError: poison 毒"


def test_a_job_that_waits_for_its_next_try_says_when_and_lets_others_run(queue: Queue) -> None:
    poison, good = queue.job("poison"), queue.job("good")

    def look(job: HindsightJob, control: Control) -> Keep:
        return fail(job, control) if job.id == poison.id else nothing(job, control)

    runner = JobRunner(queue.store, look, threads=1, attempts=3, delay=lambda _: 3600.0)
    queue.runners.append(runner)
    runner.start()
    assert runner.wait(good.id, BOUND)
    waiting = queue.now(poison.id)
    assert (waiting.state, waiting.attempts) == ("QUEUED", 1)
    assert waiting.retry_time is not None
    assert waiting.update_time is not None
    assert (waiting.retry_time - waiting.update_time).total_seconds() == 3600


def test_a_later_start_keeps_to_the_time_of_the_next_try(queue: Queue) -> None:
    test_a_job_that_waits_for_its_next_try_says_when_and_lets_others_run(queue)
    queue.runners.pop().close()
    runner = queue.runner(nothing)
    fresh = queue.job("fresh")
    runner.add(fresh)
    assert runner.wait(fresh.id, BOUND)
    with queue.store.read() as reader:
        assert [job.state for job in reader.jobs(states={JobState.QUEUED})] == ["QUEUED"]


def test_a_clock_that_is_set_back_holds_no_job_up_for_a_year(queue: Queue) -> None:
    job = queue.job(retry_time=datetime.now(UTC) + timedelta(days=365))
    runner = queue.runner(nothing)
    assert 0 < runner._waiting[job.id].due - time.monotonic() <= 900


def test_the_pauses_between_tries_grow_to_a_quarter_of_an_hour() -> None:
    assert [backoff(n) for n in (1, 2, 3, 4, 9)] == [5, 20, 80, 320, 900]


def test_an_error_that_no_try_can_mend_ends_the_job_at_once(queue: Queue) -> None:
    def look(job: HindsightJob, control: Control) -> Keep:
        raise siltstone.InvalidArgumentError("goal: no good", field="goal")

    job = queue.job()
    runner = queue.runner(look)
    assert runner.wait(job.id, BOUND)
    assert (queue.now(job.id).state, queue.now(job.id).attempts) == ("FAILED", 1)


def test_what_a_failing_job_wrote_is_undone(queue: Queue) -> None:
    def look(job: HindsightJob, control: Control) -> Keep:
        def keep(writer: Writer) -> Hindsight:
            writer.put_task(Task(goal="half done"))
            raise InternalError("broke in the middle")

        return keep

    job = queue.job()
    runner = queue.runner(look)
    assert runner.wait(job.id, BOUND)
    assert queue.now(job.id).state == "FAILED"
    with queue.store.read() as reader:
        default = reader.namespace("default")
        assert default is not None
        assert [task.goal for task in reader.tasks(default.number)] == ["g"]


def test_a_job_whose_process_ends_each_time_counts_as_failed(queue: Queue) -> None:
    job = queue.job(state=JobState.RUNNING, attempts=3)
    runner = queue.runner(nothing)
    assert runner.wait(job.id, BOUND)
    assert queue.now(job.id).state == "FAILED"
    assert "ended during each of 3 tries" in queue.now(job.id).error


class Held:
    """A look that waits to be let go, and tells when it began."""

    def __init__(self) -> None:
        self.began, self.go = threading.Event(), threading.Event()
        self.order: list[str] = []

    def __call__(self, job: HindsightJob, control: Control) -> Keep:
        self.order.append(job.id)
        control.reached(0.5)
        self.began.set()
        assert self.go.wait(BOUND)
        control.reached(0.9)
        return nothing(job, control)


def test_a_running_job_tells_its_progress_and_can_be_cancelled(queue: Queue) -> None:
    held = Held()
    job = queue.job()
    runner = queue.runner(held)
    assert held.began.wait(BOUND)
    assert runner.with_progress(queue.now(job.id)).progress == 0.5
    cancelled = replace(queue.now(job.id), state=JobState.CANCELLED)
    queue.store.commit(lambda writer: writer.put_job(cancelled))
    held.go.set()
    runner.close()
    assert queue.now(job.id).state == "CANCELLED"
    assert queue.now(job.id).hindsight is None


def test_a_job_cancelled_at_the_last_moment_keeps_nothing(queue: Queue) -> None:
    def look(job: HindsightJob, control: Control) -> Keep:
        cancelled = replace(queue.now(job.id), state=JobState.CANCELLED)
        queue.store.commit(lambda writer: writer.put_job(cancelled))
        return lambda writer: Hindsight(summary=writer.put_task(Task(goal="late")).goal)

    job = queue.job()
    runner = queue.runner(look)
    assert runner.wait(job.id, BOUND)
    runner.close()
    with queue.store.read() as reader:
        default = reader.namespace("default")
        assert default is not None
        assert [task.goal for task in reader.tasks(default.number)] == ["g"]


def test_jobs_of_one_task_run_one_after_the_other(queue: Queue) -> None:
    held = Held()
    first = queue.job()
    second = queue.store.commit(lambda writer: writer.put_job(HindsightJob(task_id=first.task_id)))
    other = queue.job("other")
    runner = queue.runner(held, threads=3)
    assert held.began.wait(BOUND)
    held.go.set()
    for job in (first, second, other):
        assert runner.wait(job.id, BOUND)
    assert held.order.index(first.id) < held.order.index(second.id)
    updates = [queue.now(job.id).update_time for job in (first, second)]
    assert updates[0] < updates[1]  # type: ignore[operator]


def test_a_job_in_hand_when_the_service_ends_waits_for_the_next_start_and_the_try_does_not_count(
    queue: Queue,
) -> None:
    held = Held()
    job = queue.job()
    runner = queue.runner(held)
    assert held.began.wait(BOUND)
    closing = threading.Thread(target=runner.close)
    closing.start()
    with runner._changed:
        assert runner._changed.wait_for(lambda: runner._stopping, BOUND)
    held.go.set()
    closing.join(BOUND)
    assert not closing.is_alive()
    assert (queue.now(job.id).state, queue.now(job.id).attempts) == ("QUEUED", 0)
    again = queue.runner(nothing)
    assert again.wait(job.id, BOUND)
    assert queue.now(job.id).state == "DONE"


def test_an_ended_job_cannot_be_cancelled_and_a_waiting_one_can_twice(tmp_path: Path) -> None:
    settings = Settings(embedding_model="hashing", hindsight_workers=0)
    with siltstone.open(tmp_path / "data", settings=settings) as mem:
        job = mem.finish_task(mem.start_task("x").id, "SUCCESS")
        assert mem.cancel_hindsight_job(job.id).state == "CANCELLED"
        assert mem.cancel_hindsight_job(job.id).state == "CANCELLED"
        [listed] = mem.list_hindsight_jobs(states=["CANCELLED"])
        assert listed.id == job.id
    with siltstone.open(tmp_path / "data", settings=replace(settings, hindsight_workers=1)) as mem:
        done = mem.finish_task(mem.start_task("y").id, "SUCCESS", wait=True)
        with pytest.raises(siltstone.FailedPreconditionError) as caught:
            mem.cancel_hindsight_job(done.id)
        assert caught.value.reason == "JOB_ENDED"


def test_what_a_job_found_and_that_it_is_done_are_one_commit(mem: Local) -> None:
    """Whoever sees the lesson sees the job done, and the other way round."""
    engine = mem.engine
    task = mem.start_task("x")
    draft = MemoryDraft(content="端口是 3307")
    write = engine.writing(WriteMemoriesRequest(drafts=[draft], task_id=task.id), Call())
    seen: list[tuple[bool, bool]] = []

    def look(job: HindsightJob, control: Control) -> Keep:
        def keep(writer: Writer) -> Hindsight:
            receipts = write(writer).receipts
            with engine.store.read() as outside:
                current = outside.job(job.id)
                assert current is not None
                seen.append((outside.memory(receipts[0].memory.id) is None, current.state == "RUNNING"))
            return Hindsight(receipts=receipts)

        return keep

    engine.jobs._look = look
    done = mem.finish_task(task.id, "SUCCESS", wait=True)
    assert done.state == "DONE"
    assert seen == [(True, True)]
    assert [memory.content for memory in mem.list()] == ["端口是 3307"]

"""A server killed while it looks back over tasks: state and steps are there, and no lesson stands twice."""

import json
import os
import signal
import threading
from pathlib import Path

import pytest
import siltstone

from .cases import LOG
from .test_kill import HASHING, running_server

TASKS = 12
BOUND = 60


def log_of(number: int) -> list[dict[str, object]]:
    """The same kind of run about another service, so that no lesson is another's duplicate."""
    text = json.dumps(LOG["steps"]).replace("api", f"svc{number}x{number * 7919}")
    steps: list[dict[str, object]] = json.loads(text)
    return steps


@pytest.fixture
def killed(tmp_path: Path) -> tuple[Path, dict[str, int]]:
    """A data directory whose server died in the middle of jobs; task id → steps acknowledged."""
    acknowledged: dict[str, int] = {}
    with running_server(tmp_path) as (process, address):
        finished = threading.Semaphore(0)

        def work() -> None:
            with siltstone.Client(address, timeout=10.0) as client:
                for number in range(TASKS):
                    try:
                        task = client.start_task(f"让 web 访问 svc{number}", hindsight_every=2)
                        acknowledged[task.id] = 0
                        for step in log_of(number):
                            count = client.append_steps(task.id, [step]).step_count
                            acknowledged[task.id] = count
                        client.update_task(task.id, findings=[f"发现 {number}"])
                        client.finish_task(task.id, "SUCCESS")
                    except siltstone.SiltstoneError:
                        return
                    finished.release()

        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(TASKS // 2):
            assert finished.acquire(timeout=BOUND)
        os.kill(process.pid, signal.SIGKILL)
        thread.join(BOUND)
        assert not thread.is_alive()
    return tmp_path, acknowledged


@pytest.mark.timeout(180)
def test_after_kill_9_steps_are_there_and_each_job_is_done_once(
    killed: tuple[Path, dict[str, int]],
) -> None:
    data, acknowledged = killed
    with siltstone.open(data, settings=HASHING) as mem:
        for id, count in acknowledged.items():
            assert mem.get_task(id).step_count >= count
        jobs = mem.list_hindsight_jobs(page_size=1000)
        assert len(jobs) >= TASKS // 2
        for job in jobs:
            assert mem.engine.jobs.wait(job.id, BOUND)
            ended = mem.get_hindsight_job(job.id)
            assert (ended.state, ended.error) == ("DONE", "")
        memories = [memory for memory in mem.list(page_size=1000) if not memory.superseded_by]
        said = [memory.content for memory in memories]
        assert len(said) == len(set(said)) >= TASKS // 2
        known = {id for task in mem.list_tasks(page_size=1000) for id in task.memory_ids}
        assert {memory.id for memory in memories} <= known
        # Once more over each: nothing new is written.
        for id in acknowledged:
            if mem.get_task(id).step_count:
                assert mem.create_hindsight_job(id, wait=True).state == "DONE"
        again = [memory.content for memory in mem.list(page_size=1000) if not memory.superseded_by]
        assert sorted(again) == sorted(said)
        assert mem.check().problems == []

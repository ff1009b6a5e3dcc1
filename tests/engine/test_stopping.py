"""Work that nobody waits for any more ends: a cancelled job, a caller that is gone, a service that stops."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.engine.call import Call
from siltstone.local import Local
from siltstone.model import Hindsight
from siltstone.model.requests import SummarizeTrajectoryRequest, TrajectoryChunk

BOUND = 30
CHECK = {"tool": "bash", "arguments": {"command": "curl http://api:3000"}}
STEPS = [
    {**CHECK, "result": "curl: (7) 拒绝连接"},
    {"tool": "bash", "arguments": {"command": "sed -i s/a/b/ app"}, "text": "原因是 api 只监听 127.0.0.1。"},
    {**CHECK, "result": "HTTP/1.1 200 OK"},
]


class Silent:
    """A model's endpoint that never answers; it knows who asked, and who hung up."""

    def __init__(self) -> None:
        self.asked, self.hung_up = threading.Semaphore(0), threading.Semaphore(0)
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                owner.asked.release()
                self.connection.settimeout(BOUND)
                try:
                    if self.connection.recv(1) == b"":
                        owner.hung_up.release()
                except OSError:
                    pass

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self._thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def settings(self) -> Settings:
        url = f"http://127.0.0.1:{self.http.server_port}/v1"
        return Settings(
            embedding_model="hashing",
            llm_base_url=url,
            llm_model="tiny",
            llm_timeout_s=600,
            hindsight_every=0,
        )

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self._thread.join(BOUND)


@pytest.fixture
def silent() -> Iterator[Silent]:
    endpoint = Silent()
    yield endpoint
    endpoint.close()


def finished(mem: siltstone.Api, goal: str) -> siltstone.HindsightJob:
    task = mem.start_task(goal)
    mem.append_steps(task.id, STEPS)
    return mem.finish_task(task.id, "SUCCESS")


def test_a_job_cancelled_while_a_model_thinks_ends_at_once_and_leaves_nothing(
    silent: Silent, tmp_path: Path
) -> None:
    with siltstone.open(tmp_path / "data", settings=silent.settings()) as mem:
        first, second = finished(mem, "让 web 访问 api"), finished(mem, "再来一次")
        assert silent.asked.acquire(timeout=BOUND)
        assert mem.get_hindsight_job(first.id).state == "RUNNING"
        assert mem.cancel_hindsight_job(first.id).state == "CANCELLED"
        assert silent.hung_up.acquire(timeout=BOUND)  # the endpoint need not think on
        assert silent.asked.acquire(timeout=BOUND)  # the only worker is free for the next
        assert mem.cancel_hindsight_job(second.id).state == "CANCELLED"
        assert silent.hung_up.acquire(timeout=BOUND)
        assert [mem.get_hindsight_job(job.id).state for job in (first, second)] == ["CANCELLED"] * 2
        assert list(mem.list()) == []


def test_a_service_that_ends_while_a_model_thinks_leaves_the_job_to_its_next_start(
    silent: Silent, tmp_path: Path
) -> None:
    mem = siltstone.open(tmp_path / "data", settings=silent.settings())
    job = finished(mem, "让 web 访问 api")
    assert silent.asked.acquire(timeout=BOUND)
    closing = threading.Thread(target=mem.close)
    closing.start()
    closing.join(BOUND)
    assert not closing.is_alive()
    with siltstone.open(tmp_path / "data", settings=Settings(embedding_model="hashing")) as again:
        assert isinstance(again, Local)
        assert again.engine.jobs.wait(job.id, BOUND)
        done = again.get_hindsight_job(job.id)
        assert (done.state, done.attempts) == ("DONE", 1)
        assert len(again.list()) == 1


def test_who_waits_past_the_deadline_is_told_of_the_job_which_goes_on(silent: Silent, tmp_path: Path) -> None:
    with siltstone.open(tmp_path / "data", settings=silent.settings()) as mem:
        assert isinstance(mem, Local)
        job = finished(mem, "让 web 访问 api")
        with pytest.raises(siltstone.DeadlineExceededError) as caught:
            mem.engine.wait_for_job(job.id, Call(deadline=time.monotonic() + 0.2))
        assert (caught.value.reason, job.id in str(caught.value)) == ("JOB_GOES_ON", True)
        assert mem.get_hindsight_job(job.id).state in ("QUEUED", "RUNNING")
        mem.cancel_hindsight_job(job.id)


def gone_after(asked: int) -> Callable[[], bool]:
    """A caller that hangs up after it was looked at so often."""
    left = iter(range(asked))
    return lambda: next(left, None) is not None


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Local]:
    with siltstone.open(tmp_path / "data", settings=Settings(embedding_model="hashing")) as mem:
        assert isinstance(mem, Local)
        yield mem


def test_a_caller_that_is_gone_ends_the_wait_for_a_job(mem: Local) -> None:
    mem.engine.jobs.close()  # nobody runs it
    task = mem.start_task("x")
    job = mem.finish_task(task.id, "SUCCESS")
    mem.engine.jobs._stopping = False
    with pytest.raises(siltstone.UnavailableError) as caught:
        mem.engine.wait_for_job(job.id, Call(waiting=gone_after(1)))
    assert caught.value.reason == "CALLER_GONE"


def stream(mem: Local, chunks: Iterator[TrajectoryChunk], call: Call) -> Hindsight:
    return mem.engine.stream_trajectory(chunks, call)


def test_a_stream_whose_caller_is_gone_is_read_no_further_and_writes_nothing(mem: Local) -> None:
    sent: list[int] = []

    def chunks() -> Iterator[TrajectoryChunk]:
        yield TrajectoryChunk(options=SummarizeTrajectoryRequest(goal="让 web 访问 api"))
        for number in range(10_000):
            sent.append(number)
            yield TrajectoryChunk(
                data=json.dumps({"role": "assistant", "content": "字" * 100}).encode() + b"\n"
            )

    with pytest.raises(siltstone.UnavailableError) as caught:
        stream(mem, chunks(), Call(waiting=gone_after(50)))
    assert caught.value.reason == "CALLER_GONE"
    assert len(sent) < 100
    assert list(mem.list()) == []


def many_steps(count: int) -> dict[str, Any]:
    said = {
        "role": "AGENT",
        "text": "看了第一个文件，没有发现问题。然后看第二个。",
        **CHECK,
        "result": "拒绝连接",
    }
    return {"goal": "让 web 访问 api", "steps": [said] * count}


@pytest.mark.parametrize("looks", [0, 3, 10])
def test_a_run_whose_caller_is_gone_is_not_looked_back_on_to_its_end(mem: Local, looks: int) -> None:
    request = SummarizeTrajectoryRequest(data=json.dumps(many_steps(1500)))
    with pytest.raises(siltstone.UnavailableError):
        mem.engine.summarize_trajectory(request, Call(waiting=gone_after(looks)))
    assert list(mem.list()) == []


def test_a_run_whose_deadline_passes_meanwhile_is_a_clear_error(mem: Local) -> None:
    request = SummarizeTrajectoryRequest(data=json.dumps(many_steps(1500)))
    with pytest.raises(siltstone.DeadlineExceededError, match="nothing was done"):
        mem.engine.summarize_trajectory(request, Call(deadline=time.monotonic() + 0.05))
    assert list(mem.list()) == []

"""Over gRPC: work ends with its caller, and a server that is told to stop stops, whatever it is at."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import pytest
import siltstone
from siltstone.config import Settings
from siltstone.local import Local
from siltstone.server import Server, serve
from siltstone.v1 import hindsight_pb2, hindsight_pb2_grpc

from .test_kill import HASHING, running_server

BOUND = 30
LINE = (
    json.dumps({"role": "assistant", "content": "看下一个文件，没有发现问题。" * 20}, ensure_ascii=False)
    + "\n"
)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Local, Server]]:
    with siltstone.open(tmp_path / "data", settings=HASHING) as mem:
        assert isinstance(mem, Local)
        server = serve(mem.engine, address="127.0.0.1:0")
        yield mem, server
        server.stop(0)


class EndlessLog:
    """Lines without end, until it is told to end; it knows how far it was read."""

    def __init__(self) -> None:
        self.flowing, self.ended = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[Any]:
        yield hindsight_pb2.StreamTrajectoryRequest(
            options=hindsight_pb2.SummarizeTrajectoryRequest(goal="x")
        )
        sent = 0
        while not self.ended.is_set():
            yield hindsight_pb2.StreamTrajectoryRequest(data=LINE.encode())
            sent += 1
            if sent == 100:
                self.flowing.set()


@pytest.fixture
def endless() -> Iterator[EndlessLog]:
    log = EndlessLog()
    yield log
    log.ended.set()


def test_a_stream_that_its_caller_cancels_is_left_and_writes_nothing(
    served: tuple[Local, Server], endless: EndlessLog
) -> None:
    mem, server = served
    with grpc.insecure_channel(server.address) as channel:
        stub: Any = hindsight_pb2_grpc.HindsightServiceStub(channel)
        call = stub.StreamTrajectory.future(iter(endless), timeout=600)
        assert endless.flowing.wait(BOUND)
        call.cancel()
        assert server._pool.wait_idle(BOUND)
    assert list(mem.list()) == []


def test_a_server_is_not_held_up_by_a_stream_that_never_ends(
    served: tuple[Local, Server], endless: EndlessLog
) -> None:
    mem, server = served
    with grpc.insecure_channel(server.address) as channel:
        stub: Any = hindsight_pb2_grpc.HindsightServiceStub(channel)
        call = stub.StreamTrajectory.future(iter(endless), timeout=600)
        assert endless.flowing.wait(BOUND)
        server.stop(0.1)
        assert server._pool.wait_idle(BOUND)
        assert call.exception(BOUND) is not None
    assert list(mem.list()) == []


def test_the_deadline_of_a_caller_that_waits_for_a_job_is_kept_and_the_answer_names_the_job(
    tmp_path: Path,
) -> None:
    with slow_model() as (url, asked), siltstone.open(tmp_path / "data", settings=asking(url)) as mem:
        assert isinstance(mem, Local)
        server = serve(mem.engine, address="127.0.0.1:0")
        # To wait for a job takes ten times as long.
        with (
            siltstone.Client(server.address, timeout=20) as client,
            siltstone.Client(server.address, timeout=0.3) as hasty,
        ):
            task = client.start_task("让 web 访问 api")
            client.append_steps(task.id, [{"tool": "bash", "result": "curl: (7) 拒绝连接"}])
            with pytest.raises(siltstone.DeadlineExceededError) as caught:
                hasty.finish_task(task.id, "SUCCESS", wait=True)
            job = client.get_task(task.id).hindsight_job_id
            assert caught.value.reason == "JOB_GOES_ON"
            assert job in str(caught.value)
            assert client.get_hindsight_job(job).state in ("QUEUED", "RUNNING")
            client.cancel_hindsight_job(job)
        server.stop(0)
    assert asked.acquire(timeout=0)


class slow_model:
    """A model's endpoint that never answers: its address, and who asked."""

    def __enter__(self) -> tuple[str, threading.Semaphore]:
        asked = threading.Semaphore(0)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                asked.release()
                self.connection.settimeout(BOUND)
                with suppress(OSError):
                    self.connection.recv(1)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return f"http://127.0.0.1:{self._http.server_port}/v1", asked

    def __exit__(self, *exception: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(BOUND)


def asking(url: str) -> Settings:
    return Settings(embedding_model="hashing", llm_base_url=url, llm_model="tiny", llm_timeout_s=600)


@pytest.mark.timeout(120)
def test_a_server_told_to_stop_tells_who_waits_for_a_job_and_runs_it_at_its_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with slow_model() as (url, asked):
        monkeypatch.setenv("SILTSTONE_LLM_BASE_URL", url)
        monkeypatch.setenv("SILTSTONE_LLM_MODEL", "tiny")
        raised: list[siltstone.SiltstoneError] = []
        with running_server(tmp_path) as (process, address), siltstone.Client(address) as client:
            task = client.start_task("让 web 访问 api")
            client.append_steps(task.id, [{"tool": "bash", "result": "curl: (7) 拒绝连接"}])

            def finish() -> None:
                try:
                    client.finish_task(task.id, "FAILURE", wait=True)
                except siltstone.SiltstoneError as error:
                    raised.append(error)

            waiting = threading.Thread(target=finish)
            waiting.start()
            assert asked.acquire(timeout=BOUND)
            process.send_signal(signal.SIGTERM)
            assert process.wait(BOUND) == 0
            waiting.join(BOUND)
        assert [error.status for error in raised] == ["UNAVAILABLE"]
        assert "runs at its next start" in str(raised[0])
    with siltstone.open(tmp_path, settings=HASHING) as mem:
        assert isinstance(mem, Local)
        (job,) = mem.list_hindsight_jobs()
        assert mem.engine.jobs.wait(job.id, BOUND)
        done = mem.get_hindsight_job(job.id)
        assert (done.state, done.attempts) == ("DONE", 1)
        assert len(mem.list()) == 1

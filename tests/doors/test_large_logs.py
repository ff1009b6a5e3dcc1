"""A log larger than a message goes line by line through the engine and both clients."""

import asyncio
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.engine import looking_back
from siltstone.hindsight import read_trajectory, reading
from siltstone.local import Local
from siltstone.model.requests import TrajectoryChunk
from siltstone.server import Server, serve

MESSAGE = 1 << 20  # of which a client makes parts
BOUND_S = 60
STEPS = [
    {"role": "user", "content": "web 用服务名访问不了 api"},
    {"role": "assistant", "content": "根本原因是 api 只监听 127.0.0.1。"},
    {"role": "assistant", "content": "解决方法是把监听地址改为 0.0.0.0。"},
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """More than a message may hold, with two broken lines."""
    filler = [{"role": "assistant", "content": f"看第 {i} 个文件。" + "字" * 1100} for i in range(500)]
    lines = [json.dumps(step, ensure_ascii=False) for step in [*STEPS[:1], *filler, *STEPS[1:]]]
    lines[10:10] = ["{broken", "[1, 2"]
    path = tmp_path / "large.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert path.stat().st_size > 3 * MESSAGE // 2
    return path


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Local, Server]]:
    with siltstone.open(tmp_path / "data", settings=Settings(embedding_model="hashing")) as mem:
        server = serve(mem.engine, address="127.0.0.1:0", max_message_bytes=MESSAGE + MESSAGE // 4)
        yield mem, server
        server.stop()


async def through_async(address: str, log: Path) -> siltstone.Hindsight:
    async with siltstone.AsyncClient(address, timeout=BOUND_S) as client:
        return await client.summarize_trajectory(log, outcome="SUCCESS", dry_run=True)


def test_a_large_log_is_read_whole_and_its_broken_lines_are_counted(
    served: tuple[Local, Server], log: Path
) -> None:
    mem, server = served
    local = mem.summarize_trajectory(log, outcome="SUCCESS", dry_run=True)
    assert (local.skipped_count, [line.split(":")[0] for line in local.skipped]) == (
        2,
        ["line 11", "line 12"],
    )
    assert "0.0.0.0" in local.lessons[0].lesson.solution
    with siltstone.Client(server.address, timeout=BOUND_S) as client:
        assert client.summarize_trajectory(log, outcome="SUCCESS", dry_run=True) == local
        kept = client.summarize_trajectory(log, outcome="SUCCESS", request_id="r")
        assert client.summarize_trajectory(log, outcome="SUCCESS", request_id="r") == kept
        with pytest.raises(siltstone.AlreadyExistsError):
            client.summarize_trajectory(log, outcome="FAILURE", request_id="r")
        with pytest.raises(siltstone.InvalidArgumentError) as caught:
            client.summarize_trajectory(log, namespace="a//b")
    assert caught.value.field == "namespace"
    assert [receipt.action for receipt in kept.receipts] == ["CREATED"] * len(kept.lessons)
    assert asyncio.run(through_async(server.address, log)) == local


def test_an_empty_or_a_missing_file_is_refused(served: tuple[Local, Server], tmp_path: Path) -> None:
    mem, server = served
    (tmp_path / "empty").touch()
    with siltstone.Client(server.address, timeout=BOUND_S) as client:
        for api in (mem, client):
            for name, field in (("empty", "data"), ("missing", "path")):
                with pytest.raises(siltstone.InvalidArgumentError) as caught:
                    api.summarize_trajectory(tmp_path / name)
                assert caught.value.field == field


def test_a_line_longer_than_any_log_may_be_is_skipped_by_its_number(
    served: tuple[Local, Server], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in (looking_back, reading):
        monkeypatch.setattr(room, "MAX_BYTES", MESSAGE)
    whole = log.read_text(encoding="utf-8").split("\n")
    whole[5:5] = [json.dumps({"role": "assistant", "content": "长" * MESSAGE})]  # three times as many bytes
    log.write_text("\n".join(whole), encoding="utf-8")
    mem, server = served
    with siltstone.Client(server.address, timeout=BOUND_S) as client:
        for api in (mem, client):
            hindsight = api.summarize_trajectory(log, outcome="SUCCESS", max_tokens=1, dry_run=True)
            assert hindsight.skipped[0] == "line 6: not JSON: more than 1048576 bytes"
            assert (hindsight.skipped_count, hindsight.summary_tokens, hindsight.summary) == (3, 1, "…")
            assert "0.0.0.0" in hindsight.lessons[0].lesson.solution
        log.write_text(whole[5], encoding="utf-8")
        for api in (mem, client):
            with pytest.raises(siltstone.InvalidArgumentError, match="line 1 has more than 1048576 bytes"):
                api.summarize_trajectory(log)


def test_what_is_read_of_a_log_in_parts_takes_memory_for_its_steps_alone() -> None:
    """Ten megabytes of lines that are none, and one line of ten."""

    def chunks() -> Iterator[TrajectoryChunk]:
        yield TrajectoryChunk(data=json.dumps(STEPS[0]).encode() + b"\n")
        for _ in range(100):
            yield TrajectoryChunk(data=(b"{" + b"y" * 500 + b"\n") * 200)
        yield from [TrajectoryChunk(data=b"z" * 100_000)] * 100
        yield TrajectoryChunk(data=b"\n" + json.dumps(STEPS[1]).encode())

    tracemalloc.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            for room in (looking_back, reading):
                patch.setattr(room, "MAX_BYTES", 1 << 20)
            read = read_trajectory(looking_back._lines(chunks(), lambda: None))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [step.text for step in read.trajectory.steps] == [step["content"] for step in STEPS[:2]]
    assert (read.skipped_count, len(read.skipped)) == (20_001, 101)
    assert peak < 6 << 20

"""A log larger than a message goes line by line through the engine and both clients."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.local import Local
from siltstone.server import Server, serve

MESSAGE = 1 << 20
STEPS = [
    {"role": "user", "content": "web 用服务名访问不了 api"},
    {"role": "assistant", "content": "根本原因是 api 只监听 127.0.0.1。"},
    {"role": "assistant", "content": "解决方法是把监听地址改为 0.0.0.0。"},
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three times a message, with two broken lines."""
    filler = [{"role": "assistant", "content": f"看第 {i} 个文件。" + "字" * 1100} for i in range(1000)]
    lines = [json.dumps(step, ensure_ascii=False) for step in [*STEPS[:1], *filler, *STEPS[1:]]]
    lines[10:10] = ["{broken", "[1, 2"]
    path = tmp_path / "large.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert path.stat().st_size > 3 * MESSAGE
    return path


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Local, Server]]:
    with siltstone.open(tmp_path / "data", settings=Settings(embedding_model="hashing")) as mem:
        server = serve(mem.engine, address="127.0.0.1:0", max_message_bytes=2 * MESSAGE)
        yield mem, server
        server.stop()


async def through_async(address: str, log: Path) -> siltstone.Hindsight:
    async with siltstone.AsyncClient(address, timeout=20) as client:
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
    with siltstone.Client(server.address, timeout=20) as client:
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
    with siltstone.Client(server.address, timeout=20) as client:
        for api in (mem, client):
            for name, field in (("empty", "data"), ("missing", "path")):
                with pytest.raises(siltstone.InvalidArgumentError) as caught:
                    api.summarize_trajectory(tmp_path / name)
                assert caught.value.field == field

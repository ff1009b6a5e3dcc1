"""A server killed in the middle of writes comes back with all that it acknowledged."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.local import Local

WRITERS = 4
HASHING = Settings(embedding_model="hashing")
START_S = 60.0


@contextmanager
def running_server(data: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [sys.executable, "-m", "siltstone.cli", "serve", "--data", str(data), "--address", address]
    environment = {**os.environ, "SILTSTONE_EMBEDDING_MODEL": "hashing"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_serving(process, address)
        yield process, address
    finally:
        process.kill()
        process.wait()


def wait_until_serving(process: subprocess.Popen[bytes], address: str) -> None:
    deadline = time.monotonic() + START_S
    with siltstone.Client(address, timeout=5.0) as client:
        while True:
            assert process.poll() is None, f"the server ended with exit code {process.returncode}"
            try:
                client.stats()
                return
            except siltstone.UnavailableError:
                assert time.monotonic() < deadline, "the server did not start in time"


@pytest.mark.timeout(300)
def test_after_kill_9_every_acknowledged_write_is_there_and_the_index_equals_a_rebuilt_one(
    tmp_path: Path,
) -> None:
    acknowledged: dict[str, str] = {}
    for round in range(2):
        with running_server(tmp_path) as (process, address):
            written = write_until_killed(process, address, round, enough=100 * (round + 1))
            assert len(written) >= 100 * (round + 1)
            acknowledged |= written
        with siltstone.open(tmp_path, settings=HASHING) as mem:
            assert_all_there(mem, acknowledged)
        with siltstone.open(tmp_path, settings=HASHING) as mem:  # now from its snapshot
            assert mem.check().problems == []


def write_until_killed(
    process: subprocess.Popen[bytes], address: str, round: int, *, enough: int
) -> dict[str, str]:
    """Write from several threads and kill -9 once `enough` is acknowledged; what was, id → content."""
    acknowledged: dict[str, str] = {}
    reached = threading.Event()

    def write(writer: int) -> None:
        with siltstone.Client(address, timeout=10.0) as client:
            for i in range(100_000):
                content = f"round {round} writer {writer} note {i}: 容器 {i * 31}"
                try:
                    receipt = client.write(content, on_duplicate="KEEP" if i % 2 else "MERGE")
                except siltstone.SiltstoneError:
                    return
                acknowledged[receipt.memory.id] = content
                if len(acknowledged) >= enough:
                    reached.set()

    threads = [threading.Thread(target=write, args=(i,)) for i in range(WRITERS)]
    for thread in threads:
        thread.start()
    assert reached.wait(120)
    os.kill(process.pid, signal.SIGKILL)
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return acknowledged


def assert_all_there(mem: Local, acknowledged: dict[str, str]) -> None:
    ids = list(acknowledged)
    for at in range(0, len(ids), 500):
        for memory in mem.get(ids[at : at + 500]):
            assert memory.content == acknowledged[memory.id]
    stored, token = [], ""
    while True:
        page = mem.list(page_size=1000, page_token=token)
        stored += [memory.content for memory in page]
        if not (token := page.next_page_token):
            break
    # At most the writes under way when it died are there besides: none twice, none half.
    assert len(stored) == len(set(stored))
    assert set(acknowledged.values()) <= set(stored)
    assert len(stored) <= len(acknowledged) + 3 * WRITERS
    assert mem.check().problems == []

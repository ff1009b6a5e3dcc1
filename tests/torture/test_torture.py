"""A server is killed at random instants while clients write, merge, update, verify, forget and finish tasks.

After each kill the next server has what was acknowledged, once; what was not acknowledged is repeated under
its own request id and then is there once too; the index equals a rebuilt one. Between kills snapshots are
damaged, the clock is set back, some servers end in order, and memories move between two embedding models.
SILTSTONE_TORTURE says how many kills.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import siltstone

from .rig import (
    BOUND_S,
    NAMESPACE,
    TASKS,
    Client,
    Servers,
    assert_told,
    everything,
    harm_snapshots,
    wait_for_jobs,
)

KILLS = int(os.environ.get("SILTSTONE_TORTURE", "0")) or 30
CLIENTS = 4
LONGEST_S = 0.7  # that clients call before the kill
BACK_S = 86_400.0 * 400

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs pidfd and prctl")


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    running = Servers(tmp_path / "data", tmp_path / "log")
    yield running
    running.close()


@pytest.mark.timeout(60 + 20 * KILLS)
def test_whatever_instant_a_server_dies_at_what_it_acknowledged_is_there_once(servers: Servers) -> None:
    seed = int(os.environ.get("SILTSTONE_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
    print(f"SILTSTONE_SEED={seed}")
    draw = random.Random(seed)
    clients = [Client(number, seed) for number in range(CLIENTS)]
    harmed = 0
    for round in range(KILLS):
        pid = servers.fork(draw.choice([0.0, 0.0, draw.uniform(0.0, BACK_S)]) if round else 0.0)
        if draw.random() < 0.15:  # while it starts
            pause(draw.uniform(0.0, 0.3))
            servers.kill(pid)
            continue
        address = servers.address(pid)
        with siltstone.Client(address, timeout=BOUND_S) as mem:
            assert_told(mem, clients)
            if draw.random() < 0.3:  # or go on moving, or back
                mem.reembed(draw.choice(["hashing", "turned"]))
        call_until_killed(servers, pid, address, clients, draw)
        harmed += harm_snapshots(servers.data, draw)
    with siltstone.Client(servers.address(servers.fork()), timeout=BOUND_S) as mem:
        assert_told(mem, clients)
        wait_for_jobs(mem)
        for model in ("hashing", "turned"):
            assert mem.reembed(model, wait=True).namespaces_remaining == 0
            assert_told(mem, clients)
        lessons = [memory.content for memory in everything(mem, TASKS) if not memory.superseded_by]
        assert len(lessons) == len(set(lessons)), "a lesson stands twice"
        assert mem.check().problems == []
    assert sum(client.calls for client in clients) > KILLS
    assert KILLS < 30 or harmed, "no server left a snapshot to harm"


def call_until_killed(
    servers: Servers, pid: int, address: str, clients: list[Client], draw: random.Random
) -> None:
    stop = threading.Event()
    with ThreadPoolExecutor(CLIENTS) as pool:
        calls = [pool.submit(client.run, address, stop) for client in clients]
        try:
            pause(draw.uniform(0.0, LONGEST_S))
            in_order = draw.random() < 0.3
            if in_order:  # it saves snapshots
                stop.set()
            servers.kill(pid, signal.SIGTERM if in_order else signal.SIGKILL)
        finally:
            stop.set()
        for call in calls:
            call.result(BOUND_S)


def pause(seconds: float) -> None:
    """The instant of the kill is what is drawn: nothing is waited for."""
    threading.Event().wait(seconds)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("mount"),
    reason="needs to mount a small disk",
)
@pytest.mark.timeout(300)
def test_a_full_disk_refuses_writes_by_name_and_a_server_killed_on_it_starts_again(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    servers = Servers(disk / "data", tmp_path / "log")
    try:
        kept: dict[str, str] = {}
        filler = disk / "filler"
        pid = servers.fork()
        with siltstone.Client(servers.address(pid), timeout=BOUND_S) as mem:
            kept |= fill(mem, "first")
            filler.write_bytes(bytes(shutil.disk_usage(disk).free - (1 << 20)))
            kept |= until_full(mem)
            told(mem, kept)
            gone = [id for id, content in kept.items() if content.startswith("first")][:10]
            with pytest.raises(siltstone.ResourceExhaustedError, match="10 memories were erased") as caught:
                mem.forget(ids=gone, mode="ERASE")
            assert caught.value.reason == "ERASED_NOT_COMPACTED"
            kept = {id: content for id, content in kept.items() if id not in gone}
            told(mem, kept)
        servers.kill(pid)
        pid = servers.fork()
        with siltstone.Client(servers.address(pid), timeout=BOUND_S) as mem:
            told(mem, kept)
            filler.unlink()
            mem.compact()
            assert "first 笔记 3 ".encode() not in (servers.data / "store/data.mdb").read_bytes()
            kept |= fill(mem, "after")
            told(mem, kept)
        servers.kill(pid, signal.SIGTERM)
    finally:
        servers.close()
        subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(mem: siltstone.Client, name: str) -> dict[str, str]:
    receipts = [mem.write(f"{name} 笔记 {i} " + "x" * 2000, namespace=NAMESPACE) for i in range(20)]
    return {receipt.memory.id: receipt.memory.content for receipt in receipts}


def until_full(mem: siltstone.Client) -> dict[str, str]:
    written: dict[str, str] = {}

    def write_on() -> None:
        for i in range(10_000):
            memory = mem.write(f"full {i} " + "磁盘 " * 5000, namespace=NAMESPACE).memory
            written[memory.id] = memory.content

    with pytest.raises(siltstone.ResourceExhaustedError) as caught:
        write_on()
    assert caught.value.reason == "DISK_FULL"
    return written


def told(mem: siltstone.Client, kept: dict[str, str]) -> None:
    assert {memory.id: memory.content for memory in everything(mem, NAMESPACE)} == kept
    assert mem.check().problems == []
    assert mem.search("笔记 7", namespace=NAMESPACE, include_public=False).hits

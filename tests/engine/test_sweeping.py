"""Expired memories are kept for a grace time and then removed, beside the writes of others."""

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.local import Local
from siltstone.model import AuditEvent

SOON = timedelta(seconds=5)
GRACE = timedelta(days=30)


def sweep(mem: Local, after: timedelta) -> int:
    """Sweep as if it were so much later."""
    return mem.engine.sweeper.sweep(datetime.now(UTC) + after)


def test_what_expired_is_kept_for_the_grace_time_and_then_removed(mem: Local) -> None:
    short = mem.write("过期很快", ttl=SOON).memory.id
    kept = mem.write("stays").memory.id
    later = datetime.now(UTC) + timedelta(hours=1)
    assert [h.memory.id for h in mem.search("过期很快", now=later).hits] == [kept]
    assert [h.memory.id for h in mem.search("过期很快", now=later, include_expired=True).hits] == [
        short,
        kept,
    ]
    assert sweep(mem, GRACE - timedelta(hours=1)) == 0
    assert mem.get(short)[0].content == "过期很快"
    assert sweep(mem, GRACE + timedelta(hours=1)) == 1
    with pytest.raises(siltstone.NotFoundError):
        mem.get(short)
    assert [m.id for m in mem.list()] == [kept]
    (event,) = [e for e in mem.audit_log() if e.action == "expired"]
    assert (event.memory_id, event.principal) == (short, "sweeper")
    assert mem.check().problems == []


def test_what_was_said_again_lives_on(mem: Local) -> None:
    id = mem.write("said again", ttl=SOON).memory.id
    mem.update(id, clear=["valid_until"])
    assert sweep(mem, GRACE * 2) == 0
    assert mem.get(id)


def test_what_an_expired_memory_replaced_is_current_again(mem: Local) -> None:
    old = mem.write("the old way").memory.id
    mem.write("for the time of the move, another way", supersedes=[old], ttl=SOON)
    assert sweep(mem, GRACE * 2) == 1
    assert mem.get(old)[0].superseded_by == ""
    assert mem.check().problems == []


def test_a_sweep_is_many_small_commits_and_keeps_no_writer_waiting(mem: Local) -> None:
    drafts = [{"content": f"note {i}", "ttl": "5s", "on_duplicate": "KEEP"} for i in range(500)]
    for namespace in ("a", "b", "c"):
        mem.write_many(drafts, namespace=namespace)
    before = mem.stats().seq
    done = threading.Event()
    written = []

    def write() -> None:
        while not done.is_set():
            written.append(mem.write(f"kept {len(written)}", on_duplicate="KEEP").memory.id)

    writer = threading.Thread(target=write)
    writer.start()
    assert sweep(mem, GRACE * 2) == 1500
    done.set()
    writer.join(20)
    assert not writer.is_alive()
    assert mem.stats().memories == len(written)
    commits = {e.seq for e in all_events(mem, before) if e.action == "expired"}
    assert len(commits) == 30
    assert mem.check().problems == []


def all_events(mem: Local, since: int) -> list[AuditEvent]:
    events, token = [], ""
    while True:
        page = mem.audit_log(since_seq=since, page_size=1000, page_token=token)
        events += page
        if not (token := page.next_page_token):
            return events


def test_the_sweeper_runs_by_itself(tmp_path: Path) -> None:
    settings = Settings(embedding_model="hashing", expired_grace_days=0.0, sweep_every_s=0.02)
    with siltstone.open(tmp_path, settings=settings) as mem:
        mem.write("gone soon", ttl=timedelta(milliseconds=1))
        for _ in range(2000):
            if not mem.list():
                break
            threading.Event().wait(0.01)
        assert mem.list() == []

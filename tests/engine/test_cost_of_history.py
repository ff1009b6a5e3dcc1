"""What happened to a memory before does not make its next change dearer."""

from collections.abc import Iterator

import pytest
from siltstone.local import Local
from siltstone.store import Reader


@pytest.fixture
def entries_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables of the entries that scans read, one name an entry."""
    read: list[str] = []
    for name in ("_scan", "_scan_back"):
        whole = getattr(Reader, name)

        def spy(self, table, *args, whole=whole, **kwargs) -> Iterator[tuple[bytes, bytes]]:  # type: ignore[no-untyped-def]
            for entry in whole(self, table, *args, **kwargs):
                read.append(table)
                yield entry

        monkeypatch.setattr(Reader, name, spy)
    return read


def test_an_update_looks_at_one_revision_however_many_there_are(mem: Local, entries_read: list[str]) -> None:
    memory = mem.write("version 0").memory
    for i in range(20):
        mem.update(memory.id, content=f"version {i + 1}")
    entries_read.clear()
    mem.update(memory.id, content="the last")
    assert entries_read.count("revisions") == 1


def test_the_state_at_a_past_moment_is_found_by_halving(mem: Local, entries_read: list[str]) -> None:
    memory = mem.write("version 0").memory
    for i in range(64):
        mem.update(memory.id, content=f"version {i + 1}")
    past = {r.memory.content: r.memory.update_time for r in mem.trace(memory.id).revisions}
    for content, time in past.items():
        entries_read.clear()
        assert mem.get(memory.id, as_of=time)[0].content == content
        assert entries_read.count("revisions") <= 8


def test_a_merge_looks_at_no_former_source_one_by_one(mem: Local, entries_read: list[str]) -> None:
    def say(i: int) -> str:
        text = "重启 web 服务以后要清空缓存" + "。" * (i % 2)
        return mem.write(text, source={"trajectory": f"run {i}", "writer": "agent"}).action

    assert [say(i) for i in range(20)] == ["CREATED"] + ["MERGED"] * 19
    entries_read.clear()
    assert say(20) == "MERGED"
    assert entries_read.count("revisions") <= 1
    for i in range(21):
        assert say(i) == "UNCHANGED", f"run {i} was evidence before"


def test_the_tasks_that_wrote_a_memory_are_known_without_its_revisions(
    mem: Local, entries_read: list[str]
) -> None:
    tasks = [mem.start_task(f"目标 {i}").id for i in range(12)]
    for i, task in enumerate(tasks):
        memory = mem.write("清空缓存" + "。" * (i % 2), source={"task_id": task}).memory
    other = mem.start_task("另一个").id
    entries_read.clear()
    for task in tasks:  # success is no news from the task that wrote it
        assert mem.verify(memory.id, "WORKED", task_id=task).revision == memory.revision
    assert "revisions" not in entries_read
    assert mem.verify(memory.id, "WORKED", task_id=other).revision == memory.revision + 1


def test_the_sources_of_a_memory_go_when_it_is_erased(mem: Local) -> None:
    memory = mem.write("重启服务", source={"trajectory": "run 1"}).memory
    assert mem.engine.store.info().entries["sources"] == 1
    mem.forget(ids=[memory.id], mode="ERASE")
    assert mem.engine.store.info().entries["sources"] == 0


def test_the_sources_of_a_deleted_namespace_go_with_it(mem: Local) -> None:
    mem.write("重启服务", namespace="gone", source={"trajectory": "run 1"})
    mem.delete_namespace("gone")
    mem.engine.store.compact()
    assert mem.engine.store.info().entries["sources"] == 0

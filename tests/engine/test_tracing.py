import pytest
from siltstone.engine import tracing
from siltstone.local import Local


def test_a_trace_gives_the_newest_revisions_oldest_first_and_says_that_there_are_more(
    mem: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "REVISIONS", 3)
    memory = mem.write("第 0 版").memory
    for i in range(1, 4):
        mem.update(memory.id, content=f"第 {i} 版")
    trace = mem.trace(memory.id)
    assert [r.memory.content for r in trace.revisions] == ["第 0 版", "第 1 版", "第 2 版"]
    assert not trace.truncated
    mem.update(memory.id, content="第 4 版")
    trace = mem.trace(memory.id)
    assert [(r.revision, r.memory.content) for r in trace.revisions] == [
        (2, "第 1 版"),
        (3, "第 2 版"),
        (4, "第 3 版"),
    ]
    assert trace.truncated


def test_a_trace_of_large_contents_stays_within_its_bytes(
    mem: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "BYTES", 10_000)
    memory = mem.write("a" + "x" * 4000).memory
    for letter in "bcd":
        mem.update(memory.id, content=letter + "x" * 4000)
    trace = mem.trace(memory.id)
    assert [r.memory.content[0] for r in trace.revisions] == ["b", "c"]
    assert trace.truncated


def test_a_trace_gives_the_nearest_relations_and_says_that_there_are_more(
    mem: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "RELATED", 2)
    ids = [mem.write("rule number 0").memory.id]
    for i in range(1, 4):
        ids.append(mem.write(f"rule number {i}", supersedes=[ids[-1]]).memory.id)
    trace = mem.trace(ids[3])
    assert ([m.id for m in trace.superseded], trace.truncated) == ([ids[2], ids[1]], True)
    trace = mem.trace(ids[1])
    assert ([m.id for m in trace.superseded], trace.truncated) == ([ids[0]], False)
    assert [m.id for m in trace.superseded_by] == [ids[2], ids[3]]

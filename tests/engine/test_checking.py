"""`check` sees what is wrong in the store, mends what is derived, and says plainly what it cannot."""

from collections.abc import Callable

import pytest
from siltstone.local import Local
from siltstone.store import Writer, keys


def entry(mem: Local, table: str, prefix: bytes = b"") -> tuple[bytes, bytes]:
    """The last entry of a table."""
    with mem.engine.store.read() as reader:
        return list(reader._scan(table, prefix))[-1]


def change(mem: Local, table: str, key: bytes, value: bytes | None) -> None:
    def operation(writer: Writer) -> None:
        if value is None:
            writer._delete(table, key)
        else:
            writer._put(table, key, value)

    mem.engine.store.commit(operation)


@pytest.fixture
def full(mem: Local) -> Local:
    mem.write("the api listens on 0.0.0.0", tags=["docker"])
    memory = mem.write("数据库的端口是 3306", source={"task_id": "t-1"}).memory
    mem.update(memory.id, content="数据库的端口是 3307")
    task = mem.start_task("部署", hindsight_every=0)
    mem.append_steps(task.id, [{"text": "看"}])
    mem.finish_task(task.id, "SUCCESS", wait=True)
    assert mem.check().problems == []
    return mem


LOST = ["contents", "owners", "counters"]
ORPHANED: dict[str, Callable[[bytes], bytes]] = {
    # a key like the last one, of a memory or task that is not there
    table: lambda key: key[:4] + bytes(16) + key[20:]
    for table in ("vectors", "revisions", "former_vectors", "sources", "steps")
}


@pytest.mark.parametrize("table", LOST)
def test_a_lost_entry_of_a_derived_table_is_missed_and_made_anew(full: Local, table: str) -> None:
    key, value = entry(full, table, keys.namespace(1) if table != "owners" else b"")
    change(full, table, key, None)
    assert len(full.check().problems) == 1
    report = full.check(repair=True)
    assert (report.repaired, report.unrepaired) == (1, [])
    assert full.check().problems == []
    assert entry(full, table, keys.namespace(1) if table != "owners" else b"") == (key, value)


@pytest.mark.parametrize("table", ORPHANED)
def test_an_entry_of_nothing_is_found_and_taken_away(full: Local, table: str) -> None:
    key, value = entry(full, table)
    orphan = ORPHANED[table](key)
    change(full, table, orphan, value)
    assert any("is not there" in problem for problem in full.check().problems)
    report = full.check(repair=True)
    assert report.repaired >= 1
    assert report.unrepaired == []
    assert full.check().problems == []
    assert full.search("端口").hits
    with full.engine.store.read() as reader:
        assert reader._get(table, orphan) is None
        assert reader._get(table, key) == value


def test_a_wrong_content_hash_an_unknown_owner_and_a_queue_out_of_step_are_put_right(full: Local) -> None:
    key, _ = entry(full, "contents", keys.namespace(1))
    change(full, "contents", key[:4] + bytes(16) + key[20:], b"")
    change(full, "owners", bytes(16), keys.namespace(1))
    change(full, "waiting", bytes(16), keys.namespace(1))
    job, _ = entry(full, "jobs")
    change(full, "waiting", job[4:], job[:4])
    problems = full.check().problems
    assert len(problems) == 4
    assert any("queue" in problem for problem in problems)
    assert full.check(repair=True).repaired == 4
    assert full.check().problems == []
    assert len(full.list_hindsight_jobs()) == 1


def test_a_record_that_cannot_be_read_is_told_with_the_remedy_and_the_rest_is_checked(full: Local) -> None:
    key, value = entry(full, "memories")
    change(full, "memories", key, value[:-3])
    report = full.check(repair=True)
    assert any(keys.format_id(key[4:]) in p and "from a backup" in p for p in report.unrepaired)
    assert report.namespaces == 2
    change(full, "memories", key, value)
    assert full.check().problems == []


def test_vectors_that_are_gone_or_not_finite_are_told_and_a_new_text_mends_them(full: Local) -> None:
    key, value = entry(full, "vectors")
    id = keys.format_id(key[4:])
    for bad in (b"\x00\x00\xc0\x7f" * (len(value) // 4), value[:-4], None):
        change(full, "vectors", key, bad)
        report = full.check(repair=True)
        assert any(id in problem and "embeds it anew" in problem for problem in report.unrepaired)
    full.update(id, content="数据库的端口是 3308")
    assert full.check().problems == []


def test_a_reference_to_nothing_is_told(full: Local) -> None:
    memory = full.list()[0]
    memory.supersedes = ["0197a3c4-7d2e-7c11-9f00-3b1f6a2c9d55"]
    full.engine.store.commit(lambda w: w.put_memory(memory))
    (problem,) = full.check(repair=True).unrepaired
    assert memory.id in problem

import shutil
import threading
from pathlib import Path

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.local import Local
from siltstone.model import AGENT_ROLES

UNKNOWN = "00000000-0000-7000-8000-000000000000"


def test_an_unknown_id_is_not_found_everywhere(mem: Local) -> None:
    for call in (
        lambda: mem.get([UNKNOWN]),
        lambda: mem.update(UNKNOWN, tags=["x"]),
        lambda: mem.forget(ids=[UNKNOWN]),
        lambda: mem.restore_memory(UNKNOWN),
        lambda: mem.trace(UNKNOWN),
    ):
        with pytest.raises(siltstone.NotFoundError) as caught:
            call()
        assert caught.value.reason == "MEMORY_NOT_FOUND"


def test_an_update_changes_what_is_given_and_keeps_the_rest(mem: Local) -> None:
    old = mem.write("use port 80", tags=["a"], valid_until="2030-01-01T00:00:00Z", confidence=0.8).memory
    new = mem.update(old.id, content="use port 8080 now", confidence=0.5, clear=["valid_until"])
    assert (new.content, new.summary, new.tags) == ("use port 8080 now", "use port 8080 now", ["a"])
    assert (new.confidence, new.valid_until, new.revision) == (0.5, None, 2)
    assert mem.search("8080").hits[0].memory.id == old.id
    assert mem.trace(old.id).revisions[0].memory.content == "use port 80"


def test_a_stale_revision_is_refused(mem: Local) -> None:
    memory = mem.write("x").memory
    mem.update(memory.id, tags=["first"], revision=1)
    with pytest.raises(siltstone.StaleRevisionError, match="has revision 2"):
        mem.update(memory.id, tags=["second"], revision=1)
    assert mem.get(memory.id)[0].tags == ["first"]


def test_of_writers_with_the_same_revision_one_wins(mem: Local) -> None:
    memory = mem.write("x").memory
    outcomes: list[str] = []

    def update(i: int) -> None:
        try:
            mem.update(memory.id, tags=[str(i)], revision=1)
            outcomes.append("won")
        except siltstone.StaleRevisionError:
            outcomes.append("stale")

    threads = [threading.Thread(target=update, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["stale"] * 7 + ["won"]


def test_a_writer_may_lower_confidence_and_only_an_auditor_raise_it(mem: Local) -> None:
    memory = mem.write("x", confidence=0.5).memory
    writer = Local(mem.engine, roles=AGENT_ROLES)
    assert writer.update(memory.id, confidence=0.4).confidence == 0.4
    with pytest.raises(siltstone.PermissionDeniedError, match="auditor") as caught:
        writer.update(memory.id, confidence=0.9)
    assert (caught.value.reason, caught.value.field) == ("CONFIDENCE_RAISE", "confidence")
    assert mem.update(memory.id, confidence=0.9).confidence == 0.9


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({}, "update_mask"),
        ({"content": " "}, "content"),
        ({"confidence": 7.0}, "confidence"),
        ({"clear": ["id"]}, "update_mask"),
        ({"clear": ["content"]}, "content"),
    ],
)
def test_a_bad_update_names_the_field(mem: Local, changes: dict[str, object], field: str) -> None:
    id = mem.write("x").memory.id
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.update(id, **changes)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_a_forgotten_memory_leaves_every_list_and_comes_back(mem: Local) -> None:
    id = mem.write("secret plan").memory.id
    assert mem.forget(ids=[id]).ids == [id]
    assert mem.search("secret plan").hits == []
    assert mem.list() == []
    assert mem.get(id)[0].invalidate_time is not None
    with pytest.raises(siltstone.FailedPreconditionError, match="was forgotten"):
        mem.update(id, tags=["x"])
    assert mem.forget(ids=[id]).count == 0
    mem.restore_memory(id)
    assert len(mem.search("secret plan").hits) == 1
    with pytest.raises(siltstone.FailedPreconditionError, match="nothing to restore"):
        mem.restore_memory(id)


def test_forget_by_filter_counts_first_and_refuses_an_empty_filter(mem: Local) -> None:
    ids = [mem.write(f"n{i}", tags=["old"] if i % 2 else []).memory.id for i in range(6)]
    trial = mem.forget(filter={"tags_any": ["old"]}, dry_run=True)
    assert (trial.count, trial.dry_run) == (3, True)
    assert len(mem.list()) == 6
    assert sorted(mem.forget(filter={"tags_any": ["old"]}).ids) == ids[1::2]
    assert [m.id for m in mem.list()] == ids[0::2]
    for bad in ({}, {"tags_any": []}):
        with pytest.raises(siltstone.InvalidArgumentError) as caught:
            mem.forget(filter=bad)
        assert caught.value.reason == "EMPTY_FILTER"
    with pytest.raises(siltstone.InvalidArgumentError):
        mem.forget()
    with pytest.raises(siltstone.InvalidArgumentError):
        mem.forget(ids=ids, filter={"tags_any": ["old"]})


def test_pages_show_every_memory_once(mem: Local) -> None:
    ids = [mem.write(f"n{i}", tags=["t"], on_duplicate="KEEP").memory.id for i in range(7)]
    for filter in (None, {"tags_any": ["t"]}):
        seen, token = [], ""
        while True:
            page = mem.list(filter=filter, page_size=3, page_token=token)
            seen += [m.id for m in page]
            if not (token := page.next_page_token):
                break
        assert seen == ids
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.list(page_token="nonsense")
    assert caught.value.field == "page_token"


def test_a_deleted_namespace_takes_all_with_it_and_its_name_starts_anew(mem: Local) -> None:
    id = mem.write("private", namespace="team/a").memory.id
    assert mem.delete_namespace("team/a") == 1
    with pytest.raises(siltstone.NotFoundError):
        mem.search("private", namespace="team/a")
    with pytest.raises(siltstone.NotFoundError):
        mem.get(id)
    mem.write("new", namespace="team/a")
    assert [h.memory.summary for h in mem.search("private", namespace="team/a").hits] == ["new"]
    mem.write("x")
    assert mem.delete_namespace("default") == 1
    assert mem.search("x").hits == []


def test_a_memory_never_appears_in_another_namespace(mem: Local) -> None:
    mine = mem.write("shared words", namespace="a").memory
    receipt = mem.write("shared words", namespace="b")
    assert receipt.action == "CREATED"
    assert receipt.related == []
    with pytest.raises(siltstone.NotFoundError):
        mem.write("takeover", namespace="b", supersedes=[mine.id])
    assert mem.list("b", filter={"ids": [mine.id]}) == []
    assert mem.forget(filter={"ids": [mine.id]}, namespace="b").count == 0
    assert mem.get(mine.id)[0].superseded_by == ""


def test_stats_count_and_check_finds_no_fault(mem: Local) -> None:
    for i in range(5):
        mem.write(f"n{i}", namespace="a" if i % 2 else "b", on_duplicate="KEEP")
    stats = mem.stats()
    assert (stats.memories, stats.namespaces) == (5, 4)
    assert mem.stats("a").memories == 2
    assert stats.store_bytes > 0
    report = mem.check()
    assert report.problems == []
    assert (report.memories, report.vectors) == (5, 5)


def test_a_namespace_of_more_memories_than_a_chunk_is_rebuilt_whole(tmp_path: Path) -> None:
    settings = Settings(embedding_model="hashing")
    with siltstone.open(tmp_path, settings=settings) as mem:
        drafts = [
            {"content": f"note {i}", "vector": [1.0, float(i)], "on_duplicate": "KEEP"} for i in range(1000)
        ]
        for _ in range(3):
            mem.write_many(drafts, namespace="many")
        assert len(mem.search(vector=[1.0, 1.0], namespace="many", top_k=10_000).hits) == 3000
    shutil.rmtree(tmp_path / "index")
    with siltstone.open(tmp_path, settings=settings) as mem:
        assert len(mem.search(vector=[1.0, 1.0], namespace="many", top_k=10_000).hits) == 3000
        assert mem.check().problems == []

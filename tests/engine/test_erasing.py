"""ERASE leaves no trace of a text in any file, also when the process dies in the middle."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.local import Local
from siltstone.store import Store

HASHING = Settings(embedding_model="hashing")
LATER = Settings(embedding_model="hashing", erase_compacts="later")
SECRET = "金库藏在 hunter2-藍鯨 and nobody may know"


def holds(directory: Path, text: str) -> list[str]:
    """The files below a directory in which the text stands, plain or as JSON has it."""
    forms = {
        text.encode(),
        json.dumps(text)[1:-1].encode(),
        json.dumps(text, ensure_ascii=False)[1:-1].encode(),
    }
    files = [f for f in directory.rglob("*") if f.is_file()]
    return [f.name for f in files if any(form in f.read_bytes() for form in forms)]


def spread(mem: Local, call: str = "") -> str:
    """A memory whose text is in every place there is; its id. `call` begins the ids of its requests."""
    id = mem.write(f"{SECRET}.", tags=["secret"], request_id=f"{call}w").memory.id
    mem.update(id, content=f"{SECRET}!", request_id=f"{call}u")
    mem.update(id, summary=f"{SECRET[:20]}")
    task = mem.start_task(f"find out: {SECRET}!", request_id=f"{call}s").id
    mem.update_task(task, findings=[f"{SECRET}!"], current_hypothesis=f"{SECRET}!", request_id=f"{call}t")
    mem.append_steps(
        task, [{"text": f"{SECRET}!"}, {"tool": "run", "arguments": {"cmd": f"echo '{SECRET}!'"}}]
    )
    mem.get(id, task_id=task)
    other = mem.write(f"{SECRET}! replaced", supersedes=[id]).memory
    mem.restore_memory(id)
    mem.forget(ids=other.id, mode="ERASE")
    mem.verify(id, "REFUTE", reviewer="r", note=f"not true that {SECRET}!", request_id=f"{call}v")
    mem.verify(id, "CONFIRM")
    return id


def test_erase_leaves_no_trace_in_any_file(tmp_path: Path) -> None:
    for round in "12":  # the second time with a snapshot of the index on disk
        with siltstone.open(tmp_path, settings=HASHING) as mem:
            mem.write("something else that stays")
            id = spread(mem, round)
        assert holds(tmp_path, SECRET)
        with siltstone.open(tmp_path, settings=HASHING) as mem:
            assert mem.search(SECRET).hits[0].memory.id == id
            result = mem.forget(ids=id, mode="ERASE")
            assert (result.count, result.ids, result.mode) == (1, [id], "ERASE")
            assert holds(tmp_path, SECRET) == []
            assert "something else that stays" in [
                h.memory.content for h in mem.search("x", view="FULL").hits
            ]
            with pytest.raises(siltstone.NotFoundError):
                mem.get(id)
            assert mem.check().problems == []
        assert holds(tmp_path, SECRET) == []


def test_a_lesson_goes_with_the_steps_it_quotes_and_its_copy_in_the_job(tmp_path: Path) -> None:
    cause = "The root cause is that the host hunter2-藍鯨 had left the network."
    steps = [
        {"tool": "run", "text": "trying", "result": "Error: connection refused", "is_error": True},
        {"text": cause, "tool": "read_log", "result": "ok"},
        {"text": "Changed the password and restarted the service.", "tool": "edit", "result": "ok"},
        {"tool": "run", "text": "again", "result": "HTTP/1.1 200 OK"},
        {"text": "Unrelated last words."},
    ]
    with siltstone.open(tmp_path, settings=HASHING) as mem:
        task = mem.start_task("make the service answer").id
        mem.append_steps(task, steps)
        job = mem.finish_task(task, "SUCCESS", wait=True)
        assert job.hindsight is not None
        ids = [receipt.memory.id for receipt in job.hindsight.receipts]
        assert ids
        assert any("hunter2-藍鯨" in m.content for m in mem.get(ids))
        mem.forget(ids=ids, mode="ERASE")
        assert holds(tmp_path, "hunter2-藍鯨") == []
        left = mem.get_hindsight_job(job.id).hindsight
        assert left is not None
        assert (left.receipts, left.lessons, left.summary) == ([], [], "[erased]")
        assert mem.list() == []


@pytest.mark.parametrize("when", ["before compacting", "before the snapshot went"])
def test_a_crash_in_the_middle_is_made_good_at_the_next_start(tmp_path: Path, when: str) -> None:
    with siltstone.open(tmp_path / "data", settings=LATER) as mem:
        id = spread(mem)
    with siltstone.open(tmp_path / "data", settings=LATER) as mem:
        assert mem.search(SECRET).hits
        mem.forget(ids=id, mode="ERASE")
        if when == "before compacting":
            mem.engine._drop_snapshots()
        shutil.copytree(tmp_path / "data", tmp_path / "died")
    assert holds(tmp_path / "died", SECRET)
    with siltstone.open(tmp_path / "died", settings=LATER) as mem:
        assert holds(tmp_path / "died", SECRET) == []
        assert mem.search(SECRET).hits == []
        assert mem.check().problems == []


def test_compacting_on_demand_finishes_what_was_put_off(tmp_path: Path) -> None:
    with siltstone.open(tmp_path, settings=LATER) as mem:
        mem.write("stays")
        id = mem.write(SECRET + " " + "padding " * 2000).memory.id
        mem.forget(ids=id, mode="ERASE")
        assert holds(tmp_path, SECRET), "free pages hold it"
        report = mem.compact()
        assert holds(tmp_path, SECRET) == []
        assert report.bytes_after < report.bytes_before
        assert [h.memory.content for h in mem.search("stays", view="FULL").hits] == ["stays"]


def test_a_deleted_namespace_leaves_nothing_after_compaction(tmp_path: Path) -> None:
    with siltstone.open(tmp_path, settings=HASHING) as mem:
        for i in range(40):
            mem.write(f"{SECRET} {i}", namespace="团队/甲", on_duplicate="KEEP")
        task = mem.start_task(SECRET, namespace="团队/甲").id
        mem.append_steps(task, [{"text": SECRET}])
    with siltstone.open(tmp_path, settings=HASHING) as mem:
        mem.search(SECRET, namespace="团队/甲")
        mem.delete_namespace("团队/甲")
        mem.compact()
        assert holds(tmp_path, SECRET) == []
    assert holds(tmp_path, SECRET) == []


def test_a_namespace_deleted_after_an_erasure_in_it_leaves_nothing(tmp_path: Path) -> None:
    with siltstone.open(tmp_path, settings=LATER) as mem:
        id = mem.write(SECRET, namespace="a").memory.id
        mem.forget(ids=id, mode="ERASE")
        mem.delete_namespace("a")
        mem.compact()
        assert holds(tmp_path, SECRET) == []
        assert mem.write("new", namespace="a").action == "CREATED"
        assert mem.check().problems == []


def test_by_filter_it_counts_first_and_reaches_what_was_invalidated(mem: Local) -> None:
    ids = [mem.write(f"note {i}", tags=["old"] if i % 2 else []).memory.id for i in range(6)]
    mem.forget(ids=ids[1])
    trial = mem.forget(filter={"tags_any": ["old"]}, mode="ERASE", dry_run=True)
    assert (trial.count, trial.ids, trial.dry_run) == (3, ids[1::2], True)
    assert len(mem.list()) == 5
    assert mem.forget(filter={"tags_any": ["old"]}, mode="ERASE").ids == ids[1::2]
    assert [m.id for m in mem.list()] == ids[0::2]
    with pytest.raises(siltstone.NotFoundError):
        mem.restore_memory(ids[1])
    for bad in ({}, {"not": {"not": {}}}):
        with pytest.raises(siltstone.InvalidArgumentError) as caught:
            mem.forget(filter=bad, mode="ERASE")
        assert caught.value.reason == "EMPTY_FILTER"
    with pytest.raises(siltstone.NotFoundError):
        mem.forget(filter={"tags_any": ["x"]}, namespace="nowhere", mode="ERASE")


def test_nobody_refers_to_an_erased_memory(mem: Local) -> None:
    a = mem.write("alpha alpha").memory.id
    b = mem.write("beta beta", supersedes=[a]).memory.id
    c = mem.write("gamma gamma", supersedes=[b]).memory.id
    mem.forget(ids=b, mode="ERASE")
    first, last = mem.get([a, c])
    assert (first.superseded_by, last.supersedes) == (c, [a]), "the chain closes over the gap"
    mem.forget(ids=c, mode="ERASE")
    assert mem.get(a)[0].superseded_by == ""
    assert [h.memory.id for h in mem.search("alpha").hits] == [a]
    assert b not in str(mem.trace(a)), "in former states neither"
    assert mem.check().problems == []


def test_a_repeat_of_a_call_whose_answer_was_erased_is_not_carried_out_again(mem: Local) -> None:
    given: dict[str, Any] = {"content": SECRET, "request_id": "once"}
    id = mem.write(**given).memory.id
    erase: dict[str, Any] = {"ids": id, "mode": "ERASE", "request_id": "erase"}
    assert mem.forget(**erase) == mem.forget(**erase)
    with pytest.raises(siltstone.FailedPreconditionError) as caught:
        mem.write(**given)
    assert (caught.value.reason, caught.value.field) == ("ANSWER_ERASED", "request_id")
    assert mem.list() == []
    assert mem.write(SECRET).action == "CREATED"


def test_a_read_that_is_held_delays_the_compaction_and_the_text_is_gone_from_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Store, *, timeout: float | None = None) -> None:
        raise siltstone.ResourceExhaustedError("the disk is full", reason="DISK_FULL")

    with siltstone.open(tmp_path, settings=HASHING) as mem:
        id = mem.write(SECRET).memory.id
        with monkeypatch.context() as patch:
            patch.setattr(Store, "compact", refuse)
            with pytest.raises(siltstone.ResourceExhaustedError):
                mem.forget(ids=id, mode="ERASE", request_id="r")
            assert mem.search(SECRET).hits == []
        assert mem.forget(ids=id, mode="ERASE", request_id="r").count == 1, "the retry finishes it"
        assert holds(tmp_path, SECRET) == []


def test_the_past_forgets_what_was_erased(mem: Local) -> None:
    id = mem.write(SECRET).memory.id
    then = mem.write("a later thing").memory.create_time
    assert then is not None
    assert id in [h.memory.id for h in mem.search(SECRET, as_of=then).hits]
    mem.forget(ids=id, mode="ERASE")
    assert id not in [h.memory.id for h in mem.search(SECRET, as_of=then).hits]

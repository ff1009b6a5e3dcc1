"""What becomes of the collections of deleted namespaces, and of files that cannot be deleted."""

import logging
from pathlib import Path

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.engine import collections
from siltstone.engine.collections import Collections
from siltstone.local import Local
from siltstone.model import IndexProgress
from siltstone.rust_core import Index
from siltstone.store import Change, NamespaceRecord

HASHING = Settings(embedding_model="hashing")


def number_of(mem: Local, namespace: str) -> int:
    with mem.engine.store.read() as reader:
        record = reader.namespace(namespace)
        assert record is not None
        return record.number


def delete_without_waiting(mem: Local, number: int) -> None:
    """As a caller whose time is up: nobody does anything behind the commit."""
    mem.engine.store.commit(lambda writer: writer.delete_namespace(number))


@pytest.mark.parametrize("ending", [".snap", ".label"])
def test_a_directory_in_the_place_of_an_index_file_stops_no_search(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, ending: str
) -> None:
    with siltstone.open(tmp_path, settings=HASHING) as mem:
        id = mem.write("端口 8080 被占用").memory.id
        assert mem.search("端口").hits
        number = number_of(mem, "default")
    file = tmp_path / "index" / f"{number}{ending}"
    file.unlink()
    file.mkdir()
    (file / "kept").touch()
    for _ in range(2):
        with siltstone.open(tmp_path, settings=HASHING) as mem, caplog.at_level(logging.WARNING):
            assert [hit.memory.id for hit in mem.search("端口").hits] == [id]
            assert mem.check(repair=True).problems == []
            mem.engine.collections.reset(number)
            assert [hit.memory.id for hit in mem.search("端口").hits] == [id]
        assert "cannot be deleted" in caplog.text
    assert (file / "kept").exists()


def test_a_namespace_deleted_by_a_caller_who_did_not_wait_leaves_no_collection(mem: Local) -> None:
    mem.write("x", namespace="gone")
    number = number_of(mem, "gone")
    assert len(mem.search("x", namespace="gone").hits) == 1
    delete_without_waiting(mem, number)
    assert not mem.engine.collections.index.loaded(number)


def test_many_small_namespaces_leave_nothing_behind(mem: Local) -> None:
    for i in range(20):
        mem.write(f"第 {i} 条", namespace=f"small/{i}")
        assert len(mem.search("条", namespace=f"small/{i}").hits) == 1
    numbers = [number_of(mem, f"small/{i}") for i in range(20)]
    for i in range(20):
        mem.delete_namespace(f"small/{i}")
    collections = mem.engine.collections
    assert not any(collections.index.loaded(number) for number in numbers)
    for known in (collections._ready, collections._births, collections._load_locks):
        assert not known.keys() & set(numbers)


@pytest.mark.parametrize("before", [True, False])
def test_a_namespace_deleted_while_its_collection_is_built_leaves_none(
    mem: Local, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    mem.write("x", namespace="gone")
    gone = number_of(mem, "gone")
    mem.engine.collections.reset(gone)
    build = Collections._build

    def deleting(
        self: Collections, index: Index, namespace: NamespaceRecord, progress: IndexProgress | None = None
    ) -> int:
        if before:
            delete_without_waiting(mem, namespace.number)
        seq = build(self, index, namespace, progress)
        delete_without_waiting(mem, namespace.number)
        return seq

    monkeypatch.setattr(Collections, "_build", deleting)
    with pytest.raises(siltstone.NotFoundError) as caught:
        mem.search("x", namespace="gone")
    assert caught.value.reason == "NAMESPACE_NOT_FOUND"
    assert not mem.engine.collections.index.loaded(gone)


def test_commits_applied_together_leave_what_each_alone_would(tmp_path: Path) -> None:
    one, many = Index(None), Index(None)
    with siltstone.open(tmp_path, settings=HASHING) as mem:
        store, number = mem.engine.store, number_of(mem, "default")
        ids = [mem.write(f"第 {i} 条", on_duplicate="KEEP").memory.id for i in range(6)]
        changes: list[Change] = []

        def note(seq: int) -> None:
            with store.read() as reader:
                changes.extend(reader.changes(number, seq) or ())

        for step in (
            lambda: mem.update(ids[0], content="改了"),
            lambda: mem.forget(ids=[ids[1]]),
            lambda: mem.update(ids[0], content="又改了"),
            lambda: mem.restore_memory(ids[1]),
            lambda: mem.forget(ids=[ids[0]]),
            lambda: mem.update(ids[2], content="第三次"),
        ):
            seq = store.info().seq
            step()
            note(seq)
        dimension = mem.engine.embedder.dimension
    together = list(collections._together(changes))
    assert len(together) < len(changes)
    for index, applied in ((one, changes), (many, together)):
        index.create(number, dimension, 0)
        for change in applied:
            index.apply(number, change.seq, change.puts, change.removes)
    assert one.digest(number) == many.digest(number)
    assert one.status(number).applied_seq == many.status(number).applied_seq

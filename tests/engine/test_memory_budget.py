"""Indexes under a budget of memory: what leaves it, what stays, and that nobody can tell."""

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import siltstone
from siltstone.config import Settings
from siltstone.engine import collections, memory_budget
from siltstone.engine.memory_budget import MemoryBudget, half_of_memory
from siltstone.local import Local
from siltstone.model import Memory
from siltstone.store import NamespaceRecord, Writer

TIGHT = Settings(embedding_model="hashing", index_memory=1)  # less than any index: what is not used goes


def fill(mem: Local, names: list[str], memories: int) -> None:
    """Write namespaces with so many memories each, in one commit."""
    embedder = mem.engine.embedder
    texts = [f"第 {i} 条：服务 {i} 用端口 {8000 + i}" for i in range(memories)]
    vectors = [embedder.embed_passages([text]) for text in texts]

    def write(writer: Writer) -> None:
        for name in names:
            namespace = writer.namespace(name) or writer.create_namespace(name)
            writer.bind_model(namespace.number, embedder.model, embedder.dimension)
            for text, vector in zip(texts, vectors, strict=True):
                writer.put_memory(Memory(namespace=name, content=text, summary=text), vector)

    mem.engine.store.commit(write)


def record_of(mem: Local, name: str) -> NamespaceRecord:
    with mem.engine.store.read() as reader:
        record = reader.namespace(name)
    assert record is not None
    return record


def loaded(mem: Local) -> set[int]:
    return set(mem.engine.collections.statuses())


def test_the_least_recently_used_of_what_nobody_holds_goes_until_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_budget, "_EACH", 0)
    budget = MemoryBudget(100)
    for number in (1, 2, 3, 4):
        budget.use(number)
        budget.measured(number, 25)
    assert budget.surplus() == []
    budget.use(1)
    budget.use(5)
    budget.measured(5, 10)
    assert budget.surplus() == [2]
    with budget.holding([2, 3]), budget.holding([3]):
        assert budget.surplus() == [4]
    budget.gone(2)
    assert budget.surplus() == []
    budget.measured(5, 1000)
    assert budget.surplus() == [3, 4, 1, 5]


def test_the_default_is_a_part_of_the_memory_there_is() -> None:
    assert 1 << 20 < half_of_memory() < 1 << 50


@pytest.mark.parametrize("memories", [3, collections._FEW])
def test_an_index_that_left_memory_answers_as_before_with_what_was_written_meanwhile(
    tmp_path: Path, memories: int
) -> None:
    with siltstone.open(tmp_path, settings=TIGHT) as mem:
        fill(mem, ["甲", "乙"], memories)
        first = record_of(mem, "甲")
        before = mem.search("服务 1 端口", namespace="甲")
        assert mem.search("服务 1 端口", namespace="乙").hits
        assert first.number not in loaded(mem)
        after = mem.search("服务 1 端口", namespace="甲")
        assert [hit.memory.id for hit in after.hits] == [hit.memory.id for hit in before.hits]
        mem.search("服务", namespace="乙")
        assert first.number not in loaded(mem)
        new = mem.write("数据库只在夜里备份", namespace="甲").memory
        gone = before.hits[0].memory.id
        mem.forget(ids=[gone])
        found = [hit.memory.id for hit in mem.search("数据库 备份 服务 1 端口", namespace="甲").hits]
        assert new.id in found
        assert gone not in found
        assert mem.check().problems == []
    assert bool(list((tmp_path / "index").glob("*.snap")))
    with siltstone.open(tmp_path, settings=TIGHT) as mem:
        assert mem.search("数据库 备份", namespace="甲").hits[0].memory.id == new.id
        assert mem.check().problems == []


def test_an_index_with_unsaved_changes_is_saved_before_it_goes(tmp_path: Path) -> None:
    with siltstone.open(tmp_path, settings=TIGHT) as mem:
        fill(mem, ["many", "other"], collections._FEW)
        mem.search("服务", namespace="many")
        mem.write("new", namespace="many")
        mem.search("服务", namespace="other")
        number = record_of(mem, "many").number
        assert number not in loaded(mem)
        label = collections._read_label(tmp_path / "index", number)
        assert label is not None
        assert label.seq == mem.engine.store.info().seq


def test_an_index_whose_snapshot_cannot_be_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with siltstone.open(tmp_path, settings=TIGHT) as mem:
        fill(mem, ["many", "other"], collections._FEW)
        mem.search("服务", namespace="many")
        number = record_of(mem, "many").number
        blocked = tmp_path / "index" / f"{number}.label"
        blocked.mkdir()
        mem.search("服务", namespace="other")
        assert number in loaded(mem)
        assert "could not be saved" in caplog.text
        blocked.rmdir()
        mem.search("服务", namespace="default")
        mem.write("x")
        mem.search("x")
        assert number not in loaded(mem)


def test_an_index_in_use_stays(tmp_path: Path) -> None:
    with siltstone.open(tmp_path, settings=TIGHT) as mem:
        fill(mem, ["held", "other"], 3)
        held = record_of(mem, "held")
        with mem.engine.collections.held([held]) as there:
            assert there
            mem.search("服务", namespace="other")
            assert held.number in loaded(mem)
        mem.search("服务", namespace=["other", "held"])
        mem.search("服务", namespace="other")
        fill(mem, ["third"], 3)
        mem.search("服务", namespace="third")
        assert loaded(mem) <= {record_of(mem, "third").number}


def test_searches_and_writes_of_many_threads_go_on_while_indexes_come_and_go(tmp_path: Path) -> None:
    names = [f"ns/{i}" for i in range(6)]
    with siltstone.open(tmp_path, settings=TIGHT) as mem:
        fill(mem, names, 5)

        def work(thread: int) -> None:
            chance = np.random.default_rng(thread)
            for i in range(15):
                some = [names[j] for j in chance.choice(len(names), size=2, replace=False)]
                assert len(mem.search("服务 端口", namespace=some, top_k=10).hits) >= 10
                if i % 5 == 0:
                    written = mem.write(f"线程 {thread} 的第 {i} 条", namespace=some[0], on_duplicate="KEEP")
                    hits = mem.search(f"线程 {thread} 的第 {i} 条", namespace=some[0], top_k=50).hits
                    assert written.memory.id in {hit.memory.id for hit in hits}

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(6), timeout=60))
        assert mem.check().problems == []


def test_thousands_of_tiny_namespaces_cost_no_start_little_memory_and_no_files(tmp_path: Path) -> None:
    count = 3000
    names = [f"租户/{i}" for i in range(count)]
    with siltstone.open(tmp_path, settings=Settings(embedding_model="hashing")) as mem:
        fill(mem, names, 1)
        for name in names[:300]:
            assert len(mem.search("服务", namespace=name, include_public=False).hits) == 1
        stats = mem.stats()
        assert stats.indexes_loaded == 300
        assert stats.index_bytes < 300 * 20_000
    assert len(list((tmp_path / "index").glob("*.snap"))) <= collections._FEW_SAVED_AT_CLOSE
    small = Settings(embedding_model="hashing", index_memory=100_000)
    with siltstone.open(tmp_path, settings=small) as mem:
        assert mem.stats().indexes_loaded == 0
        for name in names[:: count // 100]:
            assert len(mem.search("服务", namespace=name, include_public=False).hits) == 1
        assert mem.stats().index_bytes < 100_000 + 20_000


def test_stats_tell_what_a_memory_takes(tmp_path: Path) -> None:
    with siltstone.open(tmp_path, settings=Settings(embedding_model="hashing")) as mem:
        assert mem.stats().index_bytes_per_memory == 0
        fill(mem, ["n"], 100)
        mem.search("服务", namespace="n", include_public=False)
        stats = mem.stats()
        assert stats.index_bytes_per_memory == stats.index_bytes / 100 > mem.engine.embedder.dimension


def test_an_index_that_is_built_tells_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(collections, "_PROGRESS_EVERY_S", -1.0)
    monkeypatch.setattr(collections, "_CHUNK", 40)
    with siltstone.open(tmp_path, settings=Settings(embedding_model="hashing")) as mem:
        fill(mem, ["n"], 100)
        seen = []
        chunks = collections._chunks

        def looking(records, size):  # type: ignore[no-untyped-def]
            for chunk in chunks(records, size):
                seen.append(mem.stats().building)
                yield chunk

        monkeypatch.setattr(collections, "_chunks", looking)
        with caplog.at_level(logging.INFO, collections.log.name):
            mem.search("服务", namespace="n", include_public=False)
        assert mem.stats().building == []
    [last] = seen[-1]
    assert (last.namespace, last.total) == ("n", 100)
    assert "the index of 'n' is built from the store: 80 of 100 memories" in caplog.text


def test_updates_of_the_same_memories_grow_neither_the_index_nor_its_snapshot(tmp_path: Path) -> None:
    with siltstone.open(tmp_path, settings=Settings(embedding_model="hashing")) as mem:
        fill(mem, ["n"], 100)
        mem.search("服务", namespace="n", include_public=False)
        number = record_of(mem, "n").number
        vectors = mem.engine.embedder.embed_passages(["改了"])

        def update(writer: Writer) -> None:
            for memory in list(writer.scan_memories(number)):
                memory.content = f"第 {memory.revision} 次改动"
                writer.put_memory(memory, vectors)

        sizes, files = [], []
        for _ in range(60):
            mem.engine.store.commit(update)
            sizes.append(mem.engine.collections.statuses()[number].bytes)
            mem.engine.collections._save(number, pending=1)
            files.append((tmp_path / "index" / f"{number}.snap").stat().st_size)
        assert max(sizes[30:]) <= max(sizes[:30]) * 1.1
        assert max(files[30:]) <= max(files[:30]) * 1.1
        assert mem.check().problems == []

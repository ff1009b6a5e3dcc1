"""Namespaces move to another embedding model behind the calls, and no search mixes two."""

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import siltstone
from siltstone.config import Settings
from siltstone.embed import Vectors
from siltstone.embed.hashing import HashingEmbedder
from siltstone.engine import Call
from siltstone.engine import engine as engine_room
from siltstone.local import Local
from siltstone.model.requests import ReembedRequest

BOUND = 60.0
SETTINGS = Settings(embedding_model="hashing", hindsight_workers=0)
Open = Callable[..., Local]


class Turned(HashingEmbedder):
    """Another model of the same dimension, whose vectors have nothing to do with the first one's: a mix of
    the two shows at once, since nothing is found any more."""

    def __init__(self) -> None:
        super().__init__()
        self.model = "turned/1"
        self.go_on = threading.Event()
        self.go_on.set()
        self.asked = threading.Event()
        order = np.random.default_rng(3).permutation(self.dimension)
        self._turn = lambda vectors: np.ascontiguousarray(vectors[:, order])

    def embed_passages(self, texts: Any) -> Vectors:
        self.asked.set()
        assert self.go_on.wait(BOUND)
        return self._turn(super().embed_passages(texts))

    def embed_queries(self, texts: Any) -> Vectors:
        return self._turn(super().embed_passages(texts))  # theirs would ask for ours


@pytest.fixture
def turned(monkeypatch: pytest.MonkeyPatch) -> Turned:
    """The model `turned`, the same for every engine of a test."""
    model = Turned()
    opened = engine_room.open_embedder

    def open_one(name: str, **given: Any) -> Any:
        return model if name == "turned" else opened(name, **given)

    monkeypatch.setattr(engine_room, "open_embedder", open_one)
    return model


@pytest.fixture
def open_at(tmp_path: Path) -> Iterator[Open]:
    opened: list[Local] = []

    def open_one(settings: Settings = SETTINGS) -> Local:
        opened.append(siltstone.open(tmp_path / "data", settings=settings))
        return opened[-1]

    yield open_one
    for mem in opened:
        mem.close()


def fill(mem: Local, count: int = 60) -> list[str]:
    texts = [f"第 {i} 条笔记：端口 {i * 37} 上的服务 svc{i}" for i in range(count)]
    receipts = mem.write_many([{"content": text, "on_duplicate": "KEEP"} for text in texts])
    return [receipt.memory.id for receipt in receipts]


def finds(mem: Local, ids: list[str], every: int = 7) -> None:
    """Each memory is found by its own words, by the cosine alone."""
    weights = {"similarity": 1, "recency": 0, "confidence": 0, "lexical": 0, "neighbours": 0}
    for id in ids[::every]:
        [memory] = mem.get([id])
        [hit] = mem.search(memory.content, top_k=1, weights=weights).hits
        assert hit.memory.id == id
        assert hit.cosine == pytest.approx(1.0, abs=0.02)


def test_a_namespace_moves_to_another_model_and_back(open_at: Open, turned: Turned) -> None:
    mem = open_at()
    ids = fill(mem)
    finds(mem, ids)
    report = mem.reembed("turned", wait=True)
    assert (report.model, report.memories, report.remaining, report.namespaces_remaining) == (
        "turned/1",
        60,
        0,
        0,
    )
    assert mem.get([ids[0]])[0].embedding_model == "turned/1"
    finds(mem, ids)
    assert mem.check().problems == []
    assert mem.reembed("hashing", wait=True).remaining == 0
    finds(mem, ids)
    assert mem.check().problems == []
    with mem.engine.store.read() as reader:
        assert reader.entries()["other_vectors"] == 0


def test_until_the_new_model_is_ready_the_former_serves_and_progress_is_told(
    open_at: Open, turned: Turned
) -> None:
    mem = open_at()
    ids = fill(mem)
    turned.go_on.clear()
    assert mem.reembed("turned").remaining == 60
    assert turned.asked.wait(BOUND)
    finds(mem, ids)
    assert mem.get([ids[0]])[0].embedding_model.startswith("hashing")
    written = mem.write("写于搬迁途中：第 999 条").memory
    changed = mem.update(ids[3], content="改于搬迁途中：换了端口 4242")
    mem.forget(ids=[ids[5]], mode="ERASE")
    finds(mem, [written.id, changed.id], every=1)
    turned.go_on.set()
    assert mem.reembed("turned", wait=True).namespaces_remaining == 0
    rest = [id for id in ids if id != ids[5]]
    finds(mem, [*rest, written.id], every=1)
    assert mem.search("换了端口 4242").hits[0].memory.id == changed.id
    assert mem.check().problems == []


def test_what_was_begun_goes_on_after_a_restart(open_at: Open, turned: Turned) -> None:
    mem = open_at()
    ids = fill(mem)
    turned.go_on.clear()
    mem.reembed("turned")
    assert turned.asked.wait(BOUND)
    threading.Timer(0.05, turned.go_on.set).start()
    mem.close()
    again = open_at()
    assert again.engine.mover.wait(BOUND)
    finds(again, ids)
    assert again.get([ids[0]])[0].embedding_model == "turned/1"
    again.close()
    finds(open_at(), ids)  # from the snapshot of the new model


def test_after_a_switch_the_index_of_the_former_model_is_never_loaded(
    open_at: Open, turned: Turned, tmp_path: Path
) -> None:
    mem = open_at()
    ids = fill(mem)
    finds(mem, ids)
    mem.close()  # leaves a snapshot of the former model
    kept = {path: path.read_bytes() for path in (tmp_path / "data/index").iterdir() if path.is_file()}
    assert kept
    mem = open_at()
    assert mem.reembed("turned", wait=True).remaining == 0
    mem.close()
    for path, data in kept.items():  # as if the process had died before it took the new index over
        path.write_bytes(data)
    again = open_at()
    finds(again, ids)
    assert again.check().problems == []


def test_a_service_started_with_the_new_model_serves_the_former_until_all_is_moved(
    open_at: Open, turned: Turned
) -> None:
    mem = open_at()
    ids = fill(mem)
    turned.go_on.clear()
    mem.reembed("turned")
    assert turned.asked.wait(BOUND)
    threading.Timer(0.05, turned.go_on.set).start()
    mem.close()
    turned.go_on.clear()
    again = open_at(replace(SETTINGS, embedding_model="turned"))
    finds(again, ids)
    turned.go_on.set()
    assert again.engine.mover.wait(BOUND)
    finds(again, ids)
    assert again.write("新写的一条").memory.embedding_model == "turned/1"


def test_writes_and_searches_all_along_find_what_they_should(open_at: Open, turned: Turned) -> None:
    mem = open_at()
    ids = fill(mem, 200)
    stop, wrong = threading.Event(), []
    written: list[str] = []

    def work(number: int) -> None:
        try:
            draw = random.Random(number)
            for i in range(300):
                if stop.is_set():
                    return
                # words of its own: hashed into few numbers, one that differs is soon that of another text
                text = f"线程 {number} 的第 {i} 句：" + " ".join(
                    f"{draw.getrandbits(40):x}" for _ in range(8)
                )
                id = mem.write(text, on_duplicate="KEEP").memory.id
                written.append(id)
                finds(mem, [id, ids[i % len(ids)]], every=1)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for model in ("turned", "hashing", "turned"):
        assert mem.reembed(model, wait=True).namespaces_remaining == 0
        while_clearing(mem)
    stop.set()
    for thread in threads:
        thread.join(BOUND)
        assert not thread.is_alive()
    assert wrong == []
    finds(mem, written, every=5)
    assert mem.check().problems == []


def while_clearing(mem: Local) -> None:
    """Wait until the former vectors are cleared."""
    for _ in range(1000):
        with mem.engine.store.read() as reader:
            if not any(record.clearing for record in reader.namespaces()):
                return
        threading.Event().wait(0.01)
    raise AssertionError("the former vectors are not cleared")


def test_the_past_is_searched_by_the_new_model(open_at: Open, turned: Turned) -> None:
    mem = open_at()
    [id, *_] = fill(mem, 5)
    before = mem.get([id])[0].update_time
    old = mem.get([id])[0].content
    mem.update(id, tags=["改过标签"])
    mem.reembed("turned", wait=True)
    mem.update(id, content="完全不同的内容")
    mem.update(id, content="又一次不同")
    [hit] = mem.search(old, as_of=before, top_k=1).hits
    assert hit.memory.id == id
    assert hit.cosine == pytest.approx(1.0, abs=0.02)
    assert [r.memory.content for r in mem.trace(id).revisions] == [old, old, "完全不同的内容"]


def test_a_move_is_ended_by_asking_for_the_model_that_is_there(open_at: Open, turned: Turned) -> None:
    mem = open_at()
    ids = fill(mem)
    turned.go_on.clear()
    mem.reembed("turned")
    assert turned.asked.wait(BOUND)
    assert mem.reembed("hashing").namespaces_remaining == 0
    turned.go_on.set()
    while_clearing(mem)
    finds(mem, ids)
    with mem.engine.store.read() as reader:
        assert reader.entries()["other_vectors"] == 0


def test_unknown_models_and_vectors_of_callers_are_refused(open_at: Open, turned: Turned) -> None:
    mem = open_at()
    mem.write("自带向量", namespace="own", vector=[1.0, 0.0])
    fill(mem, 3)
    with pytest.raises(siltstone.NotFoundError) as caught:
        mem.reembed("没有这个模型")
    assert (caught.value.reason, caught.value.field) == ("MODEL_NOT_FOUND", "model")
    with pytest.raises(siltstone.FailedPreconditionError) as refused:
        mem.reembed("turned", namespace="own")
    assert refused.value.reason == "CALLER_VECTORS"
    with pytest.raises(siltstone.NotFoundError):
        mem.reembed("turned", namespace="没有")
    assert mem.reembed("turned", wait=True).memories == 3
    assert mem.search(vector=[1.0, 0.0], namespace="own", include_public=False).hits


def test_whoever_waits_for_a_move_is_let_go_when_it_went_away_or_the_move_fails(
    open_at: Open, turned: Turned, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem = open_at()
    fill(mem)
    mem.write("别处的笔记", namespace="elsewhere")
    turned.go_on.clear()
    mem.reembed("turned", namespace="default")
    assert turned.asked.wait(BOUND)
    there = iter([True, True, True])
    gone = Call(waiting=lambda: next(there, False))
    waiting = ReembedRequest(model="turned", namespace="default", wait=True)
    with pytest.raises(siltstone.UnavailableError) as caught:
        mem.engine.reembed_memories(waiting, gone)
    assert caught.value.reason == "CALLER_GONE"
    # What moves elsewhere is nothing to wait for.
    report = mem.engine.reembed_memories(
        ReembedRequest(model="hashing", namespace="elsewhere", wait=True), Call()
    )
    assert report.remaining == 0
    monkeypatch.setattr(turned, "_turn", None)
    turned.go_on.set()
    assert mem.engine.reembed_memories(waiting, Call()).namespaces_remaining == 1


def test_what_is_written_just_before_the_index_is_made_is_in_it(
    open_at: Open, turned: Turned, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem = open_at()
    fill(mem)
    prepare = mem.engine.collections.prepare
    late: list[str] = []

    def write_first(*given: Any) -> None:
        if not late:
            late.append(mem.write("做索引之前最后写下的一句", on_duplicate="KEEP").memory.id)
        prepare(*given)

    monkeypatch.setattr(mem.engine.collections, "prepare", write_first)
    mem.reembed("turned", wait=True)
    finds(mem, late, every=1)
    assert mem.check().problems == []

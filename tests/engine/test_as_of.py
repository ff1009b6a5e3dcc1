"""What was believed at a moment: memories, texts, vectors and relations as they stood."""

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import siltstone
from siltstone.config import Settings
from siltstone.embed import open_embedder
from siltstone.local import Local
from siltstone.model import Memory, SearchResult

BEFORE_ALL = datetime(2001, 1, 1, tzinfo=UTC)


def now(mem: Local) -> datetime:
    """A moment after all that was written, and before all that will be."""
    moment = mem.write(
        f"mark {time.monotonic_ns()}", namespace="clock", on_duplicate="KEEP"
    ).memory.create_time
    assert moment is not None
    return moment


def contents(result: SearchResult) -> list[str]:
    return [hit.memory.summary for hit in result.hits]


def test_what_was_superseded_later_is_the_answer_of_before(mem: Local) -> None:
    a = mem.write("fix the login: clear the cookies").memory
    before = now(mem)
    b = mem.write("fix the login: renew the certificate", supersedes=[a.id]).memory
    assert contents(mem.search("fix the login")) == [b.summary]
    [hit] = mem.search("fix the login", as_of=before).hits
    assert (hit.memory.id, hit.memory.superseded_by) == (a.id, "")
    assert contents(mem.search("fix the login", as_of=now(mem))) == [b.summary]


def test_a_former_text_is_found_by_its_own_words_and_vectors(mem: Local) -> None:
    id = mem.write("容器之间用 IP 地址互相访问").memory.id
    before = now(mem)
    mem.update(id, content="the birthday cake needs cherries", tags=["cake"])
    [hit] = mem.search("容器互相访问", as_of=before, view="FULL").hits
    assert (hit.memory.content, hit.memory.tags, hit.memory.revision) == ("容器之间用 IP 地址互相访问", [], 1)
    assert hit.cosine > 0.3
    assert hit.lexical > 0
    [then] = mem.search("birthday cake cherries", as_of=before).hits
    assert then.cosine < 0.3
    [today] = mem.search("birthday cake cherries").hits
    assert today.cosine > 0.7


def test_filters_ask_what_held_then(mem: Local) -> None:
    id = mem.write("port 80", tags=["old"], attributes={"mysql": "5.7"}).memory.id
    before = now(mem)
    mem.update(id, tags=["new"], attributes={"mysql": "8.0"})
    old = {"tags_any": ["old"], "attributes": {"mysql": {"lt": "8"}}}
    assert [h.memory.id for h in mem.search("port", as_of=before, filter=old).hits] == [id]
    assert mem.search("port", filter=old).hits == []
    assert mem.search("port", as_of=before, filter={"tags_any": ["new"]}).hits == []


def test_what_came_later_is_not_there(mem: Local) -> None:
    mem.write("first")
    before = now(mem)
    mem.write("second")
    assert contents(mem.search("first second", as_of=before)) == ["first"]
    assert mem.search("first", as_of=BEFORE_ALL).hits == []


def test_forgetting_and_restoring_hide_it_only_in_between(mem: Local) -> None:
    id = mem.write("the moon is made of rock").memory.id
    moments = [now(mem)]
    mem.forget(ids=id)
    moments.append(now(mem))
    mem.restore_memory(id)
    moments.append(now(mem))
    assert [len(mem.search("moon", as_of=moment).hits) for moment in moments] == [1, 0, 1]


def test_validity_is_measured_at_that_moment(mem: Local) -> None:
    mem.write("the badge opens door 3", ttl=timedelta(days=1))
    written = now(mem)
    assert len(mem.search("badge", as_of=written).hits) == 1
    later = written + timedelta(days=2)
    assert mem.search("badge", as_of=later).hits == []
    assert mem.search("badge", as_of=written, now=later).hits != [], "the moment asked about is the clock"
    assert len(mem.search("badge", as_of=later, include_expired=True).hits) == 1


def test_the_score_of_the_present_is_that_as_of_the_present(mem: Local) -> None:
    for i in range(60):
        mem.write(f"note {i} about containers and port {i % 7}", sequence="chat", position=i)
    moment = now(mem)
    live = mem.search("containers port 3", now=moment, top_k=20)
    past = mem.search("containers port 3", as_of=moment, top_k=20)
    assert [h.memory.id for h in past.hits] == [h.memory.id for h in live.hits]
    for a, b in zip(past.hits, live.hits, strict=True):
        assert a.score == pytest.approx(b.score, abs=1e-6)


def test_public_and_several_namespaces_are_read_as_of_then_too(mem: Local) -> None:
    for namespace in ("a", "b", "public"):
        mem.write(f"tea of {namespace}", namespace=namespace)
    before = now(mem)
    for namespace in ("a", "b", "public"):
        mem.write(f"coffee of {namespace}", namespace=namespace)
    found = mem.search("tea coffee", namespace=["a", "b"], as_of=before)
    assert sorted(contents(found)) == ["tea of a", "tea of b", "tea of public"]


def test_a_past_that_was_read_before_follows_what_changes_it(mem: Local) -> None:
    """An import brings memories made earlier; what is changed now keeps its former state in the past."""
    kept = mem.write("alpha beacon").memory
    moment = now(mem)
    assert len(mem.search("beacon", as_of=moment).hits) == 1
    mem.update(kept.id, content="omega")
    mem.engine.store.commit(
        lambda writer: writer.put_memory(
            Memory(content="gamma beacon", summary="gamma beacon", create_time=moment - timedelta(days=1)),
            open_embedder("hashing").embed_passages(["gamma beacon"]),
        )
    )
    assert sorted(contents(mem.search("beacon", as_of=moment))) == ["alpha beacon", "gamma beacon"]
    mem.engine.store.commit(lambda writer: writer.erase_memory(kept.id))
    assert contents(mem.search("beacon", as_of=moment)) == ["gamma beacon"]


def test_a_change_without_a_revision_hides_nothing(mem: Local) -> None:
    id = mem.write("said every day", event_time="2026-01-01T00:00:00Z").memory.id
    before = now(mem)
    again = mem.write("said every day", event_time="2026-02-01T00:00:00Z")
    assert (again.action, again.memory.id) == ("MERGED", id)
    assert [h.memory.id for h in mem.search("said every day", as_of=before).hits] == [id]


def test_get_reads_the_state_of_then_and_refuses_what_came_later(mem: Local) -> None:
    id = mem.write("用 80 端口").memory.id
    before = now(mem)
    mem.update(id, content="用 8080 端口")
    later = mem.write("later").memory.id
    assert [m.content for m in mem.get(id, as_of=before)] == ["用 80 端口"]
    assert [m.content for m in mem.get(id)] == ["用 8080 端口"]
    with pytest.raises(siltstone.NotFoundError, match="as of 20"):
        mem.get(later, as_of=before)


def test_a_batch_may_ask_about_many_moments(mem: Local) -> None:
    moments = []
    for i in range(12):
        mem.write(f"step {i}", on_duplicate="KEEP")
        moments.append(now(mem))
    requests = [{"query": "step", "as_of": moment, "top_k": 100} for moment in moments]
    results = mem.search_many([*requests, {"query": "step", "top_k": 100}])
    assert [len(r.hits) for r in results] == [*range(1, 13), 12]


def test_texts_of_a_former_model_are_embedded_by_todays(mem: Local) -> None:
    embed = open_embedder("hashing").embed_passages
    id = mem.write("the lighthouse is red", namespace="n", vector=[1.0, 0.0]).memory.id
    before = now(mem)

    def move(writer: siltstone.store.Writer) -> None:
        record, memory = writer.namespace("n"), writer.memory(id)
        writer.start_move(record, "hashing", mem.engine.embedder.model, embed(["x"]).shape[1])
        writer.put_next_vectors(memory, embed([memory.content]))
        writer.finish_move(record.number)

    mem.engine.store.commit(move)
    mem.update(id, content="blue sea")
    [hit] = mem.search("lighthouse red", namespace="n", as_of=before, view="FULL").hits
    assert hit.memory.content == "the lighthouse is red"
    assert hit.cosine > 0.5


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Local]:
    settings = Settings(embedding_model="hashing", max_as_of_memories=3)
    with siltstone.open(tmp_path / "small", settings=settings) as opened:
        yield opened


def _namespaces(mem: Local) -> list[siltstone.store.NamespaceRecord]:
    with mem.engine.store.read() as reader:
        return reader.namespaces()


def test_a_namespace_above_the_limit_is_refused_by_name(small: Local) -> None:
    for i in range(3):
        small.write(f"n{i}", on_duplicate="KEEP")
    first = now(small)
    small.write("n4", on_duplicate="KEEP")
    assert len(small.search("n", as_of=first).hits) == 3
    with pytest.raises(siltstone.ResourceExhaustedError, match="max_as_of_memories") as caught:
        small.search("n", as_of=now(small))
    assert (caught.value.field, caught.value.reason) == ("as_of", "AS_OF_TOO_LARGE")


def test_a_deleted_namespace_has_no_past(mem: Local) -> None:
    mem.write("secret", namespace="gone")
    moment = now(mem)
    assert len(mem.search("secret", namespace="gone", as_of=moment).hits) == 1
    mem.delete_namespace("gone")
    with pytest.raises(siltstone.NotFoundError):
        mem.search("secret", namespace="gone", as_of=moment)
    mem.write("other", namespace="gone")
    assert mem.search("secret", namespace="gone", as_of=moment).hits == []


def test_the_past_stands_still_while_others_write(mem: Local) -> None:
    ids = [mem.write(f"fact {i}", on_duplicate="KEEP").memory.id for i in range(20)]
    moment = now(mem)
    expected = [(h.memory.id, h.score) for h in mem.search("fact", as_of=moment, top_k=50).hits]
    assert len(expected) == 20
    failures: list[object] = []

    def write(thread: int) -> None:
        try:
            for i in range(10):
                mem.update(ids[thread * 5 + i % 5], content=f"changed {thread} {i}")
                mem.write(f"fact {thread} {i}", on_duplicate="KEEP")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        found = [(h.memory.id, h.score) for h in mem.search("fact", as_of=moment, top_k=50).hits]
        assert found == expected
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert [(h.memory.id, h.score) for h in mem.search("fact", as_of=moment, top_k=50).hits] == expected


def test_vectors_of_the_caller_are_those_of_then(mem: Local) -> None:
    id = mem.write("v", namespace="v", vector=[1.0, 0.0]).memory.id
    before = now(mem)
    record = next(n for n in _namespaces(mem) if n.name == "v")
    assert record.embedding_dimension == 2
    mem.engine.store.commit(
        lambda writer: writer.put_memory(
            writer.memory(id), np.array([[0.0, 1.0]], dtype=np.float32), former="updated"
        )
    )
    plain = {"calibrate": False, "lexical": 0}
    [then] = mem.search(vector=[1.0, 0.0], namespace="v", as_of=before, weights=plain).hits
    [today] = mem.search(vector=[1.0, 0.0], namespace="v", weights=plain).hits
    assert then.cosine == pytest.approx(1.0, abs=2e-4)
    assert today.cosine == pytest.approx(0.0, abs=2e-4)


def test_the_past_does_not_know_a_report_that_came_later(mem: Local) -> None:
    memory = mem.write("use 0.0.0.0", confidence=0.6).memory
    task = mem.start_task("x")
    mem.get(memory.id, task_id=task.id)
    later = mem.verify(memory.id, "WORKED", task_id=task.id)
    assert later.confidence > 0.6
    assert memory.update_time is not None
    [then] = mem.get(memory.id, as_of=memory.update_time)
    assert (then.confidence, then.revision, then.evidence) == (0.6, 1, [])
    [hit] = mem.search("0.0.0.0", as_of=memory.update_time).hits
    assert hit.confidence == pytest.approx(0.6)

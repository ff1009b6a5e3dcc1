import threading
from datetime import UTC, datetime, timedelta

import pytest
import siltstone
from siltstone.local import Local


def test_a_new_memory_is_created_and_found_at_once(mem: Local) -> None:
    receipt = mem.write("The api must listen on 0.0.0.0", tags=["docker"], attributes={"port": 3000})
    assert receipt.action == "CREATED"
    memory = mem.get(receipt.memory.id)[0]
    assert memory.content == "The api must listen on 0.0.0.0"
    assert memory.tags == ["docker"]
    assert memory.attributes == {"port": 3000.0}
    assert memory.create_time == memory.update_time == memory.event_time
    assert [hit.memory.id for hit in mem.search("what must the api listen on").hits] == [memory.id]


@pytest.mark.parametrize(
    "content",
    [
        "容器之间无法通过服务名访问",
        "👩‍👩‍👧‍👦 café \u0301 \u200f עברית",
        "NUL \x00 inside",
        "  leading and trailing \n\n",
    ],
)
def test_text_is_kept_verbatim(mem: Local, content: str) -> None:
    id = mem.write(content).memory.id
    assert mem.get(id)[0].content == content
    assert mem.list()[0].content == content


def test_the_same_text_again_is_merged_into_the_old_memory(mem: Local) -> None:
    old = mem.write("use 0.0.0.0", tags=["a"], event_time="2026-01-01T00:00:00Z").memory
    receipt = mem.write("use 0.0.0.0", tags=["b"], event_time="2026-02-01T00:00:00Z")
    assert receipt.action == "MERGED"
    assert receipt.memory.id == old.id
    assert receipt.memory.tags == ["a", "b"]
    assert receipt.memory.event_time == datetime(2026, 2, 1, tzinfo=UTC)
    assert receipt.memory.revision == 2
    [related] = receipt.related
    assert (related.id, related.relation) == (old.id, "merged")
    assert related.similarity == pytest.approx(1.0, abs=1e-5)
    assert len(mem.list()) == 1


NEAR = "the container of the web service cannot reach the container of the api service by its name today"


def test_a_near_text_with_the_same_facts_is_merged_and_the_former_text_stays_in_the_revisions(
    mem: Local,
) -> None:
    old = mem.write(NEAR).memory
    receipt = mem.write(NEAR + ".")
    assert receipt.action == "MERGED"
    assert receipt.memory.id == old.id
    assert receipt.memory.content == NEAR + "."
    [revision] = mem.trace(old.id).revisions
    assert (revision.reason, revision.memory.content) == ("merged", NEAR)


class Lenient:
    """The same model, but nearly every pair of texts is near enough."""

    merge_threshold = 0.1

    def __init__(self, embedder: object) -> None:
        self._embedder = embedder

    def __getattr__(self, name: str) -> object:
        return getattr(self._embedder, name)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (
            "the service of the shop runs on MySQL 8.0 in the cluster",
            "the service of the shop runs on MySQL 5.7 in the cluster",
        ),
        (
            "please always enable the cache of the build server",
            "please always disable the cache of the build server",
        ),
        (
            "the web server listens on the address 0.0.0.0 there",
            "the web server listens on the address 127.0.0.1 there",
        ),
        ("部署之前一定要启用构建服务器的缓存", "部署之前一定要禁用构建服务器的缓存"),
    ],
)
def test_texts_with_other_facts_are_never_merged_however_near(
    mem: Local, monkeypatch: pytest.MonkeyPatch, a: str, b: str
) -> None:
    # Even a model that takes them for the same text must not merge them.
    monkeypatch.setattr(mem.engine, "embedder", Lenient(mem.engine.embedder))
    assert mem.write(a).action == "CREATED"
    assert mem.write(b).action == "CREATED"
    assert len(mem.list()) == 2


def test_keep_makes_a_new_memory_and_reject_refuses(mem: Local) -> None:
    first = mem.write("use 0.0.0.0").memory
    assert mem.write("use 0.0.0.0", on_duplicate="KEEP").action == "CREATED"
    with pytest.raises(siltstone.AlreadyExistsError, match="says the same") as caught:
        mem.write("use 0.0.0.0", on_duplicate="REJECT")
    assert (caught.value.reason, caught.value.field) == ("DUPLICATE", "drafts[0]")
    assert first.id in {memory.id for memory in mem.list()}
    assert len(mem.list()) == 2


def test_the_same_lesson_within_one_batch_is_one_memory(mem: Local) -> None:
    receipts = mem.write_many([{"content": "use 0.0.0.0"}, {"content": "other"}, {"content": "use 0.0.0.0"}])
    assert [receipt.action for receipt in receipts] == ["CREATED", "CREATED", "MERGED"]
    assert receipts[2].memory.id == receipts[0].memory.id
    assert len(mem.list()) == 2


def test_a_batch_is_written_whole_or_not_at_all(mem: Local) -> None:
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.write_many([{"content": "good"}, {"content": "bad", "confidence": 2}])
    assert caught.value.field == "drafts[1].confidence"
    with pytest.raises(siltstone.NotFoundError) as missing:
        mem.write_many(
            [{"content": "good"}, {"content": "bad", "supersedes": ["00000000-0000-7000-8000-000000000000"]}]
        )
    assert missing.value.field == "drafts[1].supersedes[0]"
    assert mem.list() == []


def test_two_writers_of_the_same_thing_at_once_make_one_memory(mem: Local) -> None:
    actions = []
    barrier = threading.Barrier(8)

    def write() -> None:
        barrier.wait()
        actions.append(mem.write(NEAR).action)

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(actions) == ["CREATED"] + ["MERGED"] * 7
    assert len(mem.list()) == 1


def test_supersedes_hides_the_old_and_restore_brings_it_back(mem: Local) -> None:
    old = mem.write("restart the container when names do not resolve").memory
    receipt = mem.write("listen on all interfaces when names do not resolve", supersedes=[old.id])
    assert receipt.action == "SUPERSEDED"
    assert [(r.id, r.relation) for r in receipt.related] == [(old.id, "superseded")]
    new = receipt.memory
    assert [hit.memory.id for hit in mem.search("names do not resolve").hits] == [new.id]
    both = mem.search("names do not resolve", include_superseded=True).hits
    assert {hit.memory.id for hit in both} == {old.id, new.id}
    trace = mem.trace(new.id)
    assert [memory.id for memory in trace.superseded] == [old.id]
    assert mem.trace(old.id).superseded_by[0].id == new.id

    with pytest.raises(siltstone.FailedPreconditionError, match="already superseded"):
        mem.write("third answer", supersedes=[old.id])
    assert mem.restore_memory(old.id).superseded_by == ""
    assert {hit.memory.id for hit in mem.search("names do not resolve").hits} == {old.id, new.id}


def test_what_was_superseded_written_again_is_a_conflict_that_hides_nothing(mem: Local) -> None:
    old = mem.write("restart the container").memory
    new = mem.write("listen on all interfaces", supersedes=[old.id]).memory
    receipt = mem.write("restart the container")
    assert receipt.action == "CONFLICT"
    assert receipt.memory.conflicts_with == [new.id]
    assert mem.get(new.id)[0].conflicts_with == [receipt.memory.id]
    found = {hit.memory.id for hit in mem.search("container interfaces").hits}
    assert found == {new.id, receipt.memory.id}


def test_a_duplicate_of_an_expired_memory_revives_it(mem: Local) -> None:
    old = mem.write("short-lived", valid_until="2020-01-01T00:00:00Z").memory
    assert mem.search("short-lived").hits == []
    assert len(mem.search("short-lived", include_expired=True).hits) == 1
    receipt = mem.write("short-lived")
    assert (receipt.action, receipt.memory.id, receipt.memory.valid_until) == ("MERGED", old.id, None)
    assert len(mem.search("short-lived").hits) == 1


def test_a_duplicate_of_a_forgotten_memory_is_new(mem: Local) -> None:
    old = mem.write("use 0.0.0.0").memory
    mem.forget(ids=[old.id])
    receipt = mem.write("use 0.0.0.0")
    assert receipt.action == "CREATED"
    assert receipt.memory.id != old.id


def test_ttl_counts_from_the_write(mem: Local) -> None:
    memory = mem.write("gone tomorrow", ttl="1d").memory
    assert memory.create_time is not None
    assert memory.valid_until == memory.create_time + timedelta(days=1)
    later = memory.create_time + timedelta(days=1)
    assert mem.search("gone tomorrow", now=later).hits == []
    assert len(mem.search("gone tomorrow", now=later - timedelta(microseconds=1)).hits) == 1


def test_a_request_id_makes_a_write_idempotent(mem: Local) -> None:
    first = mem.write("once", request_id="r1", on_duplicate="KEEP")
    again = mem.write("once", request_id="r1", on_duplicate="KEEP")
    assert again == first
    assert len(mem.list()) == 1
    with pytest.raises(siltstone.AlreadyExistsError) as caught:
        mem.write("another", request_id="r1", on_duplicate="KEEP")
    assert caught.value.reason == "REQUEST_ID_REUSED"


def test_vectors_of_the_caller_bind_the_namespace_and_text_alone_is_then_refused(mem: Local) -> None:
    a = mem.write("red", namespace="mine", vector=[3.0, 0.0, 4.0]).memory
    mem.write("blue", namespace="mine", vector=[0.0, 1.0, 0.0])
    assert (a.embedding_model, a.embedding_dimension) == ("caller", 3)
    hits = mem.search(vector=[0.6, 0.0, 0.8], namespace="mine").hits
    assert hits[0].memory.id == a.id
    assert hits[0].cosine == pytest.approx(1.0, abs=2e-4)
    with pytest.raises(siltstone.FailedPreconditionError) as caught:
        mem.write("green", namespace="mine")
    assert caught.value.reason == "VECTOR_REQUIRED"
    with pytest.raises(siltstone.FailedPreconditionError):
        mem.search("red", namespace="mine")
    with pytest.raises(siltstone.FailedPreconditionError) as wrong:
        mem.write("green", namespace="mine", vector=[1.0, 0.0])
    assert wrong.value.reason == "DIMENSION_MISMATCH"


def test_different_texts_with_equal_caller_vectors_are_not_merged(mem: Local) -> None:
    mem.write("alpha", namespace="mine", vector=[1.0, 0.0])
    assert mem.write("beta", namespace="mine", vector=[1.0, 0.0]).action == "CREATED"


@pytest.mark.parametrize("vector", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], [], [1.0] * 4097])
def test_a_vector_without_direction_or_end_is_refused(mem: Local, vector: list[float]) -> None:
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.write("x", vector=vector)
    assert caught.value.field.startswith("drafts[0].vector")


def test_extreme_but_finite_vectors_are_normalised(mem: Local) -> None:
    tiny = mem.write("tiny", namespace="v", vector=[1e-44, 0.0]).memory
    huge = mem.write("huge", namespace="v", vector=[0.0, 3e38]).memory
    hits = mem.search(vector=[0.0, 5e-44], namespace="v").hits
    assert [hit.memory.id for hit in hits] == [huge.id, tiny.id]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"content": "   "}, "drafts[0].content"),
        ({"content": "x" * (2 << 20)}, "drafts[0].content"),
        ({"content": "lone \ud800"}, "drafts[0].content"),
        ({"content": 5}, "drafts[0].content"),
        ({"content": "x", "confidence": float("nan")}, "drafts[0].confidence"),
        ({"content": "x", "confidence": -0.1}, "drafts[0].confidence"),
        ({"content": "x", "tags": "docker"}, "drafts[0].tags"),
        ({"content": "x", "tags": [""]}, "drafts[0].tags[0]"),
        ({"content": "x", "memory_type": "WRONG"}, "drafts[0].memory_type"),
        ({"content": "x", "event_time": "yesterday"}, "drafts[0].event_time"),
        ({"content": "x", "event_time": datetime(2026, 1, 1)}, "drafts[0].event_time"),
        ({"content": "x", "ttl": "0s"}, "drafts[0].ttl"),
        ({"content": "x", "ttl": "99999999d"}, "drafts[0].ttl"),
        ({"content": "x", "summary": "word " * 100}, "drafts[0].summary"),
        ({"content": "x", "position": 3}, "drafts[0].position"),
        ({"content": "x", "namespace": "a//b"}, "namespace"),
        ({"content": "x", "namespace": "../etc"}, "namespace"),
        ({"content": "x", "namespace": "a b"}, "namespace"),
        ({"content": "x", "namespace": "名" * 100}, "namespace"),
        ({"content": "x", "supersedes": ["nonsense"]}, "drafts[0].supersedes[0]"),
        ({"content": "x", "attributes": {"a": None}}, "drafts[0].attributes.a"),
        ({"content": "x", "lesson": {"cause": "y"}}, "drafts[0].lesson.cause"),
    ],
)
def test_bad_input_names_the_field_and_writes_nothing(
    mem: Local, arguments: dict[str, object], field: str
) -> None:
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.write(**arguments)  # type: ignore[arg-type]
    assert caught.value.field == field
    assert mem.list() == []


def test_long_content_is_found_by_any_of_its_passages(mem: Local) -> None:
    filler = " ".join(f"Sentence number {i} talks about gardens and rivers." for i in range(200))
    content = f"{filler} The zeppelin museum opens at noon. {filler}"
    mem.write(content)
    [hit] = mem.search("zeppelin museum noon").hits
    assert "zeppelin museum" in hit.passage
    assert hit.passage in content
    assert hit.memory.content == ""
    assert mem.get(hit.memory.id)[0].content == content

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from siltstone.errors import FailedPreconditionError, InternalError, InvalidArgumentError, NotFoundError
from siltstone.model import Memory
from siltstone.store import content_digest, records

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def put(store, memory, vectors=None, **given):
    return store.commit(lambda w: w.put_memory(memory, vectors, **given))


def read(store, method, *given, **named):
    with store.read() as reader:
        return getattr(reader, method)(*given, **named)


def test_a_new_memory_gets_its_id_times_and_revision_and_is_read_back(store, vectors):
    draft = Memory(content="迁移前先备份数据库", tags=["数据库"])
    stored = put(store, draft, vectors(passages=3))
    assert draft == Memory(content="迁移前先备份数据库", tags=["数据库"])
    assert stored.revision == 1
    assert stored.create_time == stored.update_time == stored.event_time
    assert (stored.embedding_model, stored.embedding_dimension) == ("model", 4)
    assert read(store, "memory", stored.id) == stored
    np.testing.assert_array_equal(read(store, "vectors", stored.id), vectors(passages=3))


def test_times_the_caller_gives_are_kept(store):
    stored = put(store, Memory(content="x", create_time=LONG_AGO))
    assert stored.create_time == stored.event_time == LONG_AGO
    assert stored.update_time > LONG_AGO


def test_an_unknown_id_is_none_and_a_broken_one_an_error(store):
    assert read(store, "memory", UNKNOWN) is None
    assert read(store, "vectors", UNKNOWN) is None
    assert read(store, "revisions", UNKNOWN) == []
    with pytest.raises(InvalidArgumentError, match="id: 'seven'"):
        read(store, "memory", "seven")


def test_memories_come_in_the_order_asked_for(store):
    a, b = (put(store, Memory(content=c)) for c in "ab")
    assert read(store, "memories", [b.id, UNKNOWN, a.id, b.id]) == [b, None, a, b]


def test_a_memory_of_an_unknown_namespace_is_refused(store):
    with pytest.raises(NotFoundError) as caught:
        put(store, Memory(namespace="团队/无"))
    assert (caught.value.reason, caught.value.field) == ("NAMESPACE_NOT_FOUND", "namespace")


def test_an_update_keeps_create_time_and_vectors_and_counts_the_revision(store, vectors):
    first = put(store, Memory(content="x"), vectors())
    second = put(store, replace(first, content="y", create_time=None, event_time=None))
    assert (second.revision, second.create_time, second.event_time) == (
        2,
        first.create_time,
        first.event_time,
    )
    assert second.update_time > first.update_time
    np.testing.assert_array_equal(read(store, "vectors", first.id), vectors())
    assert read(store, "revisions", first.id) == []


def test_a_memory_does_not_move_to_another_namespace_nor_take_a_tasks_id(store):
    from siltstone.model import Task

    memory = put(store, Memory(content="x"))
    with pytest.raises(InvalidArgumentError, match="another namespace"):
        put(store, replace(memory, namespace="public"))
    task = store.commit(lambda w: w.put_task(Task(goal="g")))
    with pytest.raises(InvalidArgumentError, match="something else"):
        put(store, Memory(id=task.id))


def test_former_states_are_kept_oldest_first_with_the_time_they_ended(store, vectors):
    states = [put(store, Memory(content="一"), vectors(1))]
    states.append(put(store, replace(states[-1], content="二"), former="updated"))
    states.append(put(store, replace(states[-1], content="三"), vectors(3, passages=2), former="merged"))
    revisions = read(store, "revisions", states[0].id)
    assert [r.memory for r in revisions] == states[:2]
    assert [(r.revision, r.reason) for r in revisions] == [(1, "updated"), (2, "merged")]
    assert [r.update_time for r in revisions] == [s.update_time for s in states[1:]]


@pytest.mark.parametrize("former", ["updated", ""])
def test_a_revision_has_the_vectors_it_had_then(store, vectors, former):
    memory = put(store, Memory(content="1"), vectors(1))
    put(store, replace(memory, content="2"), former="updated")
    put(store, replace(memory, content="3"), vectors(3, passages=2), former=former)
    put(store, replace(memory, content="4"), former="updated")
    for revision, seed in ((1, 1), (2, 1), (3, 3), (4, 3)):
        if former or revision != 2:  # without a reason the second state was not kept
            expected = vectors(seed, passages=2 if seed == 3 else 1)
            np.testing.assert_array_equal(
                read(store, "revision_vectors", memory.id, revision), expected, err_msg=str(revision)
            )


def test_a_revision_from_before_there_were_vectors_has_none(store, vectors):
    memory = put(store, Memory(content="1"))
    put(store, memory, vectors(), former="updated")
    assert read(store, "revision_vectors", memory.id, 1) is None
    assert read(store, "revision_vectors", memory.id, 2) is not None


def test_the_oldest_live_memory_of_a_content_is_found_by_its_hash(store):
    def found(content="相同"):
        return read(store, "by_content_hash", 1, content_digest(content))

    assert found() is None
    a, b = put(store, Memory(content="相同")), put(store, Memory(content="相同"))
    assert found() == a.id
    a = put(store, replace(a, invalidate_time=LONG_AGO))
    assert found() == b.id
    a = put(store, replace(a, invalidate_time=None))
    assert found() == a.id
    a = put(store, replace(a, content="改了"))
    assert (found(), found("改了")) == (b.id, a.id)
    store.commit(lambda w: w.erase_memory(b.id))
    assert found() is None


def test_the_hash_of_another_namespace_is_not_found(store):
    put(store, Memory(content="x", namespace="public"))
    assert read(store, "by_content_hash", 1, content_digest("x")) is None
    with pytest.raises(ValueError, match="digest"):
        read(store, "by_content_hash", 1, b"short")


def test_live_memories_are_counted(store):
    memories = [put(store, Memory(content=str(i))) for i in range(3)]
    put(store, replace(memories[0], content="again"))
    assert read(store, "count_memories", 1) == 3
    put(store, replace(memories[0], invalidate_time=LONG_AGO))
    store.commit(lambda w: w.erase_memory(memories[0].id))
    store.commit(lambda w: w.erase_memory(memories[1].id))
    assert read(store, "count_memories", 1) == 1
    assert read(store, "count_memories", 2) == 0


def test_the_index_hears_of_what_belongs_in_it(store, applied, vectors):
    applied.clear()
    memory = put(store, Memory(content="x"), vectors())
    put(store, replace(memory, invalidate_time=LONG_AGO))
    back = put(store, replace(memory, content="y"))
    bare = put(store, Memory(content="no vectors"))
    store.commit(lambda w: w.erase_memory(memory.id))
    raw = [bytes.fromhex(m.id.replace("-", "")) for m in (memory, bare)]
    assert [c.seq for c in applied] == list(range(applied[0].seq, applied[0].seq + 5))
    assert [len(c.puts) for c in applied] == [1, 0, 1, 0, 0]
    assert [c.removes for c in applied] == [[], [raw[0]], [], [raw[1]], [raw[0]]]
    record, packed = applied[2].puts[0]
    assert records.decode(record, Memory) == back
    assert packed == vectors().tobytes()


def test_one_operation_tells_the_index_the_last_state_once(store, applied, vectors):
    def operation(w):
        memory = w.put_memory(Memory(content="x"), vectors())
        other = w.put_memory(Memory(content="in public", namespace="public"))
        return w.put_memory(replace(memory, content="y")), other

    applied.clear()
    stored, _ = store.commit(operation)
    assert [c.namespace for c in applied] == [1, 2]
    assert {c.seq for c in applied} == {applied[0].seq}
    assert [records.decode(r, Memory) for r, _ in applied[0].puts] == [stored]


def test_a_scan_goes_in_order_of_creation_from_any_id(store):
    made = [put(store, Memory(content=str(i))) for i in range(5)]
    put(store, Memory(namespace="public"))

    def scan(**given):
        with store.read() as reader:
            return list(reader.scan_memories(1, **given))

    assert scan() == made
    assert scan(after_id=made[1].id) == made[2:]
    assert scan(after_id=made[1].id, limit=2) == made[2:4]
    assert scan(after_id=made[-1].id) == []
    assert scan(limit=0) == []
    with pytest.raises(InvalidArgumentError, match="after_id"):
        scan(after_id="x")
    with pytest.raises(NotFoundError), store.read() as reader:
        next(reader.scan_memories(99))


def test_records_for_a_rebuild_are_those_of_the_index(store, vectors):
    kept = put(store, Memory(content="kept"), vectors(1))
    put(store, Memory(content="gone", invalidate_time=LONG_AGO), vectors(2))
    put(store, Memory(content="bare"))
    with store.read() as reader:
        found = list(reader.scan_records(1))
    assert [(records.decode(r, Memory), v) for r, v in found] == [(kept, vectors(1).tobytes())]


@pytest.mark.parametrize(
    ("array", "complaint"),
    [
        (np.ones((1, 5)), "shape is \\(1, 5\\)"),
        (np.ones(4), "shape is \\(4,\\)"),
        (np.ones((0, 4)), "shape is \\(0, 4\\)"),
        (np.array([[1, 1, 1, np.nan]]), "NaN"),
        (np.array([[1, 1, 1, np.inf]]), "infinity"),
        (np.array([[1, 1, 1, 1], [0, 0, 0, 0]]), "length"),
        (np.full((1, 4), 1e30), "length"),
    ],
)
def test_vectors_that_the_index_would_refuse_never_get_in(store, array, complaint):
    with pytest.raises(InvalidArgumentError, match=complaint) as caught:
        put(store, Memory(content="x"), array.astype(np.float32))
    assert caught.value.field == "vector"
    assert read(store, "count_memories", 1) == 0


def test_vectors_need_a_model(store, vectors):
    with pytest.raises(FailedPreconditionError) as caught:
        put(store, Memory(namespace="public"), vectors())
    assert caught.value.reason == "NO_MODEL"


def test_an_erased_memory_leaves_nothing_but_its_id_in_the_ledger(store, vectors):
    memory = put(store, Memory(content="秘密的内容"), vectors(1))
    put(store, replace(memory, content="更多秘密"), vectors(2), former="updated")
    before = store.info().entries
    assert store.commit(lambda w: w.erase_memory(memory.id))
    after = store.info().entries
    emptied = ("memories", "vectors", "revisions", "former_vectors", "contents", "owners")
    assert {name: before[name] - after[name] for name in emptied} == dict.fromkeys(emptied, 1)
    assert read(store, "memory", memory.id) is None
    assert read(store, "is_erased", memory.id)
    with store.read() as reader:
        assert [id for id, _ in reader.erased()] == [memory.id]
    assert not store.commit(lambda w: w.erase_memory(memory.id))
    with pytest.raises(FailedPreconditionError) as caught:
        put(store, memory)
    assert caught.value.reason == "ERASED"


def test_a_ledger_is_replayed_on_what_is_there_and_what_may_come(store):
    memory = put(store, Memory(content="x"))
    assert store.commit(lambda w: w.note_erased(memory.id))
    assert not store.commit(lambda w: w.note_erased(UNKNOWN))
    with pytest.raises(FailedPreconditionError):
        put(store, Memory(id=UNKNOWN, content="restored"))


def test_an_iterator_that_outlives_its_snapshot_is_an_error_and_not_an_empty_answer(store):
    put(store, Memory(content="a"))
    put(store, Memory(content="b"))
    with store.read() as reader:
        iterator = reader.scan_memories(1)
        next(iterator)
        untouched = reader.scan_memories(1)
    with pytest.raises(InternalError, match="after its snapshot"):
        list(iterator)
    with pytest.raises(Exception, match="closed"):
        list(untouched)


def test_a_reader_sees_its_snapshot_whatever_is_written_meanwhile(store):
    with store.read() as reader:
        seq = reader.seq
        import threading

        writer = threading.Thread(target=put, args=(store, Memory(content="x")))
        writer.start()
        writer.join(10)
        assert reader.seq == seq
        assert list(reader.scan_memories(1)) == []
        with store.read() as newer:
            assert newer.seq == seq + 1
            assert len(list(newer.scan_memories(1))) == 1

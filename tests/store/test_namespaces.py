import time
from dataclasses import replace

import pytest
from siltstone.errors import AlreadyExistsError, FailedPreconditionError, InvalidArgumentError, NotFoundError
from siltstone.model import HindsightJob, Memory, Step, Task
from siltstone.store import content_digest, records


def until(condition, seconds=10.0):
    """Wait for a condition, at most so long."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition never came"
        time.sleep(0.002)


def names(store):
    with store.read() as reader:
        return [record.name for record in reader.namespaces()]


def test_default_and_public_are_there_from_the_start_and_after_a_reopen(open_store):
    store = open_store()
    assert names(store) == ["default", "public"]
    seq = store.info().seq
    store.close()
    assert names(again := open_store()) == ["default", "public"]
    assert again.info().seq == seq


@pytest.mark.parametrize("name", ["team/agent-a", "团队/助手", "语" * 85, "x" * 256])
def test_a_namespace_is_found_by_its_name(store, name):
    made = store.commit(lambda w: w.create_namespace(name))
    with store.read() as reader:
        assert reader.namespace(name) == made
        assert (made.embedding_model, made.embedding_dimension, made.deleted) == ("", 0, False)
        assert reader.namespace(name[:-1] + "没") is None if len(name) < 80 else True
    assert name in names(store)


def test_a_name_is_taken_once(store):
    with pytest.raises(AlreadyExistsError, match="'public' exists"):
        store.commit(lambda w: w.create_namespace("public"))


def test_an_impossible_name_is_refused(store):
    with pytest.raises(InvalidArgumentError, match="257"):
        store.commit(lambda w: w.create_namespace("x" * 257))


def fill(store, name):
    """Everything a namespace can hold; its ids."""

    def operation(w):
        namespace = w.create_namespace(name)
        w.bind_model(namespace.number, "model", 2)
        memory = w.put_memory(Memory(content="记忆", namespace=name), [[1, 2]])
        w.put_memory(Memory(content="新", namespace=name, id=memory.id), [[2, 3]], former="updated")
        task = w.put_task(Task(goal="目标", namespace=name))
        w.append_steps(task.id, [Step(text="步骤")])
        w.put_exposures(task.id, [memory.id])
        job = w.put_job(HindsightJob(namespace=name, task_id=task.id))
        return namespace.number, memory.id, task.id, job.id

    return store.commit(operation)


def test_nothing_of_a_deleted_namespace_can_be_read_and_all_of_it_goes(store):
    before = store.info().entries
    number, memory, task, job = fill(store, "临时")
    assert store.info().entries["former_vectors"] == 1
    store.commit(lambda w: w.delete_namespace(number))
    with store.read() as reader:
        assert reader.namespace("临时") is None
        assert reader.memory(memory) is None
        assert reader.vectors(memory) is None
        assert reader.revisions(memory) == []
        assert reader.task(task) is None
        assert list(reader.steps(task)) == []
        assert reader.job(job) is None
        assert list(reader.jobs()) == []
        assert reader.exposed(task, memory), "an unknown task counts as shown"
        for call in (
            lambda: next(reader.scan_memories(number)),
            lambda: next(reader.scan_records(number)),
            lambda: next(reader.tasks(number)),
            lambda: list(reader.jobs(namespace=number)),
            lambda: reader.count_memories(number),
            lambda: reader.changes(number, 0),
            lambda: reader.by_content_hash(number, content_digest("x")),
        ):
            with pytest.raises(NotFoundError) as caught:
                call()
            assert caught.value.reason == "NAMESPACE_NOT_FOUND"
    with pytest.raises(NotFoundError):
        store.commit(lambda w: w.put_memory(Memory(namespace="临时")))
    kept = {"meta": 0, "audit": 0}  # the audit log is for good
    until(lambda: {**store.info().entries, **kept} == {**before, **kept})


def test_a_name_is_free_again_at_once_under_a_number_never_used_before(store):
    number, *_ = fill(store, "again")

    def operation(w):
        w.delete_namespace(number)
        return w.create_namespace("again")

    second = store.commit(operation)
    assert second.number > number
    until(lambda: store.info().entries["namespaces"] == 3)
    store.commit(lambda w: w.delete_namespace(second.number))
    assert store.commit(lambda w: w.create_namespace("again")).number > second.number


def test_a_large_namespace_is_purged_in_chunks_while_others_write(store, monkeypatch):
    from siltstone.store import committer

    monkeypatch.setattr(committer, "PURGED_AT_ONCE", 7)
    number = store.commit(lambda w: w.create_namespace("large")).number
    store.commit(lambda w: [w.put_memory(Memory(content=str(i), namespace="large")) for i in range(100)])
    store.commit(lambda w: w.delete_namespace(number))
    for i in range(5):
        store.commit(lambda w, i=i: w.put_memory(Memory(content=str(i))))
    until(lambda: store.info().entries["namespaces"] == 2)
    assert store.info().entries["memories"] == store.info().entries["owners"] == 5


def test_a_purge_that_was_cut_off_goes_on_at_the_next_opening(open_store, monkeypatch):
    from siltstone.store.writer import Writer

    store = open_store()
    number, *_ = fill(store, "gone")
    with monkeypatch.context() as patch:
        patch.setattr(Writer, "purge", lambda self, limit: False)
        store.commit(lambda w: w.delete_namespace(number))
        store.close()
    again = open_store()
    until(lambda: again.info().entries["namespaces"] == 2)
    assert again.info().entries["memories"] == 0


@pytest.mark.parametrize("name", ["default", "public"])
def test_default_and_public_are_emptied_and_stay(store, name):
    memory = store.commit(lambda w: w.put_memory(Memory(content="x", namespace=name)))
    with store.read() as reader:
        number = reader.namespace(name).number
    store.commit(lambda w: w.delete_namespace(number))
    with store.read() as reader:
        assert reader.namespace(name).number > 2
        assert reader.count_memories(reader.namespace(name).number) == 0
        assert reader.memory(memory.id) is None


def test_a_namespace_is_bound_to_one_model(store, vectors):
    store.commit(lambda w: w.bind_model(1, "model", 4))
    store.commit(lambda w: w.bind_model(1, "another", 3))
    store.commit(lambda w: w.bind_model(1, "model", 4))
    store.commit(lambda w: w.put_memory(Memory(content="x"), vectors()))
    for model, dimension in (("another", 4), ("model", 8)):
        with pytest.raises(FailedPreconditionError) as caught:
            store.commit(lambda w, m=model, d=dimension: w.bind_model(1, m, d))
        assert caught.value.reason == "EMBEDDING_MODEL_MISMATCH"


@pytest.mark.parametrize(("model", "dimension"), [("", 4), ("m", 0), ("m", 4097)])
def test_a_model_without_a_name_or_with_an_impossible_dimension_is_refused(store, model, dimension):
    with pytest.raises(InvalidArgumentError):
        store.commit(lambda w: w.bind_model(2, model, dimension))


def test_vectors_of_another_model_gather_unseen_and_are_the_namespaces_at_once(store, vectors, applied):
    memory = store.commit(lambda w: w.put_memory(Memory(content="x"), vectors()))
    store.commit(lambda w: w.start_move(w.namespace("default"), "name", "new", 8))
    assert store.commit(lambda w: w.put_next_vectors(memory, vectors(1, 2, dimension=8)))
    with store.read() as reader:
        assert reader.vectors(memory.id).shape == (1, 4)
        assert reader.without_next_vectors(1, limit=9) == ([], "")
    store.commit(lambda w: w.finish_move(1))
    assert (applied[-1].generation, applied[-1].puts) == (1, [])
    with store.read() as reader:
        assert reader.vectors(memory.id).shape == (2, 8)
        assert [len(packed) for _, packed in reader.scan_records(1)] == [2 * 8 * 4]
        moved = reader.memory(memory.id)
        assert (moved.embedding_model, moved.embedding_dimension, moved.revision) == ("new", 8, 1)
        assert [m.embedding_model for m in reader.scan_memories(1)] == ["new"]
        (change,) = [c for c in reader.changes(1, 0) if c.puts]
        assert (change.generation, len(change.puts[0][1])) == (1, 2 * 8 * 4)
    assert store.commit(lambda w: w.clear_other_vectors(1, 1))
    assert not store.commit(lambda w: w.clear_other_vectors(1, 1))
    with store.read() as reader:
        assert reader.entries()["vectors"] == 0


def test_a_text_that_changes_while_its_namespace_moves_has_no_stale_vectors(store, vectors):
    memory = store.commit(lambda w: w.put_memory(Memory(content="x"), vectors()))
    store.commit(lambda w: w.start_move(w.namespace("default"), "name", "new", 8))
    store.commit(lambda w: w.put_next_vectors(memory, vectors(dimension=8)))
    changed = replace(memory, content="y")
    store.commit(lambda w: w.put_memory(changed, vectors(2), former="updated"))
    assert not store.commit(lambda w: w.put_next_vectors(memory, vectors(dimension=8)))
    with store.read() as reader:
        assert [m.content for m in reader.without_next_vectors(1, limit=9)[0]] == ["y"]


def test_opening_a_store_looks_at_no_namespace_unless_one_waits_to_be_purged(open_store, monkeypatch):
    store = open_store()
    store.commit(lambda w: [w.create_namespace(f"n/{i}") for i in range(5)] and None)
    store.close()
    seen = []
    decode = records.decode
    monkeypatch.setattr(records, "decode", lambda data, cls: seen.append(cls) or decode(data, cls))
    store = open_store()
    assert seen.count(records.NamespaceRecord) <= 2  # default and public
    store.commit(lambda w: w.delete_namespace(w.namespace("n/3").number))
    store.commit(lambda w: w.create_namespace("after"))
    with store.read() as reader:
        assert reader.entries()["namespaces"] == reader.entries()["names"] == 7

from dataclasses import replace

from siltstone.model import Memory
from siltstone.store import records


def put(store, memory, vectors=None):
    return store.commit(lambda w: w.put_memory(memory, vectors))


def changes(store, after, **given):
    with store.read() as reader:
        return reader.changes(1, after, **given)


def test_the_log_replays_what_the_applier_was_given(store, applied, vectors):
    for i in range(4):
        put(store, Memory(content=str(i)), vectors(i))
    assert changes(store, 0) == applied
    assert changes(store, applied[1].seq) == applied[2:]
    assert changes(store, applied[-1].seq) == []
    assert changes(store, 0, limit=2) == applied[:2]


def test_a_memory_changed_twice_stands_with_its_last_state_in_its_last_change(store, vectors):
    first = put(store, Memory(content="a"), vectors(1))
    put(store, Memory(content="b"), vectors(2))
    last = put(store, replace(first, content="c"))
    replayed = changes(store, 0)
    assert [len(change.puts) for change in replayed] == [0, 1, 1]
    assert records.decode(replayed[-1].puts[0][0], Memory) == last


def test_an_erased_memory_is_removed_on_replay(store, vectors):
    memory = put(store, Memory(content="a"), vectors())
    store.commit(lambda w: w.erase_memory(memory.id))
    replayed = changes(store, 0)
    assert [(len(c.puts), len(c.removes)) for c in replayed] == [(0, 0), (0, 1)]


def test_writes_to_another_namespace_or_of_no_memory_are_not_in_the_log(store):
    from siltstone.model import Task

    seq = store.info().seq
    put(store, Memory(content="x", namespace="public"))
    store.commit(lambda w: w.put_task(Task(goal="g")))
    assert store.info().seq == seq + 2
    assert changes(store, 0) == []


def test_an_index_from_below_the_floor_or_from_the_future_must_be_rebuilt(open_store):
    store = open_store(retention=50)
    seqs = []
    for i in range(120):
        put(store, Memory(content=str(i)))
        seqs.append(store.info().seq)
    assert changes(store, 0) is None
    assert changes(store, seqs[60]) is None
    replayed = changes(store, seqs[-50])
    assert [change.seq for change in replayed] == seqs[-49:]
    assert changes(store, seqs[-1]) == []
    assert changes(store, seqs[-1] + 1) is None
    assert 50 <= store.info().entries["changes"] <= 52
    store.close()
    reopened = open_store(retention=50)
    assert changes(reopened, 0) is None
    assert len(changes(reopened, seqs[-50])) == 49


def test_one_change_larger_than_the_retention_leaves_a_log_that_is_still_right(open_store):
    store = open_store(retention=10)
    store.commit(lambda w: [w.put_memory(Memory(content=str(i))) for i in range(30)])
    seq = store.info().seq
    assert changes(store, 0) is None
    assert changes(store, seq) == []
    put(store, Memory(content="next"))
    assert [change.seq for change in changes(store, seq)] == [seq + 1]

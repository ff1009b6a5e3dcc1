import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from siltstone.errors import (
    DeadlineExceededError,
    InternalError,
    ResourceExhaustedError,
    StaleRevisionError,
    UnavailableError,
)
from siltstone.model import Memory
from siltstone.store import committer, records

BOUND = 20.0  # seconds that nothing here should take


def put(content="x"):
    return lambda w: w.put_memory(Memory(content=content))


class Gate:
    """An operation, or an applier, that stops inside until it is let on."""

    def __init__(self):
        self.entered, self.open = threading.Event(), threading.Event()

    def __call__(self, _):
        self.entered.set()
        assert self.open.wait(BOUND)


@pytest.fixture
def pool():
    with ThreadPoolExecutor(64) as pool:
        yield pool


def until_queued(store, count):
    """Wait until so many operations wait behind the one that runs."""
    with store._committer._arrived:
        pass
    deadline = threading.Event()
    for _ in range(int(BOUND / 0.002)):
        if len(store._committer._queue) >= count:
            return
        deadline.wait(0.002)
    raise AssertionError("the operations never queued")


def test_commits_of_32_threads_all_happen_once_and_reach_the_applier_in_order(store, applied, pool):
    applied.clear()
    before = store.info().seq

    def write(thread):
        return [store.commit(put(f"线程 {thread} 第 {i}")).id for i in range(20)]

    ids = [id for made in pool.map(write, range(32), timeout=60) for id in made]
    assert len(set(ids)) == 640
    assert [c.seq for c in applied] == list(range(before + 1, before + 641))
    with store.read() as reader:
        assert {m.id for m in reader.scan_memories(1)} == set(ids)
        assert reader.count_memories(1) == 640
        assert reader.seq == before + 640


def test_operations_that_wait_share_one_transaction(store, pool):
    gate = Gate()
    first = pool.submit(store.commit, gate)
    assert gate.entered.wait(BOUND)
    waiting = [pool.submit(store.commit, lambda w: (put()(w), w._txn.id())) for _ in range(30)]
    until_queued(store, 30)
    gate.open.set()
    first.result(BOUND)
    assert len({w.result(BOUND)[1] for w in waiting}) == 1


def test_a_group_is_no_larger_than_asked(open_store, pool):
    store = open_store(max_group=4)
    gate = Gate()
    pool.submit(store.commit, gate)
    assert gate.entered.wait(BOUND)
    waiting = [pool.submit(store.commit, lambda w: (put()(w), w._txn.id())) for _ in range(8)]
    until_queued(store, 8)
    gate.open.set()
    assert len({w.result(BOUND)[1] for w in waiting}) == 2


def test_a_failed_operation_leaves_nothing_and_its_group_goes_on(store, applied, pool):
    def fail(w):
        w.put_memory(Memory(content="半途"))
        w.create_namespace("半途")
        raise StaleRevisionError("somebody was faster")

    gate = Gate()
    pool.submit(store.commit, gate)
    assert gate.entered.wait(BOUND)
    applied.clear()
    calls = [pool.submit(store.commit, fail if i % 2 else put(str(i))) for i in range(10)]
    until_queued(store, 10)
    gate.open.set()
    for i, call in enumerate(calls):
        if i % 2:
            with pytest.raises(StaleRevisionError, match="somebody was faster"):
                call.result(BOUND)
        else:
            assert call.result(BOUND).content == str(i)
    with store.read() as reader:
        assert reader.count_memories(1) == len(list(reader.scan_memories(1))) == 5
        assert reader.namespace("半途") is None
    assert [c.seq for c in applied] == list(range(applied[0].seq, applied[0].seq + 5))


def test_later_operations_see_what_earlier_ones_of_their_group_did(store, pool):
    gate = Gate()
    pool.submit(store.commit, gate)
    assert gate.entered.wait(BOUND)
    calls = [
        pool.submit(store.commit, lambda w: (w.put_memory(Memory(content="x")), w.count_memories(1))[1])
        for _ in range(10)
    ]
    until_queued(store, 10)
    gate.open.set()
    assert sorted(call.result(BOUND) for call in calls) == list(range(1, 11))


def test_an_operation_that_writes_nothing_takes_no_seq(store, applied):
    seq = store.info().seq
    applied.clear()
    assert store.commit(lambda w: w.count_memories(1)) == 0
    assert store.info().seq == seq
    assert applied == []


def test_even_an_exit_in_an_operation_only_reaches_its_caller(store):
    def leave(_):
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        store.commit(leave)
    assert store.commit(put()).revision == 1


def test_a_commit_returns_only_after_the_index_has_it(open_store, pool):
    gate = Gate()
    store = open_store(applier=gate)
    call = pool.submit(store.commit, put())
    assert gate.entered.wait(BOUND)
    assert not call.done()
    with store.read() as reader:
        assert reader.count_memories(1) == 1, "it is durable, and readers do not wait for the index"
    gate.open.set()
    assert call.result(BOUND).revision == 1


def test_a_hung_applier_stops_neither_readers_nor_the_writer(open_store, pool):
    gate = Gate()
    store = open_store(applier=gate)
    pool.submit(store.commit, put("1"))
    assert gate.entered.wait(BOUND)
    with pytest.raises(DeadlineExceededError, match="may still happen"):
        store.commit(put("2"), timeout=0.3)
    with store.read() as reader:
        assert [m.content for m in reader.scan_memories(1)] == ["1", "2"]
    gate.open.set()


def test_a_write_stands_although_the_applier_fails(open_store, caplog):
    def fail(changes):
        raise RuntimeError("index broke")

    store = open_store(applier=fail)
    with caplog.at_level(logging.ERROR):
        memory = store.commit(put())
    assert "index broke" in caplog.text
    with store.read() as reader:
        assert reader.memory(memory.id) == memory
    assert store.commit(put("again")).revision == 1


def test_a_write_that_did_not_start_in_time_never_happens(store, pool):
    gate = Gate()
    first = pool.submit(store.commit, gate)
    assert gate.entered.wait(BOUND)
    with pytest.raises(DeadlineExceededError, match="nothing was written"):
        store.commit(put(), timeout=0.05)
    gate.open.set()
    first.result(BOUND)
    store.commit(put("after"))
    with store.read() as reader:
        assert [m.content for m in reader.scan_memories(1)] == ["after"]


def test_a_write_that_started_may_happen_after_its_deadline(store, pool):
    gate = Gate()

    def slow(w):
        gate(w)
        return put("slow")(w)

    call = pool.submit(store.commit, slow, timeout=0.05)
    assert gate.entered.wait(BOUND)
    with pytest.raises(DeadlineExceededError, match="may still happen"):
        call.result(BOUND)
    gate.open.set()
    store.commit(put("after"))
    with store.read() as reader:
        assert [m.content for m in reader.scan_memories(1)] == ["slow", "after"]


def test_too_many_waiting_writes_are_refused(store, pool, monkeypatch):
    monkeypatch.setattr(committer, "MAX_WAITING", 3)
    gate = Gate()
    calls = [pool.submit(store.commit, gate)]
    assert gate.entered.wait(BOUND)
    calls += [pool.submit(store.commit, put(str(i))) for i in range(2)]
    until_queued(store, 2)
    with pytest.raises(ResourceExhaustedError) as caught:
        store.commit(put())
    assert caught.value.reason == "OVERLOADED"
    gate.open.set()
    for call in calls:
        call.result(BOUND)
    assert store.commit(put("room again")).revision == 1


def test_a_commit_that_would_wait_for_itself_is_an_error(store, open_store):
    with store.read(), pytest.raises(InternalError) as caught:
        store.commit(put())
    assert caught.value.reason == "NESTED_COMMIT"
    with pytest.raises(InternalError, match="wait for itself"):
        store.commit(lambda w: store.commit(put()))


def test_times_and_ids_increase_although_the_clock_is_set_back(open_store):
    times = [2_000_000_000_000_000]
    store = open_store(clock=lambda: times[-1])
    made = [store.commit(put())]
    times.append(1_000_000_000_000_000)
    made.append(store.commit(put()))
    made.append(store.commit(put()))
    store.close()
    reopened = open_store(clock=lambda: times[-1])
    made.append(reopened.commit(put()))
    stamps = [records.to_microseconds(m.update_time) for m in made]
    assert stamps == [2_000_000_000_000_001 + i for i in range(len(stamps))]
    times.append(3_000_000_000_000_000)
    made.append(reopened.commit(put()))
    assert records.to_microseconds(made[-1].update_time) == 3_000_000_000_000_000
    for one_process in (made[:3], made[3:]):
        assert [m.id for m in one_process] == sorted(m.id for m in one_process)


def test_closing_finishes_what_was_accepted(open_store, pool):
    store = open_store()
    gate = Gate()
    calls = [pool.submit(store.commit, gate)]
    assert gate.entered.wait(BOUND)
    calls += [pool.submit(store.commit, put(str(i))) for i in range(20)]
    until_queued(store, 20)
    closing = pool.submit(store.close)
    gate.open.set()
    closing.result(BOUND)
    for call in calls:
        call.result(BOUND)
    with pytest.raises(UnavailableError) as caught:
        store.commit(put())
    assert caught.value.reason == "CLOSED"
    reopened = open_store()
    with reopened.read() as reader:
        assert reader.count_memories(1) == 20

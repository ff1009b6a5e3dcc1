import multiprocessing
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import lmdb
import pytest
from siltstone.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    UnavailableError,
)
from siltstone.model import Memory
from siltstone.store import Store, environment, keys

BOUND = 20.0
HOLDER = """
import sys
from pathlib import Path
from siltstone.store import Store
store = Store(Path(sys.argv[1]), applier=lambda changes: None)
print("open", flush=True)
sys.stdin.read()
"""


def put(content="x"):
    return lambda w: w.put_memory(Memory(content=content))


def test_the_directory_is_made_for_its_owner_only(store, tmp_path):
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    for file in (tmp_path / "data").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_there_are_readers_enough_and_their_table_has_its_disk(store, tmp_path):
    assert store._environment._env.max_readers() >= 1024
    file = (tmp_path / "data" / "lock.mdb").stat()
    assert file.st_blocks * 512 >= file.st_size


def test_a_second_store_in_this_process_is_refused_and_the_first_goes_on(store, tmp_path):
    with pytest.raises(FailedPreconditionError, match=f"in use by process {os.getpid()}") as caught:
        Store(tmp_path / "data", applier=print)
    assert caught.value.reason == "DATA_LOCKED"
    assert str(tmp_path / "data") in caught.value.message
    assert store.commit(put()).revision == 1


def test_a_second_process_is_refused_by_the_pid_that_holds_it_and_let_in_after_its_death(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "data")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with holder:
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(FailedPreconditionError, match=f"in use by process {holder.pid}"):
            Store(tmp_path / "data", applier=print)
        holder.kill()
    with Store(tmp_path / "data", applier=lambda changes: None) as store:
        assert store.commit(put()).revision == 1


def test_a_later_format_is_refused_by_who_wrote_it(open_store, tmp_path):
    open_store().close()
    with lmdb.open(str(tmp_path / "data"), max_dbs=30, lib_version=0) as env:
        meta = env.open_db(b"meta")
        with env.begin(write=True) as txn:
            txn.put(b"format", keys.number(99) + b"siltstone 9.1", db=meta)
    for _ in range(2):  # the lock is given back each time
        with pytest.raises(FailedPreconditionError, match=r"format 99 by siltstone 9\.1") as caught:
            open_store()
        assert caught.value.reason == "FORMAT_VERSION"


@pytest.mark.parametrize("rubbish", [b"not a database" * 1000, b"\0" * 8192])
def test_a_file_that_is_no_store_is_refused(tmp_path, rubbish):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "data.mdb").write_bytes(rubbish)
    with pytest.raises(FailedPreconditionError) as caught:
        Store(tmp_path / "data", applier=print)
    assert caught.value.reason == "NOT_A_STORE"


def test_a_path_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "data").write_text("x")
    with pytest.raises(FailedPreconditionError, match="data"):
        Store(tmp_path / "data", applier=print)


def test_impossible_sizes_are_refused(tmp_path):
    for given in ({"map_size": 4096}, {"max_group": 0}, {"retention": 0}):
        with pytest.raises(InvalidArgumentError, match=next(iter(given))):
            Store(tmp_path / "data", applier=print, **given)


def test_the_map_is_reserved_large_and_takes_no_disk(store):
    info = store.info()
    assert info.map_size == (64 << 30 if sys.platform == "linux" else 1 << 30)
    assert info.file_bytes < 1 << 20
    assert info.seq == 2
    assert info.entries["namespaces"] == 2


def test_the_map_grows_under_readers_from_256_kib_to_20_mb(open_store):
    store = open_store(map_size=256 << 10)
    done = threading.Event()
    problems: list[BaseException] = []
    reads = [0] * 3

    def read(thread):
        try:
            while not done.is_set():
                with store.read() as reader, store.read() as nested:
                    found = list(reader.scan_memories(1, limit=3))
                    assert all(len(m.content) == 35_000 for m in found)
                    assert nested.count_memories(1) >= len(found)
                    reads[thread] += 1
        except BaseException as problem:
            problems.append(problem)

    readers = [threading.Thread(target=read, args=(i,)) for i in range(len(reads))]
    for reader in readers:
        reader.start()
    written = []
    try:
        for i in range(40):
            written += store.commit(
                lambda w, i=i: [
                    w.put_memory(Memory(content=f"{i}-{j}".ljust(35_000, "记"))).id for j in range(5)
                ]
            )
    finally:
        done.set()
        for reader in readers:
            reader.join(BOUND)
    assert problems == []
    assert min(reads) > 0
    assert store.info().map_size > 20_000_000
    store.close()
    reopened = open_store(map_size=256 << 10)
    with reopened.read() as reader:
        assert [m.id for m in reader.scan_memories(1)] == written


def test_a_read_held_open_fails_the_write_that_needs_a_larger_map_and_no_other(open_store, monkeypatch):
    monkeypatch.setattr(environment, "GROW_TIMEOUT", 0.1)
    store = open_store(map_size=256 << 10)
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with store.read():
            entered.set()
            leave.wait(BOUND)

    holder = threading.Thread(target=hold)
    holder.start()
    assert entered.wait(BOUND)
    with pytest.raises(UnavailableError) as caught:
        store.commit(put("x" * 500_000))
    assert caught.value.reason == "READS_HELD"
    assert store.commit(put("small")).revision == 1
    leave.set()
    holder.join(BOUND)
    assert store.commit(put("x" * 500_000)).revision == 1


def test_nothing_touches_the_files_after_they_are_closed(open_store):
    store = open_store()
    store.close()
    store.close()
    for call in (store.info, lambda: store.commit(put()), lambda: store.read().__enter__()):
        with pytest.raises(UnavailableError) as caught:
            call()
        assert caught.value.reason == "CLOSED"


def test_closing_waits_for_an_open_read(open_store):
    store = open_store()
    closing = threading.Thread(target=store.close)
    with store.read() as reader:
        closing.start()
        deadline = time.monotonic() + BOUND
        while not store._environment._closed:
            assert time.monotonic() < deadline
        assert closing.is_alive()
        assert reader.count_memories(1) == 0
    closing.join(BOUND)
    assert not closing.is_alive()


def test_a_read_held_for_too_long_closes_the_files_itself(open_store, monkeypatch, caplog):
    monkeypatch.setattr(environment, "CLOSE_TIMEOUT", 0.05)
    store = open_store()
    with store.read() as reader:
        store.close()
        assert "still open" in caplog.text
        assert reader.count_memories(1) == 0
        with pytest.raises(FailedPreconditionError):
            open_store()
    assert open_store().info().seq == 1


def test_a_store_that_is_never_closed_keeps_what_it_acknowledged(tmp_path):
    code = HOLDER.replace(
        'print("open", flush=True)',
        'from siltstone.model import Memory\nstore.commit(lambda w: w.put_memory(Memory(content="留下")))',
    )
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "data")],
        check=True,
        stdin=subprocess.DEVNULL,
        timeout=BOUND,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with Store(tmp_path / "data", applier=lambda changes: None) as store, store.read() as reader:
        assert [m.content for m in reader.scan_memories(1)] == ["留下"]


def _in_child(store: Store, results) -> None:
    for call in (store.info, lambda: store.commit(put())):
        try:
            call()
        except Exception as error:
            results.put(getattr(error, "reason", repr(error)))
    store.close()
    results.put("closed")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_told_to_open_its_own_and_harms_nothing(store):
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_in_child, args=(store, results))
    child.start()
    assert [results.get(timeout=BOUND) for _ in range(3)] == ["FORKED", "FORKED", "closed"]
    child.join(BOUND)
    assert child.exitcode == 0
    assert store.commit(put()).revision == 1
    with pytest.raises(FailedPreconditionError):
        Store(store._environment.path, applier=print)


def test_a_copy_opens_as_a_store_with_the_same_content(open_store, tmp_path):
    store = open_store()
    memory = store.commit(put("备份"))
    (tmp_path / "copy").mkdir()
    store.copy(tmp_path / "copy")
    store.commit(put("later"))
    with Store(tmp_path / "copy", applier=lambda changes: None) as copied, copied.read() as reader:
        assert list(reader.scan_memories(1)) == [memory]


def test_a_copy_into_a_missing_directory_is_an_error(store, tmp_path):
    with pytest.raises(Exception, match="missing"):
        store.copy(Path(tmp_path / "missing"))


def test_a_thread_that_reads_may_read_again_while_new_reads_are_paused(store):
    seen: list[str] = []
    paused, leave = threading.Event(), threading.Event()

    def inside():
        with store.read():
            assert paused.wait(BOUND)
            with store.read() as nested:
                seen.append(f"nested {nested.count_memories(1)}")
            leave.set()

    def outside():
        assert paused.wait(BOUND)
        with store.read() as reader:
            seen.append(f"new {reader.count_memories(1)}")

    threads = [threading.Thread(target=call, daemon=True) for call in (inside, outside)]
    threads[0].start()
    deadline = time.monotonic() + BOUND
    while not store._environment._readers:
        assert time.monotonic() < deadline
    threads[1].start()
    with store._environment._paused():
        paused.set()
        assert leave.wait(5), "the nested read waited for the pause to end"
        assert seen == ["nested 0"]
    for thread in threads:
        thread.join(BOUND)
    assert seen == ["nested 0", "new 0"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_outlives_the_process_keeps_nobody_out(tmp_path):
    # The child speaks, so that what happens in it at the fork has happened.
    fork = "import os\nif not os.fork():\n    print('open', flush=True)\n    sys.stdin.read()\nos._exit(0)"
    code = HOLDER.replace('print("open", flush=True)', fork)
    holder = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "data")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with holder:  # its end closes the pipe that the child waits on
        assert holder.stdout.readline() == "open\n"
        holder.wait(BOUND)
        with Store(tmp_path / "data", applier=lambda changes: None) as store:
            assert store.commit(put()).revision == 1


def test_an_error_inside_a_read_that_is_not_of_the_store_stays_what_it_is(store):
    for error in (FileNotFoundError(2, "no such snapshot"), OSError(28, "the index's disk"), KeyError(1)):
        with pytest.raises(type(error)) as caught, store.read():
            raise error
        assert caught.value is error


def test_an_error_of_lmdb_inside_a_read_is_the_stores(store):
    with pytest.raises(UnavailableError) as caught, store.read():
        raise lmdb.PanicError("the disk failed")
    assert caught.value.reason == "STORAGE_FAILED"

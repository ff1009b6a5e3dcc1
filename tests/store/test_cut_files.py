"""A data file that lost pages is refused with words; one that is merely short by LMDB's own ways is not."""

import os
import random

import lmdb
import pytest
from siltstone.errors import FailedPreconditionError
from siltstone.model import Memory
from siltstone.store import Store
from siltstone.store.datafile import refuse_when_cut


def put(content):
    return lambda w: w.put_memory(Memory(content=content))


@pytest.mark.parametrize("kept", [0.9, 0.5, 0.25, 0.05])
def test_a_file_that_lost_its_end_is_refused_with_its_name_and_the_remedy(open_store, tmp_path, kept):
    store = open_store()
    for i in range(50):
        store.commit(put(f"记忆 {i} " * 100))
    store.close()
    file = tmp_path / "data" / "data.mdb"
    os.truncate(file, int(file.stat().st_size * kept))
    for _ in range(2):  # the lock is given back each time
        with pytest.raises(FailedPreconditionError, match=f"{file} .*from a backup") as e:
            open_store()
        assert e.value.reason == "STORE_TRUNCATED"


@pytest.mark.parametrize("harm", [lambda file: os.truncate(file, 0), os.unlink])
def test_a_store_that_is_suddenly_empty_is_refused_not_begun_anew(open_store, tmp_path, harm):
    open_store().close()
    harm(tmp_path / "data" / "data.mdb")
    with pytest.raises(FailedPreconditionError, match=r"data\.mdb is empty or gone.*from a backup") as caught:
        open_store()
    assert caught.value.reason == "STORE_TRUNCATED"


def test_a_crash_in_the_very_first_creation_locks_nobody_out(open_store, tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("siltstone.lock", "lock.mdb", "data.mdb"):
        (tmp_path / "data" / name).touch()
    store = open_store()
    memory = store.commit(put("first"))
    store.close()
    with open_store().read() as reader:
        assert reader.memory(memory.id).content == "first"


def test_a_directory_restored_from_a_backup_opens(open_store, tmp_path):
    store = open_store()
    memory = store.commit(put("kept"))
    (tmp_path / "backup").mkdir()
    store.copy(tmp_path / "backup")
    store.close()
    file = tmp_path / "data" / "data.mdb"
    os.truncate(file, 5000)
    os.replace(tmp_path / "backup" / "data.mdb", file)
    with open_store().read() as reader:
        assert reader.memory(memory.id).content == "kept"


def test_a_file_that_ends_before_pages_given_back_is_whole(tmp_path):
    """A value put and deleted in one transaction takes pages at the end of the file, which are then free and
    were never written."""
    short = 0
    for seed in range(20):
        directory = tmp_path / str(seed)
        with lmdb.open(str(directory), map_size=1 << 24, max_dbs=2, lib_version=0) as env:
            table = env.open_db(b"table")
            draw = random.Random(seed)
            for _ in range(4):
                with env.begin(write=True, db=table) as txn:
                    for _ in range(draw.randint(1, 30)):
                        key = b"%d" % draw.randint(0, 40)
                        txn.put(key, bytes(draw.randint(0, 40_000)))
                        if draw.random() < 0.5:
                            txn.delete(b"%d" % draw.randint(0, 40))
                    txn.put(b"late", bytes(200_000))
                    txn.delete(b"late")
            last_page, page_size = env.info()["last_pgno"], env.stat()["psize"]
        file = directory / "data.mdb"
        short += file.stat().st_size < (last_page + 1) * page_size
        refuse_when_cut(directory)
    assert short, "no file was short: this test must make some"


def test_pages_in_use_are_missed_however_few(tmp_path):
    with Store(tmp_path, applier=lambda changes: None) as store:
        store.commit(put("文" * 20_000))
    file = tmp_path / "data.mdb"
    with lmdb.open(str(tmp_path), lib_version=0, readonly=True, lock=False) as env:
        page_size = env.stat()["psize"]
    os.truncate(file, file.stat().st_size - page_size)
    with pytest.raises(FailedPreconditionError, match="from a backup") as caught:
        refuse_when_cut(tmp_path)
    assert caught.value.reason == "STORE_TRUNCATED"

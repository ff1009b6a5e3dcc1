"""A disk that is full or broken. The stores here run in processes of their own, whose limits and system calls
can be bent."""

import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lmdb
import pytest
from siltstone.errors import ResourceExhaustedError
from siltstone.model import Memory
from siltstone.store import Store

START = """
import os, resource, sys, threading
from pathlib import Path
from siltstone.errors import SiltstoneError
from siltstone.model import Memory
from siltstone.store import Store

path, flag = Path(sys.argv[1]), Path(sys.argv[1] + ".fail")
applied = []
store = Store(path, applier=applied.extend)

def put(content):
    return store.commit(lambda w: w.put_memory(Memory(content=content)))

def contents():
    with store.read() as reader:
        found = [m.content[:9] for m in reader.scan_memories(1)]
        assert reader.count_memories(1) == len(found)
        return found

def refused(call):
    try:
        call()
    except SiltstoneError as error:
        return error.reason
    raise AssertionError("it was acknowledged")
"""

SHIM = """
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
int fdatasync(int fd) {
    const char *flag = getenv("FAIL_SYNC_FLAG");
    if (flag && access(flag, F_OK) == 0) { errno = EIO; return -1; }
    return fsync(fd);
}
"""


def run(tmp_path: Path, code: str, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START + code, str(tmp_path / "data")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def kept(path: Path) -> list[str]:
    with Store(path, applier=lambda changes: None) as store, store.read() as reader:
        return [memory.content[:9] for memory in reader.scan_memories(1)]


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_full_disk_refuses_writes_keeps_nothing_of_them_and_is_over_once_there_is_space(tmp_path):
    run(
        tmp_path,
        """
put("之前")
full = path.joinpath("data.mdb").stat().st_size + 100_000
seq, changes = store.info().seq, len(applied)
resource.setrlimit(resource.RLIMIT_FSIZE, (full, resource.RLIM_INFINITY))
for size in (300_000, 5_000_000):
    assert refused(lambda: put("x" * size)) == "DISK_FULL"
threads = [threading.Thread(target=lambda: refused(lambda: put("y" * 300_000))) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join(20)
assert contents() == ["之前"]
assert (store.info().seq, len(applied)) == (seq, changes)
put("小")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
put("z" * 300_000)
assert contents() == ["之前", "小", "z" * 9]
assert store.info().seq == seq + 2
""",
    )
    assert kept(tmp_path / "data") == ["之前", "小", "z" * 9]


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("mount"),
    reason="needs to mount a small disk",
)
def test_a_disk_that_is_really_full_is_told_from_a_broken_one(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        run(
            disk,
            """
put("之前")
filler = path.parent / "filler"
filler.write_bytes(b"x" * 1_200_000)
for size in (1_000_000, 3_000_000):
    assert refused(lambda: put("x" * size)) == "DISK_FULL"
assert contents() == ["之前"]
filler.unlink()
put("z" * 500_000)
assert contents() == ["之前", "z" * 9]
""",
        )
        assert kept(disk / "data") == ["之前", "z" * 9]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("cc"), reason="needs a C compiler")
def test_a_sync_that_fails_acknowledges_nothing(tmp_path):
    source, shim = tmp_path / "shim.c", tmp_path / "shim.so"
    source.write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(shim), str(source)], check=True)
    run(
        tmp_path,
        """
put("之前")
seq, changes = store.info().seq, len(applied)
flag.touch()
for _ in range(2):
    assert refused(lambda: put("丢失")) == "STORAGE_FAILED"
assert contents() == ["之前"]
assert (store.info().seq, len(applied)) == (seq, changes)
flag.unlink()
put("之后")
assert contents() == ["之前", "之后"]
""",
        LD_PRELOAD=str(shim),
        FAIL_SYNC_FLAG=str(tmp_path / "data.fail"),
    )
    assert kept(tmp_path / "data") == ["之前", "之后"]


def test_one_write_too_large_for_a_transaction_is_refused_alone(open_store):
    store = open_store()

    def too_large(writer):
        writer.put_memory(Memory(content="half"))
        raise lmdb.TxnFullError("mdb_put")

    with pytest.raises(ResourceExhaustedError) as caught:
        store.commit(too_large)
    assert caught.value.reason == "WRITE_TOO_LARGE"
    store.commit(lambda w: w.put_memory(Memory(content="fits")))
    with store.read() as reader:
        assert [m.content for m in reader.scan_memories(1)] == ["fits"]


def test_a_write_that_breaks_the_transaction_fails_alone_and_its_group_is_run_without_it(open_store):
    store = open_store()
    entered, leave = threading.Event(), threading.Event()

    def hold(_):
        entered.set()
        assert leave.wait(20)

    def break_it(_):
        raise lmdb.TxnFullError("mdb_put")

    with ThreadPoolExecutor(8) as pool:
        pool.submit(store.commit, hold)
        assert entered.wait(20)
        operations = [
            break_it if i == 2 else lambda w, i=i: w.put_memory(Memory(content=str(i))) for i in range(5)
        ]
        calls = [pool.submit(store.commit, operation) for operation in operations]
        leave.set()
        for i, call in enumerate(calls):
            if i == 2:
                with pytest.raises(ResourceExhaustedError):
                    call.result(20)
            else:
                assert call.result(20).content == str(i)
    with store.read() as reader:
        assert sorted(m.content for m in reader.scan_memories(1)) == ["0", "1", "3", "4"]

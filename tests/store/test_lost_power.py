"""Power is lost: of what was not synced anything may be missing, or there in part. Whatever was acknowledged
is there, and the store is whole.

A recorder between the process and the C library notes each write, each sync and each acknowledgement. From
its notes the data file is made as a disk might hold it at any moment: all that was synced, and of each later
write nothing, all, or some of its sectors.
"""

import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from siltstone.store import Store, content_digest, problems

RECORDER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int notes = -1;

static char kind_of(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    if (n > 14 && !strcmp(path + n - 14, "/data/data.mdb")) return 'W';
    if (n > 5 && !strcmp(path + n - 5, "/acks")) return 'A';
    return 0;
}

static void put(const void *data, size_t n) {
    while (n) {
        ssize_t done = syscall(SYS_write, notes, data, n);
        if (done <= 0) abort();
        data = (const char *)data + done;
        n -= done;
    }
}

static void note(char kind, char synced, uint64_t at, const struct iovec *parts, int count, uint64_t size) {
    pthread_mutex_lock(&lock);
    if (notes < 0) {
        notes = open(getenv("NOTES"), O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (notes < 0) abort();
    }
    put(&kind, 1); put(&synced, 1); put(&at, 8); put(&size, 8);
    for (int i = 0; i < count && size; i++) {
        size_t n = parts[i].iov_len < size ? parts[i].iov_len : size;
        put(parts[i].iov_base, n);
        size -= n;
    }
    pthread_mutex_unlock(&lock);
}

static void wrote(int fd, const struct iovec *parts, int count, off_t at, ssize_t size) {
    if (size <= 0) return;
    char kind = kind_of(fd);
    if (kind) note(kind, !!(fcntl(fd, F_GETFL) & O_DSYNC), at, parts, count, size);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
    ssize_t done = syscall(SYS_pwrite64, fd, data, n, at);
    wrote(fd, &(struct iovec){(void *)data, n}, 1, at, done);
    return done;
}
ssize_t pwrite64(int fd, const void *data, size_t n, off_t at) { return pwrite(fd, data, n, at); }
ssize_t write(int fd, const void *data, size_t n) {
    off_t at = lseek(fd, 0, SEEK_CUR);
    ssize_t done = syscall(SYS_write, fd, data, n);
    wrote(fd, &(struct iovec){(void *)data, n}, 1, at, done);
    return done;
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    off_t at = lseek(fd, 0, SEEK_CUR);
    ssize_t done = syscall(SYS_writev, fd, parts, count);
    wrote(fd, parts, count, at, done);
    return done;
}
static int synced(int fd, long call) {
    int failed = syscall(call, fd);
    if (!failed && kind_of(fd) == 'W') note('S', 0, 0, 0, 0, 0);
    return failed;
}
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }
int fsync(int fd) { return synced(fd, SYS_fsync); }
"""

# Each thread writes, rewrites and erases, and notes what was acknowledged: id, revision (0: erased), content.
WRITER = """
import os, sys, threading
from pathlib import Path
from siltstone.model import Memory
from siltstone.store import Store

directory = Path(sys.argv[1])
acks = os.open(directory / "acks", os.O_WRONLY | os.O_CREAT, 0o600)
store = Store(directory / "data", applier=lambda changes: None)
store.commit(lambda w: w.bind_model(1, "m", 2))

def acknowledged(id, revision, name):
    os.write(acks, f"{id} {revision} {name}\\n".encode())

def work(thread):
    for i in range(25):
        name = f"{thread}-{i}"
        content = f"{name} " + "断电 " * (i * 60)
        memory = store.commit(lambda w: w.put_memory(Memory(content=content), [[1.0, 1.0]]))
        acknowledged(memory.id, 1, name)
        if i % 3 == 0:
            store.commit(lambda w: w.put_memory(memory, [[2.0, 1.0]], former="updated"))
            acknowledged(memory.id, 2, name)
        if i % 5 == 4:
            store.commit(lambda w: w.erase_memory(memory.id))
            acknowledged(memory.id, 0, name)

threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
os._exit(0)
"""
MOMENTS = int(os.environ.get("SILTSTONE_TORTURE", "0")) * 10 or 60
SECTOR = 512

Note = tuple[str, bool, int, bytes]  # W, S or A; whether the write was a synced one; offset; bytes


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> list[Note]:
    if sys.platform != "linux" or not shutil.which("cc"):
        pytest.skip("needs Linux and a C compiler")
    directory = tmp_path_factory.mktemp("recorded")
    source, recorder = directory / "recorder.c", directory / "recorder.so"
    source.write_text(RECORDER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(recorder), str(source), "-ldl"], check=True)
    subprocess.run(
        [sys.executable, "-c", WRITER, str(directory)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "LD_PRELOAD": str(recorder),
            "NOTES": str(directory / "notes"),
        },
        check=True,
        timeout=100,
    )
    return list(read((directory / "notes").read_bytes()))


def read(data: bytes) -> Iterator[Note]:
    at = 0
    while at < len(data):
        kind, synced, offset, size = struct.unpack_from("<c?QQ", data, at)
        at += struct.calcsize("<c?QQ")
        yield kind.decode(), synced, offset, data[at : at + size]
        at += size


def apply(file: bytearray, offset: int, data: bytes) -> None:
    if len(file) < offset + len(data):
        file.extend(bytes(offset + len(data) - len(file)))
    file[offset : offset + len(data)] = data


def on_disk(notes: list[Note], draw: random.Random) -> bytes:
    """The data file of a disk whose power went after these notes."""
    file, pending = bytearray(), list[Note]()
    for note in notes:
        kind, _, offset, data = note
        if kind == "W":
            pending.append(note)
        elif kind == "S":
            for _, _, offset, data in pending:
                apply(file, offset, data)
            pending = []
    fate = draw.choice(["nothing", "all", "some", "torn"])
    for _, synced, offset, data in pending:
        if synced or fate == "all" or (fate == "some" and draw.random() < 0.5):
            apply(file, offset, data)
        elif fate == "torn":
            for at in range(0, len(data), SECTOR):
                if draw.random() < 0.5:
                    apply(file, offset + at, data[at : at + SECTOR])
    return bytes(file)


def acknowledged(notes: list[Note]) -> dict[str, tuple[int, str]]:
    """id → revision, name."""
    lines = b"".join(data for kind, _, _, data in notes if kind == "A").decode().splitlines()
    return {id: (int(revision), name) for id, revision, name in map(str.split, lines)}


def test_the_recorder_sees_the_writes_the_syncs_and_the_acknowledgements(notes: list[Note]) -> None:
    kinds = [kind for kind, *_ in notes]
    assert kinds.count("S") > 20
    assert len(acknowledged(notes)) == 100
    assert any(synced for kind, synced, *_ in notes if kind == "W"), "LMDB syncs its meta page by the write"


@pytest.mark.timeout(60 + MOMENTS)
def test_after_lost_power_all_that_was_acknowledged_is_there_and_the_store_is_whole(
    notes: list[Note], tmp_path: Path
) -> None:
    seed = random.SystemRandom().randrange(2**32)
    draw = random.Random(seed)
    first = next(i for i, note in enumerate(notes) if note[0] == "A")
    for moment in range(MOMENTS):
        until = draw.randrange(first, len(notes)) + 1
        directory = tmp_path / str(moment)
        directory.mkdir()
        (directory / "data.mdb").write_bytes(on_disk(notes[:until], draw))
        try:
            assert_whole(directory, acknowledged(notes[:until]))
        except Exception as error:
            raise AssertionError(f"seed {seed}, moment {moment}, after note {until}: {error}") from error
        shutil.rmtree(directory)


def assert_whole(directory: Path, acknowledged: dict[str, tuple[int, str]]) -> None:
    with Store(directory, applier=lambda changes: None) as store:
        with store.read() as reader:
            (default,) = [record for record in reader.namespaces() if record.name == "default"]
            assert [problem.text for problem in problems(reader, default)] == []
            memories = {memory.id: memory for memory in reader.scan_memories(1)}
            for id, (revision, name) in acknowledged.items():
                if revision == 0:
                    assert id not in memories
                    assert reader.is_erased(id)
                elif id in memories:
                    assert memories[id].content.startswith(name + " ")
                    assert memories[id].revision >= revision
                    assert reader.by_content_hash(1, content_digest(memories[id].content)) == id
                else:  # erased, and not yet acknowledged
                    assert reader.is_erased(id)
            names = [memory.content.split()[0] for memory in memories.values()]
            assert len(set(names)) == len(names)
        # It goes on from there.
        with store.read() as reader:
            seq = reader.seq
        store.commit(lambda w: w.create_namespace("after"))
        with store.read() as reader:
            assert reader.seq == seq + 1


def test_a_lost_group_of_writes_is_missed(notes: list[Note], tmp_path: Path) -> None:
    """The disk as it was before the last sync, held against all acknowledgements."""
    last_sync = max(i for i, note in enumerate(notes) if note[0] == "S")
    durable = max(i for i, note in enumerate(notes[:last_sync]) if note[0] == "S" or note[1]) + 1
    (tmp_path / "data.mdb").write_bytes(on_disk(notes[:durable], random.Random(0)))
    with pytest.raises(AssertionError):
        assert_whole(tmp_path, acknowledged(notes))

"""A process that is killed in the middle of writing loses nothing it acknowledged."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from siltstone.store import Store, content_digest, keys

WRITER = """
import sys, threading
from pathlib import Path
from siltstone.model import Memory
from siltstone.store import Store

store = Store(Path(sys.argv[1]), applier=lambda changes: None, retention=10_000)
store.commit(lambda w: w.bind_model(1, "m", 2))
output, lock = sys.stdout, threading.Lock()

def write(thread):
    i = 0
    while True:
        content = f"{sys.argv[2]}-{thread}-{i} " + "写入" * 200
        memory = store.commit(lambda w: w.put_memory(Memory(content=content), [[1.0, i]]))
        if i % 3 == 0:
            store.commit(lambda w: w.put_memory(memory, [[2.0, i]], former="updated"))
        with lock:
            print(memory.id, 2 if i % 3 == 0 else 1, content[:20].split()[0], flush=True)
        i += 1

for thread in range(8):
    threading.Thread(target=write, args=(thread,), daemon=True).start()
threading.Event().wait()
"""
ROUNDS = 4


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_every_acknowledged_write_is_there_once_after_kills(tmp_path):
    acknowledged: dict[str, tuple[int, str]] = {}
    for round in range(ROUNDS):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "data"), str(round)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        guard = threading.Timer(30, writer.kill)
        guard.start()
        with writer:
            for count, line in enumerate(writer.stdout):
                if count == 40 + 17 * round:  # never at the same place
                    os.kill(writer.pid, signal.SIGKILL)
                if line.endswith("\n"):
                    id, revision, name = line.split()
                    acknowledged[id] = (int(revision), name)
        guard.cancel()
        assert count >= 40, "the writer ended by itself"
        with Store(tmp_path / "data", applier=lambda changes: None) as store, store.read() as reader:
            check(reader, acknowledged)


def check(reader, acknowledged):
    memories = {memory.id: memory for memory in reader.scan_memories(1)}
    for id, (revision, name) in acknowledged.items():
        assert memories[id].content.startswith(name + " ")
        assert memories[id].revision >= revision
    names = [memory.content.split()[0] for memory in memories.values()]
    assert len(set(names)) == len(names), "a write is there twice"

    assert reader.count_memories(1) == len(memories)
    assert reader.entries()["owners"] == reader.entries()["vectors"] == len(memories)
    for memory in memories.values():
        assert len(reader.revisions(memory.id)) == memory.revision - 1
        assert reader.vectors(memory.id)[0][0] == memory.revision
        assert reader.by_content_hash(1, content_digest(memory.content)) == memory.id
    assert reader.entries()["contents"] == len(memories)

    changes = reader.changes(1, 0)
    seqs = [change.seq for change in changes]
    assert seqs == sorted(set(seqs))
    assert seqs[-1] == reader.seq
    assert len(seqs) == sum(memory.revision for memory in memories.values())
    records = {record for change in changes for record, _ in change.puts}
    assert records == {record for record, _ in reader.scan_records(1)}
    assert {keys.parse_id(id) for id in memories}.isdisjoint(i for c in changes for i in c.removes)

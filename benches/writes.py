"""Durable writes from many threads, beside raw LMDB in the same process on the same disk.

    .venv/bin/python benches/writes.py [--writes 3000] [--writers 32] [--rounds 3] [--directory /var/tmp]

Each write is one call with its vector (384 dimensions) and `on_duplicate=KEEP`, answered when it is synced
and searchable. The raw twin is a group commit by hand: a thread that puts what waits in one transaction, and
wakes who waits. It writes the same bytes, once as one entry a memory, once as the very entries of
the service in its tables. The rounds take turns, since disks are moody; compare the ratios.
"""

import argparse
import os
import platform
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import lmdb
import numpy as np
import siltstone
from siltstone.config import Settings
from siltstone.local import Local

DIMENSION = 384
NAMESPACE = "bench"
WORDS = ["api", "cache", "client", "cluster", "config", "container", "cookie", "deploy", "disk", "docker"]
TABLES = ("memories", "vectors", "owners", "contents", "changes", "audit")

Entries = list[tuple[str, bytes, bytes]]  # table, key, value


def main() -> None:
    arguments = _arguments()
    random = np.random.default_rng(7)
    count = arguments.writes
    vectors = [vector.tolist() for vector in random.normal(size=(count, DIMENSION)).astype(np.float32)]
    texts = [f"note {i}: " + " ".join(random.choice(WORDS, size=20)) for i in range(count)]
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, seed 7")
    print(
        f"{count:,} durable writes a round, {arguments.writers} writers, one memory a call, vectors given\n"
    )
    rates: dict[str, list[float]] = {"siltstone": [], "raw, one entry": [], "raw, same entries": []}
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        path = Path(directory)
        with siltstone.open(path / "data", settings=Settings(embedding_model="hashing")) as mem:
            mem.write(texts[0], namespace=NAMESPACE, vector=vectors[0], on_duplicate="KEEP")
            mem.search(namespace=NAMESPACE, vector=vectors[0])  # from here on the index follows

            def write(i: int) -> None:
                mem.write(texts[i], namespace=NAMESPACE, vector=vectors[i], on_duplicate="KEEP")

            for _ in range(arguments.rounds):
                rates["siltstone"].append(count / in_threads(write, count, arguments.writers))
                entries = _newest_entries(mem, count)
                each = [
                    [("memories", key, b"".join(value for _, _, value in memory))]
                    for memory in entries
                    for _, key, _ in memory[:1]
                ]
                for name, what in (("raw, one entry", each), ("raw, same entries", entries)):
                    seconds = write_raw(path / "raw", what, arguments.writers)
                    rates[name].append(count / seconds)
    size = statistics.mean(sum(len(key) + len(value) for _, key, value in memory) for memory in entries)
    print(f"{size:,.0f} bytes a memory in {len(entries[0])} entries")
    print("                      writes/s by round                    siltstone / it (median of rounds)")
    for name, found in rates.items():
        ratio = statistics.median(a / b for a, b in zip(rates["siltstone"], found, strict=True))
        shown = "  ".join(f"{rate:>8,.0f}" for rate in found)
        print(f"  {name:<20}{shown}{'' if name == 'siltstone' else f'{ratio:>16.2f}'}")


def _newest_entries(mem: Local, count: int) -> list[Entries]:
    """What the service wrote for each of the last `count` memories, as it lies in its tables."""
    with mem.engine.store.read() as reader:
        record = reader.namespace(NAMESPACE)
        assert record is not None
        prefix = record.number.to_bytes(4, "big")
        by_table = {
            table: list(reader._scan(table, prefix if table not in ("owners", "audit") else b""))[-count:]
            for table in TABLES
        }
    return [[(table, *by_table[table][i]) for table in TABLES] for i in range(count)]


def write_raw(path: Path, memories: list[Entries], writers: int) -> float:
    """Seconds of a group commit as tight as it can be written by hand."""
    path.mkdir()
    env = lmdb.open(str(path), map_size=1 << 32, max_dbs=len(TABLES))
    tables = {table: env.open_db(table.encode()) for table in TABLES}
    waiting: list[tuple[Entries, threading.Event]] = []
    arrived = threading.Condition()
    done = False

    def committer() -> None:
        while True:
            with arrived:
                arrived.wait_for(lambda: waiting or done)
                group, waiting[:] = list(waiting), []
            if not group:
                return
            with env.begin(write=True) as txn:
                for entries, _ in group:
                    for table, key, value in entries:
                        txn.put(key, value, db=tables[table])
            for _, event in group:
                event.set()

    def write(i: int) -> None:
        event = threading.Event()
        with arrived:
            waiting.append((memories[i], event))
            arrived.notify()
        event.wait()

    thread = threading.Thread(target=committer)
    thread.start()
    elapsed = in_threads(write, len(memories), writers)
    with arrived:
        done = True
        arrived.notify()
    thread.join()
    env.close()
    for file in path.iterdir():
        file.unlink()
    path.rmdir()
    return elapsed


def in_threads(work: Callable[[int], None], count: int, threads: int) -> float:
    """Seconds that `threads` threads take for `work(0)` … `work(count - 1)`."""
    pool = [
        threading.Thread(target=lambda first=i: [work(j) for j in range(first, count, threads)])
        for i in range(threads)
    ]
    started = time.perf_counter()
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    return time.perf_counter() - started


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--writes", type=int, default=3000)
    parser.add_argument("--writers", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", help="on the disk to be measured; default: where temporary files are")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

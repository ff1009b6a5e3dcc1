"""Search latency and write rate, beside raw usearch and raw LMDB in the same process.

    .venv/bin/python benches/first.py [--memories 40000] [--queries 500]

The vectors are made up: 384 dimensions, clustered as text embeddings are; they are given to the service, so
no embedding model is in these figures. Compare ratios; absolute times belong to the machine.
"""

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import siltstone
from siltstone.config import Settings
from usearch.index import Index, MetricKind, ScalarKind
from writes import TABLES, in_threads, write_raw

DIMENSION = 384
TOPICS = """api cache client cluster config container cookie deploy disk docker error gateway host index job
key lock"""
WORDS = TOPICS.split()


def main() -> None:
    arguments = _arguments()
    random = np.random.default_rng(7)
    vectors = _clustered(random, arguments.memories)
    queries = _near(random, vectors, arguments.queries)
    texts = [_text(random, i) for i in range(arguments.memories)]
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, seed 7")
    print(f"{arguments.memories:,} memories, {DIMENSION} dimensions, clustered random vectors\n")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        with siltstone.open(path / "data", settings=Settings(embedding_model="hashing")) as mem:
            count, seconds, size = _write(mem, texts, vectors, arguments.writers)
            payload = os.urandom(size)
            alike = [[(TABLES[0], i.to_bytes(8, "big"), payload)] for i in range(count)]
            raw_seconds = write_raw(path / "raw", alike, arguments.writers)
            _search(mem, texts, vectors, queries)
    print("\nwrites, durable, one memory a call")
    rates = {"siltstone": count / seconds, "raw lmdb": count / raw_seconds}
    for name, rate in rates.items():
        print(f"  {name:<28}{rate:>10,.0f} /s   ({arguments.writers} writers)")
    print(f"  ratio siltstone / raw lmdb  {rates['siltstone'] / rates['raw lmdb']:>10.2f}")


def _write(mem: siltstone.Api, texts: list[str], vectors: np.ndarray, writers: int) -> tuple[int, float, int]:
    """Most memories in batches; the last ones one by one from many threads: number, seconds, size of one."""
    timed = min(len(texts) // 4, 2000)
    bulk = len(texts) - timed
    started = time.perf_counter()
    for at in range(0, bulk, 500):
        chunk = range(at, min(at + 500, bulk))
        mem.write_many([_draft(texts[i], vectors[i]) for i in chunk], namespace="bench")
    seconds = time.perf_counter() - started
    print(f"bulk writes of 500 a call: {bulk / seconds:,.0f} memories/s")

    def write(i: int) -> None:
        mem.write(namespace="bench", **_draft(texts[bulk + i], vectors[bulk + i]))

    elapsed = in_threads(write, timed, writers)
    sample = mem.get(mem.list("bench", page_size=1)[0].id)[0]
    size = len(sample.content.encode()) + 400 + DIMENSION * 4
    return timed, elapsed, size


def _draft(text: str, vector: np.ndarray) -> dict[str, object]:
    return {"content": text, "vector": vector.tolist(), "on_duplicate": "KEEP"}


def _search(mem: siltstone.Api, texts: list[str], vectors: np.ndarray, queries: np.ndarray) -> None:
    raw = Index(
        ndim=DIMENSION, metric=MetricKind.IP, dtype=ScalarKind.BF16, connectivity=16, expansion_add=128
    )
    raw.add(np.arange(len(vectors)), vectors, threads=os.cpu_count() or 1)
    raw.expansion_search = 64
    exact = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    plain = {
        "similarity": 1,
        "recency": 0,
        "confidence": 0,
        "lexical": 0,
        "neighbours": 0,
        "calibrate": False,
    }
    arguments = {"namespace": "bench", "include_public": False, "top_k": 10}
    by_text = {text: i for i, text in enumerate(texts)}

    def vector_only(q: int) -> list[int]:
        result = mem.search(vector=queries[q].tolist(), weights=plain, view="FULL", **arguments)
        return [by_text[hit.memory.content] for hit in result.hits]

    def hybrid(q: int) -> None:
        mem.search(texts[q], vector=queries[q].tolist(), **arguments)

    def usearch(q: int) -> list[int]:
        return [int(key) for key in raw.search(queries[q], 10).keys]

    explained = mem.search(vector=queries[0].tolist(), explain=True, **arguments).explain
    print(f"\nsearch, one at a time, in process (plan: {explained.plan if explained else ''})")
    baseline = _latency("raw usearch bf16, ef 64", usearch, exact, None)
    _latency("siltstone, vector only", vector_only, exact, baseline)
    _latency("siltstone, hybrid", hybrid, exact, baseline)
    batch = [{"query": texts[q], "vector": queries[q].tolist(), **arguments} for q in range(len(queries))]
    started = time.perf_counter()
    for at in range(0, len(batch), 64):
        mem.search_many(batch[at : at + 64])
    each = (time.perf_counter() - started) / len(batch) * 1e6
    print(
        f"  {'siltstone, hybrid, 64 a call':<28}{each:>8,.0f} µs each{each / baseline:>22.1f} × raw usearch"
    )


def _latency(
    name: str, search: Callable[[int], list[int] | None], exact: np.ndarray, baseline: float | None
) -> float:
    count = len(exact)
    for q in range(min(10, count)):
        search(q)
    times, found, compared = [], 0, False
    for q in range(count):
        started = time.perf_counter()
        hits = search(q)
        times.append((time.perf_counter() - started) * 1e6)
        if hits is not None:
            compared = True
            found += len(set(hits) & set(exact[q].tolist()))
    p50, p99 = statistics.median(times), statistics.quantiles(times, n=100)[98]
    recall = f"recall@10 {found / count / 10:.3f}" if compared else ""
    ratio = f"{p50 / baseline:.1f} × raw usearch" if baseline else ""
    print(f"  {name:<28}{p50:>8,.0f} µs p50 {p99:>8,.0f} µs p99  {recall:<16} {ratio}")
    return p50


def _clustered(random: np.random.Generator, count: int) -> np.ndarray:
    centres = random.normal(size=(max(8, count // 200), DIMENSION))
    vectors = centres[random.integers(len(centres), size=count)] + random.normal(size=(count, DIMENSION))
    return _unit(vectors)


def _near(random: np.random.Generator, vectors: np.ndarray, count: int) -> np.ndarray:
    chosen = vectors[random.integers(len(vectors), size=count)]
    return _unit(chosen + 0.5 / np.sqrt(DIMENSION) * random.normal(size=chosen.shape))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _text(random: np.random.Generator, i: int) -> str:
    return f"note {i}: " + " ".join(random.choice(WORDS, size=20))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--writers", type=int, default=32)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

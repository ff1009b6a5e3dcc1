"""The search core's figures, each as a ratio with what it is compared with, in one run.

    python benches/core.py [--memories 100000] [--vectors embeddings.npz] [--only scan,graph,…]

`--vectors` (or SILTSTONE_BENCH_VECTORS) names a file with the arrays `v` (embeddings of texts) and `q` (of
queries), float32, and `t` and `a`, the texts and what is asked, strings; 384 dimensions are taken (the first
principal ones of more). Where it holds fewer than `--memories`, the rest are mixtures of two of them with
noise, and the output says so. Without it vectors are random clusters and texts random words. Times are CPU
times of the calling thread where one search is timed, wall times of a batch.
"""

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
from siltstone.rust_core import Index, SearchOutput

DIMENSION = 384
NOW = 1_700_000_000_000_000
HOUR = 3_600_000_000
BALANCED: dict[str, Any] = {
    "similarity": 0.5,
    "recency": 0.3,
    "confidence": 0.2,
    "lexical": 0.4,
    "neighbours": 0.3,
    "gate": 6.0,
    "calibrate": True,
    "half_life": 720 * HOUR,
}
COSINE = BALANCED | {
    "similarity": 1.0,
    "recency": 0.0,
    "confidence": 0.0,
    "lexical": 0.0,
    "neighbours": 0.0,
    "gate": 0.0,
    "calibrate": False,
}
FILTERS = {
    "50 %": {"tags_any": ["half"]},
    "10 %": {"tags_any": ["tenth"]},
    "1 %": {"tags_any": ["hundredth"]},
    "0.1 %": {"tags_any": ["thousandth"]},
}
WORDS = [
    "api",
    "cache",
    "client",
    "deploy",
    "disk",
    "error",
    "gateway",
    "timeout",
    "数据库",
    "连接",
    "超时",
    "部署",
]


class Bench:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.random = np.random.default_rng(7)
        self.count: int = arguments.memories
        self.texts: list[str] = []
        self.vectors, self.queries, self.origin = self._vectors(arguments.vectors)
        if not self.texts:
            vocabulary = np.array(WORDS + [f"word{i}" for i in range(20_000)])
            share = 1 / np.arange(1, len(vocabulary) + 1)
            chosen = self.random.choice(vocabulary, size=(self.count, 25), p=share / share.sum())
            self.texts = [" ".join(words) for words in chosen]
            self.asked = [" ".join(words[5:9]) for words in chosen[: len(self.queries)]]
        self.index = Index(None)
        self.usearch: Any = None

    def _vectors(self, path: str | None) -> tuple[np.ndarray, np.ndarray, str]:
        if path is None:
            centres = self.random.normal(size=(max(8, self.count // 200), DIMENSION)).astype("f4")
            around = centres[self.random.integers(len(centres), size=self.count + 512)]
            vectors = _unit(around + self.random.normal(size=around.shape).astype("f4"))
            return vectors[:-512], vectors[-512:], "random clusters (no --vectors given)"
        with np.load(path) as file:
            real, queries = file["v"].astype("f4"), file["q"].astype("f4")
            texts, self.asked = file["t"].tolist(), file["a"].tolist()
        origin = f"{min(len(real), self.count):,} real embeddings"
        if real.shape[1] > DIMENSION:
            axes = np.linalg.svd(real[:5000], full_matrices=False)[2][:DIMENSION].T
            real, queries = real @ axes, queries @ axes
            origin += f", {DIMENSION} principal dimensions"
        real = _unit(real)
        parts = [real[: self.count]]
        self.texts = texts[: self.count]
        missing = self.count - len(parts[0])
        if missing > 0:
            origin += f", {missing:,} mixtures of them"
            for at in range(0, missing, 100_000):
                size = min(100_000, missing - at)
                a, b = self.random.integers(len(real), size=(2, size))
                self.texts += [
                    texts[i][: len(texts[i]) // 2] + texts[j][len(texts[j]) // 2 :]
                    for i, j in zip(a, b, strict=True)
                ]
                share = self.random.uniform(0.3, 0.7, size=(size, 1)).astype("f4")
                noise = self.random.normal(size=(size, DIMENSION)).astype("f4") * (0.3 / DIMENSION**0.5)
                parts.append(_unit(share * real[a] + (1 - share) * real[b] + noise))
        return np.concatenate(parts), _unit(queries)[:512], origin

    def fill(self) -> None:
        print(f"{platform.machine()}, {os.cpu_count()} cores, seed 7")
        print(f"{self.count:,} memories, {DIMENSION} dimensions: {self.origin}\n")
        self.index.create(1, DIMENSION, 0)
        started = time.perf_counter()
        for at in range(0, self.count, 1000):
            chunk = range(at, min(at + 1000, self.count))
            self.index.apply(
                1, at // 1000 + 1, [(self._record(i), self.vectors[i].tobytes()) for i in chunk], []
            )
        print(f"applied at {self.count / (time.perf_counter() - started):,.0f} memories/s")

    def _record(self, i: int) -> bytes:
        tags = [
            name
            for name, every in (("half", 2), ("tenth", 10), ("hundredth", 100), ("thousandth", 1000))
            if i % every == 0
        ]
        packed: bytes = msgpack.packb(
            {
                "id": (i + 1).to_bytes(16, "big"),
                "content": self.texts[i],
                "confidence": i % 101 / 100,
                "event_time": NOW - int(self.random.integers(10_000)) * HOUR,
                "tags": tags,
                "memory_type": "SEMANTIC",
                "verification": "PENDING",
            }
        )
        return packed

    def wait_for_graph(self) -> None:
        started = time.perf_counter()
        while (status := self.index.status(1)).in_graph < status.vectors:
            time.sleep(0.2)
        print(f"graph whole after another {time.perf_counter() - started:.0f} s\n")

    def request(self, q: int, *, text: bool = True, **fields: Any) -> dict[str, Any]:
        target = {"collection": 1, "vector": self.queries[q].tobytes(), "background": 0.1}
        request: dict[str, Any] = {
            "targets": [target],
            "text": self.asked[q] if text else "",
            "filter": None,
            "now": NOW,
            "weights": BALANCED,
            "top_k": 10,
            "min_score": None,
            "include_superseded": False,
            "include_expired": False,
            "include_refuted": False,
            "window": None,
            "explain": False,
        }
        return request | fields

    def search(self, requests: list[dict[str, Any]]) -> list[SearchOutput]:
        return self.index.search(msgpack.packb(requests))

    def each(self, count: int, **fields: Any) -> tuple[float, list[SearchOutput]]:
        """µs of one search (median) and the answers."""
        packed = [msgpack.packb([self.request(q, **fields)]) for q in range(count)]
        return _median(lambda q: self.index.search(packed[q])[0], count)

    def batch(self, count: int, size: int, **fields: Any) -> float:
        """µs a search, in calls of `size`, best of three."""
        packed = [
            msgpack.packb([self.request(q % len(self.queries), **fields) for q in range(at, at + size)])
            for at in range(0, count, size)
        ]
        return min(_wall(lambda: [self.index.search(p) for p in packed]) for _ in range(3)) / count * 1e6

    def raw(self) -> Any:
        if self.usearch is None:
            from usearch.index import Index as Raw
            from usearch.index import MetricKind, ScalarKind

            self.usearch = Raw(
                ndim=DIMENSION,
                metric=MetricKind.IP,
                dtype=ScalarKind.BF16,
                connectivity=16,
                expansion_add=128,
            )
            self.usearch.add(np.arange(self.count), self.vectors, threads=os.cpu_count() or 1)
        return self.usearch

    def scan(self) -> None:
        """Exact scans against a plain read of the same bytes."""
        plane = np.ones(self.count * DIMENSION // 8, dtype=np.int64)
        read = min(_wall(plane.sum) for _ in range(5)) * 1e6
        one, found = self.each(20, text=False, weights=COSINE, exact=True)
        exact = np.argsort(-(self.queries[:20] @ self.vectors.T), axis=1)[:, :10]
        recall = np.mean([len(_numbers(f) & set(e.tolist())) / 10 for f, e in zip(found, exact, strict=True)])
        block = self.batch(64, 16, text=False, weights=COSINE, exact=True)
        print(f"exact scan            {one:9,.0f} µs    recall of float32 {recall:.4f}")
        print(f"  plain read of the bytes scanned {read:,.0f} µs: {read / one:.0%} of its bandwidth")
        print(f"  16 a call {block:9,.0f} µs    {one / block:.1f} × one by one, {read / block:.0%}\n")

    def graph(self) -> None:
        """Hybrid searches against raw usearch bf16 at the recall ours has."""
        exact = np.argsort(-(self.queries[:200] @ self.vectors.T), axis=1)[:, :10]
        plain, found = self.each(200, text=False, weights=COSINE)
        ours = np.mean([len(_numbers(f) & set(e.tolist())) / 10 for f, e in zip(found, exact, strict=True)])
        hybrid, found = self.each(200)
        _, truth = self.each(200, exact=True)
        print(f"vector only           {plain:9,.0f} µs    recall@10 {ours:.4f}  plan {found[0].plan}")
        print(f"hybrid                {hybrid:9,.0f} µs    recall@10 by score {_recall(found, truth):.4f}")
        raw = self.raw()
        for effort in (32, 48, 64, 96, 128, 192, 256, 384):
            raw.expansion_search = effort
            theirs, keys = _median(lambda q: raw.search(self.queries[q], 10).keys, 200)
            recall = np.mean(
                [len(set(map(int, k)) & set(e.tolist())) / 10 for k, e in zip(keys, exact, strict=True)]
            )
            if recall >= min(ours, 0.985) or effort == 384:
                break
        print(f"raw usearch, ef {effort:<4}  {theirs:9,.0f} µs    recall@10 {recall:.4f}")
        print(f"  hybrid / raw {hybrid / theirs:.2f}, vector only / raw {plain / theirs:.2f}")
        together = min(
            _wall(lambda: raw.search(self.queries[:256], 10, threads=os.cpu_count())) for _ in range(3)
        )
        batch, vectors = self.batch(256, 256), self.batch(256, 256, text=False, weights=COSINE)
        theirs = together / 256 * 1e6
        print(f"batch of 256, hybrid  {batch:9,.0f} µs each, vector only {vectors:,.0f}, raw {theirs:,.0f}")
        print(f"  throughput / raw: hybrid {theirs / batch:.2f}, vector only {theirs / vectors:.2f}")
        near, _ = _median(lambda q: self.index.nearest(1, self.queries[q].tobytes(), 8), 200)
        print(f"nearest (dedup)       {near:9,.0f} µs    {near / hybrid:.2f} × one search\n")

    def filters(self) -> None:
        """Filtered searches: the plan's own choice, against the exact scan of what is allowed."""
        unfiltered, _ = self.each(100)
        print(f"no filter             {unfiltered:9,.0f} µs")
        for name, wanted in FILTERS.items():
            ours, found = self.each(100, filter=wanted)
            scan, truth = self.each(100, filter=wanted, exact=True)
            recall = _recall(found, truth)
            print(
                f"{name:<6}of all         {ours:9,.0f} µs    recall@10 {recall:.4f}  plan {found[0].plan:<6}"
                f" scan {scan:,.0f} µs, {ours / unfiltered:.2f} × unfiltered"
            )
        print()

    def snapshot(self) -> None:
        """Start from a snapshot, and what a memory takes."""
        with tempfile.TemporaryDirectory() as directory:
            index = Index(directory)
            self.index, whole = index, self.index
            status = whole.status(1)
            text = sum(len(text.encode()) for text in self.texts) / self.count
            print(
                f"bytes a memory        {status.bytes / self.count:9,.0f}      text {text:,.0f}: "
                f"{status.bytes / self.count - text:,.0f} beyond it"
            )
            self.fill()
            self.wait_for_graph()
            wrote = _wall(lambda: index.snapshot(1))
            again = Index(directory)
            loaded = _wall(lambda: again.load(1, DIMENSION))
            started = time.perf_counter()
            again.search(msgpack.packb([self.request(0)]))
            print(
                f"snapshot written in {wrote:.2f} s, loaded in {loaded:.2f} s, "
                f"first answer {time.perf_counter() - started:.3f} s later\n"
            )
            self.index = whole

    def lexical(self) -> None:
        """Words alone, against tantivy where it is installed."""
        ours, _ = self.each(200, targets=[{"collection": 1, "vector": None, "background": 0.0}])
        print(f"words only            {ours:9,.0f} µs")
        try:
            import tantivy
        except ImportError:
            print("  tantivy is not installed: pip install tantivy to compare\n")
            return
        schema = tantivy.SchemaBuilder().add_text_field("content").build()
        other = tantivy.Index(schema)
        writer = other.writer()
        for text in self.texts:
            writer.add_document(tantivy.Document(content=[text]))
        writer.commit()
        other.reload()
        searcher = other.searcher()
        theirs, _ = _median(lambda q: searcher.search(other.parse_query(self.asked[q], ["content"]), 10), 200)
        print(f"tantivy               {theirs:9,.0f} µs    {ours / theirs:.2f} × tantivy\n")

    def calibrate(self) -> None:
        """The constants of the plan: µs of scan and graph at growing shares of all memories."""
        print("share allowed         scan µs   graph or chosen plan µs")
        for name, wanted in FILTERS.items():
            scan, _ = self.each(50, text=False, weights=COSINE, filter=wanted, exact=True)
            chosen, found = self.each(50, text=False, weights=COSINE, filter=wanted)
            print(f"  {name:<18}{scan:9,.0f}   {chosen:9,.0f} ({found[0].plan})")
        print()


def _numbers(output: SearchOutput) -> set[int]:
    return {int.from_bytes(hit.id, "big") - 1 for hit in output.hits}


def _recall(found: list[SearchOutput], truth: list[SearchOutput]) -> float:
    each = zip(found, truth, strict=True)
    return float(np.mean([len(_numbers(f) & _numbers(t)) / max(1, len(t.hits)) for f, t in each]))


def _median(work: Callable[[int], Any], count: int) -> tuple[float, list[Any]]:
    times, results = [], []
    for i in range(count):
        started = time.thread_time()
        results.append(work(i))
        times.append(time.thread_time() - started)
    return float(np.median(times)) * 1e6, results


def _wall(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--vectors", default=os.environ.get("SILTSTONE_BENCH_VECTORS"))
    parser.add_argument("--only", default="scan,graph,filters,calibrate,lexical,snapshot")
    arguments = parser.parse_args()
    bench = Bench(arguments)
    bench.fill()
    bench.wait_for_graph()
    for name in arguments.only.split(","):
        getattr(bench, name)()


if __name__ == "__main__":
    main()

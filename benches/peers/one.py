"""Measures one engine over the vectors in a directory and prints what it found as JSON; see run.py."""

import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from engines import ENGINES, new_directory

TOP_K = 10
BOUNDS = (None, 50, 10, 1)  # of buckets 0..99: all, 50 %, 10 %, 1 %


def main(name: str, directory: Path) -> None:
    vectors, queries = np.load(directory / "vectors.npy"), np.load(directory / "queries.npy")
    buckets = [int(bucket) for bucket in np.load(directory / "buckets.npy")]
    started = time.perf_counter()
    try:
        search = ENGINES[name](vectors, buckets, new_directory(directory))
        first = search(queries[0], TOP_K, None)
    except ImportError as error:
        print(json.dumps({"skipped": f"not installed: {error}"}))
        return
    assert first
    result: dict[str, object] = {"ready_s": time.perf_counter() - started}
    if name == "siltstone":
        time.sleep(float(sys.argv[3]))  # its graph grows in the background; exact meanwhile
    rows: dict[str, object] = {}
    for bound in BOUNDS:
        try:
            rows[str(bound)] = _measure(search, vectors, np.array(buckets), queries, bound)
        except NotImplementedError as error:
            rows[str(bound)] = str(error)
    result["rows"] = rows
    print(json.dumps(result))


def _measure(search, vectors, buckets, queries, bound):  # type: ignore[no-untyped-def]
    allowed = np.arange(len(vectors)) if bound is None else np.flatnonzero(buckets < bound)
    for query in queries[:5]:
        search(query, TOP_K, bound)
    times, found = [], 0
    for query in queries:
        started = time.perf_counter()
        hits = search(query, TOP_K, bound)
        times.append((time.perf_counter() - started) * 1e6)
        scores = vectors[allowed] @ query
        best = allowed[np.argpartition(-scores, TOP_K)[:TOP_K]]
        found += len(set(hits) & set(best.tolist()))
    return {"p50_us": statistics.median(times), "recall": found / len(queries) / TOP_K}


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

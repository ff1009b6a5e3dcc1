"""Siltstone beside other engines that run in a process: the same vectors and filters, recall at each time.

    make bench-peers ARGS='--memories 20000'

Each engine has a process of its own. The peers are installed in an environment of their own, from
requirements.txt beside this file; what is not to be had there is skipped and named. A search of Siltstone is
a whole one: validated, scored, its memories read from the store. The others give numbers back. Vectors are
made up: 384 dimensions, clustered as text embeddings are; filters let 50, 10 and 1 % through.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
DIMENSION = 384
COLUMNS = {"None": "all", "50": "50 %", "10": "10 %", "1": "1 %"}
PEERS = ("usearch", "faiss", "hnswlib", "qdrant", "lancedb", "chromadb")


def main() -> None:
    arguments = _arguments()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, seed 7")
    print(f"{arguments.memories:,} vectors, {DIMENSION} dimensions, clustered; {arguments.queries} searches")
    print("top 10: µs p50 (recall@10), one search at a time; ready: seconds until the first answer\n")
    print(f"{'':<12}{'ready':>8}" + "".join(f"{label:>18}" for label in COLUMNS.values()))
    with tempfile.TemporaryDirectory() as directory:
        _make_vectors(Path(directory), arguments.memories, arguments.queries)
        for name in ("siltstone", *PEERS):
            python = sys.executable if name == "siltstone" else arguments.python
            command = [python, str(HERE / "one.py"), name, directory, str(arguments.settle)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout)
            except (OSError, subprocess.TimeoutExpired) as error:
                print(f"{name:<12}  skipped: {error}")
                continue
            print(f"{name:<12}{_shown(done)}", flush=True)


def _shown(done: "subprocess.CompletedProcess[str]") -> str:
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        return f"  skipped: {lines[-1]}"
    result = json.loads(done.stdout.strip().splitlines()[-1])
    if "skipped" in result:
        return f"  skipped: {result['skipped']}"
    cells = [
        f"{row['p50_us']:,.0f} ({row['recall']:.3f})" if isinstance(row, dict) else "none"
        for row in (result["rows"][column] for column in COLUMNS)
    ]
    return f"{result['ready_s']:>8.1f}" + "".join(f"{cell:>18}" for cell in cells)


def _make_vectors(directory: Path, memories: int, queries: int) -> None:
    random = np.random.default_rng(7)
    centres = random.normal(size=(max(8, memories // 200), DIMENSION))
    vectors = _unit(
        centres[random.integers(len(centres), size=memories)] + random.normal(size=(memories, DIMENSION))
    )
    near = vectors[random.integers(memories, size=queries)]
    near = _unit(near + 0.5 / np.sqrt(DIMENSION) * random.normal(size=near.shape))
    np.save(directory / "vectors.npy", vectors)
    np.save(directory / "queries.npy", near)
    np.save(directory / "buckets.npy", random.integers(100, size=memories))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--memories", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the peers")
    parser.add_argument(
        "--settle", type=float, default=0.0, help="seconds in which Siltstone's graph may grow"
    )
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds for one engine")
    return parser.parse_args()


if __name__ == "__main__":
    main()

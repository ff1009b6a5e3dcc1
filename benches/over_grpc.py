"""Searches over gRPC, beside an empty call of the same server and raw usearch.

    .venv/bin/python benches/over_grpc.py [--memories 100000] [--queries 1000]

The server is a process of its own; the client hands over bytes that were made before and does not take the
answers apart, so what is timed is the way through the server. The empty call is its health check. Each search
brings its vector, so no embedding is in these figures, and its words, so they are hybrid; top_k is 10. The
batch of 256 is one message, beside usearch's own batch on all cores. Vectors are made up: 384 dimensions,
clustered as text embeddings are. Compare the ratios.
"""

import argparse
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import grpc
import numpy as np
import siltstone
from siltstone.config import Settings
from siltstone.v1 import memory_service_pb2, search_pb2
from usearch.index import Index, MetricKind, ScalarKind

DIMENSION = 384
BATCH = 256
NAMESPACE = "bench"
WORDS = [f"{stem}{ending}" for stem in "ka lo mi nu pe ra so ti vu ze".split() for ending in "bdfgklmnprst"]  # noqa: SIM905

Send = Callable[[bytes], bytes]


def main() -> None:
    arguments = _arguments()
    random = np.random.default_rng(7)
    vectors = _clustered(random, arguments.memories)
    queries = _near(random, vectors, max(arguments.queries, BATCH))
    texts = [f"note {i}: " + " ".join(random.choice(WORDS, size=12)) for i in range(arguments.memories)]
    asked = [" ".join(random.choice(WORDS, size=4)) for _ in queries]
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, seed 7")
    print(f"{arguments.memories:,} memories, {DIMENSION} dimensions, clustered random vectors, top 10\n")
    with tempfile.TemporaryDirectory() as directory:
        _fill(Path(directory) / "data", texts, vectors)
        address = f"127.0.0.1:{_free_port()}"
        command = [sys.executable, "-m", "siltstone.cli", "serve", "--data", f"{directory}/data"]
        command += ["--address", address, "--embedding-model", "hashing", "--log-level", "warning"]
        server = subprocess.Popen(command)
        try:
            with grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1)]) as channel:
                _wait(channel)
                _one_by_one(channel, asked, queries, arguments.queries)
                _batch(channel, asked, vectors, queries)
        finally:
            server.terminate()
            server.wait(60)


def _one_by_one(channel: grpc.Channel, asked: list[str], queries: np.ndarray, count: int) -> None:
    echo = _call(channel, "/grpc.health.v1.Health/Check")
    search = _call(channel, "/siltstone.v1.MemoryService/SearchMemories")
    requests = [_request(asked[i], queries[i]).SerializeToString() for i in range(count)]
    for request in requests[:50]:
        search(request)
    plan = search_pb2.SearchMemoriesResponse.FromString(
        search(_request(asked[0], queries[0], explain=True).SerializeToString())
    )
    times: dict[str, list[float]] = {"empty call": [], "search": []}
    for request in requests:  # in turns, so that both meet the same machine
        for name, send, data in (("empty call", echo, b""), ("search", search, request)):
            started = time.perf_counter()
            send(data)
            times[name].append((time.perf_counter() - started) * 1e6)
    print(f"one caller (plan: {plan.explain.plan}, in the core {plan.explain.search_us} µs)")
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name, found in times.items():
        print(
            f"  {name:<30}{medians[name]:>8,.0f} µs p50{statistics.quantiles(found, n=100)[98]:>8,.0f} µs p99"
        )
    print(f"  ratio search / empty call     {medians['search'] / medians['empty call']:>10.2f}\n")


def _batch(channel: grpc.Channel, asked: list[str], vectors: np.ndarray, queries: np.ndarray) -> None:
    send = _call(channel, "/siltstone.v1.MemoryService/BatchSearchMemories")
    plain = search_pb2.PartialWeights(
        similarity=1, recency=0, confidence=0, lexical=0, neighbours=0, gate=0, calibrate=False
    )
    some = queries[:BATCH]
    exact = np.argpartition(-(some @ vectors.T), 10, axis=1)[:, :10]
    raw = Index(
        ndim=DIMENSION, metric=MetricKind.IP, dtype=ScalarKind.BF16, connectivity=16, expansion_add=128
    )
    raw.add(np.arange(len(vectors)), vectors, threads=os.cpu_count() or 1)
    raw.expansion_search = 64
    kinds = {
        "vectors only": [_request("", q, weights=plain) for q in some],
        "hybrid": [_request(text, q) for text, q in zip(asked, some, strict=False)],
    }
    messages = {
        name: memory_service_pb2.BatchSearchMemoriesRequest(requests=requests).SerializeToString()
        for name, requests in kinds.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in ("raw usearch", *messages)}
    for _ in range(10):
        started = time.perf_counter()
        found = raw.search(some, 10, threads=os.cpu_count() or 1).keys
        seconds["raw usearch"].append(time.perf_counter() - started)
        for name, message in messages.items():
            started = time.perf_counter()
            answer = send(message)
            seconds[name].append(time.perf_counter() - started)
            if name == "vectors only":
                vector_answer = answer
    results = memory_service_pb2.BatchSearchMemoriesResponse.FromString(vector_answer).results
    numbers = [[int(hit.memory.summary.split(":")[0][5:]) for hit in result.hits] for result in results]
    recalls = {"raw usearch": _recall(found, exact), "vectors only": _recall(numbers, exact)}
    print(f"batch of {BATCH} in one message (medians of 10; rate beside raw usearch on all cores)")
    base = statistics.median(seconds["raw usearch"])
    for name, taken in seconds.items():
        median = statistics.median(taken)
        recall = f"recall@10 {recalls[name]:.3f}" if name in recalls else ""
        each = median / BATCH * 1e6
        print(
            f"  {name:<20}{BATCH / median:>10,.0f} /s {each:>8,.0f} µs each {base / median:>6.2f} × {recall}"
        )


def _request(text: str, vector: np.ndarray, **more: object) -> search_pb2.SearchMemoriesRequest:
    request = search_pb2.SearchMemoriesRequest(
        namespaces=[NAMESPACE],
        vector_packed=vector.astype("<f4").tobytes(),
        top_k=10,
        include_public=False,
        **more,
    )
    if text:
        request.query = text
    return request


def _call(channel: grpc.Channel, method: str) -> Send:
    return channel.unary_unary(method, request_serializer=None, response_deserializer=None)


def _fill(path: Path, texts: list[str], vectors: np.ndarray) -> None:
    started = time.perf_counter()
    with siltstone.open(path, settings=Settings(embedding_model="hashing")) as mem:
        for at in range(0, len(texts), 500):
            chunk = range(at, min(at + 500, len(texts)))
            drafts = [
                {"content": texts[i], "vector": vectors[i].tolist(), "on_duplicate": "KEEP"} for i in chunk
            ]
            mem.write_many(drafts, namespace=NAMESPACE)
        mem.search(namespace=NAMESPACE, vector=vectors[0].tolist())
        number = next(iter(mem.engine.collections.statuses()))
        while len(texts) > 30_000:  # above, a graph is built in the background
            status = mem.engine.collections.index.status(number)
            if status.in_graph >= status.vectors:
                break
            time.sleep(0.2)
    print(f"filled, and the index built, in {time.perf_counter() - started:,.0f} s\n")


def _wait(channel: grpc.Channel) -> None:
    grpc.channel_ready_future(channel).result(60)


def _recall(found: object, exact: np.ndarray) -> float:
    pairs = zip(found, exact, strict=True)  # type: ignore[call-overload]
    return sum(len({int(key) for key in keys} & set(best.tolist())) for keys, best in pairs) / exact.size


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _clustered(random: np.random.Generator, count: int) -> np.ndarray:
    centres = random.normal(size=(max(8, count // 200), DIMENSION))
    vectors = centres[random.integers(len(centres), size=count)] + random.normal(size=(count, DIMENSION))
    return _unit(vectors)


def _near(random: np.random.Generator, vectors: np.ndarray, count: int) -> np.ndarray:
    chosen = vectors[random.integers(len(vectors), size=count)]
    return _unit(chosen + 0.5 / np.sqrt(DIMENSION) * random.normal(size=chosen.shape))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=1000)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

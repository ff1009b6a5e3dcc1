"""A mixed load on a service from many clients: how long its calls take, what it refuses, what it grows to.

Each client owns a namespace and lives in a loop: it searches, reads and lists what it wrote, and writes on.
Once it holds `keep` memories it deletes the namespace and begins anew, so that what the service holds stays
the same however long the load goes on: whatever grows then, grows without reason.
"""

import random
import threading
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any

from siltstone.errors import NotFoundError, ResourceExhaustedError, SiltstoneError

ROOT = "bench/load"
PAUSE_S = 1.0  # after a refusal, as the server asks for
FIGURES = {  # of the service, sampled while it goes on: name there → name here
    "process_resident_memory_bytes": "rss_bytes",
    "process_open_fds": "open_files",
    "siltstone_index_bytes": "index_bytes",
    "siltstone_store_bytes": "store_bytes",
    "siltstone_calls_waiting": "calls_waiting",
    "siltstone_writes_waiting": "writes_waiting",
    "siltstone_index_lag_commits": "index_lag_commits",
}
SAMPLES = 60

_SUBJECTS = (
    "gateway",
    "nightly backup",
    "login page",
    "payment job",
    "容器网络",
    "数据库连接",
    "缓存",
    "部署脚本",
)
_EVENTS = ("fails after", "recovers from", "ignores", "超时于", "重启后恢复于", "拒绝")
_CAUSES = ("a full disk", "an expired certificate", "port", "配置错误", "内存不足", "错误的密码", "version")

Connect = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What to do: until `seconds` have passed, or each client has made `calls` calls."""

    clients: int
    seconds: float | None
    calls: int | None
    writes: float  # share of the calls, 0..1
    batch: int  # drafts in a write, queries in a search
    keep: int  # memories of a client before it begins anew
    seed: int


@dataclass(slots=True)
class Result:
    """Seconds of every call that was answered, by method; refusals by reason; figures over time."""

    seconds: float = 0.0
    latencies: dict[str, "array[float]"] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    samples: list[dict[str, float]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def took(self, method: str, seconds: float) -> None:
        with self.lock:
            self.latencies.setdefault(method, array("d")).append(seconds)

    def refused(self, error: SiltstoneError) -> None:
        with self.lock:
            self.errors[error.reason] += 1

    def summary(self) -> list[dict[str, Any]]:
        """A row a method: count, calls a second, and percentiles of the latency in milliseconds."""
        rows = []
        for method, values in sorted(self.latencies.items()):
            ordered = sorted(values)
            row: dict[str, Any] = {"method": method, "count": len(ordered)}
            row["per_second"] = round(len(ordered) / self.seconds, 1)
            for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)):
                place = min(int(share * len(ordered)), len(ordered) - 1)
                row[f"{name}_ms"] = round(1000 * ordered[place], 2)
            rows.append(row)
        return rows


def run(load: Load, connect: Connect) -> Result:
    """Put the load on the service that `connect` connects to; each client connects once.

    Raises:
        SiltstoneError: the service cannot be reached at all, before the load begins.
    """
    result = Result()
    stop = threading.Event()
    with connect() as api:
        _sample(api, result, 0.0)
        clients = [
            threading.Thread(target=_client, args=(load, connect, i, result, stop), daemon=True)
            for i in range(load.clients)
        ]
        began = time.monotonic()
        for client in clients:
            client.start()
        try:
            _watch(load, api, result, clients, began)
        finally:
            stop.set()
            for client in clients:
                client.join()
        result.seconds = time.monotonic() - began
        _sample(api, result, result.seconds)
    return result


def _watch(load: Load, api: Any, result: Result, clients: list[threading.Thread], began: float) -> None:
    """Look at the service now and then, until the load is done."""
    every = max((load.seconds or 60.0) / SAMPLES, 0.5)
    at = began + every
    while running := next((client for client in clients if client.is_alive()), None):
        running.join(0.1)
        now = time.monotonic()
        if load.seconds is not None and now - began >= load.seconds:
            return
        if now >= at:
            _sample(api, result, now - began)
            at += every


def _sample(api: Any, result: Result, second: float) -> None:
    try:
        text: str = api.metrics()
    except SiltstoneError as error:
        result.refused(error)
        return
    sample = {"second": round(second, 1)}
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        if name in FIGURES:
            sample[FIGURES[name]] = float(value)
    result.samples.append(sample)


def _client(load: Load, connect: Connect, number: int, result: Result, stop: threading.Event) -> None:
    rng = random.Random(load.seed * 1_000_003 + number)
    with connect() as api:
        client = _Client(load, api, f"{ROOT}/{load.seed}/{number}", rng)
        made = 0
        while not stop.is_set() and (load.calls is None or made < load.calls):
            made += 1
            method, call = client.next()
            began = time.monotonic()
            try:
                call()
            except SiltstoneError as error:
                result.refused(error)
                if isinstance(error, ResourceExhaustedError):
                    stop.wait(PAUSE_S)
            else:
                result.took(method, time.monotonic() - began)
        try:
            client.leave()
        except SiltstoneError as error:
            result.refused(error)


class _Client:
    def __init__(self, load: Load, api: Any, root: str, rng: random.Random) -> None:
        self._load = load
        self._api = api
        self._root = root
        self._rng = rng
        self._generation = 0
        self._ids: list[str] = []
        self._texts = _texts(rng)

    @property
    def _namespace(self) -> str:
        return f"{self._root}/{self._generation}"

    def next(self) -> tuple[str, Callable[[], object]]:
        """The next call: the method's name, and what to call."""
        if len(self._ids) >= self._load.keep:
            return "delete_namespace", self._begin_anew
        if not self._ids or self._rng.random() < self._load.writes:
            return "write", self._write
        methods: tuple[tuple[str, Callable[[], object]], ...] = (
            ("search", self._search),
            ("search", self._search),
            ("search", self._search),
            ("get", lambda: self._api.get([self._rng.choice(self._ids)])),
            ("list", lambda: self._api.list(self._namespace, page_size=20)),
        )
        return self._rng.choice(methods)

    def leave(self) -> None:
        """Take away what is left of the load."""
        with suppress(NotFoundError):  # nothing was written
            self._api.delete_namespace(self._namespace)

    def _write(self) -> None:
        drafts = [{"content": next(self._texts), "tags": ["bench"]} for _ in range(self._load.batch)]
        receipts = self._api.write_many(drafts, namespace=self._namespace)
        self._ids += [receipt.memory.id for receipt in receipts]

    def _search(self) -> None:
        queries = [
            {"query": next(self._texts), "namespaces": [self._namespace], "include_public": False}
            for _ in range(self._load.batch)
        ]
        self._api.search_many(queries)

    def _begin_anew(self) -> None:
        self._api.delete_namespace(self._namespace)
        self._generation += 1
        self._ids = []


def _texts(rng: random.Random) -> Iterator[str]:
    """Sentences in English and Chinese that are no duplicates of one another."""
    number = rng.randrange(10**6)
    while True:
        number += 1
        subject, event, cause = rng.choice(_SUBJECTS), rng.choice(_EVENTS), rng.choice(_CAUSES)
        yield f"{subject} {event} {cause} {number}"

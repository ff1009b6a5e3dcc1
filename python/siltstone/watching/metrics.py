"""Figures for Prometheus. No label ever holds what a caller sent: neither namespaces nor tags."""

import errno
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from time import perf_counter
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import start_http_server
from prometheus_client.process_collector import ProcessCollector

from siltstone import address as addresses
from siltstone.errors import FailedPreconditionError

T = TypeVar("T")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Seconds, from one exact search in memory to a hindsight run over a long log.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number as it is now. `labels` of all figures with one name have the same keys."""

    name: str  # without the prefix siltstone_
    doc: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()


class Metrics:
    """The figures of one server, or of one gateway."""

    def __init__(self, process: str = "") -> None:
        """`process` prefixes the figures of the process: ``process_resident_memory_bytes`` and others."""
        self.registry = CollectorRegistry()
        ProcessCollector(namespace=process, registry=self.registry)
        self._asked = _Asked()
        self.registry.register(self._asked)
        self._lock = threading.Lock()
        self._made: dict[str, Any] = {}

    def counter(self, name: str, doc: str, *labels: str) -> Counter:
        return Counter(f"siltstone_{name}", doc, labels, registry=self.registry)

    def seconds(self, name: str, doc: str, *labels: str) -> Histogram:
        return Histogram(f"siltstone_{name}", doc, labels, registry=self.registry, buckets=BUCKETS)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """What `make` makes, the first time; the same from then on. Figures of one name exist once."""
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            made: T = self._made[key]
            return made

    def ask(self, key: str, figures: Callable[[], Iterable[Figure]]) -> None:
        """Have `figures` called whenever the figures are read, instead of the former ones under `key`."""
        self._asked.sources[key] = figures

    def text(self) -> str:
        """All figures in the text format of Prometheus, version 0.0.4."""
        return generate_latest(self.registry).decode()


class _Asked:
    def __init__(self) -> None:
        self.sources: dict[str, Callable[[], Iterable[Figure]]] = {}

    def collect(self) -> Iterator[Any]:
        families: dict[str, GaugeMetricFamily] = {}
        for figure in chain.from_iterable(figures() for figures in list(self.sources.values())):
            keys = [key for key, _ in figure.labels]
            family = families.setdefault(
                figure.name, GaugeMetricFamily(f"siltstone_{figure.name}", figure.doc, labels=keys)
            )
            family.add_metric([value for _, value in figure.labels], figure.value)
        yield from families.values()


@contextmanager
def timed(histogram: Any) -> Iterator[None]:
    """Note how long the block takes, also when it fails."""
    began = perf_counter()
    try:
        yield
    finally:
        histogram.observe(perf_counter() - began)


@contextmanager
def serve_metrics(address: str, metrics: Metrics) -> Iterator[str]:
    """Serve ``GET /metrics`` over HTTP for as long as the block runs; gives the address with its real port.

    Raises:
        FailedPreconditionError: (ADDRESS_IN_USE, ADDRESS_UNAVAILABLE) it cannot listen there.
    """
    host, port = addresses.split(address)
    try:
        server, thread = start_http_server(port, addr=host, registry=metrics.registry)
    except OSError as error:
        raise FailedPreconditionError(
            f"metrics_address: cannot listen on {address}: {error.strerror or error}; choose another with "
            "--metrics-address",
            reason="ADDRESS_IN_USE" if error.errno == errno.EADDRINUSE else "ADDRESS_UNAVAILABLE",
            field="metrics_address",
        ) from None
    try:
        yield addresses.join(host, server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""Builds what the core reads: msgpack records, packed vectors, requests."""

from typing import Any

import msgpack
import numpy as np
import pytest
from siltstone.rust_core import CoreHit, Index, SearchOutput

NOW = 1_700_000_000_000_000
DAY = 86_400_000_000
BALANCED: dict[str, Any] = {
    "similarity": 0.5,
    "recency": 0.3,
    "confidence": 0.2,
    "lexical": 0.4,
    "neighbours": 0.3,
    "gate": 6.0,
    "calibrate": True,
    "half_life": 30 * DAY,
}
PLAIN = BALANCED | {"lexical": 0.0, "neighbours": 0.0, "gate": 0.0, "calibrate": False}


class Core:
    """One index with shorthands; ids are numbers from 1."""

    now = NOW
    day = DAY
    balanced = BALANCED
    plain = PLAIN

    def __init__(self, directory: str | None = None, dimension: int = 8) -> None:
        self.index = Index(directory)
        self.dimension = dimension
        self.seq = 0

    def create(self, collection: int = 1) -> None:
        self.index.create(collection, self.dimension, self.seq)

    @staticmethod
    def id(number: int) -> bytes:
        return number.to_bytes(16, "big")

    @staticmethod
    def number(id: bytes) -> int:
        return int.from_bytes(id, "big")

    def record(self, number: int, content: str = "", **fields: Any) -> bytes:
        known = {"id": self.id(number), "content": content, "confidence": 0.5, "event_time": NOW}
        packed: bytes = msgpack.packb(known | fields)
        return packed

    @staticmethod
    def pack(vectors: Any) -> bytes:
        return np.asarray(vectors, dtype="<f4").tobytes()

    def apply(
        self, puts: list[tuple[bytes, bytes]], removes: list[bytes] | None = None, collection: int = 1
    ) -> None:
        self.seq += 1
        self.index.apply(collection, self.seq, puts, removes or [])

    def put(self, number: int, content: str, vector: Any, collection: int = 1, **fields: Any) -> None:
        self.apply([(self.record(number, content, **fields), self.pack(vector))], collection=collection)

    def request(
        self, vector: Any = None, text: str = "", collections: tuple[int, ...] = (1,), **fields: Any
    ) -> Any:
        packed = None if vector is None else self.pack(vector)
        request: dict[str, Any] = {
            "targets": [{"collection": c, "vector": packed, "background": 0.1} for c in collections],
            "text": text,
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

    def search_many(self, requests: list[Any]) -> list[SearchOutput]:
        return self.index.search(msgpack.packb(requests))

    def search(self, vector: Any = None, text: str = "", **fields: Any) -> list[CoreHit]:
        return self.search_many([self.request(vector, text, **fields)])[0].hits

    def found(self, vector: Any = None, text: str = "", **fields: Any) -> list[int]:
        return [self.number(hit.id) for hit in self.search(vector, text, **fields)]

    def select(self, filter: Any, collection: int = 1, **flags: bool) -> list[int]:
        ids = self.index.select(collection, msgpack.packb(filter), NOW, **flags)
        return [self.number(id) for id in ids]


@pytest.fixture
def core() -> Core:
    core = Core()
    core.create()
    return core


@pytest.fixture
def make_core() -> type[Core]:
    return Core


@pytest.fixture(scope="module")
def make_core_for_module() -> type[Core]:
    return Core

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from siltstone.store import Change, Store, Vectors

DIMENSION = 4


class Applied(list[Change]):
    """What the applier was given, in order."""

    def __call__(self, changes: list[Change]) -> None:
        self.extend(changes)


@pytest.fixture
def applied() -> Applied:
    return Applied()


@pytest.fixture
def open_store(tmp_path: Path, applied: Applied) -> Iterator[Callable[..., Store]]:
    """Opens the test's store, with what the test asks for; closes it at the end."""
    opened: list[Store] = []

    def open_one(**given: Any) -> Store:
        store = Store(tmp_path / "data", **{"applier": applied, **given})
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[..., Store]) -> Store:
    """A store whose namespace `default` (number 1) takes vectors of four dimensions."""
    store = open_store()
    store.commit(lambda w: w.bind_model(1, "model", DIMENSION))
    return store


@pytest.fixture
def vectors() -> Callable[..., Vectors]:
    """Vectors that differ by their seed."""

    def make(seed: int = 0, passages: int = 1, dimension: int = DIMENSION) -> Vectors:
        return np.random.default_rng(seed).normal(size=(passages, dimension)).astype(np.float32)

    return make

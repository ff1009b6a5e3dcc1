"""Fixtures that every room's tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.local import Local

# Feature hashing: no model to load, likeness of words only.
HASHING = Settings(embedding_model="hashing")


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Local]:
    with siltstone.open(tmp_path / "data", settings=HASHING) as opened:
        yield opened

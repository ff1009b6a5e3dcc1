"""Fixtures that every room's tests share."""

from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import siltstone
from siltstone.config import Settings
from siltstone.local import Local

# A busy machine takes its time; that says nothing about what is tested.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")

# Feature hashing: no model to load, likeness of words only.
HASHING = Settings(embedding_model="hashing")


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Local]:
    with siltstone.open(tmp_path / "data", settings=HASHING) as opened:
        yield opened

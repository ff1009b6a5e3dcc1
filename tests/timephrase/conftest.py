from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from siltstone.timephrase import find_window

# A Wednesday, in the afternoon.
NOW = datetime(2026, 12, 2, 15, tzinfo=UTC)

Read = Callable[..., tuple[str, str] | None]


def ends(query: str, now: datetime = NOW, zone: str = "UTC") -> tuple[str, str] | None:
    """Both ends of the window, written as short as can be ("2026-12-01", "2026-12-01 08:30"), "" = open."""
    found = find_window(query, now, zone)
    if found is None:
        return None
    assert query[found.start : found.end] == found.text
    return _short(found.window.start), _short(found.window.end)


def _short(moment: datetime | None) -> str:
    if moment is None:
        return ""
    assert moment.utcoffset() is not None
    text = moment.replace(tzinfo=None).isoformat(" ")
    return text.removesuffix(":00").removesuffix(" 00:00")


@pytest.fixture
def read() -> Read:
    return ends

"""Phrases of two libraries that read time, which agree with the conventions here."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from siltstone.timephrase import find_window

PHRASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data/phrases.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase["input"])
def test_a_phrase_means_what_the_libraries_read(phrase: dict[str, Any]) -> None:
    found = find_window(phrase["input"], datetime.fromisoformat(phrase["ref"]).replace(tzinfo=UTC))
    if phrase["interval"] is None:
        assert found is None
        return
    assert found is not None
    start, end = (text and datetime.fromisoformat(text).replace(tzinfo=UTC) for text in phrase["interval"])
    if end and (end.hour, end.minute, end.second) == (23, 59, 59):
        end += timedelta(seconds=1)
    assert (found.window.start, found.window.end) == (start, end)

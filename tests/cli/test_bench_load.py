"""`siltstone bench load` against a real server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import siltstone
from siltstone.cli import main
from siltstone.config import Settings
from siltstone.local import Local
from siltstone.server import serve


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Local]:
    with siltstone.open(tmp_path, settings=Settings(embedding_model="hashing")) as opened:
        yield opened


@pytest.fixture
def address(mem: Local) -> Iterator[str]:
    server = serve(mem.engine, address="127.0.0.1:0")
    yield server.address
    server.stop()


def test_a_load_counts_every_call_and_leaves_nothing_behind(mem: Local, address: str, capsys: Any) -> None:
    flags = ["--clients", "4", "--calls", "40", "--keep", "5", "--writes", "0.5", "--seed", "7"]
    assert main(["bench", "load", "--address", address, "--json", *flags]) == 0
    answer = json.loads(capsys.readouterr().out)
    counts = {row["method"]: row["count"] for row in answer["calls"]}
    assert sum(counts.values()) == 4 * 40
    assert counts.keys() >= {"write", "search", "delete_namespace"}
    assert answer["errors"] == {}
    assert answer["samples"][-1]["rss_bytes"] > 0
    for row in answer["calls"]:
        assert 0 < row["p50_ms"] <= row["p95_ms"] <= row["p99_ms"] <= row["max_ms"]
    assert [n.name for n in mem.namespaces()] == ["default", "public"]
    assert mem.stats().memories == 0


def test_a_load_tells_what_was_refused_and_why(tmp_path: Path, mem: Local, address: str, capsys: Any) -> None:
    flags = ["--clients", "1", "--calls", "3", "--batch", "1001", "--writes", "1"]
    assert main(["bench", "load", "--address", address, *flags]) == 0
    shown = capsys.readouterr().out.split("\n\n")
    assert shown[0].splitlines() == ["method  count  per_second  p50_ms  p95_ms  p99_ms  max_ms"]
    assert shown[1].splitlines()[1].split() == ["BATCH_TOO_LARGE", "3"]


@pytest.mark.parametrize(
    "flags", [["--clients", "0"], ["--writes", "1.5"], ["--seconds", "1", "--calls", "1"], ["--data", "x"]]
)
def test_a_load_that_makes_no_sense_is_refused(flags: list[str], capsys: Any) -> None:
    assert main(["bench", "load", *flags]) == 2
    assert flags[-2].strip("-") in capsys.readouterr().err

"""How well words for time are read: exact windows, false finds, time a query.

    .venv/bin/python benches/timephrase.py --data DIRECTORY

The directory holds en.jsonl and zh.jsonl, one phrase a row: `input`, `ref` (now), `direction`, `kind`,
`source`, and `intervals` ([start, end), null = open, equal = an instant whose length nobody said). Only rows
that speak of the past with one interval count: a search of memories reads bare weekdays and holidays as the
latest, some sources as the next. Exact means the same start and the same end.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from siltstone.timephrase import find_window

PLAIN = (
    "how do we configure the retry policy of the payment service",
    "docker container cannot reach the database by its service name",
    "支付服务的重试策略如何配置",
    "容器之间为什么不能用服务名访问",
)


def main() -> None:
    arguments = _arguments()
    print("| rows | n | found | exact | false finds | ms a query |")
    print("|---|---|---|---|---|---|")
    for language in ("en", "zh"):
        path = arguments.data / f"{language}.jsonl"
        if not path.is_file():
            sys.exit(f"{path} is missing; give the directory with en.jsonl and zh.jsonl as --data")
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
        _language(language, rows, arguments.misses)
    print(f"\nwithout words for time: {_plain_ms():.3f} ms a query")


def _language(language: str, rows: list[dict[str, Any]], misses: bool) -> None:
    find_window("yesterday", datetime.now(UTC))  # the tables are made at the first use
    past = [r for r in rows if r["direction"] == "past" and r["kind"] != "none" and len(r["intervals"]) == 1]
    none = [r for r in rows if r["kind"] == "none"]
    by_source: dict[str, Counter[str]] = {}
    missed = []
    started = time.perf_counter()
    for row in past:
        start, end = _read(row)
        for name in (f"{language}, past", f"{language}, past, {row['source']}"):
            count = by_source.setdefault(name, Counter())
            count["n"] += 1
            count["found"] += start is not None or end is not None
            count["exact"] += _exact(row, start, end)
        if not _exact(row, start, end):
            missed.append(f"  {row['input']!r} at {row['ref']}: {start} to {end}, not {row['intervals'][0]}")
    false = sum(_read(row) != (None, None) for row in none)
    ms = (time.perf_counter() - started) / (len(past) + len(none)) * 1e3
    for name, count in sorted(by_source.items()):
        whole = name.endswith("past")
        shares = f"{count['found'] / count['n']:.3f} | {count['exact'] / count['n']:.3f}"
        print(
            f"| {name} | {count['n']} | {shares} | {f'{false}/{len(none)} | {ms:.2f}' if whole else ' | '} |"
        )
    if misses:
        print(*missed, sep="\n", file=sys.stderr)


def _read(row: dict[str, Any]) -> tuple[datetime | None, datetime | None]:
    found = find_window(row["input"], datetime.fromisoformat(row["ref"]).replace(tzinfo=UTC))
    if found is None:
        return None, None
    return _naive(found.window.start), _naive(found.window.end)


def _naive(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=None, microsecond=0)


def _exact(row: dict[str, Any], start: datetime | None, end: datetime | None) -> bool:
    first, last = (None if text is None else datetime.fromisoformat(text) for text in row["intervals"][0])
    if first is not None and first == last:
        return start == first
    if last is not None and (last.hour, last.minute, last.second) == (23, 59, 59):
        last += timedelta(seconds=1)
    return (start, end) == (first, last) and (start, end) != (None, None)


def _plain_ms() -> float:
    now = datetime.now(UTC)
    started = time.perf_counter()
    for _ in range(500):
        for query in PLAIN:
            find_window(query, now, "Asia/Shanghai")
    return (time.perf_counter() - started) / (500 * len(PLAIN)) * 1e3


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    given = os.environ.get("SILTSTONE_TEMPORAL_DATA")
    parser.add_argument(
        "--data",
        type=Path,
        default=given and Path(given),
        required=given is None,
        help="or SILTSTONE_TEMPORAL_DATA",
    )
    parser.add_argument("--misses", action="store_true", help="print the rows that are not exact")
    return parser.parse_args()


if __name__ == "__main__":
    main()

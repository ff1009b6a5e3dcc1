"""How much of what answers a question is found, through the public API, without an LLM.

    .venv/bin/python benches/recall locomo --data DIR [--cases DIR] [--rows all] [--model default]

SET is locomo, beam, realmem, memdaily, cmrc, xquad or longmemeval; DIR (or SILTSTONE_RECALL_DATA) is the
folder that holds the sets, each in a folder of its own: memories.jsonl and queries.jsonl, for longmemeval the
official file as questions.jsonl. Some sets may be measured on but not passed on; none is in this repository.

Every memory is written with its time, its session and its place in it, then every question is searched at the
time it was asked. A memory that was merged into another counts as that one. Prints a table by type of
question, and for each row the tokens returned, recall per 1,000 tokens, and latency; --cases takes a file a
question.

Rows: `siltstone` is the default search; `vector` is the cosine alone; `plain` is 0.5 · cosine + 0.3 · recency
+ 0.2 · confidence, `plain, no recency` the same without recency; `bm25` is a library's BM25 over the same
texts (needs bm25s and PyStemmer: pip install --group recall).
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import siltstone
from measures import NAMES, measures
from sets import FOLDERS, Item, Question, RecallSet, load
from siltstone.config import Settings

DEPTH = 20
CHUNK = 200
ALONE = {"calibrate": False, "lexical": 0.0, "neighbours": 0.0, "gate": 0.0}
ROWS: dict[str, dict[str, Any] | None] = {
    "siltstone": {},
    "vector": {**ALONE, "recency": 0.0, "confidence": 0.0},
    "plain": {**ALONE},
    "plain, no recency": {**ALONE, "recency": 0.0},
    "bm25": None,
}


@dataclass
class Row:
    """One way to search, and what it found of each question."""

    name: str
    ranked: dict[str, list[str]] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    values: dict[str, dict[str, float]] = field(default_factory=dict)


def main() -> None:
    arguments = _arguments()
    recall_set = load(arguments.set, Path(arguments.data))
    names = list(ROWS) if arguments.rows == "all" else arguments.rows.split(";")
    print(f"{arguments.set}: {len(recall_set.items):,} memories, {len(recall_set.questions):,} questions")
    with (
        tempfile.TemporaryDirectory() as directory,
        siltstone.open(directory, settings=Settings(embedding_model=arguments.model)) as mem,
    ):
        rows = _run(mem, recall_set, names)
    for row in rows:
        for question in recall_set.questions:
            units = [recall_set.unit(item) for item in row.ranked[question.id]]
            row.values[question.id] = measures(question.evidence, units)
    _report(rows, recall_set.questions)
    if arguments.cases:
        _write_cases(Path(arguments.cases) / arguments.set, rows, recall_set.questions)


def _run(mem: siltstone.Api, recall_set: RecallSet, names: list[str]) -> list[Row]:
    started = time.perf_counter()
    memory_of = _write(mem, recall_set.items)
    seconds = time.perf_counter() - started
    kept = len(set(memory_of.values()))
    print(f"written in {seconds:.1f} s, {len(memory_of) / seconds:.1f} a second; {kept:,} memories kept\n")
    items_of = defaultdict(list)
    for item, memory in memory_of.items():
        items_of[memory].append(item)
    rows = [Row(name) for name in names]
    for row in rows:
        weights = ROWS[row.name]
        if weights is None:
            import bm25

            row.ranked = bm25.rank(recall_set.items, recall_set.questions, DEPTH)
            continue
        for question in recall_set.questions:
            _ask(mem, row, weights, question, items_of)
    return rows


def _write(mem: siltstone.Api, items: list[Item]) -> dict[str, str]:
    """Item id → id of the memory that holds it."""
    by_space = defaultdict(list)
    for item in items:
        by_space[item.space].append(item)
    memory_of = {}
    for space, members in by_space.items():
        for at in range(0, len(members), CHUNK):
            chunk = members[at : at + CHUNK]
            receipts = mem.write_many([_draft(item) for item in chunk], namespace=space)
            memory_of |= {item.id: got.memory.id for item, got in zip(chunk, receipts, strict=True)}
    return memory_of


def _draft(item: Item) -> dict[str, Any]:
    draft: dict[str, Any] = {"content": item.text, "attributes": item.attributes}
    if item.event_time:
        draft["event_time"] = item.event_time
    if item.sequence:
        draft |= {"sequence": item.sequence, "position": item.position}
    return draft


def _ask(
    mem: siltstone.Api,
    row: Row,
    weights: dict[str, Any],
    question: Question,
    items_of: dict[str, list[str]],
) -> None:
    """The best DEPTH. Items merged into one memory share its rank."""
    started = time.perf_counter()
    found = mem.search(
        question.text,
        namespace=question.space,
        include_public=False,
        top_k=DEPTH,
        filter=question.filter,
        weights=weights,
        now=question.asked_at,
    )
    row.seconds.append(time.perf_counter() - started)
    row.tokens.append(found.tokens_used)
    row.ranked[question.id] = [item for hit in found.hits for item in items_of[hit.memory.id]]


def _report(rows: list[Row], questions: list[Question]) -> None:
    types = sorted({question.type for question in questions})
    for row in rows:
        print(f"{row.name:<26}{'n':>6}" + "".join(f"{name:>11}" for name in NAMES))
        for type in ["all", *(types if len(types) > 1 else [])]:
            chosen = [row.values[q.id] for q in questions if type in ("all", q.type)]
            means = [statistics.fmean(value[name] for value in chosen) for name in NAMES]
            print(f"  {type:<24}{len(chosen):>6}" + "".join(f"{mean:>11.3f}" for mean in means))
        if row.seconds:
            _report_cost(row)
        print()


def _report_cost(row: Row) -> None:
    recall = statistics.fmean(value["recall@10"] for value in row.values.values())
    tokens = statistics.fmean(row.tokens)
    times = sorted(1000 * seconds for seconds in row.seconds)
    p50, p95 = (times[int(share * (len(times) - 1))] for share in (0.5, 0.95))
    print(
        f"  {tokens:,.0f} tokens a search of {DEPTH}, recall@10 per 1,000 tokens "
        f"{1000 * recall / tokens:.3f}; {p50:.1f} ms p50, {p95:.1f} ms p95, embedding included"
    )


def _write_cases(folder: Path, rows: list[Row], questions: list[Question]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for question in questions:
        case = {
            "query": question.text,
            "type": question.type,
            "evidence": sorted(question.evidence),
            "rows": {
                row.name: {**row.values[question.id], "ranked": row.ranked[question.id]} for row in rows
            },
        }
        name = "".join(c if c.isalnum() or c in "-._" else "_" for c in question.id)
        (folder / f"{name}.json").write_text(json.dumps(case, ensure_ascii=False, indent=1), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("set", choices=list(FOLDERS))
    parser.add_argument(
        "--data", default=os.environ.get("SILTSTONE_RECALL_DATA", ""), help="folder of the sets"
    )
    parser.add_argument("--cases", help="write a file for each question into this folder")
    parser.add_argument("--rows", default="all", help="rows to run, separated by ;")
    parser.add_argument("--model", default="default", help="embedding model")
    arguments = parser.parse_args()
    if not arguments.data:
        sys.exit("give the folder that holds the sets with --data or in SILTSTONE_RECALL_DATA")
    return arguments


if __name__ == "__main__":
    main()

"""The sets: what is written, what is asked, and which memories answer it."""

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass
class Item:
    """One memory of a set, as a user would write it."""

    id: str
    space: str
    text: str
    event_time: datetime | None = None
    sequence: str = ""
    position: int | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass
class Question:
    """`evidence` names items, or what `RecallSet.unit` makes of items."""

    id: str
    space: str
    text: str
    type: str
    evidence: frozenset[str]
    asked_at: datetime | None = None
    filter: dict[str, Any] | None = None


@dataclass
class RecallSet:
    items: list[Item]
    questions: list[Question]
    unit: Callable[[str], str] = str


def load(name: str, data: Path) -> RecallSet:
    """The set of that name below `data`; the program ends, saying so, where it is missing."""
    folder = data / FOLDERS[name]
    for file in ("questions.jsonl",) if name == "longmemeval" else ("memories.jsonl", "queries.jsonl"):
        if not (folder / file).is_file():
            sys.exit(f"{folder / file} is missing; give the folder that holds the sets with --data")
    return LOADERS[name](folder)


def _chat(folder: Path, text: Callable[[dict[str, Any]], str] = lambda row: str(row["text"])) -> RecallSet:
    """Memories in the order they were said, numbered within their session where they have one."""
    items = []
    positions: dict[str, int] = defaultdict(int)
    for row in _rows(folder / "memories.jsonl"):
        session = f"{row['space']}/{row['session']}" if row.get("session") else ""
        item = Item(row["id"], row["space"], text(row), _time(row.get("ts")), session)
        if session:
            item.position = positions[session]
            positions[session] += 1
        if "seq" in row:
            item.attributes["seq"] = row["seq"]
        items.append(item)
    return RecallSet(items, [_question(row) for row in _rows(folder / "queries.jsonl") if row["evidence"]])


def _question(row: dict[str, Any]) -> Question:
    before = {"attributes": {"seq": {"lt": row["before_seq"]}}} if "before_seq" in row else None
    asked_at = _time(row.get("asked_at"))
    return Question(
        row["id"], row["space"], row["query"], row["type"], frozenset(row["evidence"]), asked_at, before
    )


def _locomo(folder: Path) -> RecallSet:
    return _chat(folder, _locomo_text)


def _locomo_text(row: dict[str, Any]) -> str:
    """A turn as a transcript has it: who speaks, what is said, what a shared picture shows."""
    caption = row.get("image_caption")
    return f"{row['speaker']}: {row['text']}" + (f" [shares {caption}]" if caption else "")


def _longmemeval(folder: Path) -> RecallSet:
    """The official file's questions, each a space of its own; a hit counts for the session it is from."""
    items, questions = [], []
    for row in _rows(folder / "questions.jsonl"):
        space = row["question_id"]
        sessions = zip(
            row["haystack_session_ids"], row["haystack_dates"], row["haystack_sessions"], strict=True
        )
        for session, date, turns in sessions:
            for n, turn in enumerate(turns):
                if turn["content"].strip():
                    name = f"{space}/{session}"
                    text = f"{turn['role']}: {turn['content']}"
                    items.append(Item(f"{name}/{n}", space, text, _official_time(date), name, n))
        evidence = frozenset(f"{space}/{session}" for session in row["answer_session_ids"])
        if evidence and not space.endswith("_abs"):
            asked_at = _official_time(row["question_date"])
            questions.append(
                Question(space, space, row["question"], row["question_type"], evidence, asked_at)
            )
    return RecallSet(items, questions, lambda item: item.rpartition("/")[0])


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """A row a line, or, as LongMemEval is published, one list of them."""
    text = path.read_text(encoding="utf-8")
    if text.lstrip().startswith("["):
        yield from json.loads(text)
    else:
        yield from (json.loads(line) for line in text.splitlines() if line.strip())


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


def _official_time(text: str) -> datetime:
    return datetime.strptime(text, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)


FOLDERS = {
    "locomo": "locomo",
    "beam": "beam100k",
    "realmem": "realmem",
    "memdaily": "memdaily_zh_user",
    "cmrc": "cmrc2018_zh",
    "xquad": "xquad_crosslingual",
    "longmemeval": "longmemeval_sample",
}
LOADERS = dict.fromkeys(FOLDERS, _chat) | {"locomo": _locomo, "longmemeval": _longmemeval}

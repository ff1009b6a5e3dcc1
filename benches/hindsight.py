"""How good the lessons of hindsight are, over published agent runs.

    .venv/bin/python benches/hindsight.py --data DIR [--cases DIR] [--model default]

DIR (or SILTSTONE_TRAJECTORIES) holds trajectories.jsonl: a run a line with task, outcome, steps, and, where
the source has them, group and expected_actions. Prints a table by source; --cases takes a file for each run,
with its lessons and what was found wrong with them.

- tools: share of the runs with tools whose every lesson has exactly the tools that the log names.
- folded: share of the steps that folding saves; failures kept: steps that failed and are told as failed then.
- told / right: runs whose end can be told from the log when the label is withheld; share of those told right.
- quotes: share of quotes that stand verbatim in the step they cite.
- fields: share of filled fields at least 80 % of whose words stand in the steps that the field cites; +goal:
  or in the goal.
- actions: expected actions of won runs that the lessons name; with values: their short arguments too.
- hit@1, hit@5: the goal of a lost run finds a lesson of a won run of the same group, among the lessons of all
  runs; `won only`: among those of won runs.
- kept as new: share of the lessons that the store took as new, neither merged nor in conflict.
- again: share of runs of which a second look writes nothing.
"""

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import siltstone
from siltstone import rust_core
from siltstone.config import Settings
from siltstone.hindsight import lesson_text, look_back, read_trajectory
from siltstone.hindsight.folding import fold_run
from siltstone.hindsight.run import Run, numbered
from siltstone.model import ExtractedLesson, Hindsight, Outcome, Trajectory

LABELS = ("outcome", "outcome_basis", "reward", "trials_won", "outcome_by_trial", "correct_trace_share")
WORD = re.compile(r"[A-Za-z0-9_][\w.:/@-]*|[\u3400-\u9fff]")
ENOUGH = 0.8


@dataclass
class Case:
    """One run and what its lessons are worth."""

    row: dict[str, Any]
    trajectory: Trajectory
    seconds: float
    lessons: list[ExtractedLesson]
    told: Outcome
    faults: list[str] = field(default_factory=list)
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)  # measure → (right, of)

    @property
    def source(self) -> str:
        return str(self.row["source"]).partition(" (")[0]

    @property
    def label(self) -> str:
        return str(self.row["outcome"])


def main() -> None:
    arguments = _arguments()
    path = Path(arguments.data) / "trajectories.jsonl"
    if not path.is_file():
        sys.exit(f"{path} is missing; give the folder with --data or in SILTSTONE_TRAJECTORIES")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    cases = [_look(row) for row in rows]
    for case in cases:
        _measure(case)
    with tempfile.TemporaryDirectory() as directory:
        with siltstone.open(
            Path(directory) / "all", settings=Settings(embedding_model=arguments.model)
        ) as mem:
            _find(mem, cases, "all")
            _again(mem, cases)
        with siltstone.open(
            Path(directory) / "won", settings=Settings(embedding_model=arguments.model)
        ) as mem:
            _find(mem, [case for case in cases if case.label == "success"], "won only", asked=cases)
    _report(cases)
    if arguments.cases:
        _write_cases(Path(arguments.cases), cases)


def _look(row: dict[str, Any]) -> Case:
    started = time.perf_counter()
    trajectory = read_trajectory(row).trajectory
    lessons = look_back(trajectory)
    seconds = time.perf_counter() - started
    unlabelled = read_trajectory({key: value for key, value in row.items() if key not in LABELS})
    return Case(row, trajectory, seconds, lessons, unlabelled.trajectory.outcome)


# --- what one case is worth


def _measure(case: Case) -> None:
    if not case.lessons:
        case.faults.append("no lesson")
    _folding(case)
    used = _tools_of(case.row)
    if used:
        _count(
            case, "tools", bool(case.lessons) and all(set(found.tools_used) == used for found in case.lessons)
        )
    if case.label in ("success", "failure"):
        _count(case, "told", case.told is not Outcome.UNKNOWN)
        if case.told is not Outcome.UNKNOWN:
            _count(case, "right", case.told.value == case.label.upper())
    for found in case.lessons:
        _evidence(case, found)
    if case.label == "success":
        _actions(case)


def _folding(case: Case) -> None:
    run = Run(numbered(case.trajectory))
    folded = fold_run(run)
    case.counts["folded"] = (len(run.steps) - len(folded), len(run.steps))
    shown = {number for step in folded if step.failed for number in step.numbers}
    for step in run.steps:
        if run.failed(step):
            _count(case, "failures kept", step.number in shown, f"step {step.number}")


def _evidence(case: Case, found: ExtractedLesson) -> None:
    texts = {step.number: _text_of(step) for step in case.trajectory.steps}
    for evidence in found.lesson.evidence:
        _count(case, "quotes", evidence.quote in texts.get(evidence.step, ""), f"quote {evidence}")
    for name in ("problem", "root_cause", "solution"):
        filled = getattr(found.lesson, name)
        if not filled:
            continue
        cited = " ".join(texts[e.step] for e in found.lesson.evidence if e.field == name and e.step in texts)
        share = _share(filled, cited)
        _count(case, "fields", share >= ENOUGH, f"{name} {share:.2f}: {filled}")
        _count(case, "fields +goal", _share(filled, cited + " " + case.trajectory.goal) >= ENOUGH)


def _actions(case: Case) -> None:
    told = "\n".join(lesson_text(found) for found in case.lessons)
    for action in case.row.get("expected_actions") or []:
        named = re.search(rf"\b{re.escape(action['name'])}\b", told) is not None
        _count(case, "actions", named, f"expected action {action['name']}")
        values = [str(v) for v in (action.get("kwargs") or {}).values() if isinstance(v, str | int | float)]
        _count(case, "with values", named and all(value in told for value in values if len(value) <= 48))


def _count(case: Case, measure: str, right: bool, fault: str = "") -> None:
    got, of = case.counts.get(measure, (0, 0))
    case.counts[measure] = (got + right, of + 1)
    if not right:
        case.faults.append(f"{measure}: {fault}" if fault else measure)


def _share(text: str, proof: str) -> float:
    words = [word.casefold().strip(".:") for word in WORD.findall(text)]
    known = {word.casefold().strip(".:") for word in WORD.findall(proof)}
    return sum(word in known for word in words) / len(words) if words else 1.0


def _text_of(step: Any) -> str:
    return "\n".join([step.text, step.tool, *_leaves(step.arguments), step.result])


def _leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in (str(key), *_leaves(inner))]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [str(value)]


def _tools_of(row: dict[str, Any]) -> set[str]:
    """Names of tools, read from the raw log by means of its own."""
    found = set()
    for step in row["steps"]:
        action = step.get("action")
        if isinstance(action, dict):
            found.add(action.get("tool") or action.get("name"))
        elif isinstance(action, str) and action.strip():
            found.add(re.split(r"[\s;\[]", action.strip(), maxsplit=1)[0])
    return found - {None, ""}


# --- what is found again


def _find(mem: siltstone.Api, kept: list[Case], where: str, asked: list[Case] | None = None) -> None:
    """Keep the lessons of `kept`, then ask with the goal of each lost run that has a won one in its group."""
    won: dict[str, set[str]] = defaultdict(set)
    for case in kept:
        hindsight = _keep(mem, case)
        for receipt in hindsight.receipts if asked is None else []:
            _count(case, "kept as new", receipt.action.value == "CREATED", receipt.action.value)
        if case.label == "success":
            won[case.row["group"]] |= {receipt.memory.id for receipt in hindsight.receipts}
    for case in asked or kept:
        wanted = won.get(case.row["group"])
        if case.label != "failure" or not wanted:
            continue
        hits = mem.search(case.trajectory.goal, namespace="bench", include_public=False, top_k=5).hits
        ids = [hit.memory.id for hit in hits]
        first = hits[0].memory.summary if hits else ""
        _count(case, f"hit@1 {where}", ids[0] in wanted if ids else False, first)
        _count(case, f"hit@5 {where}", bool(wanted & set(ids)))


def _keep(mem: siltstone.Api, case: Case) -> Hindsight:
    return mem.summarize_trajectory(case.row, namespace="bench")


def _again(mem: siltstone.Api, cases: list[Case]) -> None:
    for case in cases:
        actions = [receipt.action.value for receipt in _keep(mem, case).receipts]
        _count(case, "again", set(actions) <= {"UNCHANGED"}, ", ".join(actions))


# --- the report


def _report(cases: list[Case]) -> None:
    by_source: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_source[case.source].append(case)
    groups = {**by_source, "all": cases}
    print(f"{'':<30}" + "".join(f"{_short(name):>15}" for name in groups))
    print(f"{'runs':<30}" + "".join(f"{len(group):>15}" for group in groups.values()))
    print(f"{'lessons':<30}" + "".join(f"{sum(len(c.lessons) for c in g):>15}" for g in groups.values()))
    measures = list(dict.fromkeys(measure for case in cases for measure in case.counts))
    for measure in measures:
        cells = []
        for group in groups.values():
            counts = [case.counts[measure] for case in group if measure in case.counts]
            right, of = sum(c[0] for c in counts), sum(c[1] for c in counts)
            cells.append(f"{right / of:.2f} ({right}/{of})" if of else "–")
        print(f"{measure:<30}" + "".join(f"{cell:>15}" for cell in cells))
    tokens = [
        [rust_core.count_tokens(lesson_text(found)) for case in group for found in case.lessons]
        for group in groups.values()
    ]
    print(f"{'tokens a lesson, mean':<30}" + "".join(f"{statistics.mean(t or [0]):>15.0f}" for t in tokens))
    print(f"{'tokens a lesson, most':<30}" + "".join(f"{max(t, default=0):>15}" for t in tokens))
    seconds = [[case.seconds for case in group] for group in groups.values()]
    print(
        f"{'ms a trajectory, median':<30}" + "".join(f"{1e3 * statistics.median(s):>15.1f}" for s in seconds)
    )
    print(f"{'ms a trajectory, most':<30}" + "".join(f"{1e3 * max(s):>15.1f}" for s in seconds))


def _short(source: str) -> str:
    return " ".join(source.split()[:2])[:14]


def _write_cases(directory: Path, cases: list[Case]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for case in cases:
        name = re.sub(r"[^\w.-]+", "_", case.row["id"])
        text = [
            f"{case.row['id']}  {case.label}, told {case.told.value}",
            "",
            case.trajectory.goal[:1500],
            "",
        ]
        for found in case.lessons:
            text += [f"--- {found.outcome.value} {found.confidence} {found.tags}", lesson_text(found)]
            text += [f"    {e.field} @ {e.step}: {e.quote}" for e in found.lesson.evidence] + [""]
        (directory / f"{name}.txt").write_text("\n".join(text + case.faults) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=os.environ.get("SILTSTONE_TRAJECTORIES", "."))
    parser.add_argument("--cases", help="folder for a file a run; keep it outside of the repository")
    parser.add_argument("--model", default="default", help="embedding model")
    return parser.parse_args()


if __name__ == "__main__":
    main()

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from siltstone.model import ExtractedLesson, Outcome, Step, Trajectory

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"


@pytest.fixture
def run_of() -> Callable[..., Trajectory]:
    """A trajectory from short step dicts; ``{"do": command, "gives": result}`` is a shell call."""

    def build(
        goal: str, *steps: dict[str, Any], outcome: Outcome = Outcome.UNKNOWN, **fields: Any
    ) -> Trajectory:
        made = []
        for number, step in enumerate(steps, start=1):
            step = dict(step)
            if "do" in step:
                step["tool"], step["arguments"] = "run_command", {"command": step.pop("do")}
            if "gives" in step:
                step["result"] = step.pop("gives")
            made.append(Step(number=number, **step))
        return Trajectory(goal=goal, outcome=outcome, steps=made, **fields)

    return build


@pytest.fixture
def published() -> dict[str, dict[str, Any]]:
    lines = (HERE / "data" / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {row["id"]: row for row in rows}


@pytest.fixture
def example() -> Callable[[str], str]:
    return lambda name: (EXAMPLES / name).read_text(encoding="utf-8")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    else:
        yield str(value)


@pytest.fixture
def assert_proven() -> Callable[[Trajectory, list[ExtractedLesson]], None]:
    """Every quote stands verbatim in its step, and fields keep their lengths. Every filled field has a
    quote; only a problem told in the words of the goal may be without."""

    def check(trajectory: Trajectory, lessons: list[ExtractedLesson]) -> None:
        steps = {step.number: step for step in trajectory.steps}
        for found in lessons:
            lesson = found.lesson
            for evidence in lesson.evidence:
                step = steps[evidence.step]
                texts = [step.text, step.result, *_strings(step.arguments)]
                assert evidence.quote, evidence
                assert any(evidence.quote in text for text in texts), evidence
            for name, words in (("problem", 60), ("root_cause", 60), ("solution", 120)):
                text = getattr(lesson, name)
                assert len(text.split()) <= words + 12, (name, text)
                proven = any(e.field == name for e in lesson.evidence)
                from_goal = name == "problem" and text[:40].rstrip(".") in trajectory.goal
                assert not text or proven or from_goal, (name, text)

    return check

"""From the pieces that a rule found to a lesson."""

from siltstone.hindsight.instructions import TAG
from siltstone.hindsight.quoting import Piece, compose
from siltstone.hindsight.run import Run
from siltstone.model import ExtractedLesson, Lesson, Outcome, Step

PROBLEM_WORDS = 60
CAUSE_WORDS = 60
SOLUTION_WORDS = 120

VERIFIED = 0.8  # seen to work after the change
STATED = 0.6  # said, or worked only by the run's label
FAILED = 0.5  # tried without success


def build(
    run: Run,
    *,
    problem: list[Piece],
    root_cause: list[Piece] | None = None,
    solution: list[Piece] | None = None,
    steps: list[Step],
    outcome: Outcome,
    confidence: float,
    task_type: str = "",
) -> ExtractedLesson | None:
    """A lesson of these pieces; None when there is no problem, nothing to say about it, or no step for it."""
    asked, asked_evidence = compose("problem", problem, PROBLEM_WORDS, run.masker)
    cause, cause_evidence = compose("root_cause", root_cause or [], CAUSE_WORDS, run.masker)
    answer, answer_evidence = compose("solution", solution or [], SOLUTION_WORDS, run.masker)
    if not asked or not (answer or cause or outcome is Outcome.FAILURE):
        return None
    evidence = [*asked_evidence, *cause_evidence, *answer_evidence]
    tags = run.tags(steps, " ".join([asked, cause, answer]))
    if any(entry.step in run.flagged for entry in evidence):
        tags.append(TAG)
    lesson = ExtractedLesson(
        lesson=Lesson(
            problem=asked,
            root_cause=cause,
            solution=answer,
            evidence=evidence,
        ),
        task_type=run.trajectory.task_type or task_type,
        outcome=outcome,
        tools_used=list(run.tools_used),
        tags=tags,
        confidence=confidence,
    )
    # The pieces are masked one by one; a secret may still come with a tool's name, or from two pieces joined.
    clean = run.masker.clean(lesson)
    return clean if clean.lesson.evidence else None

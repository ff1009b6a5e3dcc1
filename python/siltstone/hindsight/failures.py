"""What was tried in vain: lessons of runs that failed, and of attempts that kept failing."""

from siltstone.hindsight.actions import action_piece, alike, is_browsing, path_piece
from siltstone.hindsight.building import FAILED, build
from siltstone.hindsight.failure import error_line
from siltstone.hindsight.fixes import Fix, cause_pieces
from siltstone.hindsight.folding import folded_pieces
from siltstone.hindsight.quoting import Piece
from siltstone.hindsight.run import Run
from siltstone.hindsight.signals import gave_up, is_courtesy
from siltstone.model import ExtractedLesson, Outcome, Step

_ENOUGH = 3  # times an attempt fails before it is worth remembering by itself
_MOST_EXTRA = 2


def failed_run_lessons(run: Run, fixes: list[Fix]) -> list[ExtractedLesson]:
    """One lesson about the whole run, and one for each other attempt that kept failing."""
    futile = futile_attempts(run, fixes)
    last_failing = next((step for step in reversed(run.actions) if run.failed(step)), None)
    tried = futile[-1] if futile else [last_failing] if last_failing else run.actions[-1:]
    problem = run.goal_pieces(26)
    problem += _attempt(tried[-1], 16) if tried and not is_browsing(tried[-1]) else []
    if not last_failing or is_browsing(tried[-1]):
        path = path_piece(run.actions, most=6)
        problem += folded_pieces(run)[-1:] or ([path] if path else [])
    problem += _last_words(run)[:1]
    reports = [step for step in run.steps if not step.tool and step.result and run.failed(step)]
    problem += [Piece(error_line(step.result), step.number) for step in reports[-1:]]
    said = run.pieces_said(run.steps)
    lesson = build(
        run,
        problem=problem,
        root_cause=cause_pieces(said, [], run.goal, strict=True),
        steps=tried,
        outcome=Outcome.FAILURE,
        confidence=FAILED,
    )
    lessons = [lesson] if lesson else []
    return (
        lessons + [extra for attempt in futile[:-1] if (extra := _futile_lesson(run, attempt))][:_MOST_EXTRA]
    )


def futile_lessons(run: Run, fixes: list[Fix]) -> list[ExtractedLesson]:
    """Attempts that kept failing in a run that went well otherwise."""
    lessons = [
        _futile_lesson(run, attempt) for attempt in futile_attempts(run, fixes) if len(attempt) >= _ENOUGH
    ]
    return [lesson for lesson in lessons if lesson][:_MOST_EXTRA]


def futile_attempts(run: Run, fixes: list[Fix]) -> list[list[Step]]:
    """Groups of like actions that failed at least twice, never worked and belong to no fix; oldest first."""
    spans = [(fix.first, fix.last) for fix in fixes if fix.failing]
    groups: list[list[Step]] = []
    for step in run.actions:
        for group in groups[-50:]:
            if alike(run.signature(group[0]), run.signature(step)):
                group.append(step)
                break
        else:
            groups.append([step])
    return [
        group
        for group in groups
        if len(group) >= 2
        and all(run.failed(step) for step in group)
        and not any(first <= group[0].number <= last for first, last in spans)
    ]


def _futile_lesson(run: Run, attempt: list[Step]) -> ExtractedLesson | None:
    return build(
        run, problem=_attempt(attempt[-1], 30), steps=attempt, outcome=Outcome.FAILURE, confidence=FAILED
    )


def _attempt(step: Step, words: int) -> list[Piece]:
    pieces = [action_piece(step, words)]
    line = error_line(step.result)
    return [*pieces, Piece(line, step.number)] if line else pieces


def _last_words(run: Run) -> list[Piece]:
    step = run.final_step
    if step is None:
        return []
    said = [Piece(sentence, step.number) for sentence in run.said(step) if not is_courtesy(sentence)]
    return [piece for piece in said if gave_up(piece.text)] or said

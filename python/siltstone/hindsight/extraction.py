"""Which rules look at a run, and what comes of it."""

from siltstone.hindsight.actions import action_piece, path_piece
from siltstone.hindsight.answers import answer_lessons, is_answering
from siltstone.hindsight.browser import Verb, action_of
from siltstone.hindsight.building import STATED, build
from siltstone.hindsight.failure import error_line
from siltstone.hindsight.failures import failed_run_lessons, futile_lessons
from siltstone.hindsight.fixes import Fix, cause_pieces, find_fixes, fix_lessons, fix_pieces, says_solved
from siltstone.hindsight.quoting import Piece, word_count
from siltstone.hindsight.remembering import asks_to_note
from siltstone.hindsight.run import Run, is_success, numbered
from siltstone.hindsight.service import is_service, service_lessons
from siltstone.hindsight.signals import asks_why, gave_up, is_bare_claim, is_courtesy, is_question
from siltstone.hindsight.watching import Check, unwatched
from siltstone.model import ExtractedLesson, Outcome, Role, Step, Trajectory

EXTRACTOR = "rules/1"
_MOST_LESSONS = 8


def look_back(trajectory: Trajectory, check: Check = unwatched) -> list[ExtractedLesson]:
    """The lessons of a trajectory, by rules, without an LLM.

    Each field is made of words of the log and names the steps that prove it; what the log does not support
    stays empty. A run with a goal and an action yields at least one lesson, unless it ends with an error and
    a bare "fixed it", or is said to have succeeded and shows nothing that did; one without anything usable
    yields none. Fields are at most about 60 (problem, root
    cause) and 120 words (solution). Secrets are masked. The same trajectory always gives the same lessons,
    the most telling first. `check` is asked now and then; what it raises ends the work.
    """
    run = Run(numbered(trajectory), check)
    if run.outcome is Outcome.UNKNOWN and not is_service(run) and _gave_up(run):
        run.outcome = Outcome.FAILURE
    fixes = find_fixes(run)
    if is_service(run):
        lessons = service_lessons(run) + fix_lessons(run, fixes, whole=False)
    elif is_answering(run):
        lessons = answer_lessons(run)
    elif run.outcome is Outcome.FAILURE:
        lessons = failed_run_lessons(run, fixes) + [
            fix for fix in fix_lessons(run, fixes) if fix.outcome is Outcome.SUCCESS
        ]
    else:
        lessons = list(reversed(fix_lessons(run, fixes))) or _conclusion(run)
        lessons += futile_lessons(run, fixes)
    return _distinct(lessons or _whole_run(run, fixes))[:_MOST_LESSONS]


def observed_outcome(trajectory: Trajectory, check: Check = unwatched) -> Outcome:
    """How a run ended by its own log: SUCCESS where the answer was graded right, or the check that failed was
    seen to pass after a change; FAILURE where it was graded wrong, the agent gave up, or the log ends in an
    error; else UNKNOWN. A service dialogue tells neither: customers thank for the wrong booking, and a
    refusal may be what the rules demand."""
    run = Run(numbered(trajectory), check)
    answer = run.answer_step
    if answer is not None and answer.result.strip() in {"Answer is CORRECT", "Answer is INCORRECT"}:
        return Outcome.FAILURE if run.failed(answer) else Outcome.SUCCESS
    if _ended_in_error(run):
        return Outcome.FAILURE
    if is_service(run):
        return Outcome.UNKNOWN
    if _gave_up(run):
        return Outcome.FAILURE
    # The same call made in another way proves that call, not the run.
    fixes = [fix for fix in find_fixes(run) if not fix.retry]
    if any(fix.proof for fix in fixes) and (says_solved(run) or fixes[-1].again):
        return Outcome.SUCCESS
    return Outcome.UNKNOWN


def _ended_in_error(run: Run) -> bool:
    """Whether the run stopped at a report of failure that is nobody's action."""
    last = run.steps[-1] if run.steps else None
    return last is not None and last.role is Role.TOOL and not last.tool and run.failed(last)


def _gave_up(run: Run) -> bool:
    step = run.final_step
    return step is not None and any(gave_up(s) for s in run.said(step)) and not says_solved(run)


def _conclusion(run: Run) -> list[ExtractedLesson]:
    """What the agent states at the end as cause and fix, where the log shows no error and no change."""
    if run.final_step is None:
        return []
    said = [piece for piece in run.pieces_said(run.steps) if not is_courtesy(piece.text)]
    stated = fix_pieces([piece for piece in said if piece.step == run.final_step.number], [])
    told = {piece.text for piece in stated}
    errors = [error_line(step.result) for step in run.actions if run.failed(step)]
    about = " ".join([run.goal, *errors[:5]])
    # Where the question is why, what is said to bring it about is the answer.
    strict = not stated and not asks_why(run.goal)
    cause = cause_pieces([piece for piece in said if piece.text not in told], [], about, strict=strict)
    if not stated and not cause:
        return []
    lesson = build(
        run,
        problem=run.goal_pieces(60),
        root_cause=cause,
        solution=stated,
        steps=run.actions,
        outcome=run.outcome,
        confidence=STATED,
    )
    return [lesson] if lesson else []


def _whole_run(run: Run, fixes: list[Fix]) -> list[ExtractedLesson]:
    """No rule fits: the goal, what was done and the agent's last words."""
    if not run.actions:
        return []
    solved = says_solved(run) and run.outcome is not Outcome.FAILURE
    if not is_success(run.outcome) and run.failed(_last_deed(run)) and not solved:
        return failed_run_lessons(run, fixes)
    if not run.goal:
        return []
    final = run.final_step
    said = [
        sentence
        for sentence in (run.said(final) if final else [])
        if not (is_courtesy(sentence) or is_question(sentence) or is_bare_claim(sentence))
        and word_count(sentence) > 1  # a browser agent's verdict: "Failed"
        and not asks_to_note(sentence)  # it is a note of its own
    ]
    worked = [step for step in run.actions if not run.failed(step)]
    last = [action_piece(step) for step in worked[-3:]]
    path = path_piece(worked)
    lesson = build(
        run,
        problem=run.goal_pieces(60),
        solution=[*(Piece(s, final.number) for s in said[:3] if final), *last, *([path] if path else [])],
        steps=run.actions,
        outcome=run.outcome,
        confidence=STATED,
    )
    if lesson is None and not solved and not is_success(run.outcome):
        return failed_run_lessons(run, fixes)
    return [lesson] if lesson else []  # an error, and "fixed it" without a word about how, teaches nothing


def _last_deed(run: Run) -> Step:
    """The last action that does more than look at a page or wait for it; the last one where there is none."""
    pages = ((step, action_of(step)) for step in reversed(run.actions))
    deeds = (step for step, action in pages if action is None or action.verb is not Verb.LOOK)
    return next(deeds, run.actions[-1])


def _distinct(lessons: list[ExtractedLesson]) -> list[ExtractedLesson]:
    kept: list[ExtractedLesson] = []
    for found in lessons:
        same = (found.lesson.problem.casefold(), found.lesson.solution.casefold())
        if all(same != (k.lesson.problem.casefold(), k.lesson.solution.casefold()) for k in kept):
            kept.append(found)
    return kept

"""Questions answered by searching or browsing: the path to the answer, or the search in vain."""

from siltstone.hindsight.actions import (
    answer_piece,
    command_of,
    is_answer,
    is_browsing,
    is_exploring,
    path_piece,
)
from siltstone.hindsight.browser import Verb, action_of
from siltstone.hindsight.building import FAILED, STATED, VERIFIED, build
from siltstone.hindsight.failure import error_line, result_failed, result_worked
from siltstone.hindsight.folding import folded_pieces
from siltstone.hindsight.quoting import Piece, word_count
from siltstone.hindsight.run import Run, is_success
from siltstone.hindsight.signals import describes_screen, is_courtesy, is_question, repeats_answer
from siltstone.model import ExtractedLesson, Outcome, Step

_VERDICTS = {"success", "succeeded", "fail", "failed", "failure", "done", "completed", "成功", "失败", "完成"}
_GIVES_TEXT = (Verb.TYPE, Verb.SELECT)
_LAST_DONE = 2  # of what led to a failure
_BROWSING_WORDS = 60.0  # of a solution's 120; the rest is for the answer


def is_answering(run: Run) -> bool:
    """Only searches, page actions and an answer: nothing was changed."""
    return bool(run.actions) and all(
        (is_exploring(step) or is_browsing(step) or is_answer(step)) and not command_of(step)
        for step in run.actions
    )


def answer_lessons(run: Run) -> list[ExtractedLesson]:
    browsing = any(is_browsing(step) for step in run.actions)
    task_type = "" if browsing else "question-answering"
    answer = run.answer_step
    failed = run.outcome is Outcome.FAILURE or (
        run.outcome is Outcome.UNKNOWN
        and (run.failed(run.actions[-1]) if answer is None else result_failed(answer.result))
    )
    if failed:
        searched = path_piece(run.actions, most=8)
        done = _done(run)[-_LAST_DONE:] if browsing else [searched] if searched else []
        verdict = (
            [Piece(line, answer.number) for line in [error_line(answer.result)] if line] if answer else []
        )
        reports = [step for step in run.steps if not step.tool and step.result and run.failed(step)]
        verdict += [Piece(error_line(step.result), step.number) for step in reports[-1:]]
        lesson = build(
            run,
            problem=[*run.goal_pieces(30), *done, *verdict],
            steps=run.actions,
            outcome=Outcome.FAILURE,
            confidence=FAILED,
            task_type=task_type,
        )
        return [lesson] if lesson else []
    path = _done(run) if browsing else [piece for piece in [path_piece(run.actions)] if piece]
    known = is_success(run.outcome) or (answer is not None and result_worked(answer.result))
    lesson = build(
        run,
        problem=run.goal_pieces(60),
        solution=[*path, *_reasoned(run, answer, browsing=browsing)],
        steps=run.actions,
        outcome=Outcome.SUCCESS if known and run.outcome is Outcome.UNKNOWN else run.outcome,
        confidence=VERIFIED if known else STATED,
        task_type=task_type,
    )
    return [lesson] if lesson else []


def _reasoned(run: Run, answer: Step | None, *, browsing: bool) -> list[Piece]:
    """What the agent concluded at the end, and the answer it handed in."""
    final = answer if answer is not None and run.said(answer) else run.final_step
    said = (
        [Piece(s, final.number) for s in run.said(final) if not is_question(s) and not is_courtesy(s)]
        if final
        else []
    )
    said = [piece for piece in said if not describes_screen(piece.text)] or said
    telling = [piece for piece in said if not repeats_answer(piece.text)] or said
    return telling[-2 if browsing else -1 :] + (
        [answer_piece(answer)] if answer is not None and browsing and not _is_verdict(answer) else []
    )


def _is_verdict(answer: Step) -> bool:
    """Whether what was handed in is a status and no answer."""
    return answer_piece(answer).text.rpartition(": ")[2].casefold() in _VERDICTS


def _done(run: Run) -> list[Piece]:
    """What was done on the pages: in the agent's words where it says much, else folded from its actions where
    they name something, else their names."""
    telling = [step for step in run.actions if run.said(step)]
    told = _browsed(run) if 2 * len(telling) >= len(run.actions) else []
    told = told or [
        piece for piece in folded_pieces(run) if any(quote in piece.text for _, quote in piece.quotes or [])
    ]
    path = path_piece(run.actions, most=8)
    return told or ([path] if path else [])


def _browsed(run: Run) -> list[Piece]:
    """What was typed, and what the agent meant by its clicks: of each thought the last sentence that is not
    about where things stand on the screen."""
    shown: list[Piece] = []
    left = _BROWSING_WORDS
    for step in run.actions:
        if step is run.answer_step:
            continue
        action = action_of(step)
        said = [s for s in run.said(step) if not is_question(s) and not describes_screen(s)]
        if action is not None and action.value and not action.secret and action.verb in _GIVES_TEXT:
            piece = Piece(f"{step.tool} “{action.value}”", step.number, [(step.number, action.value)])
        elif said:
            piece = Piece(said[-1], step.number)
        else:
            continue
        left -= word_count(piece.text)
        if left >= 0:
            shown.append(piece)
    return shown

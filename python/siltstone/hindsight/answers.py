"""Questions answered by searching or browsing: the path to the answer, or the search in vain."""

from siltstone.hindsight.actions import (
    answer_piece,
    command_of,
    is_answer,
    is_browsing,
    is_exploring,
    path_piece,
)
from siltstone.hindsight.building import FAILED, STATED, VERIFIED, build
from siltstone.hindsight.failure import error_line, result_failed, result_worked
from siltstone.hindsight.quoting import Piece, word_count
from siltstone.hindsight.run import Run, is_success
from siltstone.hindsight.signals import is_courtesy, is_question, repeats_answer
from siltstone.model import ExtractedLesson, Outcome, Step

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
        run.outcome is Outcome.UNKNOWN and answer is not None and result_failed(answer.result)
    )
    if failed:
        searched = path_piece(run.actions, most=8)
        verdict = (
            [Piece(line, answer.number) for line in [error_line(answer.result)] if line] if answer else []
        )
        reports = [step for step in run.steps if not step.tool and step.result and run.failed(step)]
        verdict += [Piece(error_line(step.result), step.number) for step in reports[-1:]]
        lesson = build(
            run,
            problem=[*run.goal_pieces(30), *([searched] if searched else []), *verdict],
            steps=run.actions,
            outcome=Outcome.FAILURE,
            confidence=FAILED,
            task_type=task_type,
        )
        return [lesson] if lesson else []
    path = _browsed(run) if browsing else [piece for piece in [path_piece(run.actions)] if piece]
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
    telling = [piece for piece in said if not repeats_answer(piece.text)] or said
    return telling[-2 if browsing else -1 :] + (
        [answer_piece(answer)] if answer is not None and browsing else []
    )


def _browsed(run: Run) -> list[Piece]:
    """Clicks fold into what the agent meant by them: the last sentence of each thought."""
    pieces: list[Piece] = []
    silent: list[Step] = []
    for step in run.actions:
        said = [sentence for sentence in run.said(step) if not is_question(sentence)]
        if is_answer(step) and step is run.answer_step:
            continue
        if said:
            pieces.append(Piece(said[-1], step.number))
        else:
            silent.append(step)
    path = path_piece(silent, most=8)
    left = _BROWSING_WORDS
    shown = [path] if path else []
    for piece in pieces:
        left -= word_count(piece.text)
        if left >= 0:
            shown.append(piece)
    return shown

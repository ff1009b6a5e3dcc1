"""Service with tools and a customer: request, rule or verdict, and the calls that led to the outcome."""

from siltstone.hindsight.actions import change_strength, command_of, is_browsing, is_exploring, path_piece
from siltstone.hindsight.building import FAILED, STATED, VERIFIED, build
from siltstone.hindsight.quoting import Piece, sentences, word_count
from siltstone.hindsight.run import Run, is_success
from siltstone.hindsight.signals import (
    is_conclusion,
    is_courtesy,
    is_question,
    is_request,
    is_requirement,
    policy_weight,
)
from siltstone.model import ExtractedLesson, Outcome, Role

TASK_TYPE = "customer-service"


def is_service(run: Run) -> bool:
    """A dialogue with a customer, answered through named tools; no shell, no browser, no search."""
    if run.trajectory.task_type:
        return run.trajectory.task_type == TASK_TYPE
    requests = [step for step in run.steps if step.role is Role.USER and step.text.strip()]
    plain = [
        step for step in run.actions if not (command_of(step) or is_browsing(step) or is_exploring(step))
    ]
    return len(requests) >= 3 and len(plain) == len(run.actions) >= 1


def service_lessons(run: Run) -> list[ExtractedLesson]:
    said = [piece for piece in run.pieces_said(run.steps) if not is_courtesy(piece.text)]
    verdicts = _verdicts(said)
    path = path_piece(run.actions, arguments=False)
    if is_success(run.outcome) or run.outcome is Outcome.UNKNOWN:
        reasons = _reasons(said)
        told = {piece.text for piece in reasons}
        closing = [piece for piece in verdicts if piece.text not in told]
        lesson = build(
            run,
            problem=_requests(run, 60),
            root_cause=reasons,
            solution=([path] if path else []) + closing,
            steps=run.actions,
            outcome=run.outcome,
            confidence=VERIFIED if run.outcome is Outcome.SUCCESS else STATED,
            task_type=TASK_TYPE,
        )
    else:
        done = [step for step in run.actions if change_strength(step)] or run.actions
        tried = path_piece(done, arguments=False, most=4)
        lesson = build(
            run,
            problem=[*_requests(run, 28), *([tried] if tried else []), *(verdicts[:1] or said[-1:])],
            steps=run.actions,
            outcome=Outcome.FAILURE,
            confidence=FAILED,
            task_type=TASK_TYPE,
        )
    return [lesson] if lesson else _asked_back(run)


def _asked_back(run: Run) -> list[ExtractedLesson]:
    """A dialogue in which nothing was called or ruled: what the agent needed before it could go on."""
    said = [piece for piece in run.pieces_said(run.steps) if is_requirement(piece.text)]
    lesson = build(
        run,
        problem=_requests(run, 60),
        solution=said[-1:],
        steps=run.actions,
        outcome=run.outcome,
        confidence=STATED,
        task_type=TASK_TYPE,
    )
    return [lesson] if lesson else []


def _verdicts(said: list[Piece]) -> list[Piece]:
    """The last thing the agent concluded, at most two sentences of one message."""
    concluded = [piece for piece in said if is_conclusion(piece.text)]
    return [piece for piece in concluded if piece.step == concluded[-1].step][:2]


def _requests(run: Run, words: int) -> list[Piece]:
    """What the customer asked for, in their words; the goal where they said nothing of the kind."""
    chosen: list[Piece] = []
    left = float(words)
    for step in run.steps:
        for sentence in sentences(step.text) if step.role is Role.USER else []:
            if is_request(sentence) and word_count(sentence) <= left:
                chosen.append(Piece(sentence, step.number))
                left -= word_count(sentence)
    return chosen or run.goal_pieces(words)


def _reasons(said: list[Piece]) -> list[Piece]:
    """At most two sentences that give a rule together with its verdict, the plainest, in order."""
    weighed = [(policy_weight(piece.text), index) for index, piece in enumerate(said)]
    least = 3 if any(weight >= 3 for weight, _ in weighed) else 2
    best = sorted((entry for entry in weighed if entry[0] >= least), key=lambda entry: (-entry[0], entry[1]))[
        :2
    ]
    chosen = [said[index] for _, index in sorted(best, key=lambda entry: entry[1])]
    return [piece for piece in chosen if not is_question(piece.text)]

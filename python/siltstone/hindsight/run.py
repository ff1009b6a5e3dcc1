"""A trajectory as the rules see it: what failed, who said what, what was asked."""

import re
from bisect import bisect_left, bisect_right
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

from siltstone.hindsight.actions import (
    change_strength,
    command_of,
    is_answer,
    is_thinking,
    makes_file,
    removed_names,
    signature,
)
from siltstone.hindsight.failure import error_codes, is_reading, result_failed, result_worked
from siltstone.hindsight.instructions import flagged_steps
from siltstone.hindsight.masking import Masker
from siltstone.hindsight.quoting import CJK, Piece, cut, is_chinese, sentences, window, word_count
from siltstone.hindsight.signals import cause_and_fix, is_courtesy
from siltstone.hindsight.untrusted import rising
from siltstone.hindsight.watching import Check, seldom, unwatched
from siltstone.model import Outcome, Role, Step, Trajectory

_BOILERPLATE = [
    re.compile(
        r"\A\s*We're currently solving the following (?:issue.*?\nISSUE:\s*|CTF challenge\.\s*)",
        re.DOTALL,
    ),
    re.compile(r"\n\s*INSTRUCTIONS?:.*\Z", re.DOTALL),
    re.compile(r"\n\s*(?:IMPORTANT TIPS|NOTE ABOUT THE EDIT COMMAND):.*\Z", re.DOTALL),
]
_HEADING = re.compile(r"^(?:(?:\*\*)?[^*]{1,60}\*\*:?|#+ .*|[A-Z][\w ]{0,40}:)$")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been but by can could do does for from had has have how i if in into is it its"
        " let me my need not now of on or our please so that the their then there this to up want was we were"
        " what when where which who why will with would you your first s t",
    )
)
_WORD = re.compile(r"[A-Za-z0-9_][\w.:/-]*[A-Za-z0-9_]|[A-Za-z0-9_]")
_MOST_MADE, _CHARACTERS_MADE = 200_000, 2_000  # of the steps that make files
_EARLY = 6  # steps in which an agent says what it is about to do
_MOST_RESTATING = 3
_RESTATED = 0.7  # share of a goal's words that quotes must hold to prove it


class Run:
    """One trajectory with what the rules ask of it, each worked out once."""

    def __init__(self, trajectory: Trajectory, check: Check = unwatched) -> None:
        """`check` is asked now and then; what it raises ends the work."""
        self.check = seldom(check)
        self.trajectory = trajectory
        self.steps = trajectory.steps
        self.outcome = trajectory.outcome
        self.masker = Masker(trajectory, self.check)
        self.actions = [step for step in self.steps if step.tool and not is_thinking(step)]
        self._failed = {step.number: self._judged(step) for step in self.steps}
        self._proves: dict[int, bool] = {}
        self.flagged = set(flagged_steps(trajectory, self.check))
        self._place = {step.number: place for place, step in enumerate(self.actions)}
        self._signatures = {step.number: self._signed(step) for step in self.actions}

    def _judged(self, step: Step) -> bool:
        self.check()
        return step.is_error or result_failed(step.result, reading=is_reading(step.tool, command_of(step)))

    def _signed(self, step: Step) -> frozenset[str]:
        self.check()
        return signature(step)

    @property
    def last_number(self) -> int:
        """Of the last step, above all others; 0 where there is none."""
        return self.steps[-1].number if self.steps else 0

    def failed(self, step: Step) -> bool:
        return self._failed[step.number]

    def signature(self, step: Step) -> frozenset[str]:
        return self._signatures[step.number]

    def proves(self, action: Step) -> bool:
        """Whether an action changed nothing and says in so many words that it worked."""
        known = self._proves.get(action.number)
        if known is None:
            self.check()
            known = self._proves[action.number] = not change_strength(action) and result_worked(action.result)
        return known

    def after(self, action: Step) -> list[Step]:
        """The actions that follow an action."""
        return self.actions[self._place[action.number] + 1 :]

    @cached_property
    def changes(self) -> list[Step]:
        """The actions that changed something and did not fail, in order; to throw away what the run itself
        made, a script to reproduce an error, changes nothing."""
        changes: list[Step] = []
        made = ""
        for step in self.actions:
            command = command_of(step)
            removed = removed_names(command)
            litter = bool(removed) and all(name in made for name in removed)
            if not self.failed(step) and change_strength(step) > 0 and not litter:
                changes.append(step)
            if makes_file(step) and len(made) < _MOST_MADE:
                made += f" {command or step.arguments}"[:_CHARACTERS_MADE]
        return changes

    def changes_between(self, after: int, before: int) -> list[Step]:
        """The changes with numbers above `after` and below `before`."""
        numbers = [step.number for step in self.changes]
        return self.changes[bisect_right(numbers, after) : bisect_left(numbers, before)]

    @cached_property
    def goal(self) -> str:
        """What was asked, without the prompt's boilerplate; the first request where no goal was given."""
        goal = self.trajectory.goal
        if not goal.strip():
            goal = next(
                (step.text for step in self.steps if step.role is Role.USER and step.text.strip()), ""
            )
        goal = window(goal)
        for pattern in _BOILERPLATE:
            goal = pattern.sub("", goal)
        return goal.strip()

    @cached_property
    def chinese(self) -> bool:
        said = " ".join(step.text[:500] for step in self.steps if step.role in (Role.USER, Role.AGENT))
        return is_chinese(self.goal) if self.goal else is_chinese(said)

    @cached_property
    def tools_used(self) -> list[str]:
        return list(dict.fromkeys(step.tool for step in self.steps if step.tool))

    def said(self, step: Step) -> list[str]:
        """The sentences an agent said in a step, thoughts written through a thinking tool included."""
        self.check()
        if step.role is not Role.AGENT:
            return []
        found = sentences(step.text)
        if is_thinking(step):
            for value in step.arguments.values():
                found += sentences(value) if isinstance(value, str) else []
        return found

    def pieces_said(self, steps: list[Step]) -> list[Piece]:
        return [
            Piece(part, step.number)
            for step in steps
            for sentence in self.said(step)
            for part in cause_and_fix(sentence)
        ]

    @cached_property
    def final_step(self) -> Step | None:
        """The last step in which the agent says something of substance."""
        for step in reversed(self.steps):
            if any(not is_courtesy(sentence) for sentence in self.said(step)):
                return step
        return None

    @cached_property
    def answer_step(self) -> Step | None:
        return next((step for step in reversed(self.actions) if is_answer(step)), None)

    def goal_pieces(self, words: int) -> list[Piece]:
        """The goal's first sentences, with the steps in which its words stand."""
        chosen: list[Piece] = []
        left = float(words)
        for sentence in sentences(self.goal):
            if _HEADING.match(sentence) or sentence.startswith("http") or left < 3:
                continue
            shown = cut(sentence, left)
            # A cut-off sentence after whole ones says less than it costs.
            if chosen and shown != sentence:
                break
            chosen.append(Piece(shown, None, self._where_said(shown)))
            left -= word_count(shown)
        if chosen and not any(piece.quotes for piece in chosen):
            chosen[0].quotes = self._restated(" ".join(piece.text for piece in chosen))
        return chosen

    def _where_said(self, text: str) -> list[tuple[int, str]]:
        return next(([(step.number, text)] for step in self.steps if text in step.text), [])

    def _restated(self, text: str) -> list[tuple[int, str]]:
        """Early sentences that together say most of a goal in other words; none where they do not."""
        missing = wanted = content_words(text)
        said = [
            (content_words(shown), step.number, shown)
            for step in self.steps[:_EARLY]
            if step.role in (Role.AGENT, Role.USER)
            for sentence in sentences(step.text)
            if (shown := cut(sentence, 40))
        ]
        quotes: list[tuple[int, str]] = []
        while said and len(quotes) < _MOST_RESTATING:
            words, number, shown = max(said, key=lambda entry: (len(missing & entry[0]), -entry[1]))
            if len(missing & words) < min(2, len(wanted)):
                break
            quotes.append((number, shown))
            missing = missing - words
        return sorted(quotes) if len(missing) <= (1 - _RESTATED) * len(wanted) else []

    def tags(self, steps: list[Step], text: str) -> list[str]:
        """Error codes and programs of some steps, at most eight; words of no language."""
        codes = error_codes(text) + [
            c for step in steps if self.failed(step) for c in error_codes(step.result)
        ]
        programs = [name for step in steps if (name := program(command_of(step)))]
        found = list(dict.fromkeys([*codes, *programs, *(step.tool for step in steps if step.tool)]))
        return [tag for tag in found if len(tag) <= 40 and self.masker.mask(tag) == tag][:8]


def numbered(trajectory: Trajectory) -> Trajectory:
    """Steps with the numbers they have, which may leave gaps, or 1, 2, … where those do not rise from step to
    step."""
    if rising(step.number for step in trajectory.steps):
        return trajectory
    return replace(
        trajectory, steps=[replace(step, number=n) for n, step in enumerate(trajectory.steps, start=1)]
    )


def program(command: str) -> str:
    """The program a shell command runs: ``docker`` in ``cd web && docker compose up``."""
    last = re.split(r"&&|;", command.strip().split("\n", 1)[0])[-1].strip()
    words = [word for word in last.split() if not re.match(r"\w+=", word) and word != "sudo"]
    return words[0] if words and re.fullmatch(r"[A-Za-z][\w.+-]{0,23}", words[0]) else ""


def content_words(text: str) -> set[str]:
    """Words that carry meaning, and pairs of Han characters, to compare two texts."""
    words = {word.casefold() for word in _WORD.findall(text)} - _STOP
    han = CJK.findall(text)
    return words | {a + b for a, b in pairwise(han)}


def is_success(outcome: Outcome) -> bool:
    return outcome in (Outcome.SUCCESS, Outcome.PARTIAL)

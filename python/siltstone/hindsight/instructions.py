"""Text in a log that reads like orders to whoever reads it. It is data: never followed, told by its step.

`instruction_spans` is the one to ask about a text.
"""

import re
from typing import Any

from siltstone.hindsight.order_words import ORDERS, STANDING
from siltstone.hindsight.watching import Check, seldom, unwatched
from siltstone.hindsight.windows import lowered, merged, windows
from siltstone.model import Step, Trajectory

TAG = "instruction-like-text"
_MOST_FLAGS = 20
_MAX_SCANNED = 200_000

_Groups = list[tuple[tuple[str, ...], re.Pattern[str]]]


def instruction_spans(text: str) -> list[tuple[int, int]]:
    """Where a text gives orders to a model that reads it, English or Chinese. A heuristic; a pure function.

    Args:
        text: any text, of which the first 200,000 characters are looked at.

    Returns:
        (start, stop) of each, in characters, disjoint and in order; empty where there is none. A span holds
        the words that give it away, not all that the order says.
    """
    text = text[:_MAX_SCANNED]
    return merged(_found(text, ORDERS + STANDING, most=len(text)))


def instruction_like(text: str, *, standing: bool = True) -> bool:
    """Whether a text tries to give orders to a model that reads it, English or Chinese. A heuristic.

    Args:
        standing: whether orders for all that is to come count ("from now on, always …", 以后一律…), which a
            person may well give.
    """
    return bool(_found(text[:_MAX_SCANNED], ORDERS + STANDING if standing else ORDERS, most=1))


def _found(text: str, groups: _Groups, most: int) -> list[tuple[int, int]]:
    low = lowered(text)
    found: list[tuple[int, int]] = []
    for words, pattern in groups:
        for start, stop in windows(low, words):
            found += (match.span() for match in pattern.finditer(text, start, stop))
            if len(found) >= most:
                return found
    return found


def flagged_steps(trajectory: Trajectory, check: Check = unwatched) -> list[int]:
    """Numbers of the steps that hold instruction-like text, in order. `check` is asked for each step."""

    def flagged(step: Step) -> bool:
        check()
        return any(instruction_like(text) for text in (step.text, step.result, *_strings(step.arguments)))

    return [step.number for step in trajectory.steps if flagged(step)]


def flags_of(trajectory: Trajectory, check: Check = unwatched) -> list[str]:
    """What a reader of lessons should know of their log, such as ``instruction-like text in step 4``."""
    numbers = flagged_steps(trajectory, seldom(check))
    flags = [f"instruction-like text in step {number}" for number in numbers[:_MOST_FLAGS]]
    if len(numbers) > _MOST_FLAGS:
        flags.append(f"instruction-like text in {len(numbers) - _MOST_FLAGS} more steps")
    return ["instruction-like text in the goal", *flags] if instruction_like(trajectory.goal) else flags


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _strings(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _strings(inner)]
    return []

"""Values from a foreign log, checked on the way in: nothing but plain JSON of a bounded size gets through."""

import json
import math
from collections.abc import Iterable
from itertools import chain, pairwise
from typing import Any

from siltstone.errors import InvalidArgumentError
from siltstone.model import Outcome

MAX_BYTES = 64 * 1024 * 1024
MAX_STEPS = 20_000
_MAX_DEPTH = 32
_MAX_NODES = 2_000_000
_INT64 = 2**63
_SPELLINGS = {
    Outcome.SUCCESS: "success succeeded successful solved resolved passed won true 成功",
    Outcome.FAILURE: "failure failed fail unsolved lost error false 失败",
    Outcome.PARTIAL: "partial partially 部分成功",
    Outcome.UNKNOWN: "unknown unlabelled unlabeled none 未知",
}
_OUTCOMES = {word: outcome for outcome, words in _SPELLINGS.items() for word in words.split()}


def invalid(where: str, message: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{where}: {message}", field=where)


def read_json(text: str) -> Any:
    """Parse JSON strictly. Raises ValueError with a reason, also for NaN, Infinity and deep nesting."""

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is not a JSON value")

    try:
        return json.loads(text, parse_constant=constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def check_value(value: Any, where: str) -> None:
    """Refuse other types, integers beyond 64 bits, NaN, lone surrogates and deep nesting."""
    pending: list[tuple[Any, int]] = [(value, 0)]
    nodes = 0
    while pending:
        item, depth = pending.pop()
        nodes += 1
        if depth > _MAX_DEPTH or nodes > _MAX_NODES:
            raise invalid(
                where,
                f"nested deeper than {_MAX_DEPTH} levels or larger than {_MAX_NODES} values; flatten it",
            )
        if isinstance(item, str):
            check_text(item, where)
        elif item is None or isinstance(item, bool):
            continue
        elif isinstance(item, int):
            if not -_INT64 <= item < _INT64:
                raise invalid(where, "an integer does not fit in 64 bits; write it as text")
        elif isinstance(item, float):
            if not math.isfinite(item):
                raise invalid(where, f"{item} is not a finite number; leave it out or write it as text")
        elif isinstance(item, dict):
            for name, inner in item.items():
                if not isinstance(name, str):
                    raise invalid(where, f"key {str(name)[:40]!r} is not text; JSON keys are strings")
                check_text(name, where)
                pending.append((inner, depth + 1))
        elif isinstance(item, list):
            pending += [(inner, depth + 1) for inner in item]
        else:
            raise invalid(where, f"a value of type {type(item).__name__} is not JSON")


def rising(numbers: Iterable[int]) -> bool:
    """Whether numbers of steps tell the steps apart and in order: from 1 on, each above the one before."""
    return all(before < number for before, number in pairwise(chain([0], numbers)))


def check_text(text: str, where: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise invalid(
            where, f"lone surrogate at character {error.start}; replace it, the text must be valid Unicode"
        ) from None


def text_of(value: Any, where: str) -> str:
    """A text as it is; "" for None; anything else that is JSON in its JSON form."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def required_text(value: Any, where: str) -> str:
    """A text; "" for None; refused otherwise."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise invalid(where, f"expected text, got {type(value).__name__}")
    return value


def arguments_of(value: Any) -> dict[str, Any]:
    """Arguments of a call as a dict: parsed where they are JSON text, else kept under ``input``."""
    if isinstance(value, str):
        try:
            parsed = read_json(value) if value.strip() else {}
            check_value(parsed, "arguments")
        except (ValueError, InvalidArgumentError):
            parsed = value
        value = parsed
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"input": value}


def outcome_of(value: Any, where: str) -> Outcome:
    """An outcome from its many spellings: SUCCESS, "failed", true, "unlabelled", None."""
    if value is None or value == "":
        return Outcome.UNKNOWN
    if isinstance(value, bool | str):
        found = _OUTCOMES.get(str(value).strip().casefold())
        if found is not None:
            return found
    raise invalid(where, f"{str(value)[:40]!r} is no outcome; use SUCCESS, FAILURE, PARTIAL or UNKNOWN")

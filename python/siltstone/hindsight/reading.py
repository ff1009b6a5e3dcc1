"""Reading a log: its format is found from the data itself, lines are read one by one."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain, islice
from typing import Any

from siltstone.errors import InvalidArgumentError
from siltstone.hindsight.adapters import KNOWN, Log, Skipped, adapter_of, holds_a_run, log_of
from siltstone.hindsight.adapters.mcp_calls import MARKDOWN_START, read_markdown
from siltstone.hindsight.extraction import observed_outcome
from siltstone.hindsight.untrusted import MAX_BYTES, check_text, check_value, invalid, outcome_of, read_json
from siltstone.hindsight.watching import Check, seldom, unwatched
from siltstone.model import Outcome, Role, Trajectory

_HEAD = 50  # lines that are looked at to tell the format


@dataclass(slots=True)
class Reading:
    """A trajectory, and what of its log could not be read (as ``line 17: not JSON: …``).

    `skipped` names the first 100 places, `skipped_count` counts all.
    """

    trajectory: Trajectory
    skipped: list[str] = field(default_factory=list)
    skipped_count: int = 0


def read_trajectory(
    source: object,
    *,
    goal: str = "",
    outcome: Outcome | None = None,
    check: Check = unwatched,
) -> Reading:
    """Turn a log into a trajectory.

    Args:
        source: a dict, a list of messages or steps, text or UTF-8 bytes holding JSON or JSONL (at most
            64 MiB), or an iterator over the lines of a file as text or bytes, which may be larger: it is
            read line by line and only its steps are kept. Never a path. At most 20,000 steps.
        goal: what the run was for; by default what the log says, or its first user message.
        outcome: how it ended; by default what the log says, else what can be seen in it, else UNKNOWN.
        check: asked now and then; what it raises ends the reading.

    Raises:
        InvalidArgumentError: an unknown format, nothing readable, or a malformed entry, naming the place.
            A broken line of JSONL is skipped and reported instead.
    """
    if not isinstance(goal, str):
        raise invalid("goal", f"expected text, got {type(goal).__name__}")
    check_text(goal, "goal")
    skipped, check = Skipped(), seldom(check)
    log = _log(source, skipped)
    adapter = adapter_of(log) if log is not None else None
    if log is None or adapter is None:
        value = source if log is None else log.row or (log.head[0] if len(log.head) == 1 else log.head)
        raise invalid("source", f"not a known format; it is {_kind(value)}. Known formats: {KNOWN}")
    log.skipped, log.check = skipped, check
    found = adapter.read(log)
    trajectory = Trajectory(
        goal=found.goal,
        outcome=found.outcome or Outcome.UNKNOWN,
        steps=found.steps,
        id=found.id,
        task_type=found.task_type,
        format=adapter.name,
    )
    if not trajectory.steps and not trajectory.goal.strip():
        why = f" ({skipped.places[0]})" if skipped.places else ""
        raise invalid("source", f"nothing readable in it{why}; known formats: {KNOWN}")
    if goal.strip():
        trajectory.goal = goal
    if not trajectory.goal.strip():
        asked = (s.text for s in trajectory.steps if s.role is Role.USER and s.text.strip())
        trajectory.goal = next(asked, "")
    if outcome is not None:
        trajectory.outcome = outcome_of(outcome, "outcome")
    elif found.outcome is None:
        trajectory.outcome = observed_outcome(trajectory, check)
    return Reading(trajectory, skipped.told(), skipped.count)


def _log(source: object, skipped: Skipped) -> Log | None:
    if isinstance(source, bytes | bytearray):
        return _log_of_text(bytes(source), skipped)
    if isinstance(source, str):
        return _log_of_text(source, skipped)
    if isinstance(source, Iterator):
        return _log_of_lines(source, skipped, whole=None)
    _refuse_several(source)
    return log_of(source, _HEAD)


def _log_of_text(text: str | bytes, skipped: Skipped) -> Log | None:
    unit = "bytes" if isinstance(text, bytes) else "characters"
    if len(text) > MAX_BYTES:
        raise invalid("source", f"{len(text)} {unit}, at most {MAX_BYTES}; split the log")
    if not text.strip():
        raise invalid("source", f"empty; known formats: {KNOWN}")
    lines: Iterator[Any] = BytesIO(text) if isinstance(text, bytes) else _lines(text)
    return _log_of_lines(lines, skipped, whole=text)


def _log_of_lines(lines: Iterator[Any], skipped: Skipped, *, whole: str | bytes | None) -> Log | None:
    """JSONL where its first line is a JSON value and another follows, Markdown, or else one JSON value."""
    numbered = enumerate(lines, start=1)
    number, line = next(((n, line) for n, line in numbered if not _is_blank(line, n)), (0, None))
    if line is None:
        raise invalid("source", f"empty; known formats: {KNOWN}")
    if whole is None and len(line) > MAX_BYTES:
        raise invalid("source", f"line {number} has more than {MAX_BYTES} bytes; write it as JSONL")
    text = _decoded(line, f"line {number}" if whole is None else "source").removeprefix("\ufeff")
    if text.startswith(MARKDOWN_START):
        rest = (_decoded(line, f"line {n}") for n, line in numbered)
        return _log_of_entries(read_markdown(chain([text], rest), skipped))
    try:
        value = read_json(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return _log_of_jsonl(chain([(number, text)], numbered), skipped)
    if whole is None:
        whole = _gathered(chain([line], (line for _, line in numbered)))
    decoded = _decoded(whole, "source").removeprefix("\ufeff")
    try:
        value = read_json(decoded)
    except ValueError as error:
        log = _log_of_jsonl(enumerate(_lines(decoded), start=1), skipped)
        if log is None:
            reason = f"neither JSON nor JSONL ({error}); known formats: {KNOWN}"
            raise invalid("source", reason) from None
        return log
    _refuse_several(value)
    return log_of(value, _HEAD)


def _lines(text: str) -> Iterator[str]:
    """Lines by their line feeds alone: a JSON text may hold other separators. No copy of the whole."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _gathered(lines: Iterable[Any]) -> str | bytes:
    kept: list[Any] = []
    size = 0
    for line in lines:
        size += len(line)
        if size > MAX_BYTES:
            raise invalid("source", f"one JSON value of more than {MAX_BYTES} bytes; write it as JSONL")
        kept.append(line)
    return (b"" if isinstance(kept[0], bytes) else "").join(kept)


def _log_of_entries(values: Iterator[Any]) -> Log | None:
    head = list(islice(values, _HEAD))
    if not head:
        return None
    _refuse_several(head, values)
    return Log({}, "", head, values) if len(head) > 1 else log_of(head[0], _HEAD)


def _log_of_jsonl(lines: Iterable[tuple[int, Any]], skipped: Skipped) -> Log | None:
    numbers: deque[int] = deque()
    log = _log_of_entries(_values(lines, skipped, numbers))
    if log is not None and not log.key:  # else it is one object over a single line
        log.lines = numbers
    return log


def _values(
    lines: Iterable[tuple[int, Any]], skipped: Skipped, numbers: deque[int]
) -> Iterator[dict[str, Any]]:
    """The objects of JSONL, their lines' numbers in `numbers`; a broken line is reported with its own."""
    for number, line in lines:
        if _is_blank(line, number):
            continue
        try:
            if len(line) > MAX_BYTES:
                raise ValueError(f"more than {MAX_BYTES} bytes")
            value = read_json(_decoded(line, f"line {number}"))
            if not isinstance(value, dict):
                raise ValueError(f"expected an object, got {_kind(value)}")
            check_value(value, f"line {number}")
        except (ValueError, InvalidArgumentError) as error:
            text = (
                error.message
                if isinstance(error, InvalidArgumentError)
                else f"line {number}: not JSON: {error}"
            )
            skipped.add(text)
            continue
        numbers.append(number)
        yield value


def _is_blank(line: Any, number: int) -> bool:
    if not isinstance(line, str | bytes | bytearray):
        raise invalid(f"line {number}", f"expected text or bytes, got {_kind(line)}; give entries as a list")
    return not line.strip()


def _decoded(data: str | bytes | bytearray, where: str) -> str:
    if isinstance(data, str):
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise invalid(where, f"not UTF-8 at byte {error.start}; convert it to UTF-8") from None


def _refuse_several(values: Any, more: Iterable[Any] = ()) -> None:
    if isinstance(values, list) and len(values) > 1:
        first = next((value for value in values if isinstance(value, dict)), None)
        if holds_a_run(first):
            count = len(values) + sum(1 for _ in more)
            raise invalid("source", f"holds {count} trajectories; give one at a time")


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(str(key)[:30] for key in list(value)[:8])
        return f"an object with {keys}" if keys else "an empty object"
    if isinstance(value, list):
        if not value:
            return "an empty list"
        names = ", ".join(str(key)[:30] for key in list(value[0])[:8]) if isinstance(value[0], dict) else ""
        return f"a list of {type(value[0]).__name__}" + (f", the first with {names}" if names else "")
    return f"a {type(value).__name__}"


__all__ = ["InvalidArgumentError", "Reading", "read_trajectory"]

"""Reading a log: its format is found from the data itself."""

from dataclasses import dataclass, field
from typing import Any

from siltstone.errors import InvalidArgumentError
from siltstone.hindsight import agent_runs, openai_messages, own_format
from siltstone.hindsight.extraction import observed_outcome
from siltstone.hindsight.untrusted import (
    MAX_BYTES,
    MAX_STEPS,
    check_text,
    check_value,
    invalid,
    outcome_of,
    read_json,
    required_text,
)
from siltstone.model import Outcome, Role, Step, Trajectory

_KNOWN = (
    'OpenAI chat messages (a list of {role, content}, or {"goal", "messages"}), '
    'agent runs ({"task", "steps": [{thought, action, observation}]}), '
    'Siltstone\'s own trajectories ({"goal", "steps": [{role, text, tool, arguments, result}]}), '
    "each as JSON or with one message or step a line (JSONL)"
)
_MOST_REPORTED = 100


@dataclass(slots=True)
class Reading:
    """A trajectory, and what of its log could not be read (as ``line 17: not JSON: …``)."""

    trajectory: Trajectory
    skipped: list[str] = field(default_factory=list)


def read_trajectory(source: object, *, goal: str = "", outcome: Outcome | None = None) -> Reading:
    """Turn a log into a trajectory.

    Args:
        source: a dict, a list of messages or steps, or text or UTF-8 bytes holding JSON or JSONL. Never a
            path. At most 64 MiB as text and 20,000 steps.
        goal: what the run was for; by default what the log says, or its first user message.
        outcome: how it ended; by default what the log says, else what can be seen in it, else UNKNOWN.

    Raises:
        InvalidArgumentError: an unknown format, nothing readable, or a malformed entry, naming the place.
            A broken line of JSONL is skipped and reported instead.
    """
    if not isinstance(goal, str):
        raise invalid("goal", f"expected text, got {type(goal).__name__}")
    check_text(goal, "goal")
    skipped: list[str] = []
    if isinstance(source, bytes | bytearray):
        source = _decoded(bytes(source))
    value = _parsed(source, skipped) if isinstance(source, str) else source
    row = _as_row(value)
    _check_parts(row)
    trajectory = _trajectory(row, skipped)
    if goal.strip():
        trajectory.goal = goal
    if not trajectory.goal.strip():
        trajectory.goal = next(
            (s.text for s in trajectory.steps if s.role is Role.USER and s.text.strip()), ""
        )
    if outcome is not None:
        trajectory.outcome = outcome_of(outcome, "outcome")
    elif row.get("outcome") is None:
        trajectory.outcome = observed_outcome(trajectory)
    return Reading(trajectory, _bounded(skipped))


def _decoded(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise invalid("source", f"{len(data)} bytes, at most {MAX_BYTES}; split the log")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid("source", f"not UTF-8 at byte {error.start}; convert it to UTF-8") from None


def _parsed(text: str, skipped: list[str]) -> Any:
    if len(text) > MAX_BYTES:
        raise invalid("source", f"{len(text)} characters, at most {MAX_BYTES}; split the log")
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise invalid("source", f"empty; known formats: {_KNOWN}")
    try:
        return read_json(text)
    except ValueError as error:
        whole = str(error)
    values: list[Any] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = read_json(line)
            if not isinstance(value, dict):
                raise ValueError(f"expected an object, got {_kind(value)}")
            values.append(value)
        except ValueError as error:
            skipped.append(f"line {number}: not JSON: {error}"[:300])
    if not values:
        raise invalid("source", f"neither JSON nor JSONL ({whole}); known formats: {_KNOWN}"[:900])
    return values[0] if len(values) == 1 else values


def _as_row(value: Any) -> dict[str, Any]:
    """Every format as one object that holds messages or steps."""
    if isinstance(value, dict):
        if openai_messages.is_message(value):
            return {"messages": [value]}
        if not isinstance(value.get("steps", value.get("trajectory")), list) and agent_runs.is_run_step(
            value
        ):
            return {"steps": [value]}
        if any(isinstance(value.get(key), list) for key in ("messages", "steps", "trajectory")):
            return value
    if isinstance(value, list) and value:
        first = next((item for item in value if isinstance(item, dict)), None)
        if first is not None and any(isinstance(first.get(key), list) for key in ("messages", "steps")):
            if len(value) == 1:
                return first
            raise invalid("source", f"holds {len(value)} trajectories; give one at a time")
        if (
            first is not None
            and "role" in first
            and not (agent_runs.is_run_step(first) or own_format.is_own_step(first))
        ):
            return {"messages": value}
        if agent_runs.is_run_step(first) or own_format.is_own_step(first):
            return {"steps": value}
    raise invalid("source", f"not a known format; it is {_kind(value)}. Known formats: {_KNOWN}")


def _check_parts(row: dict[str, Any]) -> None:
    for key, value in row.items():
        where = key if isinstance(key, str) else "source"
        if where in ("messages", "steps", "trajectory") and isinstance(value, list):
            if len(value) > MAX_STEPS:
                raise invalid(where, f"{len(value)} entries, at most {MAX_STEPS}; split the run")
            for index, entry in enumerate(value):
                check_value(entry, f"{where}[{index}]")
        else:
            check_value({key: value}, where)


def _trajectory(row: dict[str, Any], skipped: list[str]) -> Trajectory:
    steps: list[Step]
    if isinstance(row.get("messages"), list):
        steps, unread = openai_messages.read_messages(row["messages"])
        skipped += unread
        name = openai_messages.NAME
    else:
        entries = row.get("steps", row.get("trajectory"))
        own = (
            isinstance(entries, list)
            and bool(entries)
            and not any(agent_runs.is_run_step(e) for e in entries)
        )
        if own or (not entries and "task" not in row):
            steps, name = own_format.read_own_steps(entries or []), own_format.NAME
        else:
            steps, name = agent_runs.read_run(row), agent_runs.NAME
    goal = agent_runs.goal_of(row)
    if not steps and not goal.strip():
        raise invalid("source", f"nothing readable in it; known formats: {_KNOWN}")
    return Trajectory(
        goal=goal,
        outcome=outcome_of(row.get("outcome"), "outcome"),
        steps=steps,
        id=_identifier(row.get("id")),
        task_type=agent_runs.task_type_of(row),
        format=name,
    )


def _identifier(value: Any) -> str:
    return (
        str(value) if isinstance(value, int) and not isinstance(value, bool) else required_text(value, "id")
    )


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(str(key)[:30] for key in list(value)[:8])
        return f"an object with {keys}" if keys else "an empty object"
    if isinstance(value, list):
        return f"a list of {type(value[0]).__name__}" if value else "an empty list"
    return f"a {type(value).__name__}"


def _bounded(skipped: list[str]) -> list[str]:
    if len(skipped) <= _MOST_REPORTED:
        return skipped
    return [*skipped[:_MOST_REPORTED], f"… and {len(skipped) - _MOST_REPORTED} more"]


__all__ = ["InvalidArgumentError", "Reading", "read_trajectory"]

"""Adapter: Siltstone's own trajectories, JSON with the field names of `Trajectory` and `Step`."""

from datetime import UTC, datetime
from typing import Any

from siltstone.hindsight.actions import command_of
from siltstone.hindsight.adapters.agent_runs import goal_of, id_of, is_run_step, task_type_of
from siltstone.hindsight.adapters.log import Adapter, Found, Log
from siltstone.hindsight.failure import is_reading, result_failed
from siltstone.hindsight.untrusted import arguments_of, invalid, outcome_of, required_text, rising
from siltstone.model import Role, Step

NAME = "siltstone"
_FIELDS = {"number", "role", "text", "tool", "arguments", "result", "is_error", "time", "remember"}


def is_own_step(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool({"text", "tool", "result"} & value.keys())
        and value.keys() <= _FIELDS
    )


def _matches(log: Log) -> bool:
    if log.key in ("steps", "trajectory"):
        return not any(is_run_step(entry) for entry in log.dicts())
    return log.key == "" and any(is_own_step(entry) for entry in log.head[:1])


def _read(log: Log) -> Found:
    row = log.row
    return Found(
        _steps(log),
        goal=goal_of(row),
        outcome=outcome_of(row["outcome"], "outcome") if row.get("outcome") is not None else None,
        id=id_of(row),
        task_type=task_type_of(row),
    )


def _steps(log: Log) -> list[Step]:
    """Steps as they were written, with their numbers where those rise; an absent `is_error` is judged."""
    steps: list[Step] = []
    for where, entry in log.values("steps"):
        with log.entry():
            if not is_own_step(entry):
                unknown = (
                    sorted(str(key)[:40] for key in entry.keys() - _FIELDS) if isinstance(entry, dict) else []
                )
                what = f"unknown fields {', '.join(unknown)}" if unknown else "expected text, tool or result"
                raise invalid(where, f"{what}; a step has {', '.join(sorted(_FIELDS))}")
            name = entry.get("role") or "AGENT"
            if not isinstance(name, str) or name.upper() not in Role.__members__:
                raise invalid(f"{where}.role", f"{str(name)[:40]!r} is none of {', '.join(Role)}")
            step = Step(
                number=_number(entry.get("number"), f"{where}.number"),
                role=Role[name.upper()],
                text=required_text(entry.get("text"), f"{where}.text"),
                tool=required_text(entry.get("tool"), f"{where}.tool"),
                arguments=arguments_of(entry.get("arguments")),
                result=required_text(entry.get("result"), f"{where}.result"),
                time=_time(entry.get("time"), f"{where}.time"),
            )
            given = entry.get("is_error")
            if given is not None and not isinstance(given, bool):
                raise invalid(f"{where}.is_error", f"expected true or false, got {type(given).__name__}")
            remember = entry.get("remember", False)
            if not isinstance(remember, bool):
                raise invalid(f"{where}.remember", f"expected true or false, got {type(remember).__name__}")
            step.remember = remember
            judged = result_failed(step.result, reading=is_reading(step.tool, command_of(step)))
            step.is_error = judged if given is None else given
            steps.append(step)
    if not rising([step.number for step in steps]):
        for number, step in enumerate(steps, start=1):
            step.number = number
    return steps


def _number(value: Any, where: str) -> int:
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise invalid(where, f"expected a whole number, got {str(value)[:40]!r}")
    return value


def _time(value: Any, where: str) -> datetime | None:
    if value is None or value == "":
        return None
    try:
        time = datetime.fromisoformat(required_text(value, where))
        return (time.replace(tzinfo=UTC) if time.tzinfo is None else time).astimezone(UTC)
    except (ValueError, OverflowError):
        raise invalid(
            where, f"{str(value)[:40]!r} is no RFC 3339 time such as 2026-01-31T12:00:00Z"
        ) from None


ADAPTER = Adapter(
    NAME,
    'Siltstone\'s own trajectories ({"goal", "steps": [{role, text, tool, arguments, result}]})',
    _matches,
    _read,
)

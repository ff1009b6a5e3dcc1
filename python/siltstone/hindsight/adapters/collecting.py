"""Steps as they are collected from a log: a call and what it gave become one."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from siltstone.hindsight.actions import command_of
from siltstone.hindsight.failure import is_reading, result_failed
from siltstone.hindsight.untrusted import MAX_STEPS, invalid
from siltstone.model import Role, Step

_MILLISECONDS = 10**11  # an epoch time above it counts milliseconds


class StepCollector:
    """Collects the steps of one run in order."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._waiting: dict[str, Step] = {}

    def say(self, role: Role, text: str, *, time: datetime | None = None) -> None:
        """What somebody said; nothing for blank text."""
        if text.strip():
            self._add(Step(role=role, text=text, time=time))

    def call(
        self,
        key: str,
        tool: str,
        arguments: dict[str, Any],
        *,
        text: str = "",
        role: Role = Role.AGENT,
        time: datetime | None = None,
    ) -> Step:
        """A call of a tool; its answer comes under `key`."""
        step = Step(role=role, text=text, tool=tool, arguments=arguments, time=time)
        self._add(step)
        if key:
            self._waiting[key] = step
        return step

    def answer(
        self, key: str, result: str, *, failed: bool = False, tool: str = "", time: datetime | None = None
    ) -> Step:
        """What a call gave. An answer without its call is a step of the tool's own."""
        step = self._waiting.pop(key, None)
        if step is None:
            step = Step(role=Role.TOOL, tool=tool, time=time)
            self._add(step)
        step.result = result
        step.is_error = step.is_error or failed
        return step

    def waiting(self, key: str) -> Step | None:
        """The call that still waits for its answer under `key`."""
        return self._waiting.get(key)

    def finished(self) -> list[Step]:
        """All steps, numbered from 1; a result that says that it failed counts as failed."""
        for number, step in enumerate(self.steps, start=1):
            step.number = number
            step.is_error = step.is_error or result_failed(
                step.result, reading=is_reading(step.tool, command_of(step))
            )
        return self.steps

    def _add(self, step: Step) -> None:
        if len(self.steps) >= MAX_STEPS:
            raise invalid("source", f"more than {MAX_STEPS} steps; split the run")
        self.steps.append(step)


def time_of(value: Any) -> datetime | None:
    """A log's time: ISO 8601, or seconds or milliseconds since 1970; None for anything else."""
    try:
        if isinstance(value, str) and value:
            time = datetime.fromisoformat(value)
            return (time.replace(tzinfo=UTC) if time.tzinfo is None else time).astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def role_of(name: Any, roles: Mapping[str, Role], where: str) -> Role:
    """The role of that name, in capitals or not."""
    role = roles.get(name.casefold()) if isinstance(name, str) else None
    if name is None:
        raise invalid(where, f"is missing; give one of {', '.join(roles)}")
    if role is None:
        raise invalid(where, f"{str(name)[:40]!r} is none of {', '.join(roles)}")
    return role


def joined(*texts: str) -> str:
    """The texts that say something, one under the other."""
    return "\n".join(text for text in texts if text.strip())

"""Working memory: a task and its steps; and the trajectory that hindsight reads."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from siltstone.model.memory import Outcome


class TaskStatus(StrEnum):
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"


class Role(StrEnum):
    SYSTEM = "SYSTEM"
    USER = "USER"
    AGENT = "AGENT"
    TOOL = "TOOL"


@dataclass(slots=True, kw_only=True)
class Step:
    """One observation–action–result. An action and what it gave are one step."""

    number: int = 0  # from 1, set by the store or the adapter
    role: Role = Role.AGENT
    text: str = ""  # what was said or thought
    tool: str = ""  # the tool called; "" where none was
    arguments: dict[str, Any] = field(default_factory=dict)
    result: str = ""  # what the tool gave
    is_error: bool = False  # the result is a failure
    time: datetime | None = None


@dataclass(slots=True, kw_only=True)
class Trajectory:
    """An ordered run with its goal and outcome."""

    goal: str = ""
    outcome: Outcome = Outcome.UNKNOWN
    steps: list[Step] = field(default_factory=list)
    id: str = ""  # of the source, where it has one
    task_type: str = ""
    format: str = ""  # the adapter that read it


@dataclass(slots=True, kw_only=True)
class Task:
    """Working memory of one piece of work."""

    id: str = ""  # UUIDv7
    namespace: str = "default"
    goal: str = ""
    task_type: str = ""
    status: TaskStatus = TaskStatus.RUNNING
    outcome: Outcome = Outcome.UNKNOWN
    steps_done: list[str] = field(default_factory=list)
    current_hypothesis: str = ""
    pending: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    step_count: int = 0  # steps appended
    create_time: datetime | None = None
    update_time: datetime | None = None
    finish_time: datetime | None = None
    hindsight_job_id: str = ""
    revision: int = 0


@dataclass(slots=True, kw_only=True)
class RenderedTask:
    """A task as text for a prompt."""

    text: str
    tokens: int
    truncated: bool = False
    memory_ids: list[str] = field(default_factory=list)

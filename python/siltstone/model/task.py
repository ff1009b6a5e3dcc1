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
    remember: bool = False  # keep it as a memory


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
class DerivedState:
    """Where a task stands by its steps, as rules read them; lists are oldest first, texts cut short."""

    steps_done: list[str] = field(default_factory=list)
    dropped: int = 0  # earlier lines, or steps not looked at, that are not in steps_done any more
    findings: list[str] = field(default_factory=list)
    open_points: list[str] = field(default_factory=list)
    current_hypothesis: str = ""
    last_error: str = ""
    last_error_step: int = 0  # its number; 0: there was none


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
    step_tokens: int = 0  # tokens of them all
    create_time: datetime | None = None
    update_time: datetime | None = None
    finish_time: datetime | None = None
    principal: str = ""  # who opened it, and so made what hindsight keeps of it
    hindsight_job_id: str = ""  # the latest that looks back over it
    hindsight_every: int = 10  # steps after which it is looked back over while it runs; 0: never
    hindsight_steps: int = 0  # steps that the latest job looks at
    memory_ids: list[str] = field(default_factory=list)  # what hindsight kept of it
    compress_time: datetime | None = None  # when steps that nothing cites were dropped
    derived: DerivedState | None = None  # only in what GetTask returns
    revision: int = 0


@dataclass(slots=True, kw_only=True)
class RenderedTask:
    """A task as text for a prompt."""

    text: str
    tokens: int
    truncated: bool = False
    memory_ids: list[str] = field(default_factory=list)

"""What looking back over a trajectory gives."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from siltstone.model.memory import Lesson, Outcome, WriteReceipt


class JobState(StrEnum):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


# Of a job that has not come to an end.
OPEN_STATES = frozenset({JobState.QUEUED, JobState.RUNNING})


class JobTrigger(StrEnum):
    """Why a job looks back."""

    FINISH = "FINISH"  # the task ended
    TURNS = "TURNS"  # so many steps were added
    REMEMBER = "REMEMBER"  # a step asked for it
    IDLE = "IDLE"  # nothing was added for long
    REQUEST = "REQUEST"  # somebody asked


@dataclass(slots=True, kw_only=True)
class ExtractedLesson:
    """A lesson as the extractor found it, not yet a memory."""

    lesson: Lesson
    task_type: str = ""
    outcome: Outcome = Outcome.UNKNOWN
    tools_used: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    confidence: float = 0.5


@dataclass(slots=True, kw_only=True)
class Hindsight:
    """The lessons of one trajectory; receipts are empty after a dry run."""

    lessons: list[ExtractedLesson] = field(default_factory=list)
    receipts: list[WriteReceipt] = field(default_factory=list)
    summary: str = ""
    summary_tokens: int = 0
    outcome: Outcome = Outcome.UNKNOWN
    steps: int = 0
    format: str = ""  # the adapter that read it
    extractor: str = ""  # with its version
    skipped: list[str] = field(
        default_factory=list
    )  # the first 100 lines that could not be read, with numbers
    skipped_count: int = 0  # all of them
    flags: list[str] = field(default_factory=list)  # what to know: "instruction-like text in step 4"


@dataclass(slots=True, kw_only=True)
class HindsightJob:
    """Durable work of looking back over one task."""

    id: str = ""
    namespace: str = "default"
    task_id: str = ""
    trigger: JobTrigger = JobTrigger.FINISH
    state: JobState = JobState.QUEUED
    progress: float = 0.0  # share done, 0..1
    attempts: int = 0
    error: str = ""  # why the last try failed
    retry_time: datetime | None = None  # when it is tried again
    create_time: datetime | None = None
    update_time: datetime | None = None
    hindsight: Hindsight | None = None  # once DONE

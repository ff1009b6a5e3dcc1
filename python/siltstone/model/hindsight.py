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
    skipped: list[str] = field(default_factory=list)  # lines that could not be read, with their numbers
    flags: list[str] = field(default_factory=list)  # what to know: "instruction-like text in step 4"


@dataclass(slots=True, kw_only=True)
class HindsightJob:
    """Durable work of looking back over one finished task."""

    id: str = ""
    namespace: str = "default"
    task_id: str = ""
    state: JobState = JobState.QUEUED
    attempts: int = 0
    error: str = ""
    create_time: datetime | None = None
    update_time: datetime | None = None
    hindsight: Hindsight | None = None  # once DONE

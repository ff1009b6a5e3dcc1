"""A memory and what hangs on it. Times are aware datetimes in UTC with microseconds."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

AttributeValue = str | float | bool | datetime


class MemoryType(StrEnum):
    SEMANTIC = "SEMANTIC"  # what is so
    EPISODIC = "EPISODIC"  # what happened
    PROCEDURAL = "PROCEDURAL"  # how to do it


class Verification(StrEnum):
    PENDING = "PENDING"
    CONFIRMED = "CONFIRMED"
    REFUTED = "REFUTED"


class Outcome(StrEnum):
    """How a task ended. ``UNKNOWN`` where nothing tells it."""

    UNKNOWN = "UNKNOWN"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    PARTIAL = "PARTIAL"


class OnDuplicate(StrEnum):
    MERGE = "MERGE"  # update the memory that already says it
    KEEP = "KEEP"  # always a new memory
    REJECT = "REJECT"  # AlreadyExistsError


class OnTooLong(StrEnum):
    REFUSE = "REFUSE"  # InvalidArgumentError
    COMPRESS = "COMPRESS"  # keep the sentences that matter most, down to the cap


class Action(StrEnum):
    """What a write did."""

    CREATED = "CREATED"
    MERGED = "MERGED"  # an older memory said the same and was updated
    UNCHANGED = "UNCHANGED"  # an older memory says it already, from the same evidence
    SUPERSEDED = "SUPERSEDED"  # created, and it replaced the related memories
    CONFLICT = "CONFLICT"  # created, and it contradicts the related memories


class Verdict(StrEnum):
    CONFIRM = "CONFIRM"
    REFUTE = "REFUTE"
    WORKED = "WORKED"
    FAILED = "FAILED"
    REACHED = "REACHED"  # a task came to the same unaided; in evidence only, never in a request


class ForgetMode(StrEnum):
    INVALIDATE = "INVALIDATE"  # leaves every answer; undone by restore_memory
    ERASE = "ERASE"  # leaves no trace


@dataclass(slots=True, kw_only=True)
class LessonEvidence:
    """Which step proves a field of a lesson."""

    field: str  # problem | root_cause | solution
    step: int  # Step.number in the trajectory
    quote: str = ""  # the words in that step, verbatim


@dataclass(slots=True, kw_only=True)
class Lesson:
    """What a task taught. A field its log does not support stays empty."""

    problem: str = ""
    root_cause: str = ""
    solution: str = ""
    evidence: list[LessonEvidence] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Source:
    """Where a memory came from."""

    task_id: str = ""
    trajectory: str = ""  # digest of the trajectory: the same one twice is one evidence
    steps: list[int] = field(default_factory=list)
    writer: str = ""  # who wrote it: a program or person, as given
    extractor: str = ""  # what made the lesson, with its version: "rules/1"
    principal: str = ""  # who wrote it, as the service knew the caller; what a writer gives is ignored


@dataclass(slots=True, kw_only=True)
class Evidence:
    """One observation that counts for or against a memory."""

    verdict: Verdict
    time: datetime
    task_id: str = ""
    trajectory: str = ""
    reviewer: str = ""
    note: str = ""


@dataclass(slots=True, kw_only=True)
class Memory:
    """One stored record."""

    id: str = ""  # UUIDv7, set by the store
    namespace: str = "default"
    memory_type: MemoryType = MemoryType.SEMANTIC
    content: str = ""  # verbatim, any language
    summary: str = ""  # at most 64 tokens
    task_type: str = ""
    outcome: Outcome = Outcome.UNKNOWN
    lesson: Lesson | None = None
    tags: list[str] = field(default_factory=list)
    tools_used: list[str] = field(default_factory=list)
    attributes: dict[str, AttributeValue] = field(default_factory=dict)
    confidence: float = 0.7  # 0..1
    verification: Verification = Verification.PENDING
    evidence: list[Evidence] = field(default_factory=list)
    create_time: datetime | None = None
    update_time: datetime | None = None
    event_time: datetime | None = None
    valid_until: datetime | None = None  # None: for ever
    invalidate_time: datetime | None = None  # set by forget(mode="INVALIDATE")
    superseded_by: str = ""
    supersedes: list[str] = field(default_factory=list)
    conflicts_with: list[str] = field(default_factory=list)
    sequence: str = ""  # the ordered run it belongs to: a chat session, a trajectory
    position: int | None = None  # its place in that sequence
    source: Source | None = None
    revision: int = 0  # counts changes of this memory, from 1
    embedding_model: str = ""
    embedding_dimension: int = 0
    original_bytes: int = 0  # of the content before it was compressed; 0: it is verbatim
    supersede_reason: str = ""  # why superseded_by is set
    # what a reader should know of the text: instruction-like-text, secret, personal-data
    flags: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class MemoryDraft:
    """What a writer gives; see `siltstone.Api.write` for each field."""

    content: str
    summary: str | None = None  # None: made from the content
    lesson: Lesson | None = None
    memory_type: MemoryType = MemoryType.SEMANTIC
    task_type: str = ""
    outcome: Outcome = Outcome.UNKNOWN
    tags: list[str] = field(default_factory=list)
    tools_used: list[str] = field(default_factory=list)
    attributes: dict[str, AttributeValue] = field(default_factory=dict)
    confidence: float | None = None  # None: 0.7
    event_time: datetime | None = None
    valid_until: datetime | None = None
    ttl: timedelta | None = None  # instead of valid_until: from the moment of the write
    supersedes: list[str] = field(default_factory=list)
    sequence: str = ""
    position: int | None = None
    source: Source | None = None
    vector: list[float] | None = None  # None: embedded by the service
    on_duplicate: OnDuplicate = OnDuplicate.MERGE
    on_too_long: OnTooLong = OnTooLong.REFUSE


@dataclass(slots=True, kw_only=True)
class Related:
    """A memory behind a receipt. ``similarity`` is the plain cosine, 0..1."""

    id: str
    relation: str  # merged | superseded | conflicts_with | duplicate
    similarity: float = 0.0
    reason: str = ""  # why, in words


@dataclass(slots=True, kw_only=True)
class WriteReceipt:
    action: Action
    memory: Memory
    related: list[Related] = field(default_factory=list)
    masked: list[str] = field(default_factory=list)  # what was kept out of the text: "content: phone number"


@dataclass(slots=True, kw_only=True)
class Revision:
    """A former state of a memory."""

    revision: int
    update_time: datetime
    reason: str  # merged | updated | superseded | invalidated | restored | verified
    memory: Memory


@dataclass(slots=True, kw_only=True)
class Trace:
    """How a memory came to be what it is.

    The newest 100 revisions, and 1,000 of each relation, at most 4 MiB of each; `truncated` when there is
    more. What a memory was before is told by `get` with `as_of`.
    """

    memory: Memory
    revisions: list[Revision] = field(default_factory=list)  # oldest first
    superseded: list[Memory] = field(default_factory=list)  # what it replaced, direct first
    superseded_by: list[Memory] = field(default_factory=list)  # what replaced it, direct first
    conflicts: list[Memory] = field(default_factory=list)
    truncated: bool = False

"""One request and one response a call, named as the RPC is. `SearchRequest` is in `search`."""

from dataclasses import dataclass, field
from datetime import datetime

from siltstone.model.admin import AuditEvent, Namespace, Token
from siltstone.model.hindsight import HindsightJob, JobState
from siltstone.model.memory import ForgetMode, Memory, MemoryDraft, Outcome, Verdict, WriteReceipt
from siltstone.model.search import Filter, SearchRequest, SearchResult
from siltstone.model.task import Step, Task, TaskStatus, Trajectory

# --- memories


@dataclass(slots=True, kw_only=True)
class WriteMemoriesRequest:
    drafts: list[MemoryDraft]
    namespace: str = "default"
    task_id: str = ""  # the task that writes, where it is one
    request_id: str = ""


@dataclass(slots=True, kw_only=True)
class WriteMemoriesResponse:
    receipts: list[WriteReceipt] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class GetMemoriesRequest:
    ids: list[str]
    max_tokens: int | None = None
    task_id: str = ""  # who is shown them
    as_of: datetime | None = None


@dataclass(slots=True, kw_only=True)
class GetMemoriesResponse:
    memories: list[Memory] = field(default_factory=list)
    tokens_used: int = 0
    truncated_ids: list[str] = field(default_factory=list)  # whose content max_tokens cut


@dataclass(slots=True, kw_only=True)
class ListMemoriesRequest:
    namespace: str = "default"
    filter: Filter | None = None
    page_size: int = 100
    page_token: str = ""


@dataclass(slots=True, kw_only=True)
class ListMemoriesResponse:
    memories: list[Memory] = field(default_factory=list)
    next_page_token: str = ""


@dataclass(slots=True, kw_only=True)
class BatchSearchMemoriesRequest:
    requests: list[SearchRequest]


@dataclass(slots=True, kw_only=True)
class BatchSearchMemoriesResponse:
    results: list[SearchResult] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class UpdateMemoryRequest:
    """`memory` carries the new values; only the fields that `update_mask` names are taken from it."""

    memory: Memory
    update_mask: list[str]
    revision: int | None = None  # refuse when the memory has another; None: last writer wins
    request_id: str = ""


@dataclass(slots=True, kw_only=True)
class ForgetMemoriesRequest:
    ids: list[str] = field(default_factory=list)
    filter: Filter | None = None
    namespace: str = "default"  # where the filter applies
    mode: ForgetMode = ForgetMode.INVALIDATE
    dry_run: bool = False
    request_id: str = ""


@dataclass(slots=True, kw_only=True)
class VerifyMemoryRequest:
    id: str
    verdict: Verdict
    evidence: str = ""
    task_id: str = ""
    reviewer: str = ""
    note: str = ""
    request_id: str = ""


@dataclass(slots=True, kw_only=True)
class RestoreMemoryRequest:
    id: str
    request_id: str = ""


@dataclass(slots=True, kw_only=True)
class TraceMemoryRequest:
    id: str


@dataclass(slots=True, kw_only=True)
class ListAuditQueueRequest:
    namespace: str = "default"
    limit: int = 20


@dataclass(slots=True, kw_only=True)
class ListAuditQueueResponse:
    memories: list[Memory] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class ListAuditEventsRequest:
    since_seq: int = 0
    page_size: int = 100
    page_token: str = ""
    namespace: str = ""  # "": all


@dataclass(slots=True, kw_only=True)
class ListAuditEventsResponse:
    events: list[AuditEvent] = field(default_factory=list)
    next_page_token: str = ""


# --- tasks


@dataclass(slots=True, kw_only=True)
class StartTaskRequest:
    goal: str
    namespace: str = "default"
    task_type: str = ""
    hindsight_every: int | None = None  # steps; None: the service's setting, 0: never
    request_id: str = ""


@dataclass(slots=True, kw_only=True)
class UpdateTaskRequest:
    """`task` carries the new values (`task.id` names it); only the fields in `update_mask` are taken."""

    task: Task
    update_mask: list[str]
    revision: int | None = None
    request_id: str = ""


@dataclass(slots=True, kw_only=True)
class AppendStepsRequest:
    task_id: str
    steps: list[Step]
    request_id: str = ""


@dataclass(slots=True, kw_only=True)
class GetTaskRequest:
    task_id: str


@dataclass(slots=True, kw_only=True)
class RenderTaskRequest:
    task_id: str
    max_tokens: int = 800
    with_memories: int = 0  # how many of the best memories for the goal are added


@dataclass(slots=True, kw_only=True)
class FinishTaskRequest:
    task_id: str
    outcome: Outcome
    wait: bool = False  # answer when the job is done
    request_id: str = ""


@dataclass(slots=True, kw_only=True)
class ListTasksRequest:
    namespace: str = "default"
    status: TaskStatus | None = None
    page_size: int = 100
    page_token: str = ""


@dataclass(slots=True, kw_only=True)
class ListTasksResponse:
    tasks: list[Task] = field(default_factory=list)
    next_page_token: str = ""


# --- hindsight


@dataclass(slots=True, kw_only=True)
class SummarizeTrajectoryRequest:
    """Either `trajectory` or `data`: the log as JSON or JSONL text in any format that is read."""

    trajectory: Trajectory | None = None
    data: str = ""
    goal: str = ""  # overrides the log's
    outcome: Outcome | None = None  # overrides the log's
    namespace: str = "default"
    max_tokens: int | None = None  # of the summary; None: 400
    dry_run: bool = False
    task_id: str = ""
    request_id: str = ""


@dataclass(slots=True, kw_only=True)
class CreateHindsightJobRequest:
    task_id: str
    wait: bool = False  # answer when the job is done
    request_id: str = ""


@dataclass(slots=True, kw_only=True)
class TrajectoryChunk:
    """A part of a log; cut anywhere, sent in order."""

    options: SummarizeTrajectoryRequest | None = None  # in the first chunk, without trajectory and data
    data: bytes = b""


@dataclass(slots=True, kw_only=True)
class GetHindsightJobRequest:
    id: str


@dataclass(slots=True, kw_only=True)
class ListHindsightJobsRequest:
    namespace: str = ""  # "": all
    states: list[JobState] = field(default_factory=list)  # empty: all
    page_size: int = 100
    page_token: str = ""


@dataclass(slots=True, kw_only=True)
class ListHindsightJobsResponse:
    jobs: list[HindsightJob] = field(default_factory=list)
    next_page_token: str = ""


@dataclass(slots=True, kw_only=True)
class CancelHindsightJobRequest:
    id: str


# --- administration


@dataclass(slots=True, kw_only=True)
class ListNamespacesRequest:
    page_size: int = 1000
    page_token: str = ""


@dataclass(slots=True, kw_only=True)
class ListNamespacesResponse:
    namespaces: list[Namespace] = field(default_factory=list)
    next_page_token: str = ""


@dataclass(slots=True, kw_only=True)
class DeleteNamespaceRequest:
    name: str
    request_id: str = ""


@dataclass(slots=True, kw_only=True)
class DeleteNamespaceResponse:
    memories: int = 0  # how many went with it


@dataclass(slots=True, kw_only=True)
class GetStatsRequest:
    namespace: str = ""  # "": all


@dataclass(slots=True, kw_only=True)
class GetMetricsRequest:
    pass


@dataclass(slots=True, kw_only=True)
class GetMetricsResponse:
    text: str = ""


@dataclass(slots=True, kw_only=True)
class CheckStoreRequest:
    repair: bool = False


@dataclass(slots=True, kw_only=True)
class CompactStoreRequest:
    pass


@dataclass(slots=True, kw_only=True)
class CompactReport:
    """Bytes of the store's file."""

    bytes_before: int = 0
    bytes_after: int = 0


@dataclass(slots=True, kw_only=True)
class CreateBackupRequest:
    target: str  # a target named in the server's configuration


@dataclass(slots=True, kw_only=True)
class Backup:
    name: str
    target: str = ""
    seq: int = 0
    size_bytes: int = 0  # of all its chunks
    create_time: datetime | None = None
    new_bytes: int = 0  # of the chunks that the target did not have yet


@dataclass(slots=True, kw_only=True)
class KnownFile:
    name: str
    size_bytes: int = 0


@dataclass(slots=True, kw_only=True)
class StreamBackupRequest:
    known: list[KnownFile] = field(default_factory=list)  # files of former backups that need not be sent


@dataclass(slots=True, kw_only=True)
class BackupPart:
    """A file of a backup. The last part is the manifest: without it there is none."""

    name: str
    data: bytes = b""


@dataclass(slots=True, kw_only=True)
class ExportMemoriesRequest:
    namespaces: list[str] = field(default_factory=list)  # empty: all


@dataclass(slots=True, kw_only=True)
class ExportChunk:
    """Whole lines of versioned JSONL."""

    data: bytes = b""


@dataclass(slots=True, kw_only=True)
class ImportChunk:
    data: bytes = b""  # cut anywhere


@dataclass(slots=True, kw_only=True)
class ImportReport:
    imported: int = 0
    unchanged: int = 0  # were there already
    embedded: int = 0  # imported ones whose vectors were made anew
    failed: int = 0  # lines
    failures: list[str] = field(default_factory=list)  # the first 1,000 of them, as "line 17: …"
    warnings: list[str] = field(default_factory=list)  # the first 1,000, of what was imported


@dataclass(slots=True, kw_only=True)
class ReembedRequest:
    model: str  # by the name that the setting embedding_model takes
    namespace: str = ""  # "": all
    wait: bool = False  # answer when it is done, or the call's time is up


@dataclass(slots=True, kw_only=True)
class ReembedReport:
    model: str = ""  # its id
    memories: int = 0  # that have vectors of it
    remaining: int = 0
    namespaces_remaining: int = 0  # that are answered by their former model still


@dataclass(slots=True, kw_only=True)
class CreateTokenRequest:
    name: str
    namespaces: list[str] = field(default_factory=list)  # patterns: team/*
    roles: list[str] = field(default_factory=list)  # reader | writer | auditor | admin


@dataclass(slots=True, kw_only=True)
class ListTokensRequest:
    page_size: int = 100
    page_token: str = ""


@dataclass(slots=True, kw_only=True)
class ListTokensResponse:
    tokens: list[Token] = field(default_factory=list)
    next_page_token: str = ""


@dataclass(slots=True, kw_only=True)
class RevokeTokenRequest:
    id: str


@dataclass(slots=True, kw_only=True)
class RevokeTokenResponse:
    pass

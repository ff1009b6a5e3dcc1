"""The table of calls: every door (in process, gRPC, HTTP) reads it, so they cannot drift apart.

It also says who may make a call: the roles of which the caller needs one, and what the call reaches, which
`engine/guard.py` compares with the namespaces of the caller before the call begins.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from siltstone import model as m
from siltstone.model import requests as r


@dataclass(frozen=True, slots=True)
class Reach:
    """One thing that a request reaches: a namespace by its name, a memory, task or job by its id, or the
    store as a whole. `field` is where the request names it."""

    kind: Literal["namespace", "memory", "task", "job", "store"]
    name: str = ""
    field: str = ""


Reaches = Callable[[Any], Iterator[Reach]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One RPC. `request` and `response` are its dataclasses; the engine's method is `method`. The caller
    needs one of `roles`, and all that `reaches` tells of a request (of a stream: of its first)."""

    service: str
    rpc: str
    method: str
    request: type
    response: type
    roles: tuple[str, ...]
    reaches: Reaches
    request_stream: bool = False
    response_stream: bool = False


def _store(_: Any) -> Iterator[Reach]:
    yield Reach("store")


def _what_it_may_see(_: Any) -> Iterator[Reach]:
    """A list over all namespaces: the engine leaves out what the caller does not see."""
    return iter(())


def _namespace(field: str = "namespace") -> Reaches:
    """The namespace in a field; where it may be empty that stands for all that the caller may see."""

    def reaches(request: Any) -> Iterator[Reach]:
        if name := getattr(request, field):
            yield Reach("namespace", name, field)

    return reaches


def _by_id(kind: Literal["memory", "task", "job"], field: str = "id") -> Reaches:
    def reaches(request: Any) -> Iterator[Reach]:
        yield Reach(kind, getattr(request, field), field)

    return reaches


def _ids(request: Any) -> Iterator[Reach]:
    return (Reach("memory", id, f"ids[{i}]") for i, id in enumerate(request.ids))


def _task(request: r.UpdateTaskRequest) -> Iterator[Reach]:
    yield Reach("task", request.task.id, "task_id")


def _updated(request: r.UpdateMemoryRequest) -> Iterator[Reach]:
    yield Reach("memory", request.memory.id, "id")


def _verified(request: r.VerifyMemoryRequest) -> Iterator[Reach]:
    yield Reach("memory", request.id, "id")
    if request.task_id:
        yield Reach("task", request.task_id, "task_id")


def _forgotten(request: r.ForgetMemoriesRequest) -> Iterator[Reach]:
    yield from _ids(request)
    if request.filter is not None:
        yield Reach("namespace", request.namespace, "namespace")


def _searched(request: m.SearchRequest, field: str = "") -> Iterator[Reach]:
    for name in request.namespaces or ["default"]:
        yield Reach("namespace", name, f"{field}namespaces")


def _all_searched(request: r.BatchSearchMemoriesRequest) -> Iterator[Reach]:
    for i, each in enumerate(request.requests):
        yield from _searched(each, f"requests[{i}].")


def _streamed(request: r.TrajectoryChunk) -> Iterator[Reach]:
    options = request.options or r.SummarizeTrajectoryRequest()
    yield Reach("namespace", options.namespace, "namespace")


def _exported(request: r.ExportMemoriesRequest) -> Iterator[Reach]:
    for i, name in enumerate(request.namespaces):
        yield Reach("namespace", name, f"namespaces[{i}]")
    if not request.namespaces:
        yield Reach("store")


def _reembedded(request: r.ReembedRequest) -> Iterator[Reach]:
    yield Reach("namespace", request.namespace, "namespace") if request.namespace else Reach("store")


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


def _op(
    service: str, rpc: str, request: type, response: type, roles: str, reaches: Reaches, *, stream: str = ""
) -> Operation:
    streams = "request" in stream, "response" in stream
    return Operation(service, rpc, _snake(rpc), request, response, tuple(roles.split()), reaches, *streams)


_ALL = [
    _op(
        "MemoryService",
        "WriteMemories",
        r.WriteMemoriesRequest,
        r.WriteMemoriesResponse,
        "writer",
        _namespace(),
    ),
    _op("MemoryService", "GetMemories", r.GetMemoriesRequest, r.GetMemoriesResponse, "reader", _ids),
    _op(
        "MemoryService",
        "ListMemories",
        r.ListMemoriesRequest,
        r.ListMemoriesResponse,
        "reader",
        _namespace(),
    ),
    _op("MemoryService", "SearchMemories", m.SearchRequest, m.SearchResult, "reader", _searched),
    _op(
        "MemoryService",
        "BatchSearchMemories",
        r.BatchSearchMemoriesRequest,
        r.BatchSearchMemoriesResponse,
        "reader",
        _all_searched,
    ),
    _op(
        "MemoryService",
        "StreamSearchMemories",
        r.BatchSearchMemoriesRequest,
        r.BatchSearchMemoriesResponse,
        "reader",
        _all_searched,
        stream="request response",
    ),
    _op("MemoryService", "UpdateMemory", r.UpdateMemoryRequest, m.Memory, "writer", _updated),
    _op("MemoryService", "ForgetMemories", r.ForgetMemoriesRequest, m.ForgetResult, "writer", _forgotten),
    # Reports are a writer's, reviews an auditor's; the engine tells them apart.
    _op("MemoryService", "VerifyMemory", r.VerifyMemoryRequest, m.Memory, "writer auditor", _verified),
    _op("MemoryService", "RestoreMemory", r.RestoreMemoryRequest, m.Memory, "writer", _by_id("memory")),
    _op("MemoryService", "TraceMemory", r.TraceMemoryRequest, m.Trace, "reader", _by_id("memory")),
    _op(
        "MemoryService",
        "ListAuditQueue",
        r.ListAuditQueueRequest,
        r.ListAuditQueueResponse,
        "auditor",
        _namespace(),
    ),
    _op(
        "MemoryService",
        "ListAuditEvents",
        r.ListAuditEventsRequest,
        r.ListAuditEventsResponse,
        "auditor",
        _namespace(),
    ),
    _op("TaskService", "StartTask", r.StartTaskRequest, m.Task, "writer", _namespace()),
    _op("TaskService", "UpdateTask", r.UpdateTaskRequest, m.Task, "writer", _task),
    _op("TaskService", "AppendSteps", r.AppendStepsRequest, m.Task, "writer", _by_id("task", "task_id")),
    _op("TaskService", "GetTask", r.GetTaskRequest, m.Task, "reader", _by_id("task", "task_id")),
    _op(
        "TaskService", "RenderTask", r.RenderTaskRequest, m.RenderedTask, "reader", _by_id("task", "task_id")
    ),
    _op(
        "TaskService", "FinishTask", r.FinishTaskRequest, m.HindsightJob, "writer", _by_id("task", "task_id")
    ),
    _op("TaskService", "ListTasks", r.ListTasksRequest, r.ListTasksResponse, "reader", _namespace()),
    _op(
        "HindsightService",
        "SummarizeTrajectory",
        r.SummarizeTrajectoryRequest,
        m.Hindsight,
        "writer",
        _namespace(),
    ),
    _op(
        "HindsightService",
        "CreateHindsightJob",
        r.CreateHindsightJobRequest,
        m.HindsightJob,
        "writer",
        _by_id("task", "task_id"),
    ),
    _op(
        "HindsightService",
        "StreamTrajectory",
        r.TrajectoryChunk,
        m.Hindsight,
        "writer",
        _streamed,
        stream="request",
    ),
    _op(
        "HindsightService",
        "GetHindsightJob",
        r.GetHindsightJobRequest,
        m.HindsightJob,
        "reader",
        _by_id("job"),
    ),
    _op(
        "HindsightService",
        "ListHindsightJobs",
        r.ListHindsightJobsRequest,
        r.ListHindsightJobsResponse,
        "reader",
        _namespace(),
    ),
    _op(
        "HindsightService",
        "CancelHindsightJob",
        r.CancelHindsightJobRequest,
        m.HindsightJob,
        "writer",
        _by_id("job"),
    ),
    _op(
        "AdminService",
        "ListNamespaces",
        r.ListNamespacesRequest,
        r.ListNamespacesResponse,
        "reader auditor admin",
        _what_it_may_see,
    ),
    _op(
        "AdminService",
        "DeleteNamespace",
        r.DeleteNamespaceRequest,
        r.DeleteNamespaceResponse,
        "admin",
        _namespace("name"),
    ),
    _op("AdminService", "GetStats", r.GetStatsRequest, m.Stats, "reader auditor admin", _namespace()),
    _op(
        "AdminService",
        "GetMetrics",
        r.GetMetricsRequest,
        r.GetMetricsResponse,
        "reader auditor admin",
        _store,
    ),
    _op("AdminService", "CheckStore", r.CheckStoreRequest, m.CheckReport, "admin", _store),
    _op("AdminService", "CompactStore", r.CompactStoreRequest, r.CompactReport, "admin", _store),
    _op("AdminService", "CreateBackup", r.CreateBackupRequest, r.Backup, "admin", _store),
    _op(
        "AdminService",
        "StreamBackup",
        r.StreamBackupRequest,
        r.BackupPart,
        "admin",
        _store,
        stream="response",
    ),
    _op(
        "AdminService",
        "ExportMemories",
        r.ExportMemoriesRequest,
        r.ExportChunk,
        "admin",
        _exported,
        stream="response",
    ),
    _op("AdminService", "ImportMemories", r.ImportChunk, r.ImportReport, "admin", _store, stream="request"),
    _op("AdminService", "ReembedMemories", r.ReembedRequest, r.ReembedReport, "admin", _reembedded),
    _op("AdminService", "CreateToken", r.CreateTokenRequest, m.Token, "admin", _store),
    _op("AdminService", "ListTokens", r.ListTokensRequest, r.ListTokensResponse, "admin", _store),
    _op("AdminService", "RevokeToken", r.RevokeTokenRequest, r.RevokeTokenResponse, "admin", _store),
]

OPERATIONS: dict[str, Operation] = {operation.rpc: operation for operation in _ALL}

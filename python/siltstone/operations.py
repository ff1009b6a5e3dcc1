"""The table of calls: every door (in process, gRPC, HTTP) reads it, so they cannot drift apart."""

from dataclasses import dataclass

from siltstone import model as m
from siltstone.errors import UnimplementedError
from siltstone.model import requests as r


@dataclass(frozen=True, slots=True)
class Operation:
    """One RPC. `request` and `response` are its dataclasses; the engine's method is `method`."""

    service: str
    rpc: str
    method: str
    request: type
    response: type
    request_stream: bool = False
    response_stream: bool = False


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


def _op(service: str, rpc: str, request: type, response: type, *, stream: str = "") -> Operation:
    return Operation(service, rpc, _snake(rpc), request, response, "request" in stream, "response" in stream)


_ALL = [
    _op("MemoryService", "WriteMemories", r.WriteMemoriesRequest, r.WriteMemoriesResponse),
    _op("MemoryService", "GetMemories", r.GetMemoriesRequest, r.GetMemoriesResponse),
    _op("MemoryService", "ListMemories", r.ListMemoriesRequest, r.ListMemoriesResponse),
    _op("MemoryService", "SearchMemories", m.SearchRequest, m.SearchResult),
    _op("MemoryService", "BatchSearchMemories", r.BatchSearchMemoriesRequest, r.BatchSearchMemoriesResponse),
    _op(
        "MemoryService",
        "StreamSearchMemories",
        r.BatchSearchMemoriesRequest,
        r.BatchSearchMemoriesResponse,
        stream="request response",
    ),
    _op("MemoryService", "UpdateMemory", r.UpdateMemoryRequest, m.Memory),
    _op("MemoryService", "ForgetMemories", r.ForgetMemoriesRequest, m.ForgetResult),
    _op("MemoryService", "VerifyMemory", r.VerifyMemoryRequest, m.Memory),
    _op("MemoryService", "RestoreMemory", r.RestoreMemoryRequest, m.Memory),
    _op("MemoryService", "TraceMemory", r.TraceMemoryRequest, m.Trace),
    _op("MemoryService", "ListAuditQueue", r.ListAuditQueueRequest, r.ListAuditQueueResponse),
    _op("MemoryService", "ListAuditEvents", r.ListAuditEventsRequest, r.ListAuditEventsResponse),
    _op("TaskService", "StartTask", r.StartTaskRequest, m.Task),
    _op("TaskService", "UpdateTask", r.UpdateTaskRequest, m.Task),
    _op("TaskService", "AppendSteps", r.AppendStepsRequest, m.Task),
    _op("TaskService", "GetTask", r.GetTaskRequest, m.Task),
    _op("TaskService", "RenderTask", r.RenderTaskRequest, m.RenderedTask),
    _op("TaskService", "FinishTask", r.FinishTaskRequest, m.HindsightJob),
    _op("TaskService", "ListTasks", r.ListTasksRequest, r.ListTasksResponse),
    _op("HindsightService", "SummarizeTrajectory", r.SummarizeTrajectoryRequest, m.Hindsight),
    _op("HindsightService", "CreateHindsightJob", r.CreateHindsightJobRequest, m.HindsightJob),
    _op("HindsightService", "StreamTrajectory", r.TrajectoryChunk, m.Hindsight, stream="request"),
    _op("HindsightService", "GetHindsightJob", r.GetHindsightJobRequest, m.HindsightJob),
    _op("HindsightService", "ListHindsightJobs", r.ListHindsightJobsRequest, r.ListHindsightJobsResponse),
    _op("HindsightService", "CancelHindsightJob", r.CancelHindsightJobRequest, m.HindsightJob),
    _op("AdminService", "ListNamespaces", r.ListNamespacesRequest, r.ListNamespacesResponse),
    _op("AdminService", "DeleteNamespace", r.DeleteNamespaceRequest, r.DeleteNamespaceResponse),
    _op("AdminService", "GetStats", r.GetStatsRequest, m.Stats),
    _op("AdminService", "GetMetrics", r.GetMetricsRequest, r.GetMetricsResponse),
    _op("AdminService", "CheckStore", r.CheckStoreRequest, m.CheckReport),
    _op("AdminService", "CompactStore", r.CompactStoreRequest, r.CompactReport),
    _op("AdminService", "CreateBackup", r.CreateBackupRequest, r.Backup),
    _op("AdminService", "StreamBackup", r.StreamBackupRequest, r.BackupPart, stream="response"),
    _op("AdminService", "ExportMemories", r.ExportMemoriesRequest, r.ExportChunk, stream="response"),
    _op("AdminService", "ImportMemories", r.ImportChunk, r.ImportReport, stream="request"),
    _op("AdminService", "ReembedMemories", r.ReembedRequest, r.ReembedReport),
    _op("AdminService", "CreateToken", r.CreateTokenRequest, m.Token),
    _op("AdminService", "ListTokens", r.ListTokensRequest, r.ListTokensResponse),
    _op("AdminService", "RevokeToken", r.RevokeTokenRequest, r.RevokeTokenResponse),
]

OPERATIONS: dict[str, Operation] = {operation.rpc: operation for operation in _ALL}

# In the contract, not yet in the service: each answers UNIMPLEMENTED with its own name.
UNIMPLEMENTED = frozenset(
    {
        "ExportMemories",
        "ImportMemories",
        "ReembedMemories",
        "CreateToken",
        "ListTokens",
        "RevokeToken",
    }
)


def unimplemented(rpc: str) -> UnimplementedError:
    return UnimplementedError(
        f"{rpc} is part of the contract but not of this version", reason="UNIMPLEMENTED"
    )

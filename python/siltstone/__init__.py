"""Siltstone: self-hosted memory for agents.

with siltstone.open("./data") as mem: ...            in process
with siltstone.Client("127.0.0.1:50051") as mem: ... over gRPC, the same methods
"""

from typing import TYPE_CHECKING, Any

from siltstone.api import Api, Page
from siltstone.errors import (
    AlreadyExistsError,
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    ResourceExhaustedError,
    SiltstoneError,
    StaleRevisionError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
)
from siltstone.model import (
    Filter,
    Hindsight,
    HindsightJob,
    Hit,
    Lesson,
    LessonEvidence,
    Memory,
    MemoryDraft,
    SearchRequest,
    SearchResult,
    Source,
    Step,
    Task,
    Trajectory,
    Weights,
    WriteReceipt,
)

if TYPE_CHECKING:
    from siltstone.client import AsyncClient, Client
    from siltstone.config import Settings
    from siltstone.local import open

# Loaded at first use: a client needs no native core and no model, an engine no gRPC.
_LAZY = {
    "AsyncClient": "siltstone.client",
    "Client": "siltstone.client",
    "Settings": "siltstone.config",
    "open": "siltstone.local",
}

__all__ = [
    "AlreadyExistsError",
    "Api",
    "AsyncClient",
    "Client",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "Filter",
    "Hindsight",
    "HindsightJob",
    "Hit",
    "InternalError",
    "InvalidArgumentError",
    "Lesson",
    "LessonEvidence",
    "Memory",
    "MemoryDraft",
    "NotFoundError",
    "Page",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "SearchRequest",
    "SearchResult",
    "Settings",
    "SiltstoneError",
    "Source",
    "StaleRevisionError",
    "Step",
    "Task",
    "Trajectory",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "Weights",
    "WriteReceipt",
    "open",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'siltstone' has no attribute {name!r}")

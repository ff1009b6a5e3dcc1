"""Namespaces, statistics, checks."""

from dataclasses import dataclass, field
from datetime import datetime

from siltstone.model.memory import ForgetMode


@dataclass(slots=True, kw_only=True)
class Namespace:
    name: str
    memories: int = 0
    embedding_model: str = ""  # "" until the first write
    embedding_dimension: int = 0
    create_time: datetime | None = None


@dataclass(slots=True, kw_only=True)
class Stats:
    namespaces: int = 0
    memories: int = 0
    tasks: int = 0
    jobs_waiting: int = 0
    seq: int = 0  # number of the last commit
    store_bytes: int = 0
    index_bytes: int = 0
    embedding_model: str = ""
    embedding_dimension: int = 0
    version: str = ""


@dataclass(slots=True, kw_only=True)
class ForgetResult:
    count: int
    ids: list[str] = field(default_factory=list)
    mode: ForgetMode = ForgetMode.INVALIDATE
    dry_run: bool = False


@dataclass(slots=True, kw_only=True)
class CheckReport:
    """What `check` found; empty problems mean store and index agree."""

    namespaces: int = 0
    memories: int = 0
    vectors: int = 0
    problems: list[str] = field(default_factory=list)
    repaired: int = 0


@dataclass(slots=True, kw_only=True)
class AuditEvent:
    seq: int
    time: datetime
    namespace: str
    memory_id: str
    action: str
    principal: str = ""
    note: str = ""


@dataclass(slots=True, kw_only=True)
class Token:
    id: str
    name: str
    namespaces: list[str] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)
    create_time: datetime | None = None
    secret: str = ""  # only in the answer to its creation

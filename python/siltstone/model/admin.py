"""Namespaces, statistics, checks."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from siltstone.errors import InvalidArgumentError
from siltstone.model.memory import ForgetMode

# What a caller may do: read; write, and report what became of memories; review, raise trust and read the
# audit log; administer.
ROLES = frozenset({"reader", "writer", "auditor", "admin"})
AGENT_ROLES = frozenset({"reader", "writer"})


def check_roles(roles: Iterable[str]) -> frozenset[str]:
    """The roles as a set; InvalidArgumentError for one that there is not."""
    given = frozenset(roles)
    if unknown := sorted(given - ROLES):
        raise InvalidArgumentError(
            f"roles: {unknown[0]!r} is no role; there are {', '.join(sorted(ROLES))}", field="roles"
        )
    return given


@dataclass(slots=True, kw_only=True)
class Namespace:
    name: str
    memories: int = 0
    embedding_model: str = ""  # "" until the first write
    embedding_dimension: int = 0
    create_time: datetime | None = None


@dataclass(slots=True, kw_only=True)
class IndexProgress:
    """An index that is being built from the store, and how many memories of how many are in it."""

    namespace: str
    done: int = 0
    total: int = 0


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
    indexes_loaded: int = 0
    index_bytes_per_memory: float = 0.0  # of the indexes in memory; 0 while there is none
    building: list[IndexProgress] = field(default_factory=list)


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
    repaired: int = 0  # entries put right, and indexes built anew
    unrepaired: list[str] = field(default_factory=list)  # those of the problems that no repair can mend


@dataclass(slots=True, kw_only=True)
class AuditEvent:
    """One change of a memory, or something said of it; `seq` and `place` together name the event."""

    seq: int  # the commit
    time: datetime
    namespace: str
    memory_id: str  # "" where it is about the namespace
    # created | merged | updated | superseded | conflict | invalidated | restored | unlinked | worked |
    # failed | confirmed | refuted | imported | erased | expired | namespace_deleted
    action: str
    principal: str = ""
    note: str = ""  # what a person said; it goes with the memory
    place: int = 0  # among the events of the commit


@dataclass(slots=True, kw_only=True)
class Token:
    id: str
    name: str
    namespaces: list[str] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)
    create_time: datetime | None = None
    revoke_time: datetime | None = None  # since when it is useless
    secret: str = field(default="", repr=False)  # only in the answer to its creation

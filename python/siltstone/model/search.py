"""What a search takes and gives."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from siltstone.model.memory import AttributeValue, Memory, MemoryType, Outcome, Verification


class View(StrEnum):
    SUMMARY = "SUMMARY"  # hits without content and lesson
    FULL = "FULL"


class Profile(StrEnum):
    BALANCED = "balanced"
    TROUBLESHOOTING = "troubleshooting"
    KNOWLEDGE = "knowledge"


@dataclass(slots=True, kw_only=True)
class Weights:
    """The parts of a score; each finite and not negative.

    score = similarity·S + gate·(recency·R + confidence·C); README.md says what each part is.
    """

    similarity: float = 0.5
    recency: float = 0.3
    confidence: float = 0.2
    lexical: float = 0.4  # β: how far a full lexical match raises the similarity
    neighbours: float = 0.3  # support by the next in sequence; a third of it at distance two
    calibrate: bool = True  # measure the cosine against the query's own background
    gate: float = 6.0  # γ: how steeply recency and confidence fade with relevance; 0 = plain formula
    half_life: timedelta = timedelta(days=30)  # age at which recency is 0.5


@dataclass(slots=True, kw_only=True)
class PartialWeights:
    """Weights of one request; what is None comes from the profile."""

    similarity: float | None = None
    recency: float | None = None
    confidence: float | None = None
    lexical: float | None = None
    neighbours: float | None = None
    calibrate: bool | None = None
    gate: float | None = None
    half_life: timedelta | None = None


PROFILES: dict[Profile, Weights] = {
    Profile.BALANCED: Weights(),
    Profile.TROUBLESHOOTING: Weights(
        similarity=0.4, recency=0.45, confidence=0.15, gate=2.0, half_life=timedelta(days=7)
    ),
    Profile.KNOWLEDGE: Weights(similarity=0.7, recency=0.1, confidence=0.2, half_life=timedelta(days=365)),
}


@dataclass(slots=True, kw_only=True)
class TimeRange:
    gt: datetime | None = None
    gte: datetime | None = None
    lt: datetime | None = None
    lte: datetime | None = None


@dataclass(slots=True, kw_only=True)
class NumberRange:
    gt: float | None = None
    gte: float | None = None
    lt: float | None = None
    lte: float | None = None


@dataclass(slots=True, kw_only=True)
class AttributeCondition:
    """Bounds of one attribute. Text bounds compare as versions ("8.0.30" > "8.0.4")."""

    eq: AttributeValue | None = None
    gt: AttributeValue | None = None
    gte: AttributeValue | None = None
    lt: AttributeValue | None = None
    lte: AttributeValue | None = None


@dataclass(slots=True, kw_only=True)
class Filter:
    """Which memories may be returned. Every part that is given must hold; a list means any of it."""

    tags_any: list[str] = field(default_factory=list)
    tags_all: list[str] = field(default_factory=list)
    task_type: list[str] = field(default_factory=list)
    tools_used: list[str] = field(default_factory=list)
    outcome: list[Outcome] = field(default_factory=list)
    verification: list[Verification] = field(default_factory=list)
    memory_type: list[MemoryType] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    attributes: dict[str, AttributeCondition] = field(default_factory=dict)
    event_time: TimeRange | None = None
    create_time: TimeRange | None = None
    update_time: TimeRange | None = None
    confidence: NumberRange | None = None
    not_: "Filter | None" = None  # "not" in dicts, JSON and proto
    any_of: list["Filter"] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class SearchRequest:
    query: str | None = None
    vector: list[float] | None = None
    namespaces: list[str] = field(default_factory=list)  # empty: default
    include_public: bool = True
    top_k: int | None = None  # None: 8
    filter: Filter | None = None
    profile: Profile = Profile.BALANCED
    weights: PartialWeights | None = None  # None: the profile's
    now: datetime | None = None  # None: the server's clock; under as_of, that moment
    time_zone: str = "UTC"
    as_of: datetime | None = None
    view: View = View.SUMMARY
    max_tokens: int | None = None  # None: no cap
    min_score: float | None = None
    include_superseded: bool = False
    include_expired: bool = False
    include_refuted: bool = False
    task_id: str = ""  # who is shown the hits
    explain: bool = False
    diversity: float = 0.9  # share of its score that one copy too many loses
    rerank: bool = True  # by the reranker, where there is one


@dataclass(slots=True, kw_only=True)
class Hit:
    """One memory with its score and the parts of it, 0..1 each, higher is better."""

    memory: Memory
    score: float
    similarity: float
    gate: float
    recency: float
    confidence: float
    cosine: float  # plain, of the best passage; -1..1
    lexical: float
    support: float
    passage: str = ""  # the best passage where the content has several
    in_window: bool = False
    rerank_score: float | None = None  # as the reranker gave it; None: it was not asked


@dataclass(slots=True, kw_only=True)
class TimeWindow:
    """Half-open; None is open on that side."""

    start: datetime | None = None
    end: datetime | None = None


@dataclass(slots=True, kw_only=True)
class Explanation:
    """How a search was carried out, one line of counts and times."""

    plan: str = ""  # all | scan | graph | none, joined by "+" over namespaces
    allowed: int = 0  # memories the filter let through
    candidates: int = 0  # memories scored
    embed_us: int = 0
    search_us: int = 0
    read_us: int = 0
    gave_way: list[str] = field(default_factory=list)  # ids that diversity kept out of the top_k
    rerank: str = ""  # done, or why not; "": not asked
    stages_us: dict[str, int] = field(default_factory=dict)  # in the index: filter, candidates, scan, score


@dataclass(slots=True, kw_only=True)
class SearchResult:
    hits: list[Hit] = field(default_factory=list)
    time_window: TimeWindow | None = None  # what the words for time in the query mean
    nothing_in_window: bool = False  # there is a window and every hit lies outside
    tokens_used: int = 0
    truncated: bool = False  # max_tokens cut hits off
    explain: Explanation | None = None

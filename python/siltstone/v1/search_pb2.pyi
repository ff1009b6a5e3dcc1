import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from siltstone.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class View(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VIEW_UNSPECIFIED: _ClassVar[View]
    VIEW_SUMMARY: _ClassVar[View]
    VIEW_FULL: _ClassVar[View]

class Profile(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROFILE_UNSPECIFIED: _ClassVar[Profile]
    PROFILE_BALANCED: _ClassVar[Profile]
    PROFILE_TROUBLESHOOTING: _ClassVar[Profile]
    PROFILE_KNOWLEDGE: _ClassVar[Profile]
VIEW_UNSPECIFIED: View
VIEW_SUMMARY: View
VIEW_FULL: View
PROFILE_UNSPECIFIED: Profile
PROFILE_BALANCED: Profile
PROFILE_TROUBLESHOOTING: Profile
PROFILE_KNOWLEDGE: Profile

class PartialWeights(_message.Message):
    __slots__ = ("similarity", "recency", "confidence", "lexical", "neighbours", "calibrate", "gate", "half_life")
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    RECENCY_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    LEXICAL_FIELD_NUMBER: _ClassVar[int]
    NEIGHBOURS_FIELD_NUMBER: _ClassVar[int]
    CALIBRATE_FIELD_NUMBER: _ClassVar[int]
    GATE_FIELD_NUMBER: _ClassVar[int]
    HALF_LIFE_FIELD_NUMBER: _ClassVar[int]
    similarity: float
    recency: float
    confidence: float
    lexical: float
    neighbours: float
    calibrate: bool
    gate: float
    half_life: _duration_pb2.Duration
    def __init__(self, similarity: _Optional[float] = ..., recency: _Optional[float] = ..., confidence: _Optional[float] = ..., lexical: _Optional[float] = ..., neighbours: _Optional[float] = ..., calibrate: _Optional[bool] = ..., gate: _Optional[float] = ..., half_life: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class TimeRange(_message.Message):
    __slots__ = ("gt", "gte", "lt", "lte")
    GT_FIELD_NUMBER: _ClassVar[int]
    GTE_FIELD_NUMBER: _ClassVar[int]
    LT_FIELD_NUMBER: _ClassVar[int]
    LTE_FIELD_NUMBER: _ClassVar[int]
    gt: _timestamp_pb2.Timestamp
    gte: _timestamp_pb2.Timestamp
    lt: _timestamp_pb2.Timestamp
    lte: _timestamp_pb2.Timestamp
    def __init__(self, gt: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., gte: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., lt: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., lte: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class NumberRange(_message.Message):
    __slots__ = ("gt", "gte", "lt", "lte")
    GT_FIELD_NUMBER: _ClassVar[int]
    GTE_FIELD_NUMBER: _ClassVar[int]
    LT_FIELD_NUMBER: _ClassVar[int]
    LTE_FIELD_NUMBER: _ClassVar[int]
    gt: float
    gte: float
    lt: float
    lte: float
    def __init__(self, gt: _Optional[float] = ..., gte: _Optional[float] = ..., lt: _Optional[float] = ..., lte: _Optional[float] = ...) -> None: ...

class AttributeCondition(_message.Message):
    __slots__ = ("eq", "gt", "gte", "lt", "lte")
    EQ_FIELD_NUMBER: _ClassVar[int]
    GT_FIELD_NUMBER: _ClassVar[int]
    GTE_FIELD_NUMBER: _ClassVar[int]
    LT_FIELD_NUMBER: _ClassVar[int]
    LTE_FIELD_NUMBER: _ClassVar[int]
    eq: _memory_pb2.AttributeValue
    gt: _memory_pb2.AttributeValue
    gte: _memory_pb2.AttributeValue
    lt: _memory_pb2.AttributeValue
    lte: _memory_pb2.AttributeValue
    def __init__(self, eq: _Optional[_Union[_memory_pb2.AttributeValue, _Mapping]] = ..., gt: _Optional[_Union[_memory_pb2.AttributeValue, _Mapping]] = ..., gte: _Optional[_Union[_memory_pb2.AttributeValue, _Mapping]] = ..., lt: _Optional[_Union[_memory_pb2.AttributeValue, _Mapping]] = ..., lte: _Optional[_Union[_memory_pb2.AttributeValue, _Mapping]] = ...) -> None: ...

class Filter(_message.Message):
    __slots__ = ("tags_any", "tags_all", "task_type", "tools_used", "outcome", "verification", "memory_type", "ids", "attributes", "event_time", "create_time", "update_time", "confidence", "any_of")
    class AttributesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: AttributeCondition
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[AttributeCondition, _Mapping]] = ...) -> None: ...
    TAGS_ANY_FIELD_NUMBER: _ClassVar[int]
    TAGS_ALL_FIELD_NUMBER: _ClassVar[int]
    TASK_TYPE_FIELD_NUMBER: _ClassVar[int]
    TOOLS_USED_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    VERIFICATION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TYPE_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    NOT_FIELD_NUMBER: _ClassVar[int]
    ANY_OF_FIELD_NUMBER: _ClassVar[int]
    tags_any: _containers.RepeatedScalarFieldContainer[str]
    tags_all: _containers.RepeatedScalarFieldContainer[str]
    task_type: _containers.RepeatedScalarFieldContainer[str]
    tools_used: _containers.RepeatedScalarFieldContainer[str]
    outcome: _containers.RepeatedScalarFieldContainer[_memory_pb2.Outcome]
    verification: _containers.RepeatedScalarFieldContainer[_memory_pb2.Verification]
    memory_type: _containers.RepeatedScalarFieldContainer[_memory_pb2.MemoryType]
    ids: _containers.RepeatedScalarFieldContainer[str]
    attributes: _containers.MessageMap[str, AttributeCondition]
    event_time: TimeRange
    create_time: TimeRange
    update_time: TimeRange
    confidence: NumberRange
    any_of: _containers.RepeatedCompositeFieldContainer[Filter]
    def __init__(self, tags_any: _Optional[_Iterable[str]] = ..., tags_all: _Optional[_Iterable[str]] = ..., task_type: _Optional[_Iterable[str]] = ..., tools_used: _Optional[_Iterable[str]] = ..., outcome: _Optional[_Iterable[_Union[_memory_pb2.Outcome, str]]] = ..., verification: _Optional[_Iterable[_Union[_memory_pb2.Verification, str]]] = ..., memory_type: _Optional[_Iterable[_Union[_memory_pb2.MemoryType, str]]] = ..., ids: _Optional[_Iterable[str]] = ..., attributes: _Optional[_Mapping[str, AttributeCondition]] = ..., event_time: _Optional[_Union[TimeRange, _Mapping]] = ..., create_time: _Optional[_Union[TimeRange, _Mapping]] = ..., update_time: _Optional[_Union[TimeRange, _Mapping]] = ..., confidence: _Optional[_Union[NumberRange, _Mapping]] = ..., any_of: _Optional[_Iterable[_Union[Filter, _Mapping]]] = ..., **kwargs) -> None: ...

class SearchMemoriesRequest(_message.Message):
    __slots__ = ("query", "vector", "vector_packed", "namespaces", "include_public", "top_k", "filter", "profile", "weights", "now", "time_zone", "as_of", "view", "max_tokens", "min_score", "include_superseded", "include_expired", "include_refuted", "task_id", "explain", "diversity", "rerank")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    VECTOR_PACKED_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_PUBLIC_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MIN_SCORE_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_EXPIRED_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_REFUTED_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    DIVERSITY_FIELD_NUMBER: _ClassVar[int]
    RERANK_FIELD_NUMBER: _ClassVar[int]
    query: str
    vector: _containers.RepeatedScalarFieldContainer[float]
    vector_packed: bytes
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    include_public: bool
    top_k: int
    filter: Filter
    profile: Profile
    weights: PartialWeights
    now: _timestamp_pb2.Timestamp
    time_zone: str
    as_of: _timestamp_pb2.Timestamp
    view: View
    max_tokens: int
    min_score: float
    include_superseded: bool
    include_expired: bool
    include_refuted: bool
    task_id: str
    explain: bool
    diversity: float
    rerank: bool
    def __init__(self, query: _Optional[str] = ..., vector: _Optional[_Iterable[float]] = ..., vector_packed: _Optional[bytes] = ..., namespaces: _Optional[_Iterable[str]] = ..., include_public: _Optional[bool] = ..., top_k: _Optional[int] = ..., filter: _Optional[_Union[Filter, _Mapping]] = ..., profile: _Optional[_Union[Profile, str]] = ..., weights: _Optional[_Union[PartialWeights, _Mapping]] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., time_zone: _Optional[str] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., view: _Optional[_Union[View, str]] = ..., max_tokens: _Optional[int] = ..., min_score: _Optional[float] = ..., include_superseded: _Optional[bool] = ..., include_expired: _Optional[bool] = ..., include_refuted: _Optional[bool] = ..., task_id: _Optional[str] = ..., explain: _Optional[bool] = ..., diversity: _Optional[float] = ..., rerank: _Optional[bool] = ...) -> None: ...

class Hit(_message.Message):
    __slots__ = ("memory", "score", "similarity", "gate", "recency", "confidence", "cosine", "lexical", "support", "passage", "in_window", "rerank_score")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    GATE_FIELD_NUMBER: _ClassVar[int]
    RECENCY_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    COSINE_FIELD_NUMBER: _ClassVar[int]
    LEXICAL_FIELD_NUMBER: _ClassVar[int]
    SUPPORT_FIELD_NUMBER: _ClassVar[int]
    PASSAGE_FIELD_NUMBER: _ClassVar[int]
    IN_WINDOW_FIELD_NUMBER: _ClassVar[int]
    RERANK_SCORE_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    score: float
    similarity: float
    gate: float
    recency: float
    confidence: float
    cosine: float
    lexical: float
    support: float
    passage: str
    in_window: bool
    rerank_score: float
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., score: _Optional[float] = ..., similarity: _Optional[float] = ..., gate: _Optional[float] = ..., recency: _Optional[float] = ..., confidence: _Optional[float] = ..., cosine: _Optional[float] = ..., lexical: _Optional[float] = ..., support: _Optional[float] = ..., passage: _Optional[str] = ..., in_window: _Optional[bool] = ..., rerank_score: _Optional[float] = ...) -> None: ...

class TimeWindow(_message.Message):
    __slots__ = ("start", "end")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    start: _timestamp_pb2.Timestamp
    end: _timestamp_pb2.Timestamp
    def __init__(self, start: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("plan", "allowed", "candidates", "embed_us", "search_us", "read_us", "gave_way", "rerank", "stages_us")
    class StagesUsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    PLAN_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    EMBED_US_FIELD_NUMBER: _ClassVar[int]
    SEARCH_US_FIELD_NUMBER: _ClassVar[int]
    READ_US_FIELD_NUMBER: _ClassVar[int]
    GAVE_WAY_FIELD_NUMBER: _ClassVar[int]
    RERANK_FIELD_NUMBER: _ClassVar[int]
    STAGES_US_FIELD_NUMBER: _ClassVar[int]
    plan: str
    allowed: int
    candidates: int
    embed_us: int
    search_us: int
    read_us: int
    gave_way: _containers.RepeatedScalarFieldContainer[str]
    rerank: str
    stages_us: _containers.ScalarMap[str, int]
    def __init__(self, plan: _Optional[str] = ..., allowed: _Optional[int] = ..., candidates: _Optional[int] = ..., embed_us: _Optional[int] = ..., search_us: _Optional[int] = ..., read_us: _Optional[int] = ..., gave_way: _Optional[_Iterable[str]] = ..., rerank: _Optional[str] = ..., stages_us: _Optional[_Mapping[str, int]] = ...) -> None: ...

class SearchMemoriesResponse(_message.Message):
    __slots__ = ("hits", "time_window", "tokens_used", "truncated", "explain", "nothing_in_window")
    HITS_FIELD_NUMBER: _ClassVar[int]
    TIME_WINDOW_FIELD_NUMBER: _ClassVar[int]
    TOKENS_USED_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    NOTHING_IN_WINDOW_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[Hit]
    time_window: TimeWindow
    tokens_used: int
    truncated: bool
    explain: Explanation
    nothing_in_window: bool
    def __init__(self, hits: _Optional[_Iterable[_Union[Hit, _Mapping]]] = ..., time_window: _Optional[_Union[TimeWindow, _Mapping]] = ..., tokens_used: _Optional[int] = ..., truncated: _Optional[bool] = ..., explain: _Optional[_Union[Explanation, _Mapping]] = ..., nothing_in_window: _Optional[bool] = ...) -> None: ...

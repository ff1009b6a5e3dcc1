import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MemoryType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_TYPE_UNSPECIFIED: _ClassVar[MemoryType]
    MEMORY_TYPE_SEMANTIC: _ClassVar[MemoryType]
    MEMORY_TYPE_EPISODIC: _ClassVar[MemoryType]
    MEMORY_TYPE_PROCEDURAL: _ClassVar[MemoryType]

class Verification(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERIFICATION_UNSPECIFIED: _ClassVar[Verification]
    VERIFICATION_PENDING: _ClassVar[Verification]
    VERIFICATION_CONFIRMED: _ClassVar[Verification]
    VERIFICATION_REFUTED: _ClassVar[Verification]

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_UNSPECIFIED: _ClassVar[Outcome]
    OUTCOME_UNKNOWN: _ClassVar[Outcome]
    OUTCOME_SUCCESS: _ClassVar[Outcome]
    OUTCOME_FAILURE: _ClassVar[Outcome]
    OUTCOME_PARTIAL: _ClassVar[Outcome]

class OnDuplicate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ON_DUPLICATE_UNSPECIFIED: _ClassVar[OnDuplicate]
    ON_DUPLICATE_MERGE: _ClassVar[OnDuplicate]
    ON_DUPLICATE_KEEP: _ClassVar[OnDuplicate]
    ON_DUPLICATE_REJECT: _ClassVar[OnDuplicate]

class OnTooLong(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ON_TOO_LONG_UNSPECIFIED: _ClassVar[OnTooLong]
    ON_TOO_LONG_REFUSE: _ClassVar[OnTooLong]
    ON_TOO_LONG_COMPRESS: _ClassVar[OnTooLong]

class Action(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTION_UNSPECIFIED: _ClassVar[Action]
    ACTION_CREATED: _ClassVar[Action]
    ACTION_MERGED: _ClassVar[Action]
    ACTION_UNCHANGED: _ClassVar[Action]
    ACTION_SUPERSEDED: _ClassVar[Action]
    ACTION_CONFLICT: _ClassVar[Action]

class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERDICT_UNSPECIFIED: _ClassVar[Verdict]
    VERDICT_CONFIRM: _ClassVar[Verdict]
    VERDICT_REFUTE: _ClassVar[Verdict]
    VERDICT_WORKED: _ClassVar[Verdict]
    VERDICT_FAILED: _ClassVar[Verdict]
    VERDICT_REACHED: _ClassVar[Verdict]

class ForgetMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FORGET_MODE_UNSPECIFIED: _ClassVar[ForgetMode]
    FORGET_MODE_INVALIDATE: _ClassVar[ForgetMode]
    FORGET_MODE_ERASE: _ClassVar[ForgetMode]
MEMORY_TYPE_UNSPECIFIED: MemoryType
MEMORY_TYPE_SEMANTIC: MemoryType
MEMORY_TYPE_EPISODIC: MemoryType
MEMORY_TYPE_PROCEDURAL: MemoryType
VERIFICATION_UNSPECIFIED: Verification
VERIFICATION_PENDING: Verification
VERIFICATION_CONFIRMED: Verification
VERIFICATION_REFUTED: Verification
OUTCOME_UNSPECIFIED: Outcome
OUTCOME_UNKNOWN: Outcome
OUTCOME_SUCCESS: Outcome
OUTCOME_FAILURE: Outcome
OUTCOME_PARTIAL: Outcome
ON_DUPLICATE_UNSPECIFIED: OnDuplicate
ON_DUPLICATE_MERGE: OnDuplicate
ON_DUPLICATE_KEEP: OnDuplicate
ON_DUPLICATE_REJECT: OnDuplicate
ON_TOO_LONG_UNSPECIFIED: OnTooLong
ON_TOO_LONG_REFUSE: OnTooLong
ON_TOO_LONG_COMPRESS: OnTooLong
ACTION_UNSPECIFIED: Action
ACTION_CREATED: Action
ACTION_MERGED: Action
ACTION_UNCHANGED: Action
ACTION_SUPERSEDED: Action
ACTION_CONFLICT: Action
VERDICT_UNSPECIFIED: Verdict
VERDICT_CONFIRM: Verdict
VERDICT_REFUTE: Verdict
VERDICT_WORKED: Verdict
VERDICT_FAILED: Verdict
VERDICT_REACHED: Verdict
FORGET_MODE_UNSPECIFIED: ForgetMode
FORGET_MODE_INVALIDATE: ForgetMode
FORGET_MODE_ERASE: ForgetMode

class AttributeValue(_message.Message):
    __slots__ = ("string_value", "number_value", "bool_value", "time_value")
    STRING_VALUE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_VALUE_FIELD_NUMBER: _ClassVar[int]
    BOOL_VALUE_FIELD_NUMBER: _ClassVar[int]
    TIME_VALUE_FIELD_NUMBER: _ClassVar[int]
    string_value: str
    number_value: float
    bool_value: bool
    time_value: _timestamp_pb2.Timestamp
    def __init__(self, string_value: _Optional[str] = ..., number_value: _Optional[float] = ..., bool_value: _Optional[bool] = ..., time_value: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class LessonEvidence(_message.Message):
    __slots__ = ("field", "step", "quote")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    QUOTE_FIELD_NUMBER: _ClassVar[int]
    field: str
    step: int
    quote: str
    def __init__(self, field: _Optional[str] = ..., step: _Optional[int] = ..., quote: _Optional[str] = ...) -> None: ...

class Lesson(_message.Message):
    __slots__ = ("problem", "root_cause", "solution", "evidence")
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    ROOT_CAUSE_FIELD_NUMBER: _ClassVar[int]
    SOLUTION_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    problem: str
    root_cause: str
    solution: str
    evidence: _containers.RepeatedCompositeFieldContainer[LessonEvidence]
    def __init__(self, problem: _Optional[str] = ..., root_cause: _Optional[str] = ..., solution: _Optional[str] = ..., evidence: _Optional[_Iterable[_Union[LessonEvidence, _Mapping]]] = ...) -> None: ...

class Source(_message.Message):
    __slots__ = ("task_id", "trajectory", "steps", "writer", "extractor", "principal")
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORY_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    EXTRACTOR_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    trajectory: str
    steps: _containers.RepeatedScalarFieldContainer[int]
    writer: str
    extractor: str
    principal: str
    def __init__(self, task_id: _Optional[str] = ..., trajectory: _Optional[str] = ..., steps: _Optional[_Iterable[int]] = ..., writer: _Optional[str] = ..., extractor: _Optional[str] = ..., principal: _Optional[str] = ...) -> None: ...

class Evidence(_message.Message):
    __slots__ = ("verdict", "time", "task_id", "trajectory", "reviewer", "note")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    TRAJECTORY_FIELD_NUMBER: _ClassVar[int]
    REVIEWER_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    verdict: Verdict
    time: _timestamp_pb2.Timestamp
    task_id: str
    trajectory: str
    reviewer: str
    note: str
    def __init__(self, verdict: _Optional[_Union[Verdict, str]] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., task_id: _Optional[str] = ..., trajectory: _Optional[str] = ..., reviewer: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...

class Memory(_message.Message):
    __slots__ = ("id", "namespace", "memory_type", "content", "summary", "task_type", "outcome", "lesson", "tags", "tools_used", "attributes", "confidence", "verification", "evidence", "create_time", "update_time", "event_time", "valid_until", "invalidate_time", "superseded_by", "supersedes", "conflicts_with", "sequence", "position", "source", "revision", "embedding_model", "embedding_dimension", "original_bytes", "supersede_reason", "flags")
    class AttributesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: AttributeValue
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[AttributeValue, _Mapping]] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    TASK_TYPE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    LESSON_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_USED_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    VERIFICATION_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    VALID_UNTIL_FIELD_NUMBER: _ClassVar[int]
    INVALIDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDES_FIELD_NUMBER: _ClassVar[int]
    CONFLICTS_WITH_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_MODEL_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_DIMENSION_FIELD_NUMBER: _ClassVar[int]
    ORIGINAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDE_REASON_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    id: str
    namespace: str
    memory_type: MemoryType
    content: str
    summary: str
    task_type: str
    outcome: Outcome
    lesson: Lesson
    tags: _containers.RepeatedScalarFieldContainer[str]
    tools_used: _containers.RepeatedScalarFieldContainer[str]
    attributes: _containers.MessageMap[str, AttributeValue]
    confidence: float
    verification: Verification
    evidence: _containers.RepeatedCompositeFieldContainer[Evidence]
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    event_time: _timestamp_pb2.Timestamp
    valid_until: _timestamp_pb2.Timestamp
    invalidate_time: _timestamp_pb2.Timestamp
    superseded_by: str
    supersedes: _containers.RepeatedScalarFieldContainer[str]
    conflicts_with: _containers.RepeatedScalarFieldContainer[str]
    sequence: str
    position: int
    source: Source
    revision: int
    embedding_model: str
    embedding_dimension: int
    original_bytes: int
    supersede_reason: str
    flags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., namespace: _Optional[str] = ..., memory_type: _Optional[_Union[MemoryType, str]] = ..., content: _Optional[str] = ..., summary: _Optional[str] = ..., task_type: _Optional[str] = ..., outcome: _Optional[_Union[Outcome, str]] = ..., lesson: _Optional[_Union[Lesson, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., tools_used: _Optional[_Iterable[str]] = ..., attributes: _Optional[_Mapping[str, AttributeValue]] = ..., confidence: _Optional[float] = ..., verification: _Optional[_Union[Verification, str]] = ..., evidence: _Optional[_Iterable[_Union[Evidence, _Mapping]]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., invalidate_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., superseded_by: _Optional[str] = ..., supersedes: _Optional[_Iterable[str]] = ..., conflicts_with: _Optional[_Iterable[str]] = ..., sequence: _Optional[str] = ..., position: _Optional[int] = ..., source: _Optional[_Union[Source, _Mapping]] = ..., revision: _Optional[int] = ..., embedding_model: _Optional[str] = ..., embedding_dimension: _Optional[int] = ..., original_bytes: _Optional[int] = ..., supersede_reason: _Optional[str] = ..., flags: _Optional[_Iterable[str]] = ...) -> None: ...

class MemoryDraft(_message.Message):
    __slots__ = ("content", "summary", "lesson", "memory_type", "task_type", "outcome", "tags", "tools_used", "attributes", "confidence", "event_time", "valid_until", "ttl", "supersedes", "sequence", "position", "source", "vector", "vector_packed", "on_duplicate", "on_too_long")
    class AttributesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: AttributeValue
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[AttributeValue, _Mapping]] = ...) -> None: ...
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    LESSON_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TYPE_FIELD_NUMBER: _ClassVar[int]
    TASK_TYPE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_USED_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    VALID_UNTIL_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDES_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    VECTOR_PACKED_FIELD_NUMBER: _ClassVar[int]
    ON_DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    ON_TOO_LONG_FIELD_NUMBER: _ClassVar[int]
    content: str
    summary: str
    lesson: Lesson
    memory_type: MemoryType
    task_type: str
    outcome: Outcome
    tags: _containers.RepeatedScalarFieldContainer[str]
    tools_used: _containers.RepeatedScalarFieldContainer[str]
    attributes: _containers.MessageMap[str, AttributeValue]
    confidence: float
    event_time: _timestamp_pb2.Timestamp
    valid_until: _timestamp_pb2.Timestamp
    ttl: _duration_pb2.Duration
    supersedes: _containers.RepeatedScalarFieldContainer[str]
    sequence: str
    position: int
    source: Source
    vector: _containers.RepeatedScalarFieldContainer[float]
    vector_packed: bytes
    on_duplicate: OnDuplicate
    on_too_long: OnTooLong
    def __init__(self, content: _Optional[str] = ..., summary: _Optional[str] = ..., lesson: _Optional[_Union[Lesson, _Mapping]] = ..., memory_type: _Optional[_Union[MemoryType, str]] = ..., task_type: _Optional[str] = ..., outcome: _Optional[_Union[Outcome, str]] = ..., tags: _Optional[_Iterable[str]] = ..., tools_used: _Optional[_Iterable[str]] = ..., attributes: _Optional[_Mapping[str, AttributeValue]] = ..., confidence: _Optional[float] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., supersedes: _Optional[_Iterable[str]] = ..., sequence: _Optional[str] = ..., position: _Optional[int] = ..., source: _Optional[_Union[Source, _Mapping]] = ..., vector: _Optional[_Iterable[float]] = ..., vector_packed: _Optional[bytes] = ..., on_duplicate: _Optional[_Union[OnDuplicate, str]] = ..., on_too_long: _Optional[_Union[OnTooLong, str]] = ...) -> None: ...

class Related(_message.Message):
    __slots__ = ("id", "relation", "similarity", "reason")
    ID_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    id: str
    relation: str
    similarity: float
    reason: str
    def __init__(self, id: _Optional[str] = ..., relation: _Optional[str] = ..., similarity: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

class WriteReceipt(_message.Message):
    __slots__ = ("action", "memory", "related", "masked")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    RELATED_FIELD_NUMBER: _ClassVar[int]
    MASKED_FIELD_NUMBER: _ClassVar[int]
    action: Action
    memory: Memory
    related: _containers.RepeatedCompositeFieldContainer[Related]
    masked: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, action: _Optional[_Union[Action, str]] = ..., memory: _Optional[_Union[Memory, _Mapping]] = ..., related: _Optional[_Iterable[_Union[Related, _Mapping]]] = ..., masked: _Optional[_Iterable[str]] = ...) -> None: ...

class Revision(_message.Message):
    __slots__ = ("revision", "update_time", "reason", "memory")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    revision: int
    update_time: _timestamp_pb2.Timestamp
    reason: str
    memory: Memory
    def __init__(self, revision: _Optional[int] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., memory: _Optional[_Union[Memory, _Mapping]] = ...) -> None: ...

class AuditEvent(_message.Message):
    __slots__ = ("seq", "time", "namespace", "memory_id", "action", "principal", "note", "place")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    seq: int
    time: _timestamp_pb2.Timestamp
    namespace: str
    memory_id: str
    action: str
    principal: str
    note: str
    place: int
    def __init__(self, seq: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., namespace: _Optional[str] = ..., memory_id: _Optional[str] = ..., action: _Optional[str] = ..., principal: _Optional[str] = ..., note: _Optional[str] = ..., place: _Optional[int] = ...) -> None: ...

import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from siltstone.v1 import memory_pb2 as _memory_pb2
from siltstone.v1 import trajectory_pb2 as _trajectory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JobState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_STATE_UNSPECIFIED: _ClassVar[JobState]
    JOB_STATE_QUEUED: _ClassVar[JobState]
    JOB_STATE_RUNNING: _ClassVar[JobState]
    JOB_STATE_DONE: _ClassVar[JobState]
    JOB_STATE_FAILED: _ClassVar[JobState]
    JOB_STATE_CANCELLED: _ClassVar[JobState]

class JobTrigger(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_TRIGGER_UNSPECIFIED: _ClassVar[JobTrigger]
    JOB_TRIGGER_FINISH: _ClassVar[JobTrigger]
    JOB_TRIGGER_TURNS: _ClassVar[JobTrigger]
    JOB_TRIGGER_REMEMBER: _ClassVar[JobTrigger]
    JOB_TRIGGER_IDLE: _ClassVar[JobTrigger]
    JOB_TRIGGER_REQUEST: _ClassVar[JobTrigger]
JOB_STATE_UNSPECIFIED: JobState
JOB_STATE_QUEUED: JobState
JOB_STATE_RUNNING: JobState
JOB_STATE_DONE: JobState
JOB_STATE_FAILED: JobState
JOB_STATE_CANCELLED: JobState
JOB_TRIGGER_UNSPECIFIED: JobTrigger
JOB_TRIGGER_FINISH: JobTrigger
JOB_TRIGGER_TURNS: JobTrigger
JOB_TRIGGER_REMEMBER: JobTrigger
JOB_TRIGGER_IDLE: JobTrigger
JOB_TRIGGER_REQUEST: JobTrigger

class ExtractedLesson(_message.Message):
    __slots__ = ("lesson", "task_type", "outcome", "tools_used", "tags", "confidence")
    LESSON_FIELD_NUMBER: _ClassVar[int]
    TASK_TYPE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    TOOLS_USED_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    lesson: _memory_pb2.Lesson
    task_type: str
    outcome: _memory_pb2.Outcome
    tools_used: _containers.RepeatedScalarFieldContainer[str]
    tags: _containers.RepeatedScalarFieldContainer[str]
    confidence: float
    def __init__(self, lesson: _Optional[_Union[_memory_pb2.Lesson, _Mapping]] = ..., task_type: _Optional[str] = ..., outcome: _Optional[_Union[_memory_pb2.Outcome, str]] = ..., tools_used: _Optional[_Iterable[str]] = ..., tags: _Optional[_Iterable[str]] = ..., confidence: _Optional[float] = ...) -> None: ...

class Hindsight(_message.Message):
    __slots__ = ("lessons", "receipts", "summary", "summary_tokens", "outcome", "steps", "format", "extractor", "skipped", "flags", "skipped_count")
    LESSONS_FIELD_NUMBER: _ClassVar[int]
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    EXTRACTOR_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_COUNT_FIELD_NUMBER: _ClassVar[int]
    lessons: _containers.RepeatedCompositeFieldContainer[ExtractedLesson]
    receipts: _containers.RepeatedCompositeFieldContainer[_memory_pb2.WriteReceipt]
    summary: str
    summary_tokens: int
    outcome: _memory_pb2.Outcome
    steps: int
    format: str
    extractor: str
    skipped: _containers.RepeatedScalarFieldContainer[str]
    flags: _containers.RepeatedScalarFieldContainer[str]
    skipped_count: int
    def __init__(self, lessons: _Optional[_Iterable[_Union[ExtractedLesson, _Mapping]]] = ..., receipts: _Optional[_Iterable[_Union[_memory_pb2.WriteReceipt, _Mapping]]] = ..., summary: _Optional[str] = ..., summary_tokens: _Optional[int] = ..., outcome: _Optional[_Union[_memory_pb2.Outcome, str]] = ..., steps: _Optional[int] = ..., format: _Optional[str] = ..., extractor: _Optional[str] = ..., skipped: _Optional[_Iterable[str]] = ..., flags: _Optional[_Iterable[str]] = ..., skipped_count: _Optional[int] = ...) -> None: ...

class HindsightJob(_message.Message):
    __slots__ = ("id", "namespace", "task_id", "state", "attempts", "error", "create_time", "update_time", "hindsight", "trigger", "progress", "retry_time")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    HINDSIGHT_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    RETRY_TIME_FIELD_NUMBER: _ClassVar[int]
    id: str
    namespace: str
    task_id: str
    state: JobState
    attempts: int
    error: str
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    hindsight: Hindsight
    trigger: JobTrigger
    progress: float
    retry_time: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., namespace: _Optional[str] = ..., task_id: _Optional[str] = ..., state: _Optional[_Union[JobState, str]] = ..., attempts: _Optional[int] = ..., error: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., hindsight: _Optional[_Union[Hindsight, _Mapping]] = ..., trigger: _Optional[_Union[JobTrigger, str]] = ..., progress: _Optional[float] = ..., retry_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SummarizeTrajectoryRequest(_message.Message):
    __slots__ = ("trajectory", "data", "goal", "outcome", "namespace", "max_tokens", "dry_run", "task_id", "request_id")
    TRAJECTORY_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    trajectory: _trajectory_pb2.Trajectory
    data: str
    goal: str
    outcome: _memory_pb2.Outcome
    namespace: str
    max_tokens: int
    dry_run: bool
    task_id: str
    request_id: str
    def __init__(self, trajectory: _Optional[_Union[_trajectory_pb2.Trajectory, _Mapping]] = ..., data: _Optional[str] = ..., goal: _Optional[str] = ..., outcome: _Optional[_Union[_memory_pb2.Outcome, str]] = ..., namespace: _Optional[str] = ..., max_tokens: _Optional[int] = ..., dry_run: _Optional[bool] = ..., task_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class StreamTrajectoryRequest(_message.Message):
    __slots__ = ("options", "data")
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    options: SummarizeTrajectoryRequest
    data: bytes
    def __init__(self, options: _Optional[_Union[SummarizeTrajectoryRequest, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class CreateHindsightJobRequest(_message.Message):
    __slots__ = ("task_id", "wait", "request_id")
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    wait: bool
    request_id: str
    def __init__(self, task_id: _Optional[str] = ..., wait: _Optional[bool] = ..., request_id: _Optional[str] = ...) -> None: ...

class GetHindsightJobRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class ListHindsightJobsRequest(_message.Message):
    __slots__ = ("namespace", "states", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    states: _containers.RepeatedScalarFieldContainer[JobState]
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., states: _Optional[_Iterable[_Union[JobState, str]]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListHindsightJobsResponse(_message.Message):
    __slots__ = ("jobs", "next_page_token")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[HindsightJob]
    next_page_token: str
    def __init__(self, jobs: _Optional[_Iterable[_Union[HindsightJob, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CancelHindsightJobRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

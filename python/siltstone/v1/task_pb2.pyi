import datetime

from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from siltstone.v1 import hindsight_pb2 as _hindsight_pb2
from siltstone.v1 import memory_pb2 as _memory_pb2
from siltstone.v1 import trajectory_pb2 as _trajectory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TaskStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_STATUS_UNSPECIFIED: _ClassVar[TaskStatus]
    TASK_STATUS_RUNNING: _ClassVar[TaskStatus]
    TASK_STATUS_FINISHED: _ClassVar[TaskStatus]
TASK_STATUS_UNSPECIFIED: TaskStatus
TASK_STATUS_RUNNING: TaskStatus
TASK_STATUS_FINISHED: TaskStatus

class DerivedState(_message.Message):
    __slots__ = ("steps_done", "dropped", "findings", "open_points", "current_hypothesis", "last_error", "last_error_step")
    STEPS_DONE_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    OPEN_POINTS_FIELD_NUMBER: _ClassVar[int]
    CURRENT_HYPOTHESIS_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_STEP_FIELD_NUMBER: _ClassVar[int]
    steps_done: _containers.RepeatedScalarFieldContainer[str]
    dropped: int
    findings: _containers.RepeatedScalarFieldContainer[str]
    open_points: _containers.RepeatedScalarFieldContainer[str]
    current_hypothesis: str
    last_error: str
    last_error_step: int
    def __init__(self, steps_done: _Optional[_Iterable[str]] = ..., dropped: _Optional[int] = ..., findings: _Optional[_Iterable[str]] = ..., open_points: _Optional[_Iterable[str]] = ..., current_hypothesis: _Optional[str] = ..., last_error: _Optional[str] = ..., last_error_step: _Optional[int] = ...) -> None: ...

class Task(_message.Message):
    __slots__ = ("id", "namespace", "goal", "task_type", "status", "outcome", "steps_done", "current_hypothesis", "pending", "findings", "variables", "step_count", "create_time", "update_time", "finish_time", "hindsight_job_id", "revision", "step_tokens", "hindsight_every", "hindsight_steps", "memory_ids", "compress_time", "derived", "principal")
    class VariablesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    TASK_TYPE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    STEPS_DONE_FIELD_NUMBER: _ClassVar[int]
    CURRENT_HYPOTHESIS_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    VARIABLES_FIELD_NUMBER: _ClassVar[int]
    STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    FINISH_TIME_FIELD_NUMBER: _ClassVar[int]
    HINDSIGHT_JOB_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    STEP_TOKENS_FIELD_NUMBER: _ClassVar[int]
    HINDSIGHT_EVERY_FIELD_NUMBER: _ClassVar[int]
    HINDSIGHT_STEPS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    COMPRESS_TIME_FIELD_NUMBER: _ClassVar[int]
    DERIVED_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    id: str
    namespace: str
    goal: str
    task_type: str
    status: TaskStatus
    outcome: _memory_pb2.Outcome
    steps_done: _containers.RepeatedScalarFieldContainer[str]
    current_hypothesis: str
    pending: _containers.RepeatedScalarFieldContainer[str]
    findings: _containers.RepeatedScalarFieldContainer[str]
    variables: _containers.ScalarMap[str, str]
    step_count: int
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    finish_time: _timestamp_pb2.Timestamp
    hindsight_job_id: str
    revision: int
    step_tokens: int
    hindsight_every: int
    hindsight_steps: int
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    compress_time: _timestamp_pb2.Timestamp
    derived: DerivedState
    principal: str
    def __init__(self, id: _Optional[str] = ..., namespace: _Optional[str] = ..., goal: _Optional[str] = ..., task_type: _Optional[str] = ..., status: _Optional[_Union[TaskStatus, str]] = ..., outcome: _Optional[_Union[_memory_pb2.Outcome, str]] = ..., steps_done: _Optional[_Iterable[str]] = ..., current_hypothesis: _Optional[str] = ..., pending: _Optional[_Iterable[str]] = ..., findings: _Optional[_Iterable[str]] = ..., variables: _Optional[_Mapping[str, str]] = ..., step_count: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finish_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., hindsight_job_id: _Optional[str] = ..., revision: _Optional[int] = ..., step_tokens: _Optional[int] = ..., hindsight_every: _Optional[int] = ..., hindsight_steps: _Optional[int] = ..., memory_ids: _Optional[_Iterable[str]] = ..., compress_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., derived: _Optional[_Union[DerivedState, _Mapping]] = ..., principal: _Optional[str] = ...) -> None: ...

class StartTaskRequest(_message.Message):
    __slots__ = ("goal", "namespace", "task_type", "request_id", "hindsight_every")
    GOAL_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TASK_TYPE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    HINDSIGHT_EVERY_FIELD_NUMBER: _ClassVar[int]
    goal: str
    namespace: str
    task_type: str
    request_id: str
    hindsight_every: int
    def __init__(self, goal: _Optional[str] = ..., namespace: _Optional[str] = ..., task_type: _Optional[str] = ..., request_id: _Optional[str] = ..., hindsight_every: _Optional[int] = ...) -> None: ...

class UpdateTaskRequest(_message.Message):
    __slots__ = ("task", "update_mask", "revision", "request_id")
    TASK_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    task: Task
    update_mask: _field_mask_pb2.FieldMask
    revision: int
    request_id: str
    def __init__(self, task: _Optional[_Union[Task, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., revision: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class AppendStepsRequest(_message.Message):
    __slots__ = ("task_id", "steps", "request_id")
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    steps: _containers.RepeatedCompositeFieldContainer[_trajectory_pb2.Step]
    request_id: str
    def __init__(self, task_id: _Optional[str] = ..., steps: _Optional[_Iterable[_Union[_trajectory_pb2.Step, _Mapping]]] = ..., request_id: _Optional[str] = ...) -> None: ...

class GetTaskRequest(_message.Message):
    __slots__ = ("task_id",)
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    def __init__(self, task_id: _Optional[str] = ...) -> None: ...

class RenderTaskRequest(_message.Message):
    __slots__ = ("task_id", "max_tokens", "with_memories")
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    WITH_MEMORIES_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    max_tokens: int
    with_memories: int
    def __init__(self, task_id: _Optional[str] = ..., max_tokens: _Optional[int] = ..., with_memories: _Optional[int] = ...) -> None: ...

class RenderTaskResponse(_message.Message):
    __slots__ = ("text", "tokens", "truncated", "memory_ids")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    text: str
    tokens: int
    truncated: bool
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, text: _Optional[str] = ..., tokens: _Optional[int] = ..., truncated: _Optional[bool] = ..., memory_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class FinishTaskRequest(_message.Message):
    __slots__ = ("task_id", "outcome", "wait", "request_id")
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    task_id: str
    outcome: _memory_pb2.Outcome
    wait: bool
    request_id: str
    def __init__(self, task_id: _Optional[str] = ..., outcome: _Optional[_Union[_memory_pb2.Outcome, str]] = ..., wait: _Optional[bool] = ..., request_id: _Optional[str] = ...) -> None: ...

class ListTasksRequest(_message.Message):
    __slots__ = ("namespace", "status", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    status: TaskStatus
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., status: _Optional[_Union[TaskStatus, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListTasksResponse(_message.Message):
    __slots__ = ("tasks", "next_page_token")
    TASKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[Task]
    next_page_token: str
    def __init__(self, tasks: _Optional[_Iterable[_Union[Task, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

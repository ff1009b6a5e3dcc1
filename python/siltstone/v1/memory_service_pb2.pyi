import datetime

from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from siltstone.v1 import memory_pb2 as _memory_pb2
from siltstone.v1 import search_pb2 as _search_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WriteMemoriesRequest(_message.Message):
    __slots__ = ("drafts", "namespace", "task_id", "request_id")
    DRAFTS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    drafts: _containers.RepeatedCompositeFieldContainer[_memory_pb2.MemoryDraft]
    namespace: str
    task_id: str
    request_id: str
    def __init__(self, drafts: _Optional[_Iterable[_Union[_memory_pb2.MemoryDraft, _Mapping]]] = ..., namespace: _Optional[str] = ..., task_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class WriteMemoriesResponse(_message.Message):
    __slots__ = ("receipts",)
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    receipts: _containers.RepeatedCompositeFieldContainer[_memory_pb2.WriteReceipt]
    def __init__(self, receipts: _Optional[_Iterable[_Union[_memory_pb2.WriteReceipt, _Mapping]]] = ...) -> None: ...

class GetMemoriesRequest(_message.Message):
    __slots__ = ("ids", "max_tokens", "task_id", "as_of")
    IDS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    max_tokens: int
    task_id: str
    as_of: _timestamp_pb2.Timestamp
    def __init__(self, ids: _Optional[_Iterable[str]] = ..., max_tokens: _Optional[int] = ..., task_id: _Optional[str] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetMemoriesResponse(_message.Message):
    __slots__ = ("memories", "tokens_used", "truncated_ids")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_USED_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_IDS_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    tokens_used: int
    truncated_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, memories: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ..., tokens_used: _Optional[int] = ..., truncated_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ListMemoriesRequest(_message.Message):
    __slots__ = ("namespace", "filter", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    filter: _search_pb2.Filter
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., filter: _Optional[_Union[_search_pb2.Filter, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListMemoriesResponse(_message.Message):
    __slots__ = ("memories", "next_page_token")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    next_page_token: str
    def __init__(self, memories: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class BatchSearchMemoriesRequest(_message.Message):
    __slots__ = ("requests",)
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedCompositeFieldContainer[_search_pb2.SearchMemoriesRequest]
    def __init__(self, requests: _Optional[_Iterable[_Union[_search_pb2.SearchMemoriesRequest, _Mapping]]] = ...) -> None: ...

class BatchSearchMemoriesResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[_search_pb2.SearchMemoriesResponse]
    def __init__(self, results: _Optional[_Iterable[_Union[_search_pb2.SearchMemoriesResponse, _Mapping]]] = ...) -> None: ...

class StreamSearchMemoriesRequest(_message.Message):
    __slots__ = ("requests",)
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedCompositeFieldContainer[_search_pb2.SearchMemoriesRequest]
    def __init__(self, requests: _Optional[_Iterable[_Union[_search_pb2.SearchMemoriesRequest, _Mapping]]] = ...) -> None: ...

class StreamSearchMemoriesResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[_search_pb2.SearchMemoriesResponse]
    def __init__(self, results: _Optional[_Iterable[_Union[_search_pb2.SearchMemoriesResponse, _Mapping]]] = ...) -> None: ...

class UpdateMemoryRequest(_message.Message):
    __slots__ = ("memory", "update_mask", "revision", "request_id")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    update_mask: _field_mask_pb2.FieldMask
    revision: int
    request_id: str
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., revision: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class ForgetMemoriesRequest(_message.Message):
    __slots__ = ("ids", "filter", "namespace", "mode", "dry_run", "request_id")
    IDS_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    filter: _search_pb2.Filter
    namespace: str
    mode: _memory_pb2.ForgetMode
    dry_run: bool
    request_id: str
    def __init__(self, ids: _Optional[_Iterable[str]] = ..., filter: _Optional[_Union[_search_pb2.Filter, _Mapping]] = ..., namespace: _Optional[str] = ..., mode: _Optional[_Union[_memory_pb2.ForgetMode, str]] = ..., dry_run: _Optional[bool] = ..., request_id: _Optional[str] = ...) -> None: ...

class ForgetMemoriesResponse(_message.Message):
    __slots__ = ("count", "ids", "mode", "dry_run")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    count: int
    ids: _containers.RepeatedScalarFieldContainer[str]
    mode: _memory_pb2.ForgetMode
    dry_run: bool
    def __init__(self, count: _Optional[int] = ..., ids: _Optional[_Iterable[str]] = ..., mode: _Optional[_Union[_memory_pb2.ForgetMode, str]] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class VerifyMemoryRequest(_message.Message):
    __slots__ = ("id", "verdict", "evidence", "task_id", "reviewer", "note", "request_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    REVIEWER_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    verdict: _memory_pb2.Verdict
    evidence: str
    task_id: str
    reviewer: str
    note: str
    request_id: str
    def __init__(self, id: _Optional[str] = ..., verdict: _Optional[_Union[_memory_pb2.Verdict, str]] = ..., evidence: _Optional[str] = ..., task_id: _Optional[str] = ..., reviewer: _Optional[str] = ..., note: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RestoreMemoryRequest(_message.Message):
    __slots__ = ("id", "request_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    request_id: str
    def __init__(self, id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class TraceMemoryRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class TraceMemoryResponse(_message.Message):
    __slots__ = ("memory", "revisions", "superseded", "superseded_by", "conflicts", "truncated")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    revisions: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Revision]
    superseded: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    superseded_by: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    conflicts: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    truncated: bool
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., revisions: _Optional[_Iterable[_Union[_memory_pb2.Revision, _Mapping]]] = ..., superseded: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ..., superseded_by: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ..., conflicts: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ..., truncated: _Optional[bool] = ...) -> None: ...

class ListAuditQueueRequest(_message.Message):
    __slots__ = ("namespace", "limit")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    limit: int
    def __init__(self, namespace: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListAuditQueueResponse(_message.Message):
    __slots__ = ("memories",)
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    def __init__(self, memories: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ...) -> None: ...

class ListAuditEventsRequest(_message.Message):
    __slots__ = ("since_seq", "page_size", "page_token", "namespace")
    SINCE_SEQ_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    since_seq: int
    page_size: int
    page_token: str
    namespace: str
    def __init__(self, since_seq: _Optional[int] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., namespace: _Optional[str] = ...) -> None: ...

class ListAuditEventsResponse(_message.Message):
    __slots__ = ("events", "next_page_token")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_memory_pb2.AuditEvent]
    next_page_token: str
    def __init__(self, events: _Optional[_Iterable[_Union[_memory_pb2.AuditEvent, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

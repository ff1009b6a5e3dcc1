import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from siltstone.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_SYSTEM: _ClassVar[Role]
    ROLE_USER: _ClassVar[Role]
    ROLE_AGENT: _ClassVar[Role]
    ROLE_TOOL: _ClassVar[Role]
ROLE_UNSPECIFIED: Role
ROLE_SYSTEM: Role
ROLE_USER: Role
ROLE_AGENT: Role
ROLE_TOOL: Role

class Step(_message.Message):
    __slots__ = ("number", "role", "text", "tool", "arguments", "result", "is_error", "time", "remember")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    REMEMBER_FIELD_NUMBER: _ClassVar[int]
    number: int
    role: Role
    text: str
    tool: str
    arguments: _struct_pb2.Struct
    result: str
    is_error: bool
    time: _timestamp_pb2.Timestamp
    remember: bool
    def __init__(self, number: _Optional[int] = ..., role: _Optional[_Union[Role, str]] = ..., text: _Optional[str] = ..., tool: _Optional[str] = ..., arguments: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., result: _Optional[str] = ..., is_error: _Optional[bool] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., remember: _Optional[bool] = ...) -> None: ...

class Trajectory(_message.Message):
    __slots__ = ("goal", "outcome", "steps", "id", "task_type", "format")
    GOAL_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TASK_TYPE_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    goal: str
    outcome: _memory_pb2.Outcome
    steps: _containers.RepeatedCompositeFieldContainer[Step]
    id: str
    task_type: str
    format: str
    def __init__(self, goal: _Optional[str] = ..., outcome: _Optional[_Union[_memory_pb2.Outcome, str]] = ..., steps: _Optional[_Iterable[_Union[Step, _Mapping]]] = ..., id: _Optional[str] = ..., task_type: _Optional[str] = ..., format: _Optional[str] = ...) -> None: ...

"""The RPCs of `siltstone.operations` with the messages the contract gives them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from siltstone.errors import InvalidArgumentError
from siltstone.operations import OPERATIONS, Operation
from siltstone.v1 import admin_pb2, hindsight_pb2, memory_service_pb2, task_pb2

SERVICES = {
    service.full_name: service
    for module in (memory_service_pb2, task_pb2, hindsight_pb2, admin_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
}
"""Full name → descriptor of every service."""

ROLES_HEADER = "siltstone-roles"
"""Metadata by which a caller keeps to some of its roles, with commas between them; it can gain none."""


CALLER_HEADER = "siltstone-caller"
"""Metadata by which a gateway says from which address came what it passes on."""


@dataclass(frozen=True, slots=True)
class Method:
    """An operation on the wire. `path` is what gRPC calls it by."""

    operation: Operation
    path: str
    request: Any  # message classes
    response: Any


def _method(operation: Operation) -> Method:
    service = SERVICES[f"siltstone.v1.{operation.service}"]
    rpc = service.methods_by_name[operation.rpc]
    return Method(
        operation,
        f"/{service.full_name}/{rpc.name}",
        GetMessageClass(rpc.input_type),
        GetMessageClass(rpc.output_type),
    )


METHODS: Mapping[str, Method] = {rpc: _method(operation) for rpc, operation in OPERATIONS.items()}


def parse(message_class: Any, data: bytes) -> Any:
    """The message in `data`; InvalidArgumentError when it holds none."""
    try:
        return message_class.FromString(data)
    except DecodeError:
        raise InvalidArgumentError(
            f"these {len(data)} bytes are no {message_class.DESCRIPTOR.full_name}: broken, of another "
            "message, nested too deeply, or with text that is not UTF-8",
            reason="INVALID_MESSAGE",
        ) from None

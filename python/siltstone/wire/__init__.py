"""The border between the dataclasses and protobuf. No gRPC in here."""

from siltstone.wire.codec import from_proto, to_proto
from siltstone.wire.contract import CALLER_HEADER, METHODS, ROLES_HEADER, SERVICES, Method, parse
from siltstone.wire.errors import from_status, to_status

__all__ = [
    "CALLER_HEADER",
    "METHODS",
    "ROLES_HEADER",
    "SERVICES",
    "Method",
    "from_proto",
    "from_status",
    "parse",
    "to_proto",
    "to_status",
]

"""The methods of `siltstone.Api` over gRPC, sync and async."""

from siltstone.client.aio import AsyncClient
from siltstone.client.client import Client

__all__ = ["AsyncClient", "Client"]

"""The gRPC server in front of the engine."""

from siltstone.server.server import Server, serve

__all__ = ["Server", "serve"]

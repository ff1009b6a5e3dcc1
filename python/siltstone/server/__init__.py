"""The gRPC server in front of the engine."""

from siltstone.server.server import Server, serve
from siltstone.server.tls import TlsFiles

__all__ = ["Server", "TlsFiles", "serve"]

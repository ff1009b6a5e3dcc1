"""The gRPC server in front of the engine."""

from siltstone.server.issued import IssuedTokens, Issuer
from siltstone.server.server import Server, serve
from siltstone.server.tls import TlsFiles

__all__ = ["IssuedTokens", "Issuer", "Server", "TlsFiles", "serve"]

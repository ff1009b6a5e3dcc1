"""The sidecar: MCP, HTTP/JSON and health for one gRPC server. It holds no state and no file of the store."""

from siltstone.gateway.serve import Gateway, serve_gateway
from siltstone.gateway.stdio import run_stdio

__all__ = ["Gateway", "run_stdio", "serve_gateway"]

"""MCP over stdin and stdout, for a client that starts the gateway itself. Logs go to stderr."""

import asyncio
import os
import signal
import threading
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.server.stdio import stdio_server

from siltstone.gateway.mcp_server import build_server


def run_stdio(client: AbstractAsyncContextManager[Any], *, namespace: str = "default") -> None:
    """Serve one MCP connection until stdin ends, SIGINT or SIGTERM.

    Args:
        client: a `siltstone.client.AsyncClient` (or any other `Api` with awaitable methods), not yet entered.
        namespace: what a tool call that names no namespace means.
    """
    asyncio.run(_serve(client, namespace))


async def _serve(client: AbstractAsyncContextManager[Any], namespace: str) -> None:
    if threading.current_thread() is threading.main_thread():
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            # A thread waits in a read of stdin that nothing can interrupt; nothing here needs saving.
            loop.add_signal_handler(number, os._exit, 0)
    async with client as memories:
        server = build_server(memories, namespace=namespace)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

"""MCP over stdin and stdout: a subprocess, driven by the SDK's client and by hand."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters


@pytest.fixture
def command(fake_path: Path) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=[str(fake_path)], env=dict(os.environ))


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_memories_go_in_and_out_over_stdio_word_for_word(
    command: StdioServerParameters, mode: str
) -> None:
    content = "登录失败 🚑\n第二行 \u2028 ”"
    with anyio.fail_after(60):
        async with Client(command, mode=mode) as client:
            assert len((await client.list_tools()).tools) == 12
            written = await client.call_tool("memory_write", {"content": content})
            assert not written.is_error
            id = written.structured_content["memory"]["id"]
            read = await client.call_tool("memory_get", {"ids": [id]})
            assert read.structured_content["memories"][0]["content"] == content
            wrong = await client.call_tool("memory_search", {"query": "x", "top_k": "5"})
            assert wrong.is_error
            answers: list[bool] = []

            async def search() -> None:
                answers.append((await client.call_tool("memory_search", {"query": "登录失败"})).is_error)

            async with anyio.create_task_group() as group:
                for _ in range(20):
                    group.start_soon(search)
            assert answers == [False] * 20


def test_stdin_that_ends_ends_the_process_and_stdout_stays_clean(command: StdioServerParameters) -> None:
    done = subprocess.run(
        [command.command, *command.args], input=b"not json\n", capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert b"not json" not in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_process_while_stdin_is_open(command: StdioServerParameters, number: int) -> None:
    request = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    process = subprocess.Popen(
        [command.command, *command.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin
    assert process.stdout
    try:
        process.stdin.write(request)
        process.stdin.flush()
        assert process.stdout.readline()  # it serves
        process.send_signal(number)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

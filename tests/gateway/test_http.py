"""Who may reach the gateway, whether it is alive, how it starts and stops."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from typing import Any

import httpx2
import pytest
from mcp import Client
from siltstone.errors import FailedPreconditionError, InvalidArgumentError, UnavailableError
from siltstone.gateway import Gateway

PATHS = ["/mcp", "/v1/SearchMemories"]


def call(http: httpx2.Client, path: str, **headers: str) -> httpx2.Response:
    given = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"} if path == "/mcp" else {"query": "x"}
    return http.post(path, json=given, headers={"accept": "application/json, text/event-stream", **headers})


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host", ["localhost:8765", "127.0.0.1", "[::1]:1", "LOCALHOST", "memory.test", "memory.test:80"]
)
def test_a_name_of_ours_is_answered(http: httpx2.Client, path: str, host: str) -> None:
    assert call(http, path, host=host).status_code == 200


@pytest.mark.parametrize("path", [*PATHS, "/", "/v1/None"])
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "localhost.evil.example",
        "127.0.0.1:80:80",
        "localhost:8765@evil",
        "",
    ],
)
def test_a_foreign_name_is_refused_before_anything_else(http: httpx2.Client, path: str, host: str) -> None:
    answer = call(http, path, host=host)
    assert answer.status_code in (400, 421)
    if answer.status_code == 421:
        assert answer.json()["error"]["reason"] == "HOST_NOT_ALLOWED"
    else:
        assert not host or "@" in host  # refused by the HTTP layer itself


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://localhost:3000", "http://127.0.0.1:1", "http://localhost"],
)
def test_a_page_of_another_origin_is_refused(http: httpx2.Client, fake: Any, path: str, origin: str) -> None:
    answer = call(http, path, host="localhost:8765", origin=origin)
    assert answer.status_code == 403
    assert answer.json()["error"]["reason"] == "ORIGIN_NOT_ALLOWED"
    assert fake.seen == []


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", ["localhost:8765", "memory.test"])
def test_a_page_of_the_gateway_itself_is_answered(http: httpx2.Client, path: str, host: str) -> None:
    assert call(http, path, host=host, origin=f"http://{host}").status_code == 200


def test_healthz_says_the_process_lives_and_readyz_whether_the_server_answers(
    http: httpx2.Client, fake: Any
) -> None:
    assert http.get("/readyz").json() == {"status": "ok"}
    fake.failure = UnavailableError("connection refused")
    answer = http.get("/readyz", headers={"host": "10.1.2.3:8765"})
    assert answer.status_code == 503
    assert answer.json()["error"]["message"] == "connection refused"
    assert http.get("/healthz", headers={"host": "10.1.2.3:8765"}).json() == {"status": "ok"}


@pytest.mark.anyio
async def test_a_server_that_is_down_is_an_error_that_says_where_it_was_looked_for() -> None:
    with (
        Gateway("127.0.0.1:1", address="127.0.0.1:0") as gateway,
        httpx2.Client(base_url=f"http://{gateway.address}", timeout=20) as http,
    ):
        answers = [call(http, "/v1/SearchMemories"), http.get("/readyz")]
        async with Client(f"http://{gateway.address}/mcp") as client:
            result = await client.call_tool("memory_search", {"query": "x"})
    assert [answer.status_code for answer in answers] == [503, 503]
    assert result.is_error
    for message in (*(answer.json()["error"]["message"] for answer in answers), result.content[0].text):
        assert "127.0.0.1:1 " in message
        assert "siltstone serve" in message


def test_a_server_that_never_answers_is_given_up_in_time() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        Gateway(f"127.0.0.1:{silent.getsockname()[1]}", address="127.0.0.1:0", timeout=0.3) as gateway,
        httpx2.Client(base_url=f"http://{gateway.address}", timeout=20) as http,
    ):
        error = call(http, "/v1/SearchMemories")
    assert error.status_code in (503, 504)


def test_a_busy_port_is_an_error_that_names_the_address_and_the_flag(gateway: Gateway) -> None:
    with pytest.raises(FailedPreconditionError, match="--gateway-address") as caught:
        Gateway(address=gateway.address).start()
    assert caught.value.reason == "ADDRESS_IN_USE"
    assert gateway.address in caught.value.message
    assert "--address" not in caught.value.message.replace("--gateway-address", "")


@pytest.mark.parametrize(
    "address", ["", "8765", ":8765", "localhost:", "localhost:x", "::1:8765", "localhost:99999"]
)
def test_an_address_that_cannot_be_read_is_refused(address: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"host:port|brackets"):
        Gateway(address=address)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="cannot listen"):
        Gateway(address="192.0.2.1:8765", insecure=True).start()


def test_a_host_name_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="allowed_hosts"):
        Gateway(allowed_hosts=["http://memory.test"])


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS"])
def test_mcp_takes_only_post_as_there_is_no_stream_to_open(http: httpx2.Client, method: str) -> None:
    answer = http.request(method, "/mcp", headers={"accept": "text/event-stream"})
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


def test_a_gateway_that_stopped_leaves_its_port_free(fake: Any) -> None:
    gateway = Gateway(address="127.0.0.1:0", connect=lambda: fake).start()
    gateway.stop()
    gateway.stop()
    host, port = gateway.address.split(":")
    with socket.socket() as probe:
        assert probe.connect_ex((host, int(port))) != 0
    with Gateway(address=gateway.address, connect=lambda: fake):
        pass


def test_a_client_that_cannot_be_made_is_an_error_of_the_start(fake: Any) -> None:
    class Broken:
        async def __aenter__(self) -> None:
            raise InvalidArgumentError("token: wrong", field="token")

        async def __aexit__(self, *exception: object) -> None: ...

    with pytest.raises(InvalidArgumentError, match="token"):
        Gateway(address="127.0.0.1:0", connect=Broken).start()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_foreground_gateway_with_exit_code_zero(number: int) -> None:
    program = (
        "from siltstone.gateway import serve_gateway\n"
        "serve_gateway('127.0.0.1:1', address='127.0.0.1:0', on_start=lambda g: print(g.address, flush=True))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert process.stdout
    try:
        address = process.stdout.readline().strip()
        assert httpx2.get(f"http://{address}/healthz", timeout=20).status_code == 200
        process.send_signal(number)
        assert process.wait(20) == 0
        assert process.stdout.read() == ""
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize(("answers", "sent"), [(0, b""), (0, b"POST /v1/Wri"), (1, b"POST /v1/Wri")])
def test_a_connection_on_which_no_request_comes_whole_is_closed(fake: Any, sent: bytes, answers: int) -> None:
    with Gateway(address="127.0.0.1:0", connect=lambda: fake, idle_s=0.2) as gateway:
        host, port = gateway.address.split(":")
        with socket.create_connection((host, int(port)), timeout=20) as caller:
            for _ in range(answers):
                caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                answer = b""
                while not answer.endswith(b"}"):
                    answer += caller.recv(65536)
            caller.sendall(sent)
            with contextlib.suppress(ConnectionResetError):
                assert caller.recv(65536) == b""


def test_a_token_that_is_too_long_is_none(http: httpx2.Client) -> None:
    answer = http.post("/v1/ListNamespaces", json={}, headers={"authorization": "Bearer " + "a" * 20_000})
    assert answer.status_code == 401
    assert answer.json()["error"]["reason"] == "MALFORMED_TOKEN"

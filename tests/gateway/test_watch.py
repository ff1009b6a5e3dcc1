"""Ids, figures and limits of the gateway's HTTP side."""

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from siltstone.gateway import Gateway


def wait_until(holds: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(2000):
        if holds():
            return
        pause.wait(0.005)
    raise AssertionError("it did not come about within 10 s")


def figures(http: httpx2.Client) -> dict[str, float]:
    lines = [line for line in http.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


@pytest.mark.parametrize(("given", "kept"), [("agent-7.step:3", True), ("two words", False)])
def test_the_request_id_comes_back_or_a_new_one_does(http: httpx2.Client, given: str, kept: bool) -> None:
    for path in ("/healthz", "/v2/nothing"):
        answer = http.get(path, headers={"x-request-id": given})
        assert (answer.headers["x-request-id"] == given) is kept


def test_figures_count_by_door_and_never_by_path(fake: Any) -> None:
    fake.on_get_metrics = lambda _request: None
    with (
        Gateway(address="127.0.0.1:0", connect=lambda: fake) as gateway,
        httpx2.Client(base_url=f"http://{gateway.address}", timeout=20) as http,
    ):
        http.post("/v1/SearchMemories", json={"query": "秘密"})
        http.get("/secret-path-1")
        http.get("/secret-path-2")
        text = http.get("/metrics").text
        seen = figures(http)
    assert seen['siltstone_gateway_requests_total{door="v1",status="200"}'] == 1
    assert seen['siltstone_gateway_requests_total{door="other",status="404"}'] == 2
    assert seen['siltstone_gateway_seconds_count{door="v1"}'] == 1
    assert "secret" not in text
    assert "秘密" not in text


def test_figures_of_the_gateway_stay_when_the_server_is_away() -> None:
    with (
        Gateway("127.0.0.1:1", address="127.0.0.1:0", timeout=5) as gateway,
        httpx2.Client(base_url=f"http://{gateway.address}", timeout=20) as http,
    ):
        seen = figures(http)
    assert seen["siltstone_server_up"] == 0
    assert "siltstone_gateway_running" in seen


def test_beyond_its_limit_the_gateway_turns_requests_away_and_stays_healthy(fake: Any) -> None:
    fake.hold = asyncio.Event()
    held: list[httpx2.Response] = []
    with (
        Gateway(address="127.0.0.1:0", connect=lambda: fake, max_calls=2) as gateway,
        httpx2.Client(base_url=f"http://{gateway.address}", timeout=30) as http,
    ):
        callers = [
            threading.Thread(target=lambda: held.append(http.post("/v1/SearchMemories", json={"query": "x"})))
            for _ in range(2)
        ]
        for caller in callers:
            caller.start()
        wait_until(lambda: len(fake.seen) == 2)
        refused = http.post("/v1/SearchMemories", json={"query": "x"})
        assert http.get("/healthz").status_code == 200
        fake.hold._loop.call_soon_threadsafe(fake.hold.set)
        for caller in callers:
            caller.join(20)
        assert http.post("/v1/SearchMemories", json={"query": "x"}).status_code == 200
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "1"
    assert refused.json()["error"]["reason"] == "OVERLOADED"
    assert [answer.status_code for answer in held] == [200, 200]


def test_a_body_that_does_not_come_is_given_up(fake: Any) -> None:
    head = b"POST /v1/SearchMemories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with (
        Gateway(address="127.0.0.1:0", connect=lambda: fake, idle_s=0.2) as gateway,
        socket.create_connection(gateway.address.split(":"), timeout=20) as slow,
    ):
        slow.sendall(head + b'Content-Length: 100\r\n\r\n{"query"')
        answer = b""
        while part := slow.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"BODY_TOO_SLOW" in answer


def test_an_answer_that_nobody_takes_is_given_up(fake: Any) -> None:
    from siltstone.model import requests as r

    fake.on_list_namespaces = lambda _request: r.ListNamespacesResponse(next_page_token="页" * 10_000_000)
    body = b"POST /v1/ListNamespaces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with (
        Gateway(address="127.0.0.1:0", connect=lambda: fake, idle_s=0.2) as gateway,
        socket.create_connection(gateway.address.split(":"), timeout=20) as slow,
        httpx2.Client(base_url=f"http://{gateway.address}", timeout=20) as http,
    ):
        slow.sendall(body + b"Content-Length: 2\r\n\r\n{}")
        wait_until(lambda: figures(http).get('siltstone_gateway_requests_total{door="v1",status="200"}') == 1)
        assert figures(http)["siltstone_gateway_running"] == 1, "only the one that asks"


def test_bodies_beyond_what_the_memory_is_to_hold_are_refused_and_one_alone_is_not(fake: Any) -> None:
    fake.hold = asyncio.Event()
    large = {"query": "长" * 1000}
    held: list[httpx2.Response] = []
    with (
        Gateway(address="127.0.0.1:0", connect=lambda: fake, max_pending_bytes=1000) as gateway,
        httpx2.Client(base_url=f"http://{gateway.address}", timeout=30) as http,
    ):
        caller = threading.Thread(target=lambda: held.append(http.post("/v1/SearchMemories", json=large)))
        caller.start()
        wait_until(lambda: len(fake.seen) == 1)
        refused = http.post("/v1/SearchMemories", json=large)
        fake.hold._loop.call_soon_threadsafe(fake.hold.set)
        caller.join(20)
        again = http.post("/v1/SearchMemories", json=large)
    assert (refused.status_code, refused.json()["error"]["reason"]) == (429, "OVERLOADED")
    assert "max_pending_bytes" in refused.json()["error"]["message"]
    assert [held[0].status_code, again.status_code] == [200, 200]

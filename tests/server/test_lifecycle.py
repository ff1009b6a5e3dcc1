import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from siltstone.client import Client
from siltstone.errors import FailedPreconditionError, InvalidArgumentError, UnavailableError
from siltstone.server import Server, serve
from siltstone.wire import SERVICES

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def test_the_address_has_the_real_port(server: Server) -> None:
    assert not server.address.endswith(":0")


def test_a_server_that_cannot_listen_leaves_no_thread(engine: Any, server: Server) -> None:
    before = set(threading.enumerate())
    with pytest.raises(FailedPreconditionError):
        serve(engine, address=server.address)
    assert [thread.name for thread in set(threading.enumerate()) - before] == []


def test_a_socket_that_another_server_listens_at_is_not_taken_from_it(engine: Any, tmp_path: Path) -> None:
    first = serve(engine, address=f"unix:{tmp_path}/s")
    try:
        with pytest.raises(FailedPreconditionError) as caught:
            serve(engine, address=first.address)
        assert caught.value.reason == "ADDRESS_IN_USE"
    finally:
        first.stop()
    serve(engine, address=f"unix:{tmp_path}/s").stop()


def test_a_busy_port_names_the_address_and_the_flag(engine: Any, server: Server) -> None:
    with pytest.raises(FailedPreconditionError) as caught:
        serve(engine, address=server.address)
    assert caught.value.reason == "ADDRESS_IN_USE"
    assert server.address in str(caught.value)
    assert "--address" in str(caught.value)


def test_an_address_of_another_machine_is_not_called_busy(engine: Any) -> None:
    with pytest.raises(FailedPreconditionError) as caught:
        serve(engine, address="192.0.2.1:0", insecure=True)
    assert caught.value.reason == "ADDRESS_UNAVAILABLE"


@pytest.mark.parametrize("address", ["localhost", ":50051", "localhost:http", "localhost:70000"])
def test_what_is_no_address_is_refused(engine: Any, address: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        serve(engine, address=address)
    assert caught.value.field == "address"


def test_health_answers_for_the_whole_and_for_each_service(server: Server) -> None:
    with grpc.insecure_channel(server.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name in ("", *SERVICES):
            assert stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=10).status == SERVING


def test_health_flips_when_the_server_stops_and_a_watcher_does_not_hold_it_up(engine: Any) -> None:
    server = serve(engine, address="127.0.0.1:0", grace_s=60)
    seen: queue.Queue[int] = queue.Queue()
    with grpc.insecure_channel(server.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)

        def watch() -> None:
            try:
                for answer in stub.Watch(health_pb2.HealthCheckRequest(service=""), timeout=60):
                    seen.put(answer.status)
            except grpc.RpcError:
                seen.put(-1)

        watcher = threading.Thread(target=watch)
        watcher.start()
        assert seen.get(timeout=10) == SERVING
        stopper = threading.Thread(target=server.stop)
        stopper.start()
        assert seen.get(timeout=10) == NOT_SERVING
        stopper.join(15)
        assert not stopper.is_alive()
        assert seen.get(timeout=10) == -1
        watcher.join(10)
    assert server.wait(0)


def test_stopping_lets_running_calls_end_and_refuses_new_ones(engine: Any) -> None:
    server = serve(engine, address="127.0.0.1:0", grace_s=30)
    with Client(server.address) as client, Client(server.address) as late, ThreadPoolExecutor(2) as pool:
        running = pool.submit(client.search, "wait")
        assert engine.entered.acquire(timeout=10)
        stopping = pool.submit(server.stop)
        wait_until_refused(late)
        assert not running.done()
        assert not server.wait(0)
        engine.go_on.set()
        assert running.result(10).hits[0].memory.summary == "wait"
        assert stopping.result(10) is True
    assert server.wait(0)


def wait_until_refused(client: Client) -> None:
    for _ in range(200):
        try:
            client.search("new")
        except UnavailableError:
            return
    raise AssertionError("a stopping server still takes calls")


def test_a_call_that_outlasts_the_grace_is_cut_off(engine: Any) -> None:
    server = serve(engine, address="127.0.0.1:0")
    with Client(server.address) as client, ThreadPoolExecutor(1) as pool:
        running = pool.submit(client.search, "wait")
        assert engine.entered.acquire(timeout=10)
        assert server.stop(grace_s=0.1) is False
        with pytest.raises(UnavailableError):
            running.result(20)
        engine.go_on.set()


def test_stopping_twice_is_harmless(engine: Any) -> None:
    server = serve(engine, address="127.0.0.1:0")
    assert server.stop()
    assert server.stop()


def test_a_client_finds_a_server_that_was_restarted(engine: Any) -> None:
    first = serve(engine, address="127.0.0.1:0")
    with Client(first.address, timeout=20) as client:
        assert client.search("前").hits
        first.stop()
        second = serve(engine, address=first.address)
        try:
            assert client.search("后").hits[0].memory.summary == "后"
        finally:
            second.stop()


class Lost(grpc.RpcError):
    """What gRPC raises when the connection breaks."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return "Socket closed"

    def trailing_metadata(self) -> None:
        return None


def lose_answers(client: Client, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Let the next calls reach the server and their answers be lost."""
    send = client._send
    left = iter(range(times))

    def lossy(*arguments: Any) -> Any:
        answer = send(*arguments)
        if next(left, None) is not None:
            raise Lost
        return answer

    monkeypatch.setattr(client, "_send", lossy)


def test_a_write_whose_answer_was_lost_is_repeated_with_the_same_request_id(
    client: Client, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_answers(client, monkeypatch, times=2)
    assert client.write("写一次").memory.content == "写一次"
    assert len(engine.requests) == 3
    assert len({request.request_id for request in engine.requests}) == 1


def test_a_call_is_repeated_twice_at_most(
    client: Client, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_answers(client, monkeypatch, times=3)
    with pytest.raises(UnavailableError) as caught:
        client.write("a")
    assert caught.value.reason == "CONNECTION_FAILED"
    assert len(engine.requests) == 3


def test_what_the_server_itself_refuses_is_not_repeated(client: Client, engine: Any) -> None:
    with pytest.raises(UnavailableError):
        client.get("UNAVAILABLE")
    assert len(engine.requests) == 1

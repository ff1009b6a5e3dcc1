"""What the interceptor does: ids, figures, turning calls away, and callers that neither send nor take."""

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client.parser import text_string_to_metric_families
from siltstone import model as m
from siltstone.client import Client
from siltstone.errors import InvalidArgumentError, ResourceExhaustedError, SiltstoneError
from siltstone.server import Server, serve
from siltstone.watching import Metrics
from siltstone.wire import METHODS, to_proto

SEARCH = METHODS["SearchMemories"]
STREAM = METHODS["StreamSearchMemories"]


def wait_until(holds: Callable[[], bool]) -> None:
    """Without a look at the clock: a condition that another thread brings about."""
    pause = threading.Event()
    for _ in range(2000):
        if holds():
            return
        pause.wait(0.005)
    raise AssertionError("it did not come about within 10 s")


def figure(metrics: Metrics, name: str, **labels: str) -> float:
    """One figure of a server; 0 where it was never counted."""
    for family in text_string_to_metric_families(metrics.text()):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    return 0.0


@pytest.fixture
def small(engine: Any) -> Iterator[Server]:
    """Two workers, two places to wait, and little patience with callers."""
    engine.metrics = Metrics()
    server = serve(
        engine,
        address="127.0.0.1:0",
        workers=2,
        max_waiting=2,
        max_unread_bytes=1 << 20,
        idle_s=2.0,
        grace_s=5,
    )
    yield server
    engine.go_on.set()
    server.stop()


def search(channel: grpc.Channel, query: str = "x", **options: Any) -> Any:
    call = channel.unary_unary(SEARCH.path, request_serializer=SEARCH.request.SerializeToString)
    request = to_proto(m.SearchRequest(query=query), SEARCH.request)
    return call.with_call(request, timeout=20, **options)[1]


@pytest.mark.parametrize(
    ("given", "kept"),
    [("run-7/step:3", True), ("a b", False), ("x" * 129, False), ("", False)],
)
def test_the_request_id_comes_back_or_a_new_one_does(server: Server, given: str, kept: bool) -> None:
    with grpc.insecure_channel(server.address) as channel:
        call = search(channel, metadata=[("x-request-id", given)])
        [id] = [value for key, value in call.trailing_metadata() if key == "x-request-id"]
    assert (id == given) is kept
    assert len(id) >= 12


def test_an_error_tells_the_request_id_of_its_own_call(client: Client) -> None:
    ids = set()
    for _ in range(2):
        with pytest.raises(SiltstoneError) as caught:
            client.get("NOT_FOUND")
        ids.add(caught.value.request_id)
    assert len(ids) == 2
    assert "" not in ids


def test_calls_are_counted_by_how_they_ended(engine: Any, small: Server) -> None:
    with Client(small.address) as client:
        client.search("秘密的问题")
        with pytest.raises(SiltstoneError):
            client.get("NOT_FOUND")
    metrics = engine.metrics
    wait_until(lambda: figure(metrics, "siltstone_rpcs_total", rpc="GetMemories", status="NOT_FOUND") == 1)
    assert figure(metrics, "siltstone_rpcs_total", rpc="SearchMemories", status="OK") == 1
    assert figure(metrics, "siltstone_rpc_seconds_count", rpc="SearchMemories") == 1
    assert figure(metrics, "siltstone_rejects_total", reason="A_REASON") == 1
    assert figure(metrics, "siltstone_workers") == 2
    assert "秘密" not in metrics.text()


def test_beyond_its_limit_the_server_turns_calls_away_and_stays_healthy(engine: Any, small: Server) -> None:
    with (
        Client(small.address, timeout=20) as client,
        grpc.insecure_channel(small.address) as channel,
        ThreadPoolExecutor(4) as pool,
    ):
        held = [pool.submit(client.search, "wait") for _ in range(4)]
        wait_until(lambda: figure(engine.metrics, "siltstone_calls_waiting") == 2)
        with pytest.raises(ResourceExhaustedError, match="2 calls are under way and 2 wait") as caught:
            client.search("one too many")
        assert caught.value.reason == "OVERLOADED"
        assert caught.value.request_id
        with pytest.raises(grpc.RpcError) as refused:
            search(channel)
        assert "google.rpc.RetryInfo" in str(dict(refused.value.trailing_metadata()))
        health = health_pb2_grpc.HealthStub(channel)
        answer = health.Check(health_pb2.HealthCheckRequest(), timeout=10)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        engine.go_on.set()
        assert [len(each.result(20).hits) for each in held] == [1] * 4
        assert client.search("room again").hits
    assert figure(engine.metrics, "siltstone_rejects_total", reason="OVERLOADED") == 2


def test_a_call_whose_message_does_not_come_loses_its_worker(engine: Any, small: Server) -> None:
    never = threading.Event()

    def nothing() -> Iterator[Any]:
        never.wait(20)
        return
        yield

    try:
        with grpc.insecure_channel(small.address) as channel, Client(small.address, timeout=20) as client:
            # As many as there are workers: without an end to their patience nobody else would be served.
            path = SEARCH.path
            stalled = [
                channel.stream_unary(path, request_serializer=SEARCH.request.SerializeToString).future(
                    nothing()
                )
                for _ in range(2)
            ]
            assert client.search("served").hits
            assert {call.code() for call in stalled} == {grpc.StatusCode.CANCELLED}
    finally:
        never.set()
    wait_until(lambda: figure(engine.metrics, "siltstone_calls_given_up") == 2)


def test_an_idle_stream_gives_its_place_back(engine: Any, small: Server) -> None:
    never = threading.Event()

    def one() -> Iterator[Any]:
        request = m.requests.BatchSearchMemoriesRequest(requests=[m.SearchRequest(query="一")])
        yield to_proto(request, STREAM.request)
        never.wait(20)

    try:
        with grpc.insecure_channel(small.address) as channel:
            for _ in range(2):  # of which only one may be open
                stream = channel.stream_stream(
                    STREAM.path,
                    request_serializer=STREAM.request.SerializeToString,
                    response_deserializer=STREAM.response.FromString,
                )(one(), timeout=20)
                assert len(next(stream).results) == 1
                with pytest.raises(grpc.RpcError):
                    next(stream)
                assert stream.code() is grpc.StatusCode.CANCELLED
    finally:
        never.set()


def test_a_call_without_a_message_is_refused(server: Server) -> None:
    with grpc.insecure_channel(server.address) as channel:
        empty: Iterator[bytes] = iter(())
        with pytest.raises(grpc.RpcError) as caught:
            channel.stream_unary(SEARCH.path)(empty, timeout=20)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_answers_that_nobody_takes_are_given_up_for_newer_ones(engine: Any) -> None:
    """Ten megabytes a call, one megabyte of room: each answer makes the server give up the one before."""
    check = METHODS["CheckStore"]
    engine.metrics = Metrics()
    server = serve(engine, address="127.0.0.1:0", max_unread_bytes=1 << 20)
    options = [("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(server.address, options=options) as channel:
        open_call = channel.unary_stream(check.path, request_serializer=check.request.SerializeToString)
        # Read as a stream, a message is not taken before it is asked for.
        first = open_call(check.request())
        wait_until(lambda: figure(engine.metrics, "siltstone_unread_answer_bytes") > 10_000_000)
        second = open_call(check.request())
        wait_until(lambda: figure(engine.metrics, "siltstone_calls_given_up") == 1)
        assert len(next(second)) > 10_000_000, "the newest is there for whoever takes it"
        with pytest.raises(grpc.RpcError) as caught:
            next(first)
        assert caught.value.code() is grpc.StatusCode.CANCELLED
        wait_until(lambda: figure(engine.metrics, "siltstone_unread_answer_bytes") == 0)
    server.stop()


def test_logs_name_the_call_and_hold_nothing_of_it(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        client.search("绝密的问题")
        with pytest.raises(SiltstoneError):
            client.get("NOT_FOUND")
        with pytest.raises(InvalidArgumentError):
            client._call("SearchMemories", {"query": "绝密", "profile": "balanced", "top_k": "绝密"})
        wait_until(lambda: "NOT_FOUND" in {getattr(r, "status", "") for r in caplog.records})
    assert "绝密" not in caplog.text
    told = [r for r in caplog.records if getattr(r, "status", "") == "NOT_FOUND"]
    assert [(r.rpc, r.reason, r.levelname) for r in told] == [("GetMemories", "A_REASON", "INFO")]


def test_a_slow_call_is_logged_as_one(engine: Any, caplog: pytest.LogCaptureFixture) -> None:
    server = serve(engine, address="127.0.0.1:0", slow_call_s=1e-9)
    with caplog.at_level(logging.WARNING), Client(server.address) as client:
        client.search("x")
        wait_until(lambda: "slow call" in caplog.text)
    server.stop()


def test_messages_beyond_what_the_memory_is_to_hold_are_refused_and_one_alone_is_not(engine: Any) -> None:
    server = serve(engine, address="127.0.0.1:0", workers=4, max_pending_bytes=1000)
    try:
        with Client(server.address, timeout=20) as client, ThreadPoolExecutor(1) as pool:
            assert client.write("长" * 1000).action == "CREATED", "larger than the limit, but alone"
            held = pool.submit(client.search, "wait")
            assert engine.entered.acquire(timeout=10)
            with pytest.raises(ResourceExhaustedError, match=r"max_pending_bytes") as caught:
                client.write("长" * 1000)
            assert caught.value.reason == "OVERLOADED"
            assert client.write("短").action == "CREATED"
            engine.go_on.set()
            assert held.result(20).hits
            assert client.write("长" * 1000).action == "CREATED", "there is room again"
    finally:
        engine.go_on.set()
        server.stop()

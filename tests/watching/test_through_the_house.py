"""One request from gateway through server into core: one id, one trace, and not a word of its text."""

import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
import siltstone
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from siltstone.config import Settings
from siltstone.errors import FailedPreconditionError
from siltstone.gateway import Gateway
from siltstone.local import Local
from siltstone.server import serve
from siltstone.watching import Metrics, logging_to, serve_metrics, start_tracing, stop_tracing

SECRET = "绝密的内容 hunter2"


def wait_until(holds: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(2000):
        if holds():
            return
        pause.wait(0.005)
    raise AssertionError("it did not come about within 10 s")


@pytest.fixture
def mem(tmp_path: Any) -> Iterator[Local]:
    with siltstone.open(tmp_path, settings=Settings(embedding_model="hashing")) as opened:
        yield opened


@pytest.fixture
def http(mem: Local) -> Iterator[httpx2.Client]:
    server = serve(mem.engine, address="127.0.0.1:0")
    with (
        Gateway(server.address, address="127.0.0.1:0") as gateway,
        httpx2.Client(base_url=f"http://{gateway.address}", timeout=20) as client,
    ):
        yield client
    server.stop()


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = start_tracing("", "test", exporter)
    yield exporter
    stop_tracing(provider)


def use(http: httpx2.Client, **headers: str) -> None:
    for rpc, body in (
        ("WriteMemories", {"drafts": [{"content": SECRET, "tags": [SECRET]}]}),
        ("SearchMemories", {"query": SECRET}),
        ("SearchMemories", {"query": SECRET, "filter": {"ids": [SECRET]}}),
        ("WriteMemories", {"drafts": [{"content": SECRET}], "namespace": SECRET}),
    ):
        http.post(f"/v1/{rpc}", json=body, headers=headers)


def test_one_trace_goes_from_the_gateway_to_the_core(
    http: httpx2.Client, spans: InMemorySpanExporter
) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    use(http, traceparent=f"00-{trace}-b7ad6b7169203331-01")
    names = {"POST v1", "siltstone.SearchMemories", "siltstone.search", "siltstone.embed", "siltstone.commit"}
    wait_until(lambda: names <= {span.name for span in spans.get_finished_spans()})
    finished = {span.name: span for span in spans.get_finished_spans()}
    for name in names:
        assert f"{finished[name].context.trace_id:032x}" == trace, name
    by_id = {span.context.span_id: span for span in spans.get_finished_spans()}

    def parent(name: str) -> str:
        return by_id[finished[name].parent.span_id].name

    assert parent("siltstone.search") == "siltstone.SearchMemories"
    assert parent("siltstone.commit") == "siltstone.WriteMemories"
    assert parent("siltstone.SearchMemories") == "POST v1"
    told = " ".join(span.to_json() for span in spans.get_finished_spans())
    assert "hunter2" not in told
    assert "绝密" not in json.dumps(told, ensure_ascii=False)
    assert "\\u7edd" not in told


def test_one_id_goes_from_the_gateway_into_the_servers_log_with_nothing_of_the_text(
    http: httpx2.Client,
) -> None:
    stream = io.StringIO()
    with logging_to(stream, "debug", "json"):
        use(http, **{"x-request-id": "run-7"})
        # The server notes a call after its answer has left.
        wait_until(lambda: stream.getvalue().count('"rpc":') >= 4)
    entries = [json.loads(line) for line in stream.getvalue().splitlines()]
    calls = [entry for entry in entries if "rpc" in entry]
    assert {entry["request_id"] for entry in calls} == {"run-7"}
    assert {entry["reason"] for entry in calls if "reason" in entry} == {
        "INVALID_ARGUMENT",
        "INVALID_NAMESPACE",
    }
    assert {entry["request_id"] for entry in entries if "door" in entry} == {"run-7"}
    for word in SECRET.split():
        assert word not in stream.getvalue()


def test_the_figures_of_gateway_server_and_engine_come_from_one_target(http: httpx2.Client) -> None:
    use(http)
    text = http.get("/metrics").text
    for line in (
        "siltstone_server_up 1.0",
        'siltstone_store_entries{kind="memories"} 1.0',
        'siltstone_part_seconds_count{part="search"} ',
        'siltstone_rejects_total{reason="INVALID_NAMESPACE"} 1.0',
        "process_resident_memory_bytes ",
        "siltstone_gateway_process_resident_memory_bytes ",
    ):
        assert line in text
    assert "hunter2" not in text
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names)), "a name that two of them use makes the whole text unreadable"


def test_the_same_figures_are_there_in_process(mem: Local) -> None:
    mem.write(SECRET)
    assert 'siltstone_store_entries{kind="memories"} 1.0' in mem.metrics()


def test_metrics_have_an_address_of_their_own_and_a_busy_one_is_refused() -> None:
    metrics = Metrics()
    with serve_metrics("127.0.0.1:0", metrics) as address:
        assert "process_open_fds" in httpx2.get(f"http://{address}/metrics", timeout=20).text
        with (
            pytest.raises(FailedPreconditionError, match="--metrics-address") as caught,
            serve_metrics(address, metrics),
        ):
            pass
    assert caught.value.reason == "ADDRESS_IN_USE"


def test_without_its_packages_tracing_is_refused_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(FailedPreconditionError, match=r"siltstone\[otel\]") as caught:
        start_tracing("http://127.0.0.1:4318", "test")
    assert caught.value.reason == "TRACING_NOT_INSTALLED"

"""A caller that takes its answer slowly holds nothing of the store meanwhile."""

import threading
from collections.abc import Callable
from typing import Any

import grpc
import siltstone
from siltstone.config import Settings
from siltstone.server import serve
from siltstone.wire import METHODS

EXPORT = METHODS["ExportMemories"]


def wait_until(holds: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(2000):
        if holds():
            return
        pause.wait(0.005)
    raise AssertionError("it did not come about within 10 s")


def large(content: str) -> dict[str, Any]:
    """A draft of 27 kB that takes no embedding and no look at others."""
    return {"content": content + "水" * 9000, "vector": [1.0, 0.0], "on_duplicate": "KEEP"}


def test_an_export_that_nobody_reads_holds_no_read_and_the_file_does_not_grow(tmp_path: Any) -> None:
    settings = Settings(embedding_model="hashing")
    with siltstone.open(tmp_path, settings=settings) as mem:
        # More than a connection's windows take, so that the server has to wait for its reader.
        for i in range(8):
            mem.write_many([large(f"{i} {j} 字") for j in range(100)], namespace="large")
        server = serve(mem.engine, address="127.0.0.1:0")
        store = mem.engine.store
        with grpc.insecure_channel(server.address) as channel:
            call = channel.unary_stream(EXPORT.path, request_serializer=EXPORT.request.SerializeToString)
            stalled = call(EXPORT.request())
            assert next(stalled)
            running = lambda: "siltstone_calls_running 1.0" in mem.metrics()  # noqa: E731
            wait_until(running)
            wait_until(lambda: store.info().reads == 0)

            def churn() -> int:
                mem.write_many([large(f"{i} 水") for i in range(50)], namespace="short-lived")
                mem.delete_namespace("short-lived")
                mem.write_many([large("and what was deleted is purged")], namespace="other")
                return store.info().file_bytes

            churn()
            first = churn()
            for _ in range(5):
                last = churn()
            assert running(), "the export was to wait all the time"
            assert store.info().reads == 0
            assert last < first * 1.2
            stalled.cancel()
        server.stop()

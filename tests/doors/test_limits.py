"""A number beyond what its field carries is refused by every door alike."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import siltstone
from siltstone.config import Settings
from siltstone.gateway import Gateway
from siltstone.local import Local
from siltstone.server import serve

LARGEST = 3.4028234663852886e38  # of float32


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    directory = tmp_path_factory.mktemp("limits")
    with siltstone.open(directory, settings=Settings(embedding_model="hashing")) as opened:
        yield opened


@pytest.fixture(scope="module")
def addresses(mem: Local) -> Iterator[tuple[str, str]]:
    """Of the gRPC server and of the gateway before it."""
    server = serve(mem.engine, address="127.0.0.1:0")
    with Gateway(server.address, address="127.0.0.1:0") as gateway:
        yield server.address, gateway.address
    server.stop()


@pytest.fixture(params=["engine", "grpc"])
def api(request: pytest.FixtureRequest, mem: Local, addresses: tuple[str, str]) -> Iterator[Any]:
    if request.param == "engine":
        yield mem
    else:
        with siltstone.Client(addresses[0]) as client:
            yield client


@pytest.mark.parametrize("size", [-1, 0, 1001, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1])
@pytest.mark.parametrize("call", ["list", "list_tasks"])
def test_a_page_size_out_of_range_is_that_wherever_it_is_noticed(api: Any, call: str, size: int) -> None:
    with pytest.raises(siltstone.InvalidArgumentError, match=f"page_size: {size}") as caught:
        getattr(api, call)(page_size=size)
    assert (caught.value.reason, caught.value.field) == ("OUT_OF_RANGE", "page_size")


@pytest.mark.parametrize("top_k", [0, 10_001, 2**31, 2**63 - 1])
def test_a_top_k_out_of_range_is_that_wherever_it_is_noticed(api: Any, top_k: int) -> None:
    with pytest.raises(siltstone.InvalidArgumentError, match=f"top_k: {top_k}") as caught:
        api.search("x", top_k=top_k)
    assert (caught.value.reason, caught.value.field) == ("OUT_OF_RANGE", "top_k")


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        ([1.0, 1e300], "number 1 is 1e[+]300; float32 ends at"),
        ([-LARGEST * (1 + 1e-7), 1.0], "number 0 is -3.40282.*; float32 ends at"),
        ([1e-300, 0.0], "all numbers are zero"),
    ],
)
def test_a_vector_beyond_float32_is_refused_with_its_place(api: Any, vector: list[float], words: str) -> None:
    for call, field in (
        (lambda: api.write("x", vector=vector, namespace="own"), "drafts[0].vector"),
        (lambda: api.search(vector=vector), "vector"),
    ):
        with pytest.raises(siltstone.InvalidArgumentError, match=words) as caught:
            call()
        assert (caught.value.reason, caught.value.field) == ("INVALID_VECTOR", field)


@pytest.mark.parametrize("vector", [[LARGEST, -LARGEST], [1e-38, 1e-38], [1e-45, 0.0]])
def test_a_vector_at_the_ends_of_float32_is_taken(api: Any, vector: list[float]) -> None:
    name = f"ends/{type(api).__name__}/{vector[0]}"
    id = api.write("x", vector=vector, namespace=name).memory.id
    [hit] = api.search(vector=vector, namespace=name).hits
    assert hit.memory.id == id
    assert hit.cosine == pytest.approx(1.0, abs=1e-5)


def test_json_calls_are_refused_alike(addresses: tuple[str, str]) -> None:
    with httpx2.Client(base_url=f"http://{addresses[1]}", timeout=20) as http:
        for path, body, reason in (
            ("/v1/ListMemories", {"page_size": 0}, "OUT_OF_RANGE"),
            ("/v1/ListMemories", {"page_size": 2**31}, "OUT_OF_RANGE"),
            ("/v1/WriteMemories", {"drafts": [{"content": "x", "vector": [1e300]}]}, "INVALID_VECTOR"),
        ):
            answer = http.post(path, json=body)
            assert answer.status_code == 400
            assert answer.json()["error"]["reason"] == reason

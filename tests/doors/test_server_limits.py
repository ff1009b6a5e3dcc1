"""Each limit of a server is a setting, and what goes beyond it hears which one, by every door alike."""

from collections.abc import Iterator
from typing import Any

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.errors import InvalidArgumentError, ResourceExhaustedError
from siltstone.local import Local
from siltstone.server import serve

SETTINGS = Settings(
    embedding_model="hashing",
    max_content_bytes=30,
    max_batch=2,
    max_top_k=3,
    max_filter_depth=2,
    max_filter_values=5,
    max_batch_hits=4,
    max_tags=2,
    max_namespaces=3,
    max_memories=4,
    hindsight_workers=0,
)
THREE = ["a", "b", "标签"]
DEEP = {"not": {"not": {"tags_any": ["a"]}}}
ID = "0197a3c4-7d2e-7c11-9f00-3b1f6a2c9d55"
CONTENTS = ["甲 eins", "乙 zwei", "丙 drei", "丁 vier", "戊 fünf"]
DRAFTS = [{"content": content} for content in CONTENTS]


@pytest.fixture
def mem(tmp_path: Any) -> Iterator[Local]:
    with siltstone.open(tmp_path, settings=SETTINGS) as opened:
        yield opened


@pytest.fixture(params=["engine", "grpc"])
def api(request: pytest.FixtureRequest, mem: Local) -> Iterator[Any]:
    if request.param == "engine":
        yield mem
        return
    server = serve(mem.engine, address="127.0.0.1:0")
    with siltstone.Client(server.address) as client:
        yield client
    server.stop()


@pytest.mark.parametrize(
    ("method", "arguments", "reason", "field", "words"),
    [
        ("write", {"content": "记" * 11}, "CONTENT_TOO_LARGE", "drafts[0].content", "33 bytes.*max_content_bytes"),
        ("write_many", {"drafts": DRAFTS[:3]}, "BATCH_TOO_LARGE", "drafts", "max_batch"),
        ("write_many", {"drafts": []}, "EMPTY_BATCH", "drafts", "give at least one"),
        ("search_many", {"requests": [{"query": "x"}] * 3}, "BATCH_TOO_LARGE", "requests", "max_batch"),
        ("get", {"ids": [ID] * 3}, "BATCH_TOO_LARGE", "ids", "max_batch"),
        ("search", {"query": "x", "top_k": 4}, "OUT_OF_RANGE", "top_k", "1 to 3"),
        ("write", {"content": "x", "tags": THREE}, "TOO_MANY_TAGS", "drafts[0].tags", "max_tags"),
        ("write", {"content": "x", "tools_used": THREE}, "TOO_MANY_TAGS", "drafts[0].tools_used", "max_tags"),
        ("write", {"content": "x", "attributes": dict.fromkeys(THREE, 1)}, "TOO_MANY_TAGS", "drafts[0].attributes", "max_tags"),
        ("search_many", {"requests": [{"query": "x", "top_k": 2}, {"query": "y", "top_k": 3}]}, "BATCH_TOO_LARGE", "requests", "5 hits .*max_batch_hits"),
        ("search", {"query": "x", "namespace": THREE}, "BATCH_TOO_LARGE", "namespaces", "max_batch"),
        ("forget", {"ids": [ID] * 3}, "BATCH_TOO_LARGE", "ids", "max_batch"),
        ("search", {"query": "x", "filter": {"tags_any": THREE, "not": {"tags_all": THREE}}}, "FILTER_TOO_LARGE", "filter", "7 values.*max_filter_values"),
        ("list", {"filter": {"any_of": [{"task_type": [t]} for t in THREE]}}, "FILTER_TOO_LARGE", "filter", "6 values"),
        ("forget", {"filter": {"ids": [ID] * 6}}, "FILTER_TOO_LARGE", "filter", "6 values"),
        ("search", {"query": "x", "filter": DEEP}, "FILTER_TOO_DEEP", "filter.not.not", "max_filter_depth"),
    ],
)  # fmt: skip
def test_a_request_beyond_a_limit_names_field_and_setting(
    api: Any, method: str, arguments: dict[str, Any], reason: str, field: str, words: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=words) as caught:
        getattr(api, method)(**arguments)
    assert (caught.value.reason, caught.value.field) == (reason, field)


def test_what_is_at_the_limits_is_taken(api: Any) -> None:
    api.write_many([{"content": "记" * 10, "tags": ["a", "b"]}, {"content": "x"}])
    assert len(api.search("记", top_k=3, filter={"not": {"tags_any": ["c"]}}).hits) == 2


def test_the_store_takes_no_more_memories_than_it_may_hold_and_writes_none_of_a_batch(api: Any) -> None:
    api.write_many(DRAFTS[:2])
    api.write(CONTENTS[2])
    with pytest.raises(ResourceExhaustedError, match=r"5 memories of 4 .*max_memories.*ERASE") as caught:
        api.write_many(DRAFTS[3:])
    assert caught.value.reason == "TOO_MANY_MEMORIES"
    assert api.stats().memories == 3
    last = api.write(CONTENTS[3]).memory.id
    assert api.write(CONTENTS[3]).action == "MERGED", "what adds nothing goes on"
    assert api.update(last, content="己 sechs").content == "己 sechs"
    with pytest.raises(ResourceExhaustedError):
        api.write(CONTENTS[4])
    api.forget(ids=[last], mode="ERASE")
    assert api.write(CONTENTS[4]).action == "CREATED", "there is room again"


def test_the_store_takes_no_more_namespaces_than_it_may_hold(api: Any) -> None:
    api.write("x", namespace="团队/甲")
    for method in (api.write, api.start_task):
        with pytest.raises(ResourceExhaustedError, match=r"4 namespaces of 3 .*max_namespaces") as caught:
            method("y", namespace="团队/乙")
        assert caught.value.reason == "TOO_MANY_NAMESPACES"
    assert [n.name for n in api.namespaces()] == ["default", "public", "团队/甲"]
    api.delete_namespace("团队/甲")
    assert api.write("y", namespace="团队/乙").action == "CREATED"

"""No call makes the model work longer than somebody waits for it."""

import time
from collections.abc import Sequence

import pytest
import siltstone
from siltstone.embed import Vectors
from siltstone.engine import core
from siltstone.engine.call import Call
from siltstone.local import Local
from siltstone.model import Memory, MemoryDraft
from siltstone.model.requests import UpdateMemoryRequest, WriteMemoriesRequest


@pytest.fixture
def embedded(mem: Local, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many passages each call of the model took; the clock goes on by a second in each."""
    sizes: list[int] = []
    inner = mem.engine.embedder.embed_passages
    clock = time.monotonic()

    def counted(texts: Sequence[str]) -> Vectors:
        sizes.append(len(texts))
        return inner(texts)

    monkeypatch.setattr(mem.engine.embedder, "embed_passages", counted)
    monkeypatch.setattr("siltstone.engine.call.time.monotonic", lambda: clock + len(sizes))
    return sizes


def within(seconds: float) -> Call:
    return Call(deadline=time.monotonic() + seconds)


def drafts(count: int) -> list[MemoryDraft]:
    return [MemoryDraft(content=f"第 {i} 条:端口 {i}") for i in range(count)]


def test_a_write_whose_time_is_up_stops_embedding_and_writes_nothing(mem: Local, embedded: list[int]) -> None:
    request = WriteMemoriesRequest(drafts=drafts(10 * core.EMBEDDED_AT_ONCE))
    with pytest.raises(siltstone.DeadlineExceededError, match="nothing was done"):
        mem.engine.write_memories(request, within(2.5))
    assert embedded == [core.EMBEDDED_AT_ONCE] * 3
    assert mem.stats().memories == 0


def test_an_update_whose_time_is_up_stops_embedding_and_changes_nothing(
    mem: Local, embedded: list[int]
) -> None:
    old = mem.write("short").memory
    embedded.clear()
    long = Memory(id=old.id, content="这是一句很长的话,说的是服务的端口。" * 5000)
    with pytest.raises(siltstone.DeadlineExceededError):
        mem.engine.update_memory(UpdateMemoryRequest(memory=long, update_mask=["content"]), within(1.5))
    assert embedded == [core.EMBEDDED_AT_ONCE] * 2
    assert mem.get(old.id)[0] == old


def test_passages_embedded_in_parts_keep_their_memories(mem: Local, embedded: list[int]) -> None:
    count = 2 * core.EMBEDDED_AT_ONCE + 3
    ids = [
        r.memory.id
        for r in mem.engine.write_memories(WriteMemoriesRequest(drafts=drafts(count)), Call()).receipts
    ]
    assert embedded == [core.EMBEDDED_AT_ONCE, core.EMBEDDED_AT_ONCE, 3]
    for i in (0, core.EMBEDDED_AT_ONCE, count - 1):
        assert mem.search(f"第 {i} 条:端口 {i}").hits[0].memory.id == ids[i]


def test_a_query_that_takes_the_model_too_long_is_refused_by_its_field(
    mem: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem.write("x")
    monkeypatch.setattr(
        mem.engine.embedder, "query_problem", lambda text: f"{len(text)} tokens" if len(text) > 9 else ""
    )
    with pytest.raises(siltstone.InvalidArgumentError, match="query: 10 tokens, ask for what matters") as one:
        mem.search("十" * 10)
    assert (one.value.reason, one.value.field) == ("QUERY_TOO_LONG", "query")
    with pytest.raises(siltstone.InvalidArgumentError) as many:
        mem.search_many([{"query": "x"}, {"query": "十" * 10}])
    assert many.value.field == "requests[1].query"


def test_a_task_with_a_long_goal_is_rendered_with_memories(
    mem: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem.write("重启 web 服务")
    task = mem.start_task("重启 web 服务," + "然后看日志。" * 100)
    monkeypatch.setattr(mem.engine.embedder, "query_problem", lambda text: "long" if len(text) > 40 else "")
    assert len(mem.render_task(task.id, with_memories=1).memory_ids) == 1

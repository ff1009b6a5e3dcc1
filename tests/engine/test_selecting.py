"""What a filter chose to forget is what it lets through when it is forgotten."""

from collections.abc import Callable

import pytest
from siltstone.local import Local

FILTER = {"tags_any": ["过时"]}


@pytest.fixture
def before_the_next_commit(
    mem: Local, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[], object]], None]:
    """Lets a change by somebody else come in between a call's thinking and its transaction."""

    def plan(change: Callable[[], object]) -> None:
        commit = mem.engine.store.commit

        def late(*args: object, **kwargs: object) -> object:
            monkeypatch.setattr(mem.engine.store, "commit", commit)
            change()
            return commit(*args, **kwargs)  # type: ignore[arg-type]

        monkeypatch.setattr(mem.engine.store, "commit", late)

    return plan


@pytest.mark.parametrize("mode", ["INVALIDATE", "ERASE"])
def test_what_no_longer_matches_is_kept_and_what_matches_by_now_is_forgotten(
    mem: Local, before_the_next_commit: Callable[[Callable[[], object]], None], mode: str
) -> None:
    stays = mem.write("重启服务", tags=["过时"]).memory.id
    goes = mem.write("清空缓存", tags=["过时"]).memory.id
    joins = mem.write("端口是 8080").memory.id
    other = mem.write("日志在 /var/log").memory.id

    def change() -> None:
        mem.update(stays, tags=["有效"])
        mem.update(joins, tags=["过时"])
        mem.update(other, tags=["有效"])

    before_the_next_commit(change)
    result = mem.forget(filter=FILTER, mode=mode)
    assert (result.ids, result.count) == ([goes, joins], 2)
    assert {memory.id for memory in mem.list()} == {stays, other}


def test_what_was_forgotten_meanwhile_is_not_counted_again(
    mem: Local, before_the_next_commit: Callable[[Callable[[], object]], None]
) -> None:
    first = mem.write("重启服务", tags=["过时"]).memory.id
    second = mem.write("清空缓存", tags=["过时"]).memory.id
    before_the_next_commit(lambda: mem.forget(ids=[first]))
    assert mem.forget(filter=FILTER).ids == [second]


@pytest.mark.parametrize("matching", [True, False])
def test_erasing_by_filter_looks_at_forgotten_memories_as_they_are_by_then(
    mem: Local, before_the_next_commit: Callable[[Callable[[], object]], None], matching: bool
) -> None:
    id = mem.write("重启服务", tags=["过时"]).memory.id
    mem.forget(ids=[id])

    def change() -> None:
        mem.restore_memory(id)
        mem.update(id, tags=["过时" if matching else "有效"], confidence=0.1)
        mem.forget(ids=[id])

    before_the_next_commit(change)
    assert mem.forget(filter=FILTER, mode="ERASE").ids == ([id] if matching else [])


def test_memories_written_meanwhile_that_match_are_forgotten_with_the_rest(
    mem: Local, before_the_next_commit: Callable[[Callable[[], object]], None]
) -> None:
    first = mem.write("重启服务", tags=["过时"]).memory.id
    before_the_next_commit(lambda: mem.write("清空缓存", tags=["过时"]))
    forgotten = mem.forget(filter=FILTER)
    assert forgotten.count == 2
    assert forgotten.ids[0] == first
    assert list(mem.list()) == []

"""Writing what a memory says already."""

from collections.abc import Callable

import pytest
import siltstone
from siltstone.engine.duplicates import MAX_COMPARED, same_statement
from siltstone.local import Local

SAME = [
    (
        "Restart the web service after a change of its configuration.",
        "Please restart the web service after the change of its configuration!",
    ),
    (
        "The api container listens on 0.0.0.0 so that the web container reaches it",
        "The api container is listening on 0.0.0.0, so that the web container reaches it.",
    ),
    ("数据库连接池耗尽以后重启服务", "数据库连接池耗尽之后重启服务。"),
    ("请勿在工作时间提交锁文件到主分支", "不要在工作时间提交锁文件到主分支"),
]
OTHER = [
    ("There is no water in the kitchen of the office", "There is no hot water in the kitchen of the office"),
    ("Delete the old logs of the build server", "Delete the old logs of the build server on Friday"),
    ("服务重启以后缓存会失效", "服务重启以后本地缓存会失效"),
    ("先停止服务,再备份数据库", "先备份数据库,再停止服务"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_the_same_lesson_in_nearly_the_same_words_is_one_memory_with_newer_times(
    mem: Local, a: str, b: str
) -> None:
    old = mem.write(a, event_time="2026-01-01T00:00:00Z").memory
    receipt = mem.write(b, event_time="2026-02-01T00:00:00Z")
    assert (receipt.action, receipt.memory.id) == ("MERGED", old.id)
    [related] = receipt.related
    assert (related.id, related.relation, related.reason) == (old.id, "merged", "")
    assert 0.5 < related.similarity < 1.0
    now = mem.get(old.id)[0]
    assert now.content == b
    assert now.event_time is not None
    assert now.event_time.month == 2
    assert now.update_time is not None
    assert old.update_time is not None
    assert now.update_time > old.update_time
    assert [(r.reason, r.memory.content) for r in mem.trace(old.id).revisions] == [("merged", a)]
    assert len(mem.list()) == 1


@pytest.mark.parametrize(("a", "b"), OTHER)
def test_a_restriction_or_another_order_is_another_memory(mem: Local, a: str, b: str) -> None:
    mem.write(a)
    assert mem.write(b).action == "CREATED"


def test_in_one_batch_nearly_the_same_is_one_memory(mem: Local) -> None:
    a, b = SAME[1]
    receipts = mem.write_many([{"content": a}, {"content": "another note"}, {"content": b}])
    assert [receipt.action for receipt in receipts] == ["CREATED", "CREATED", "MERGED"]


def _long(end: str) -> str:
    return (
        " ".join(f"Step {i} of the runbook checks queue number {i} of the broker." for i in range(80)) + end
    )


def test_a_long_content_told_again_is_merged_and_another_end_is_not(mem: Local) -> None:
    old = mem.write(_long(" Then restart the broker.")).memory
    receipt = mem.write(_long(" Then please restart the broker!"))
    assert (receipt.action, receipt.memory.id) == ("MERGED", old.id)
    assert mem.write(_long(" Never restart the broker.")).action == "CREATED"


def test_of_texts_too_long_to_compare_only_equal_ones_are_the_same(mem: Local) -> None:
    text = "上" * MAX_COMPARED
    assert same_statement(text, text, 1.0)
    assert same_statement(text, text[:-1] + "。", 0.99)
    assert not same_statement(text + "上", text + "上。", 0.99)
    long = _long("") * 4
    assert mem.write(long).action == "CREATED"
    assert mem.write(long).action == "MERGED"
    assert mem.write(long + ".").action == "CREATED"


def _refute(mem: Local, id: str) -> None:
    mem.verify(id, "REFUTE", reviewer="ann")


def _expire(mem: Local, id: str) -> None:
    mem.update(id, valid_until="2020-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("change", "verification", "reason"),
    [(_refute, "REFUTED", "the memory was refuted"), (_expire, "PENDING", "the memory had expired")],
)
def test_the_receipt_says_when_the_memory_that_says_the_same_was_refuted_or_expired(
    mem: Local, change: Callable[[Local, str], None], verification: str, reason: str
) -> None:
    a, b = SAME[0]
    old = mem.write(a).memory
    change(mem, old.id)
    receipt = mem.write(b)
    assert (receipt.action, receipt.memory.id) == ("MERGED", old.id)
    assert receipt.memory.verification == verification
    assert receipt.memory.valid_until is None
    assert receipt.related[0].reason.startswith(reason)
    assert bool(mem.search(a).hits) == (verification != "REFUTED")


def test_what_was_replaced_and_is_said_again_stands_against_what_stands_in_its_place_today(
    mem: Local,
) -> None:
    first = mem.write("restart the container").memory
    second = mem.write("listen on all interfaces", supersedes=[first.id]).memory
    third = mem.write("use a network alias", supersedes=[second.id]).memory
    receipt = mem.write("Restart the container.")
    assert receipt.action == "CONFLICT"
    assert receipt.memory.conflicts_with == [third.id]
    assert mem.get(second.id)[0].conflicts_with == []
    assert [(r.id, r.relation) for r in receipt.related] == [
        (third.id, "conflicts_with"),
        (first.id, "duplicate"),
    ]


def test_what_was_replaced_by_something_forgotten_is_new_when_said_again(mem: Local) -> None:
    old = mem.write("restart the container").memory
    new = mem.write("listen on all interfaces", supersedes=[old.id]).memory
    mem.forget(ids=[new.id])
    receipt = mem.write("restart the container")
    assert (receipt.action, receipt.memory.conflicts_with) == ("CREATED", [])
    assert receipt.memory.id != old.id
    assert [hit.memory.id for hit in mem.search("restart the container").hits] == [receipt.memory.id]


def test_going_back_to_what_was_replaced_is_no_conflict(mem: Local) -> None:
    old = mem.write("restart the container").memory
    new = mem.write("listen on all interfaces", supersedes=[old.id]).memory
    receipt = mem.write("restart the container", supersedes=[new.id])
    assert (receipt.action, receipt.memory.conflicts_with) == ("SUPERSEDED", [])
    assert mem.get(new.id)[0].superseded_by == receipt.memory.id


def test_the_same_trajectory_twice_changes_nothing(mem: Local) -> None:
    a, b = SAME[2]
    old = mem.write(a, source={"trajectory": "run-1"}).memory
    receipt = mem.write(b, source={"trajectory": "run-1"})
    assert receipt.action == "UNCHANGED"
    assert mem.get(old.id)[0] == old
    assert mem.write(b, source={"trajectory": "run-2"}).action == "MERGED"


def test_reject_refuses_what_is_said_already_in_nearly_the_same_words(mem: Local) -> None:
    a, b = SAME[3]
    mem.write(a)
    with pytest.raises(siltstone.AlreadyExistsError) as caught:
        mem.write(b, on_duplicate="REJECT")
    assert caught.value.reason == "DUPLICATE"

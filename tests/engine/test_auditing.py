"""The queue of what to review, and the log of every change."""

import pytest
import siltstone
from siltstone.engine import Call
from siltstone.engine.pages import encode_token
from siltstone.local import Local
from siltstone.model import AGENT_ROLES
from siltstone.model.requests import ListAuditEventsRequest


def shown_to(mem: Local, id: str, times: int) -> None:
    for _ in range(times):
        mem.get(id, task_id=mem.start_task("look").id)
    assert mem.engine.store.save_exposures()


def test_the_queue_begins_with_what_is_confident_often_shown_and_never_confirmed(mem: Local) -> None:
    ids = {
        name: mem.write(text, confidence=confidence).memory.id
        for name, text, confidence in [
            ("often", "常常被看到的一条", 0.8),
            ("sure", "very sure, never shown", 1.0),
            ("unsure", "unsure but shown", 0.2),
            ("confirmed", "confirmed and shown", 0.9),
            ("refuted", "refuted and shown", 0.9),
            ("old", "superseded and shown", 0.9),
            ("gone", "forgotten and shown", 0.9),
            ("quiet", "neither sure nor shown", 0.3),
        ]
    }
    for name, times in [
        ("often", 3),
        ("unsure", 2),
        *((n, 4) for n in ("confirmed", "refuted", "old", "gone")),
    ]:
        shown_to(mem, ids[name], times)
    mem.verify(ids["confirmed"], "CONFIRM")
    mem.verify(ids["refuted"], "REFUTE")
    ids["new"] = mem.write("the successor", supersedes=[ids["old"]], confidence=0.5).memory.id
    mem.forget(ids=ids["gone"])
    names = {id: name for name, id in ids.items()}
    queue = [names[memory.id] for memory in mem.audit_queue()]
    # 0.8 · 4, 1.0 · 1, 0.2 · 3, 0.5, 0.3
    assert queue == ["often", "sure", "unsure", "new", "quiet"]
    assert [names[m.id] for m in mem.audit_queue(limit=2)] == ["often", "sure"]
    mem.verify(ids["often"], "CONFIRM")
    assert [names[m.id] for m in mem.audit_queue(limit=1)] == ["sure"]


def test_ties_in_the_queue_come_in_the_order_they_were_written(mem: Local) -> None:
    ids = [mem.write(f"note {i}", on_duplicate="KEEP").memory.id for i in range(9)]
    for _ in range(3):
        assert [m.id for m in mem.audit_queue(limit=9)] == ids


def test_the_queue_is_of_one_namespace_which_must_exist(mem: Local) -> None:
    mem.write("mine", namespace="a")
    mem.start_task("nothing written", namespace="empty")
    assert mem.audit_queue("empty") == []
    assert mem.audit_queue() == []
    for bad in ("nowhere", ""):
        with pytest.raises(siltstone.SiltstoneError) as caught:
            mem.audit_queue(bad)
        assert caught.value.field == "namespace"
    for limit in (0, 1001):
        with pytest.raises(siltstone.InvalidArgumentError):
            mem.audit_queue(limit=limit)


def test_every_change_is_in_the_log_in_order(mem: Local) -> None:
    a = mem.write("第一条").memory.id
    mem.write("第一条")
    b = mem.write("第二条", supersedes=[a]).memory.id
    mem.update(b, tags=["x"])
    mem.restore_memory(a)
    mem.forget(ids=a)
    mem.restore_memory(a)
    mem.verify(a, "CONFIRM", reviewer="复核员", note="好")
    mem.forget(ids=a, mode="ERASE")
    events = mem.audit_log()
    names = {a: "a", b: "b", "": "-"}
    assert [(names[e.memory_id], e.action) for e in events] == [
        ("a", "created"),
        ("a", "merged"),
        ("b", "created"),
        ("a", "superseded"),
        ("b", "updated"),
        ("b", "restored"),
        ("a", "restored"),
        ("a", "invalidated"),
        ("a", "restored"),
        ("a", "confirmed"),
        ("a", "erased"),
    ]
    assert [(e.seq, e.place) for e in events] == sorted((e.seq, e.place) for e in events)
    assert {e.principal for e in events} == {"local"}
    assert [e.note for e in events if e.note] == [], "what was said of it went with it"


def test_the_log_is_read_page_by_page_from_a_commit_on_and_of_one_namespace(mem: Local) -> None:
    mem.write_many([{"content": f"note {i}"} for i in range(7)], namespace="a")
    middle = mem.stats().seq
    mem.write("other", namespace="b")
    mem.write("later", namespace="a")
    whole = list(mem.audit_log())
    assert len(whole) == 9
    seen, token = [], ""
    while True:
        page = mem.audit_log(page_size=2, page_token=token)
        seen += page
        if not (token := page.next_page_token):
            break
    assert seen == whole
    assert list(mem.audit_log(since_seq=middle)) == whole[7:]
    assert list(mem.audit_log(namespace="a")) == whole[:7] + whole[8:]
    token = mem.audit_log(page_size=2).next_page_token
    for other in ({"namespace": "a"}, {"since_seq": 1}):
        with pytest.raises(siltstone.InvalidArgumentError) as caught:
            mem.audit_log(page_token=token, **other)  # type: ignore[arg-type]
        assert caught.value.field == "page_token"
    with pytest.raises(siltstone.NotFoundError):
        mem.audit_log(namespace="nowhere")
    with pytest.raises(siltstone.InvalidArgumentError):
        mem.audit_log(since_seq=-1)


def test_queue_and_log_are_for_auditors(mem: Local) -> None:
    agent = Local(mem.engine, roles=AGENT_ROLES)
    for call in (agent.audit_queue, agent.audit_log):
        with pytest.raises(siltstone.PermissionDeniedError) as caught:
            call()
        assert caught.value.reason == "ROLE_REQUIRED"
    with pytest.raises(siltstone.PermissionDeniedError):
        agent.compact()
    with pytest.raises(siltstone.InvalidArgumentError, match="god"):
        Local(mem.engine, roles=["god"])


def test_a_deleted_namespace_stays_in_the_log(mem: Local) -> None:
    id = mem.write("x", namespace="团队/甲").memory.id
    mem.delete_namespace("团队/甲")
    mem.write("y", namespace="团队/甲")
    events = [(e.action, e.memory_id == id) for e in mem.audit_log(namespace="团队/甲")]
    assert events == [("created", True), ("namespace_deleted", False), ("created", False)]


@pytest.mark.parametrize(
    "last", ["x", "1", "1.2.3", "-1.-1", "1.99999999999", "99999999999999999999.1", "１.２"]
)
def test_a_page_token_that_someone_made_up_is_refused(mem: Local, last: str) -> None:
    mem.write("它监听 8080 端口")
    token = encode_token(last, ("ListAuditEvents", "0", ""))
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.audit_log(page_token=token)
    assert caught.value.field == "page_token"


def test_reading_the_log_ends_when_nobody_waits_for_it(mem: Local) -> None:
    mem.write("它监听 8080 端口")
    gone = Call(waiting=lambda: False)
    with pytest.raises(siltstone.UnavailableError):
        mem.engine.list_audit_events(ListAuditEventsRequest(), gone)

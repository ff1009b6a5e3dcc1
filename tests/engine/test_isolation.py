"""A namespace shows in no other: not in hits, counts, duplicates, conflicts, queues, logs or error texts."""

import logging
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
import siltstone
from siltstone.data import from_data, to_data
from siltstone.engine import Call
from siltstone.engine.patterns import Patterns
from siltstone.local import Local
from siltstone.operations import OPERATIONS

WRITERS = 6
ROUNDS = 12
# The same words everywhere, so that duplicates and conflicts would be found across namespaces if they could.
SHARED = [
    "服务要监听 0.0.0.0 而不是 127.0.0.1",
    "use the connection pool for the database",
    "do not use the connection pool for the database, use single connections instead",
    "the nightly backup is kept for seven days",
]


class Writer:
    """What one namespace does, and may ever see. Its own words carry its mark."""

    def __init__(self, mem: Local, number: int) -> None:
        self.mem = mem
        self.namespace = f"团队/{number}"
        self.mark = f"geheim{number}zeichen"
        self.random = random.Random(number)
        self.ids: set[str] = set()
        self.live: set[str] = set()
        self.faults: list[str] = []

    def run(self) -> None:
        try:
            task = self.mem.start_task(self.mark, namespace=self.namespace).id
            for i in range(ROUNDS):
                self.write(i, task)
                self.look(task)
        except Exception as error:
            self.faults.append(f"{type(error).__name__}: {error}")

    def write(self, i: int, task: str) -> None:
        text = self.random.choice(SHARED) if i % 2 else f"{self.mark} note {i}"
        receipt = self.mem.write(text, namespace=self.namespace, task_id=self.random.choice([None, task]))
        self.ids.add(receipt.memory.id)
        self.live.add(receipt.memory.id)
        self.own("receipt", receipt)
        if i == ROUNDS // 2:
            gone = self.random.choice(sorted(self.live))
            mode = self.random.choice(["INVALIDATE", "ERASE"])
            self.own("forget", self.mem.forget(ids=gone, mode=mode))
            self.live.discard(gone)

    def look(self, task: str) -> None:
        mem, namespace = self.mem, self.namespace
        flags = {"include_superseded": True, "include_refuted": True, "include_expired": True}
        found = mem.search(self.random.choice(SHARED), namespace=namespace, top_k=50, task_id=task, **flags)
        self.own("search", found)
        listed = mem.list(namespace)
        self.own("list", list(listed))
        if {m.id for m in listed} != self.live:
            self.faults.append(f"listed {len(listed)}, live {len(self.live)}")
        if mem.stats(namespace).memories != len(self.live):
            self.faults.append(f"counted {mem.stats(namespace).memories}, live {len(self.live)}")
        self.own("queue", list(mem.audit_queue(namespace)))
        self.own("log", list(mem.audit_log(namespace=namespace, page_size=1000)))
        self.own("trace", mem.trace(self.random.choice(sorted(self.live))))
        self.own("task", mem.render_task(task, with_memories=5, max_tokens=2000))

    def own(self, what: str, answer: Any) -> None:
        """Whether an answer tells of this namespace alone."""
        said = str(to_data(answer))
        for other in range(WRITERS):
            if f"geheim{other}zeichen" in said and f"geheim{other}zeichen" != self.mark:
                self.faults.append(f"{what} tells what {other} wrote")
            if f"团队/{other}'" in said and f"团队/{other}" != self.namespace:
                self.faults.append(f"{what} names namespace {other}")


@pytest.mark.timeout(120)
def test_concurrent_writers_in_many_namespaces_never_see_each_other(
    mem: Local, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    writers = [Writer(mem, number) for number in range(WRITERS)]
    stop = threading.Event()

    def delete() -> None:
        """Meanwhile one namespace comes and goes."""
        while not stop.is_set():
            mem.write("geheimXzeichen " + SHARED[0], namespace="团队/X")
            mem.delete_namespace("团队/X")

    threads = [threading.Thread(target=writer.run) for writer in writers]
    deleting = threading.Thread(target=delete)
    for thread in (*threads, deleting):
        thread.start()
    for thread in threads:
        thread.join(90)
        assert not thread.is_alive()
    stop.set()
    deleting.join(20)
    assert {writer.namespace: writer.faults for writer in writers if writer.faults} == {}
    for writer in writers:
        assert not any(writer.ids & other.ids for other in writers if other is not writer)
        for record in caplog.records:
            assert writer.mark not in record.getMessage()
    names = {n.name: n.memories for n in mem.namespaces()}
    assert {w.namespace: len(w.live) for w in writers}.items() <= names.items()
    assert mem.check().problems == []


def test_public_is_seen_by_all_and_sees_nobody(mem: Local) -> None:
    private = mem.write("the plan of the harbour", namespace="own").memory.id
    public = mem.write("the map of the harbour", namespace="public").memory.id
    assert {h.memory.id for h in mem.search("harbour", namespace="own").hits} == {private, public}
    assert [h.memory.id for h in mem.search("harbour", namespace="public").hits] == [public]
    assert mem.write("the plan of the harbour", namespace="public").action == "CREATED"


def calls(mem: Local, name: str) -> list[Callable[[], object]]:
    return [
        lambda: mem.search("x", namespace=name),
        lambda: mem.search("x", namespace=["default", name]),
        lambda: mem.list(name),
        lambda: mem.list(name, filter={"tags_any": ["x"]}),
        lambda: mem.forget(filter={"tags_any": ["x"]}, namespace=name, dry_run=True),
        lambda: mem.forget(filter={"tags_any": ["x"]}, namespace=name, mode="ERASE"),
        lambda: mem.audit_queue(name),
        lambda: mem.audit_log(namespace=name),
        lambda: mem.list_tasks(name),
        lambda: mem.list_hindsight_jobs(namespace=name),
        lambda: mem.stats(name),
        lambda: mem.delete_namespace(name),
    ]


def test_an_unknown_namespace_is_an_error_in_every_call_and_a_deleted_one_is_unknown(mem: Local) -> None:
    mem.write("x", namespace="there", tags=["x"])
    mem.delete_namespace("there")
    said = []
    for name in ("never", "there"):
        for call in calls(mem, name):
            with pytest.raises(siltstone.NotFoundError) as caught:
                call()
            assert caught.value.reason == "NAMESPACE_NOT_FOUND"
            said.append(str(caught.value).replace(name, "…"))
    half = len(said) // 2
    assert said[:half] == said[half:], "what was there once is not told apart from what never was"


def test_a_repeat_tells_a_caller_nothing_of_what_its_token_opens_no_longer(mem: Local) -> None:
    """Tokens of an issuer change what they open; the caller, and so its request ids, stay."""

    def call(*namespaces: str) -> Call:
        return Call(principal="jwt issuer agent", namespaces=Patterns.of(namespaces))

    def asked(opened: Call) -> list[object]:
        return [
            getattr(mem.engine, OPERATIONS[rpc].method)(from_data(OPERATIONS[rpc].request, given), opened)
            for rpc, given in repeated
        ]

    id = mem.write("它监听 8080 端口", namespace="theirs").memory.id
    repeated: list[tuple[str, dict[str, object]]] = [
        ("WriteMemories", {"namespace": "theirs", "drafts": [{"content": "秘密"}], "request_id": "1"}),
        ("UpdateMemory", {"memory": {"id": id, "tags": ["x"]}, "update_mask": ["tags"], "request_id": "2"}),
        ("StartTask", {"namespace": "theirs", "goal": "看看", "request_id": "3"}),
    ]
    first = asked(call("mine", "theirs"))
    assert asked(call("mine", "theirs")) == first
    for each in list(repeated):
        repeated[:] = [each]
        with pytest.raises(siltstone.NotFoundError):
            asked(call("mine"))

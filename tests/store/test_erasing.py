"""Once the store is compacted, nothing of an erased text is in any file; what was shown is not forgotten."""

import shutil
import threading
from pathlib import Path

import pytest
from siltstone.errors import UnavailableError
from siltstone.model import (
    Action,
    AuditEvent,
    ExtractedLesson,
    Hindsight,
    HindsightJob,
    Lesson,
    Memory,
    Step,
    Task,
    WriteReceipt,
)
from siltstone.store import Store
from siltstone.store import environment as environment_module

SECRET = "机密：the vault opens with 4711-藍鯨"


def holds(directory: Path, text: str) -> list[str]:
    """The files below a directory in which the text stands."""
    return [str(f) for f in directory.rglob("*") if f.is_file() and text.encode() in f.read_bytes()]


def write_and_erase(store, vectors, more: str = "") -> str:
    """A memory with a former text, erased again, between others of many sizes."""
    kept = [
        store.commit(lambda w, i=i: w.put_memory(Memory(content=f"kept {i} " + "x" * 211 * i), vectors(i)))
        for i in range(30)
    ]
    memory = store.commit(lambda w: w.put_memory(Memory(content=SECRET + more), vectors(99)))
    changed = store.commit(
        lambda w: w.put_memory(
            Memory(id=memory.id, content=SECRET + " changed" + more), vectors(98), former="updated"
        )
    )
    for old in kept[::2]:
        store.commit(lambda w, old=old: w.erase_memory(old.id))
    assert store.commit(lambda w: w.erase_memory(changed.id))
    return memory.id


@pytest.mark.parametrize("more", ["", " padding" * 300, " padding" * 9000])
def test_a_compacted_store_holds_nothing_of_an_erased_text(store, vectors, tmp_path, more):
    write_and_erase(store, vectors, more)
    if len(more) > 10_000:  # small ones may be overwritten by chance
        assert holds(tmp_path, SECRET), "free pages hold it: the test would notice"
    with store.read() as reader:
        assert reader.erasing() == [1]
        before = list(reader.scan_memories(1))
        records = list(reader.scan_records(1))
        seq = reader.seq
    store.compact()
    assert holds(tmp_path, SECRET) == []
    with store.read() as reader:
        assert reader.erasing() == []
        assert list(reader.scan_memories(1)) == before
        assert list(reader.scan_records(1)) == records
        assert reader.seq == seq
    new = store.commit(lambda w: w.put_memory(Memory(content="after"), vectors(1)))
    with store.read() as reader:
        assert reader.memory(new.id) == new
    assert [f.name for f in (tmp_path / "data").iterdir()].count("compacting") == 0


def test_a_compaction_purges_deleted_namespaces_first(store, vectors, tmp_path):
    store.commit(lambda w: w.create_namespace("秘密"))
    with store.read() as reader:
        number = reader.namespace("秘密").number
    store.commit(lambda w: w.bind_model(number, "model", 4))
    for i in range(50):
        store.commit(
            lambda w, i=i: w.put_memory(Memory(content=f"{SECRET} {i}", namespace="秘密"), vectors(i))
        )
    store.commit(lambda w: w.delete_namespace(number))
    store.compact()
    assert holds(tmp_path, SECRET) == []


def test_a_compaction_that_readers_hold_up_leaves_all_as_it_was(store, vectors, monkeypatch):
    memory = store.commit(lambda w: w.put_memory(Memory(content="kept"), vectors(1)))
    monkeypatch.setattr(environment_module, "GROW_TIMEOUT", 0.05)
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with store.read():
            inside.set()
            assert leave.wait(20)

    reading = threading.Thread(target=hold)
    reading.start()
    assert inside.wait(20)
    try:
        with pytest.raises(UnavailableError) as caught:
            store.compact()
        assert caught.value.reason == "READS_HELD"
    finally:
        leave.set()
        reading.join(20)
    with store.read() as reader:
        assert reader.memory(memory.id) == memory
    store.compact()
    assert store.commit(lambda w: w.put_memory(Memory(content="more"), vectors(2))).content == "more"


def test_reads_and_writes_go_on_around_compactions(store, vectors):
    memory = store.commit(lambda w: w.put_memory(Memory(content="kept"), vectors(1)))
    stop, faults = threading.Event(), []

    def read():
        while not stop.is_set():
            with store.read() as reader:
                if reader.memory(memory.id) is None:
                    faults.append("gone")

    def write():
        while not stop.is_set():
            store.commit(lambda w: w.put_memory(Memory(content="more"), vectors(2)))

    threads = [threading.Thread(target=f) for f in (read, read, write)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        store.compact(timeout=30)
    stop.set()
    for thread in threads:
        thread.join(20)
    assert faults == []
    with store.read() as reader:
        assert reader.count_memories(1) == len(list(reader.scan_memories(1)))


def test_redacting_reaches_tasks_steps_jobs_and_stored_answers_and_nothing_else(store, vectors, tmp_path):
    memory = store.commit(lambda w: w.put_memory(Memory(content=SECRET), vectors(1)))
    other = store.commit(lambda w: w.put_memory(Memory(content="another lesson"), vectors(2)))
    task = store.commit(
        lambda w: w.put_task(Task(goal=f"find: {SECRET}", variables={SECRET: "a", "id": SECRET}))
    )
    untouched = store.commit(lambda w: w.put_task(Task(goal="find something else")))
    store.commit(
        lambda w: w.append_steps(
            task.id,
            [
                Step(text="before"),
                Step(tool="bash", arguments={"cmd": f'echo "{SECRET}"'}, result=f"{SECRET}\n"),
            ],
        )
    )
    receipts = [WriteReceipt(action=Action.CREATED, memory=m) for m in (memory, other)]
    lessons = [ExtractedLesson(lesson=Lesson(problem=m.content)) for m in (memory, other)]
    hindsight = Hindsight(receipts=receipts, lessons=lessons, summary="first words of a secret")
    job = store.commit(lambda w: w.put_job(HindsightJob(task_id=task.id, hindsight=hindsight)))
    for name, answer in (("a", f'{{"content": "{SECRET}"}}'), ("b", f'{{"id": "{memory.id}"}}'), ("c", "{}")):
        store.commit(lambda w, n=name, a=answer: w.put_answer("p", "Write", n, b"1" * 16, a.encode()))
    store.commit(lambda w: w.put_exposures(task.id, [memory.id, other.id]))

    def erase(w):
        w.erase_memory(memory.id)
        w.redact("default", [SECRET, "short"], [memory.id])

    store.commit(erase)
    with store.read() as reader:
        found = reader.task(task.id)
        assert (found.goal, found.variables) == ("find: [erased]", {"[erased]": "a", "id": "[erased]"})
        assert reader.task(untouched.id) == untouched
        first, second = reader.steps(task.id)
        assert (first.text, second.tool) == ("before", "bash")
        assert (second.arguments, second.result) == ({"cmd": 'echo "[erased]"'}, "[erased]\n")
        left = reader.job(job.id).hindsight
        assert [receipt.memory.id for receipt in left.receipts] == [other.id]
        assert [lesson.lesson.problem for lesson in left.lessons] == ["another lesson"]
        assert left.summary == "[erased]"
        assert [reader.answer("p", "Write", n, b"1" * 16) for n in "abc"] == [b"", b"", b"{}"]
        assert (reader.exposed(task.id, memory.id), reader.exposed(task.id, other.id)) == (False, True)
    store.compact()
    assert holds(tmp_path, SECRET) == []


def test_a_note_in_the_audit_log_goes_with_its_memory_and_the_event_stays(store, vectors, tmp_path):
    memory = store.commit(lambda w: w.put_memory(Memory(content="claim"), vectors(1)))
    store.commit(lambda w: w.audit_memory(memory, "refuted", SECRET))
    with store.read() as reader:
        assert [(e.action, e.note) for e in reader.audit()][-1] == ("refuted", SECRET)
    store.commit(lambda w: w.erase_memory(memory.id))
    with store.read() as reader:
        events = [e for e in reader.audit() if e.memory_id == memory.id]
    assert [(e.action, e.note) for e in events] == [("created", ""), ("refuted", ""), ("erased", "")]
    store.compact()
    assert holds(tmp_path, SECRET) == []


def test_every_change_is_in_the_audit_log_with_its_principal(store, vectors):
    def write(w):
        w.principal = "审计员"
        return w.put_memory(Memory(content="x"), vectors(1))

    memory = store.commit(write)
    store.commit(lambda w: w.put_memory(Memory(id=memory.id, content="y"), former="merged", note="说明"))
    store.commit(lambda w: w.remove_memory(w.memory(memory.id), "expired"))
    with store.read() as reader:
        events = [event for event in reader.audit() if event.memory_id]
    assert [(e.action, e.principal) for e in events] == [
        ("created", "审计员"),
        ("merged", ""),
        ("expired", ""),
    ]
    assert all(isinstance(event, AuditEvent) and event.namespace == "default" for event in events)
    assert [event.seq for event in events] == sorted({event.seq for event in events})


def test_what_was_shown_is_known_at_once_and_on_disk_after_closing(open_store, vectors):
    store = open_store()
    store.commit(lambda w: w.bind_model(1, "model", 4))
    memory = store.commit(lambda w: w.put_memory(Memory(content="x"), vectors(1)))
    tasks = [store.commit(lambda w: w.put_task(Task(goal="g"))) for _ in range(2)]
    store.show(tasks[0].id.upper(), [memory.id])
    store.show("no id", [memory.id])
    for check in (store, None):
        if check is None:
            store.close()
            store = open_store()
        with store.read() as reader:
            assert [reader.exposed(task.id, memory.id) for task in tasks] == [True, False]
    with store.read() as reader:
        assert reader.shown(1) == [(memory.id, 1)]


def test_after_a_crash_earlier_tasks_count_as_shown_and_later_ones_do_not(open_store, tmp_path, vectors):
    store = open_store()
    store.commit(lambda w: w.bind_model(1, "model", 4))
    memory = store.commit(lambda w: w.put_memory(Memory(content="x"), vectors(1)))
    early = store.commit(lambda w: w.put_task(Task(goal="before the crash")))
    store.show(early.id, [memory.id])
    # As the disk is when the process dies now: what was shown may not be there.
    shutil.copytree(tmp_path / "data", tmp_path / "died", ignore=shutil.ignore_patterns("*.lock"))
    with Store(tmp_path / "died", applier=lambda _: None) as after:
        late = after.commit(lambda w: w.put_task(Task(goal="after the crash")))
        with after.read() as reader:
            assert reader.exposed(early.id, memory.id)
            assert not reader.exposed(late.id, memory.id)


def test_an_unknown_task_counts_as_shown(store, vectors):
    memory = store.commit(lambda w: w.put_memory(Memory(content="x"), vectors(1)))
    with store.read() as reader:
        assert reader.exposed("01890a5d-ac96-774b-bcce-b302099a8057", memory.id)
        assert reader.exposed(memory.id, memory.id), "a memory is no task"

"""What evidence does: who may say what, what counts, and what it moves."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import siltstone
from hypothesis import given
from hypothesis import strategies as st
from siltstone.config import Settings
from siltstone.engine.evidence import CEILING, KEPT, verification_of, with_evidence
from siltstone.local import Local
from siltstone.model import AGENT_ROLES, Evidence, Memory, Verdict, Verification

HASHING = Settings(embedding_model="hashing")
UNKNOWN = "0197a3c4-7d2e-7c11-9f00-3b1f6a2c9d55"
NOW = datetime(2026, 5, 1, tzinfo=UTC)
LESSON = "容器里的服务要监听 0.0.0.0"


def tasks(mem: Local, count: int, **given: Any) -> list[str]:
    return [mem.start_task(f"task {i}", **given).id for i in range(count)]


@pytest.fixture
def agent(mem: Local) -> Local:
    return Local(mem.engine, roles=AGENT_ROLES)


def piece(verdict: str, task_id: str = "t") -> Evidence:
    return Evidence(verdict=Verdict(verdict), time=NOW, task_id=task_id)


# --- the rule


def test_confidence_is_the_mean_of_the_prior_and_the_pieces() -> None:
    memory = Memory(confidence=0.7)
    for n, verdict in enumerate(["WORKED", "REACHED", "FAILED", "WORKED"], start=1):
        memory = with_evidence(memory, piece(verdict, f"t{n}"))
    assert memory.confidence == pytest.approx((2 * 0.7 + 3) / (2 + 4))


reports = st.lists(
    st.tuples(st.sampled_from(["WORKED", "REACHED", "FAILED"]), st.sampled_from("abcdefghijkl")), max_size=30
)


@given(st.just(0.0) | st.floats(1e-6, 1), reports)
def test_each_piece_moves_confidence_its_way_and_never_out_of_bounds(
    first: float, given: list[tuple[str, str]]
) -> None:
    memory = Memory(confidence=first)
    for verdict, task in given:
        earlier = {e.task_id: e.verdict for e in memory.evidence}.get(task)
        new = with_evidence(memory, piece(verdict, task))
        assert 0.0 <= new.confidence <= max(CEILING, first)
        if verdict == "FAILED":
            assert new.confidence <= memory.confidence
            assert new.confidence < memory.confidence or earlier == "FAILED" or memory.confidence == 0.0
        else:
            assert new.confidence >= memory.confidence
        assert len({e.task_id for e in new.evidence}) == len(new.evidence), "one piece a task"
        memory = new


@given(st.floats(0, 1), st.permutations(["WORKED"] * 3 + ["FAILED"] * 3))
def test_the_order_of_few_pieces_changes_nothing_below_the_ceiling(first: float, order: list[str]) -> None:
    memory = Memory(confidence=min(first, 0.5))
    for i, verdict in enumerate(order):
        memory = with_evidence(memory, piece(verdict, str(i)))
    assert memory.confidence == pytest.approx((2 * min(first, 0.5) + 3) / 8)


def test_news_still_moves_what_a_thousand_tasks_stood_for() -> None:
    memory = Memory()
    for i in range(1000):
        memory = with_evidence(memory, piece("WORKED", str(i)))
    assert memory.confidence == CEILING
    assert len(memory.evidence) == KEPT
    for i in range(10):
        memory = with_evidence(memory, piece("FAILED", f"new {i}"))
    assert memory.confidence < 0.4


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], "PENDING"),
        (["WORKED"], "PENDING"),
        (["WORKED", "REACHED"], "CONFIRMED"),
        (["WORKED", "WORKED", "FAILED"], "PENDING"),
        (["FAILED"], "PENDING"),
        (["FAILED", "FAILED"], "REFUTED"),
        (["WORKED", "FAILED", "FAILED"], "PENDING"),
        (["WORKED", "FAILED", "FAILED", "FAILED"], "REFUTED"),
        (["CONFIRM", "FAILED", "FAILED", "FAILED"], "CONFIRMED"),
        (["REFUTE", "WORKED", "WORKED"], "REFUTED"),
        (["REFUTE", "CONFIRM"], "CONFIRMED"),
        (["WORKED", "WORKED", "REFUTE"], "REFUTED"),
    ],
)
def test_what_is_verified_follows_from_the_evidence(verdicts: list[str], expected: str) -> None:
    evidence = [piece(verdict, str(i)) for i, verdict in enumerate(verdicts)]
    assert verification_of(evidence) == Verification(expected)


# --- reports


def test_two_tasks_that_it_worked_for_confirm_it(mem: Local) -> None:
    id = mem.write(LESSON, confidence=0.7).memory.id
    first, second = tasks(mem, 2)
    assert mem.verify(id, "WORKED", task_id=first, note="通了").verification == "PENDING"
    memory = mem.verify(id, "WORKED", task_id=second)
    assert memory.verification == "CONFIRMED"
    assert [(e.verdict, e.task_id, e.note) for e in memory.evidence] == [
        ("WORKED", first, "通了"),
        ("WORKED", second, ""),
    ]
    assert mem.get(id)[0] == memory
    trace = mem.trace(id)
    assert [(r.reason, r.memory.verification) for r in trace.revisions] == [("verified", "PENDING")] * 2


def test_a_task_counts_once_with_its_latest_word(mem: Local) -> None:
    id = mem.write(LESSON, confidence=0.7).memory.id
    (task,) = tasks(mem, 1)
    once = mem.verify(id, "WORKED", task_id=task)
    for _ in range(10):
        again = mem.verify(id, "WORKED", task_id=task.upper())
    assert again == once
    changed = mem.verify(id, "FAILED", task_id=task)
    assert changed.confidence == pytest.approx((2 * 0.7 + 0) / 3)
    assert [e.verdict for e in changed.evidence] == ["FAILED"]


def test_success_without_a_task_or_from_the_author_is_noted_and_moves_nothing(mem: Local) -> None:
    (author,) = tasks(mem, 1)
    written = mem.write(LESSON, confidence=0.7, task_id=author).memory
    for _ in range(20):
        assert mem.verify(written.id, "WORKED") == written
        assert mem.verify(written.id, "WORKED", task_id=author) == written
    assert [e.action for e in mem.audit_log() if e.memory_id == written.id].count("worked") == 40


def test_failure_without_a_task_lowers_once_and_refutes_nothing(mem: Local) -> None:
    id = mem.write(LESSON, confidence=0.7).memory.id
    first = mem.verify(id, "FAILED", reviewer="甲")
    assert first.confidence == pytest.approx(1.4 / 3)
    for i in range(20):
        assert mem.verify(id, "FAILED", reviewer=f"someone {i}") == first
    assert first.verification == "PENDING"


def test_a_memory_that_keeps_failing_leaves_the_searches(mem: Local) -> None:
    id = mem.write(LESSON).memory.id
    mem.write("something else about 0.0.0.0")
    first, second = tasks(mem, 2)
    mem.verify(id, "FAILED", task_id=first)
    assert id in {hit.memory.id for hit in mem.search(LESSON).hits}
    assert mem.verify(id, "FAILED", task_id=second).verification == "REFUTED"
    assert id not in {hit.memory.id for hit in mem.search(LESSON).hits}
    assert mem.search(LESSON, include_refuted=True).hits[0].memory.id == id


def test_an_auditor_decides_and_an_agent_may_not(mem: Local, agent: Local) -> None:
    id = mem.write(LESSON, confidence=0.7).memory.id
    for verdict in ("CONFIRM", "REFUTE"):
        with pytest.raises(siltstone.PermissionDeniedError) as caught:
            agent.verify(id, verdict)
        assert (caught.value.reason, caught.value.field) == ("ROLE_REQUIRED", "verdict")
    assert mem.get(id)[0].evidence == []
    refuted = mem.verify(id, "REFUTE", reviewer="审计员", note="已过时", evidence="RFC 1")
    assert (refuted.verification, refuted.confidence) == ("REFUTED", 0.05)
    assert (refuted.evidence[0].reviewer, refuted.evidence[0].note) == ("审计员", "已过时; RFC 1")
    assert mem.search(LESSON).hits == []
    for task in tasks(mem, 3):
        assert agent.verify(id, "WORKED", task_id=task).verification == "REFUTED", "a reviewer's word stands"
    assert mem.verify(id, "CONFIRM", reviewer="审计员").verification == "CONFIRMED"
    assert mem.search(LESSON).hits[0].memory.confidence == 0.95
    event = next(e for e in mem.audit_log() if e.memory_id == id and e.action == "refuted")
    assert (event.note, event.principal) == ("审计员: 已过时; RFC 1", "local")


@pytest.mark.parametrize(
    ("given", "error", "field"),
    [
        ({"verdict": "REACHED"}, siltstone.InvalidArgumentError, "verdict"),
        ({"verdict": "MAYBE"}, siltstone.InvalidArgumentError, "verdict"),
        ({"verdict": "WORKED", "task_id": "no id"}, siltstone.InvalidArgumentError, "task_id"),
        ({"verdict": "WORKED", "task_id": UNKNOWN}, siltstone.NotFoundError, "task_id"),
        ({"verdict": "WORKED", "note": "字" * 2000}, siltstone.InvalidArgumentError, "note"),
        ({"verdict": "WORKED", "reviewer": "x" * 300}, siltstone.InvalidArgumentError, "reviewer"),
    ],
)
def test_a_report_that_cannot_be_is_refused(mem: Local, given: Any, error: Any, field: str) -> None:
    id = mem.write(LESSON).memory.id
    with pytest.raises(error) as caught:
        mem.verify(id, **given)
    assert caught.value.field == field
    assert mem.get(id)[0].revision == 1


def test_a_memory_that_is_unknown_or_forgotten_takes_no_reports(mem: Local) -> None:
    with pytest.raises(siltstone.NotFoundError):
        mem.verify(UNKNOWN, "WORKED")
    id = mem.write(LESSON).memory.id
    mem.forget(ids=id)
    with pytest.raises(siltstone.FailedPreconditionError) as caught:
        mem.verify(id, "WORKED")
    assert caught.value.reason == "INVALIDATED"


def test_a_repeated_report_with_a_request_id_is_one(mem: Local) -> None:
    id = mem.write(LESSON).memory.id
    (task,) = tasks(mem, 1)
    answers = [mem.verify(id, "FAILED", task_id=task, request_id="r") for _ in range(2)]
    assert answers[0] == answers[1]
    assert [e.action for e in mem.audit_log() if e.memory_id == id] == ["created", "failed"]


# --- evidence by writing


def test_a_thousand_hits_change_nothing(mem: Local) -> None:
    written = mem.write(LESSON).memory
    (task,) = tasks(mem, 1)
    for _ in range(25):
        mem.search_many([{"query": LESSON, "task_id": task}] * 40)
    assert mem.get(written.id)[0] == written


def test_a_task_that_never_saw_it_and_writes_the_same_is_evidence(mem: Local) -> None:
    id = mem.write(LESSON, confidence=0.7).memory.id
    first, second = tasks(mem, 2)
    merged = mem.write(LESSON, task_id=first).memory
    assert (merged.id, merged.confidence, merged.verification) == (id, pytest.approx(0.8), "PENDING")
    assert [(e.verdict, e.task_id) for e in merged.evidence] == [("REACHED", first)]
    assert mem.write(LESSON, task_id=second).memory.verification == "CONFIRMED"


@pytest.mark.parametrize("how", ["search", "search_many", "get", "render", "nothing known", "no task"])
def test_a_task_that_was_shown_it_and_repeats_it_is_none(mem: Local, how: str) -> None:
    old = mem.write(LESSON, confidence=0.7).memory
    (task,) = tasks(mem, 1)
    if how == "search":
        mem.search(LESSON, task_id=task)
    elif how == "search_many":
        mem.search_many([{"query": LESSON, "task_id": task}])
    elif how == "get":
        mem.get(old.id, task_id=task)
    elif how == "render":
        task = mem.start_task(LESSON).id
        assert mem.render_task(task, with_memories=3).memory_ids == [old.id]
    elif how == "nothing known":
        task = UNKNOWN
    written = mem.write(LESSON) if how == "no task" else mem.write(LESSON, task_id=task)
    assert written.action == "MERGED"
    assert (written.memory.confidence, written.memory.evidence) == (0.7, [])


def test_what_one_task_writes_again_and_again_is_one_piece(mem: Local) -> None:
    first, second = tasks(mem, 2)
    drafts = [{"content": LESSON, "confidence": 0.7}] * 3
    receipts = mem.write_many(drafts, task_id=first)
    assert [r.memory.confidence for r in receipts] == [0.7, 0.7, 0.7]
    for _ in range(3):
        memory = mem.write(LESSON, task_id=second).memory
    assert (memory.confidence, len(memory.evidence)) == (pytest.approx(0.8), 1)


def test_a_duplicate_of_a_refuted_memory_stays_refuted(mem: Local) -> None:
    id = mem.write(LESSON).memory.id
    mem.verify(id, "REFUTE")
    (task,) = tasks(mem, 1)
    memory = mem.write(LESSON, task_id=task).memory
    assert (memory.id, memory.verification, memory.confidence) == (id, "REFUTED", 0.05)


def test_what_a_crash_may_have_lost_counts_as_shown(tmp_path: Path) -> None:
    with siltstone.open(tmp_path / "data", settings=HASHING) as mem:
        id = mem.write(LESSON, confidence=0.7).memory.id
        (task,) = tasks(mem, 1)
        mem.search(LESSON, task_id=task)
        shutil.copytree(tmp_path / "data", tmp_path / "died")
    with siltstone.open(tmp_path / "died", settings=HASHING) as mem:
        assert mem.write(LESSON, task_id=task).memory.confidence == 0.7
        (late,) = tasks(mem, 1)
        assert mem.write(LESSON, task_id=late).memory.confidence == pytest.approx(0.8)
    with siltstone.open(tmp_path / "data", settings=HASHING) as mem:
        assert mem.write(LESSON, task_id=task).memory.confidence == 0.7, "closed well, it was on disk"
        assert mem.get(id)[0].evidence == []


def test_the_job_of_a_finished_task_is_evidence_for_an_older_lesson(mem: Local) -> None:
    steps = [
        {"tool": "run", "text": "calling", "result": "Error: connection refused", "is_error": True},
        {"text": "The root cause is that it listens on 127.0.0.1.", "tool": "read", "result": "ok"},
        {"text": "Changed it to 0.0.0.0.", "tool": "edit", "result": "ok"},
        {"tool": "run", "text": "calling again", "result": "HTTP/1.1 200 OK"},
    ]
    found, tasks = [], []
    for _ in range(2):
        task = mem.start_task("let web reach api").id
        mem.append_steps(task, steps)
        job = mem.finish_task(task, "SUCCESS", wait=True)
        assert job.hindsight is not None
        found.append(job.hindsight.receipts[0].memory)
        tasks.append(task)
    assert found[0].id == found[1].id
    assert found[0].evidence == []
    assert [(e.verdict, e.task_id) for e in found[1].evidence] == [("REACHED", tasks[1])]


def test_the_same_trajectory_twice_is_one_evidence(mem: Local) -> None:
    log = {
        "goal": "let web reach api",
        "outcome": "SUCCESS",
        "steps": [
            {"tool": "run", "result": "Error: connection refused", "is_error": True},
            {"text": "The root cause is that it listens on 127.0.0.1.", "tool": "read", "result": "ok"},
            {"text": "Changed it to 0.0.0.0.", "tool": "edit", "result": "ok"},
            {"tool": "run", "result": "HTTP/1.1 200 OK"},
        ],
    }
    first = mem.summarize_trajectory(log, task_id=mem.start_task("a").id).receipts[0].memory
    again = mem.summarize_trajectory(log, task_id=mem.start_task("b").id).receipts[0]
    assert (again.action, again.memory) == ("UNCHANGED", first)

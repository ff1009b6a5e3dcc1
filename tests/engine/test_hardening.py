"""Requests and states that once gave an internal error, a wrong answer, or grew without end."""

import shutil
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.engine.mover import Mover
from siltstone.local import Local

UNKNOWN = "0197a3c4-7d2e-7c11-9f00-3b1f6a2c9d55"
HASHING = Settings(embedding_model="hashing")


def test_a_search_of_namespaces_nobody_wrote_to_is_empty(mem: Local) -> None:
    assert mem.search("anything").hits == []
    mem.write("容器", namespace="written")
    empty, full = mem.search_many([{"query": "容器"}, {"query": "容器", "namespace": "written"}])
    assert empty.hits == []
    assert [hit.memory.summary for hit in full.hits] == ["容器"]


def test_vectors_in_public_do_not_break_the_searches_of_others(mem: Local) -> None:
    mem.write("mine", namespace="team")
    mem.write("from a stranger", namespace="public", vector=[1.0, 0.0])
    assert [hit.memory.summary for hit in mem.search("mine", namespace="team").hits] == ["mine"]
    with pytest.raises(siltstone.FailedPreconditionError) as caught:
        mem.search("mine", namespace="public")
    assert caught.value.reason == "VECTOR_REQUIRED"


def test_a_namespace_of_own_vectors_is_searched_beside_a_public_of_texts(mem: Local) -> None:
    mem.write("public text", namespace="public")
    mem.write("own", namespace="own", vector=[1.0, 0.0, 0.0])
    assert [hit.memory.summary for hit in mem.search(vector=[1, 0, 0], namespace="own").hits] == ["own"]
    assert {hit.memory.summary for hit in mem.search(namespace="own").hits} == {"own", "public text"}


@pytest.mark.parametrize("half_life", [timedelta.max, "999999999d", timedelta(0), timedelta(days=-1)])
def test_a_half_life_out_of_range_is_refused(mem: Local, half_life: Any) -> None:
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.search("x", weights={"half_life": half_life})
    assert caught.value.field == "weights.half_life"


@pytest.mark.parametrize("requests", [3, [3], None, ["query"]])
def test_searches_that_are_no_objects_are_refused(mem: Local, requests: Any) -> None:
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.search_many(requests)
    assert caught.value.field.startswith("requests")


def test_the_same_text_after_its_supersession_is_one_conflict_however_often_it_is_said(mem: Local) -> None:
    old = mem.write("restart the container")
    new = mem.write("listen on all interfaces", supersedes=[old.memory.id])
    again = [mem.write("restart the container") for _ in range(4)]
    assert [receipt.action for receipt in again] == ["CONFLICT", "MERGED", "MERGED", "MERGED"]
    assert mem.get(new.memory.id)[0].conflicts_with == [again[0].memory.id]
    assert len(mem.list()) == 3


def test_a_duplicate_supersedes_what_it_was_said_to(mem: Local) -> None:
    kept = mem.write("the port is 8080").memory
    old = mem.write("the port is 80").memory
    receipt = mem.write("the port is 8080", supersedes=[old.id])
    assert receipt.action == "MERGED"
    assert [(r.id, r.relation) for r in receipt.related] == [(kept.id, "merged"), (old.id, "superseded")]
    assert mem.get(old.id)[0].superseded_by == kept.id
    assert mem.get(kept.id)[0].supersedes == [old.id]


def test_an_id_given_twice_or_in_capitals_supersedes_once(mem: Local) -> None:
    old = mem.write("alpha").memory
    receipt = mem.write("beta", supersedes=[old.id, old.id.upper()])
    assert receipt.memory.supersedes == [old.id]
    assert [related.id for related in receipt.related] == [old.id]
    assert mem.get(old.id)[0].revision == 2
    same = mem.write("beta", supersedes=[receipt.memory.id.upper()])
    assert same.action == "SUPERSEDED"


def test_a_forgotten_memory_cannot_be_superseded(mem: Local) -> None:
    old = mem.write("alpha").memory
    mem.forget(ids=[old.id])
    with pytest.raises(siltstone.FailedPreconditionError) as caught:
        mem.write("beta", supersedes=[old.id])
    assert (caught.value.reason, caught.value.field) == ("INVALIDATED", "drafts[0].supersedes[0]")


def test_a_text_said_again_word_for_word_keeps_no_former_state(mem: Local) -> None:
    first = mem.write("每天都说的话", tags=["a"]).memory
    for _ in range(5):
        last = mem.write("每天都说的话").memory
    assert (last.revision, mem.trace(first.id).revisions) == (6, [])
    assert last.event_time > first.event_time  # type: ignore[operator]
    mem.write("每天都说的话", tags=["b"])
    assert [revision.memory.tags for revision in mem.trace(first.id).revisions] == [["a"]]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"lesson": {"problem": "x" * (2 << 20)}}, "drafts[0].lesson"),
        ({"lesson": {"evidence": [{"field": "mood", "step": 1}]}}, "drafts[0].lesson.evidence[0].field"),
        (
            {"lesson": {"evidence": [{"field": "problem", "step": 1}] * 1001}},
            "drafts[0].lesson.evidence",
        ),
        ({"source": {"writer": "x" * 257}}, "drafts[0].source.writer"),
        ({"source": {"steps": list(range(1001))}}, "drafts[0].source.steps"),
    ],
)
def test_a_lesson_or_source_without_measure_is_refused(mem: Local, more: Any, field: str) -> None:
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.write("x", **more)
    assert caught.value.field == field


def test_a_blank_summary_is_made_from_the_content(mem: Local) -> None:
    assert mem.write("the content", summary=" ").memory.summary == "the content"


def test_a_page_token_of_another_list_is_refused(mem: Local) -> None:
    for text in ("alpha one", "beta two"):
        mem.write(text, namespace="a", tags=["t"])
        mem.start_task(text, namespace="a")
    mem.write("gamma", namespace="b")
    token = mem.list("a", page_size=1).next_page_token
    assert [memory.content for memory in mem.list("a", page_size=1, page_token=token)] == ["beta two"]
    task_token = mem.list_tasks("a", page_size=1).next_page_token
    assert [task.goal for task in mem.list_tasks("a", page_token=task_token)] == ["beta two"]
    others: list[Callable[[], object]] = [
        lambda: mem.list("b", page_token=token),
        lambda: mem.list("a", page_token=token, filter={"tags_any": ["t"]}),
        lambda: mem.list("a", page_token=task_token),
        lambda: mem.list_tasks("a", page_token=token),
        lambda: mem.list_tasks("a", page_token=task_token, status="RUNNING"),
        lambda: mem.list_hindsight_jobs(page_token=token),
        lambda: mem.namespaces(page_token=token),
        lambda: mem.namespaces(page_token="中"),
    ]
    for other in others:
        with pytest.raises(siltstone.InvalidArgumentError) as caught:
            other()
        assert caught.value.field == "page_token"


def test_namespaces_are_listed_page_by_page(mem: Local) -> None:
    mem.write("x", namespace="团队/甲")
    names, token = [], ""
    while True:
        page = mem.namespaces(page_size=1, page_token=token)
        names += [namespace.name for namespace in page]
        if not (token := page.next_page_token):
            break
    assert names == ["default", "public", "团队/甲"]


def test_jobs_of_an_unknown_namespace_are_an_error(mem: Local) -> None:
    with pytest.raises(siltstone.NotFoundError):
        mem.list_hindsight_jobs(namespace="nowhere")


@pytest.mark.parametrize(
    "filter", [{}, {"any_of": [{}]}, {"any_of": [{"tags_any": ["x"]}, {}]}, {"not": {"not": {}}}]
)
def test_a_filter_that_says_nothing_forgets_nothing(mem: Local, filter: Any) -> None:
    mem.write("keep me")
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.forget(filter=filter)
    assert caught.value.reason == "EMPTY_FILTER"
    assert len(mem.list()) == 1


@pytest.mark.parametrize(
    "filter", [{"not": {}}, {"not": {"tags_any": ["x"]}}, {"any_of": [{"tags_any": ["x"]}]}]
)
def test_a_filter_that_says_something_is_no_empty_one(mem: Local, filter: Any) -> None:
    mem.write("keep me")
    assert mem.forget(filter=filter, dry_run=True).dry_run


@pytest.mark.parametrize("form", [str.upper, lambda id: id.replace("-", ""), "{{{}}}".format])
def test_an_id_has_one_form_everywhere(mem: Local, form: Any) -> None:
    id = mem.write("alpha").memory.id
    given, answers = form(id), []
    for ask, field in (
        (lambda: mem.get([given]), "ids[0]"),
        (lambda: mem.search("alpha", filter={"ids": [given]}).hits, "filter.ids[0]"),
    ):
        try:
            answers.append(len(ask()))
        except siltstone.InvalidArgumentError as error:
            answers.append(error.field == field)
    assert answers[0] == answers[1] == 1


def test_an_error_stays_short_however_long_the_value_is(mem: Local) -> None:
    for call in (
        lambda: mem.get(["x" * 100_000]),
        lambda: mem.search("x", time_zone="x" * 100_000),
        lambda: mem.list(page_token="A" * 100_000),
    ):
        with pytest.raises(siltstone.InvalidArgumentError) as caught:
            call()
        assert len(str(caught.value)) < 400


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 10**5000], ids=["above", "below", "huge"])
def test_a_whole_number_that_would_lose_digits_is_refused(mem: Local, number: int) -> None:
    task = mem.start_task("goal").id
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.append_steps(task, [{"tool": "run", "arguments": {"id": number}}])
    assert caught.value.field == "steps[0].arguments.id"


def test_a_task_with_a_long_goal_is_rendered_with_memories(mem: Local) -> None:
    mem.write("很长的目标")
    task = mem.start_task("很长的目标 " * 3000).id
    assert mem.render_task(task, with_memories=3, max_tokens=20_000).memory_ids


FAILING = {
    "goal": "let web reach api",
    "outcome": "SUCCESS",
    "steps": [
        {"tool": "t" * 300, "text": "calling", "result": "Error: connection refused", "is_error": True},
        {"tool": "t" * 300, "text": "The root cause is that it listens on 127.0.0.1.", "result": "ok"},
        {"tool": "t" * 300, "text": "Set the address to 0.0.0.0.", "result": "ok"},
    ],
}


def test_a_log_with_a_tool_name_too_long_for_a_label_still_teaches(mem: Local) -> None:
    hindsight = mem.summarize_trajectory(FAILING)
    assert hindsight.receipts[0].memory.tools_used == []


@pytest.mark.parametrize(
    ("log", "field"),
    [
        ({"goal": "g"}, "data"),
        ([1], "data"),
        ([{"role": "user", "content": {"a": [[[[[[[[]]]]]]]]} | {"b": 2**70}}], "data.messages[0]"),
    ],
)
def test_an_error_in_a_log_names_the_field_it_was_sent_in(mem: Local, log: Any, field: str) -> None:
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.summarize_trajectory(log)
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: ")


def test_a_step_with_a_tool_name_too_long_for_a_label_is_refused(mem: Local) -> None:
    task = mem.start_task("goal").id
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.append_steps(task, [{"tool": "t" * 257}])
    assert caught.value.field == "steps[0].tool"


def test_waiting_for_a_job_nobody_runs_is_refused_before_the_task_is_finished(tmp_path: Path) -> None:
    settings = Settings(embedding_model="hashing", hindsight_workers=0)
    with siltstone.open(tmp_path / "data", settings=settings) as mem:
        task = mem.start_task("goal").id
        with pytest.raises(siltstone.FailedPreconditionError) as caught:
            mem.finish_task(task, "SUCCESS", wait=True)
        assert caught.value.reason == "NO_HINDSIGHT_WORKERS"
        assert mem.get_task(task).status == "RUNNING"
        assert mem.finish_task(task, "SUCCESS").state == "QUEUED"


def test_a_namespace_deleted_while_its_job_runs_does_not_come_back(
    mem: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = mem.start_task("let web reach api", namespace="gone")
    steps = [step | {"tool": "run"} for step in FAILING["steps"]]  # type: ignore[operator]
    mem.append_steps(task.id, steps)
    embedding, deleted = threading.Event(), threading.Event()
    embed = mem.engine.embedder.embed_passages

    def slow(texts: Any) -> Any:
        embedding.set()
        assert deleted.wait(30)
        return embed(texts)

    monkeypatch.setattr(mem.engine.embedder, "embed_passages", slow)
    job = mem.finish_task(task.id, "SUCCESS")
    assert embedding.wait(30)
    mem.delete_namespace("gone")
    deleted.set()
    assert mem.engine.jobs.wait(job.id, 30)
    with pytest.raises(siltstone.NotFoundError):
        mem.get_hindsight_job(job.id)
    mem.close()  # ends after the job in hand
    with siltstone.open(tmp_path / "data", settings=HASHING) as again:
        assert "gone" not in [namespace.name for namespace in again.namespaces()]


def test_a_path_that_is_no_directory_is_refused_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(siltstone.FailedPreconditionError) as caught:
        siltstone.open(file, settings=HASHING)
    assert caught.value.reason == "DATA_UNUSABLE"
    assert str(file) in str(caught.value)


def test_a_start_that_fails_leaves_nothing_running_and_nothing_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(threading.enumerate())

    def fail(self: Mover) -> None:
        raise OSError("没有线程了")

    with monkeypatch.context() as patched:
        patched.setattr(Mover, "start", fail)  # the last part to start
        with pytest.raises(OSError, match="没有线程了"):
            siltstone.open(tmp_path / "data", settings=HASHING)
    assert [thread.name for thread in set(threading.enumerate()) - before] == []
    with siltstone.open(tmp_path / "data", settings=HASHING) as mem:
        mem.write("重新打开之后照常工作")


def test_the_index_of_another_store_is_not_served(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with siltstone.open(tmp_path / name, settings=HASHING) as mem:
            mem.write(f"known to {name}")
            mem.search("known")  # what nobody searches is not loaded, and not saved
        assert list((tmp_path / name / "index").glob("*.snap"))
    shutil.rmtree(tmp_path / "two" / "index")
    shutil.copytree(tmp_path / "one" / "index", tmp_path / "two" / "index")
    with siltstone.open(tmp_path / "two", settings=HASHING) as mem:
        assert [hit.memory.summary for hit in mem.search("known").hits] == ["known to two"]


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "without label"])
def test_a_damaged_snapshot_is_rebuilt(tmp_path: Path, damage: str) -> None:
    with siltstone.open(tmp_path, settings=HASHING) as mem:
        mem.write("容器之间无法通过服务名访问")
        mem.search("容器")  # what nobody searches is not loaded, and not saved
    [snapshot] = (tmp_path / "index").glob("*.snap")
    whole = snapshot.read_bytes()
    middle = len(whole) // 2
    if damage == "cut":
        snapshot.write_bytes(whole[:middle])
    elif damage == "flipped":
        snapshot.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    elif damage == "empty":
        snapshot.write_bytes(b"")
    else:
        snapshot.with_suffix(".label").unlink()
    with siltstone.open(tmp_path, settings=HASHING) as mem:
        assert [hit.memory.summary for hit in mem.search("容器").hits] == ["容器之间无法通过服务名访问"]
        assert mem.check().problems == []


def test_an_index_newer_than_a_restored_store_is_not_served(tmp_path: Path) -> None:
    data, saved = tmp_path / "data", tmp_path / "saved"
    with siltstone.open(data, settings=HASHING) as mem:
        mem.write("before the backup")
    shutil.copytree(data / "store", saved)
    with siltstone.open(data, settings=HASHING) as mem:
        for i in range(3):
            mem.write(f"lost number {i}")
        mem.search("x")
    shutil.rmtree(data / "store")
    shutil.copytree(saved, data / "store")
    with siltstone.open(data, settings=HASHING) as mem:
        # Under the same commit numbers as what was lost, and more of them, before the index is asked for.
        for i in range(5):
            mem.write(f"new number {i}", on_duplicate="KEEP")
        expected = {"before the backup", *(f"new number {i}" for i in range(5))}
        assert {hit.memory.summary for hit in mem.search("number", top_k=20).hits} == expected
        assert mem.check().problems == []


def test_a_check_during_writes_and_deletions_finds_nothing_wrong(mem: Local) -> None:
    stop = threading.Event()
    failures: list[BaseException] = []

    def write(name: str) -> None:
        try:
            i = 0
            while not stop.is_set():
                mem.write(f"{name} {i}", namespace=name, on_duplicate="KEEP")
                if name == "b" and i % 7 == 6:
                    mem.delete_namespace(name)
                i += 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "aab"]
    for thread in threads:
        thread.start()
    problems = [problem for _ in range(60) for problem in mem.check().problems]
    stop.set()
    for thread in threads:
        thread.join(30)
    assert (problems, failures) == ([], [])


def test_listing_and_forgetting_by_filter_survive_deletions_of_the_namespace(mem: Local) -> None:
    stop = threading.Event()
    failures: list[BaseException] = []

    def delete() -> None:
        try:
            while not stop.is_set():
                mem.write("内容", namespace="n", tags=["t"])
                mem.delete_namespace("n")
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=delete)
    thread.start()
    for i in range(150):
        try:
            if i % 2:
                mem.list("n", filter={"tags_any": ["t"]})
            else:
                mem.forget(filter={"tags_any": ["t"]}, namespace="n")
        except siltstone.NotFoundError:
            pass
    stop.set()
    thread.join(30)
    assert failures == []

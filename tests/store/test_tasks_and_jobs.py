from dataclasses import replace

import pytest
from siltstone.errors import InvalidArgumentError, NotFoundError
from siltstone.model import HindsightJob, JobState, Memory, Step, Task

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


def test_a_task_is_stored_updated_and_listed(store):
    draft = Task(goal="修复部署", variables={"环境": "生产"})
    task = store.commit(lambda w: w.put_task(draft))
    assert (task.revision, task.create_time, draft.id) == (1, task.update_time, "")
    later = store.commit(lambda w: w.put_task(replace(task, current_hypothesis="磁盘满", create_time=None)))
    assert (later.revision, later.create_time) == (2, task.create_time)
    other = store.commit(lambda w: w.put_task(Task(goal="b")))
    with store.read() as reader:
        assert reader.task(task.id) == later
        assert reader.task(UNKNOWN) is None
        assert list(reader.tasks(1)) == [later, other]
        assert list(reader.tasks(1, after_id=task.id)) == [other]
        assert list(reader.tasks(1, limit=1)) == [later]


def test_steps_are_numbered_on_and_read_from_any_number(store):
    task = store.commit(lambda w: w.put_task(Task(goal="g")))
    first = store.commit(lambda w: w.append_steps(task.id, [Step(text="一"), Step(text="二", number=99)]))
    second = store.commit(lambda w: w.append_steps(task.id, [Step(text="三", arguments={"参数": 1})]))
    assert [step.number for step in first + second] == [1, 2, 3]
    with store.read() as reader:
        assert list(reader.steps(task.id)) == first + second
        assert list(reader.steps(task.id, after=1)) == first[1:] + second
        assert list(reader.steps(task.id, after=3)) == []
        assert list(reader.steps(UNKNOWN)) == []
        assert (reader.task(task.id).step_count, reader.task(task.id).revision) == (3, 1)


def test_a_task_written_from_an_old_view_keeps_the_count_of_its_steps(store):
    task = store.commit(lambda w: w.put_task(Task(goal="g", step_count=7)))
    assert task.step_count == 0
    store.commit(lambda w: w.append_steps(task.id, [Step(text="s")]))
    assert store.commit(lambda w: w.put_task(task)).step_count == 1
    assert store.commit(lambda w: w.append_steps(task.id, [Step(text="t")]))[0].number == 2


def test_steps_of_no_task_are_refused(store):
    with pytest.raises(NotFoundError, match=f"task_id: there is no task {UNKNOWN}"):
        store.commit(lambda w: w.append_steps(UNKNOWN, [Step()]))
    with pytest.raises(InvalidArgumentError, match="task_id"):
        store.commit(lambda w: w.append_steps("x", [Step()]))


def test_a_deleted_task_takes_its_steps_and_exposures_with_it(store):
    before = store.info().entries
    task = store.commit(lambda w: w.put_task(Task(goal="g")))
    other = store.commit(lambda w: w.put_task(Task(goal="other")))
    store.commit(lambda w: w.append_steps(other.id, [Step(text="stays")]))
    store.commit(lambda w: w.append_steps(task.id, [Step(), Step()]))
    store.commit(lambda w: w.put_exposures(task.id, [UNKNOWN]))
    assert store.commit(lambda w: w.delete_task(task.id))
    assert not store.commit(lambda w: w.delete_task(task.id))
    after = store.info().entries
    assert (after["tasks"], after["steps"], after["owners"]) == (1, 1, 1)
    assert after["exposures"] == before["exposures"]


def test_a_task_is_known_to_have_been_shown_what_was_noted(store):
    task = store.commit(lambda w: w.put_task(Task(goal="g")))
    a, b = (store.commit(lambda w, c=c: w.put_memory(Memory(content=c))).id for c in "ab")
    store.commit(lambda w: w.put_exposures(task.id, [a]))
    with store.read() as reader:
        assert reader.exposed(task.id, a)
        assert not reader.exposed(task.id, b)
        assert reader.exposed(UNKNOWN, b)
    seq = store.info().seq
    store.commit(lambda w: w.put_exposures(task.id, [a]))
    assert store.info().seq == seq, "what is noted already is no write"
    with pytest.raises(NotFoundError):
        store.commit(lambda w: w.put_exposures(UNKNOWN, [a]))


def test_jobs_are_found_by_state_over_all_namespaces_in_order_of_their_ids(store):
    made = [
        store.commit(lambda w, n=n: w.put_job(HindsightJob(namespace=n, task_id=UNKNOWN)))
        for n in ("public", "default", "public", "default")
    ]
    states = [JobState.QUEUED, JobState.RUNNING, JobState.DONE, JobState.FAILED]
    made = [
        store.commit(lambda w, j=j, s=s: w.put_job(replace(j, state=s)))
        for j, s in zip(made, states, strict=True)
    ]

    def jobs(**given):
        with store.read() as reader:
            return list(reader.jobs(**given))

    assert jobs() == made
    assert jobs(states={JobState.QUEUED}) == made[:1]
    assert jobs(states={JobState.QUEUED, JobState.RUNNING}) == made[:2]
    assert jobs(states={JobState.RUNNING, JobState.DONE}) == made[1:3]
    assert jobs(states=set()) == []
    assert jobs(namespace=1) == [made[1], made[3]]
    assert jobs(states={JobState.QUEUED}, namespace=1) == []
    assert store.info().entries["waiting"] == 2
    with pytest.raises(NotFoundError):
        jobs(namespace=99)


def test_a_job_queued_again_waits_again_and_a_deleted_one_is_gone(store):
    job = store.commit(lambda w: w.put_job(HindsightJob(state=JobState.FAILED, error="断网")))
    again = store.commit(lambda w: w.put_job(replace(job, state=JobState.QUEUED, create_time=None)))
    assert again.create_time == job.create_time
    assert again.update_time > job.update_time
    with store.read() as reader:
        assert reader.job(job.id) == again
        assert list(reader.jobs(states={JobState.QUEUED})) == [again]
    assert store.commit(lambda w: w.delete_job(job.id))
    assert not store.commit(lambda w: w.delete_job(job.id))
    with store.read() as reader:
        assert list(reader.jobs()) == []
    assert store.info().entries["waiting"] == 0

"""Looks after tasks and jobs that nobody looks after: idle tasks are looked back over, finished ones shrink
to what memories cite and go in the end, as ended jobs do."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from siltstone.config import Settings
from siltstone.engine.jobs import JobRunner, queue_job
from siltstone.errors import SiltstoneError
from siltstone.model import OPEN_STATES, HindsightJob, JobState, JobTrigger, Task, TaskStatus
from siltstone.store import Reader, Store, Writer

_LOOKED_AT = 500  # tasks read in one snapshot
_STEPS_AT_ONCE = 500  # steps removed in one commit, so that no writer waits for more
_AT_ONCE = 50  # tasks or jobs changed in one commit
_REST = 50  # a round is followed by a rest of so many times its length

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(slots=True)
class _Due:
    idle: list[str] = field(default_factory=list)
    compressed: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)


class TaskKeeper:
    """Args:
    every: seconds between two rounds; with 0 there is none but by `look_after`.
    """

    def __init__(self, store: Store, jobs: JobRunner, settings: Settings, *, every: float) -> None:
        self._store = store
        self._jobs = jobs
        self._idle = timedelta(minutes=settings.hindsight_idle_minutes)
        self._compress = timedelta(days=settings.task_compress_days)
        self._keep = timedelta(days=settings.task_keep_days)
        self._keep_jobs = timedelta(days=settings.job_keep_days)
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="siltstone-task-keeper", daemon=True)

    def start(self) -> None:
        if self._every:
            self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        rest = self._every
        while not self._stop.wait(rest):
            began = time.monotonic()
            try:
                self.look_after(datetime.now(UTC))
            except SiltstoneError as error:
                if error.reason == "CLOSED":
                    return
                log.warning("tasks could not be looked after, the next round tries again: %s", error)
            except Exception:
                log.exception("tasks could not be looked after, the next round tries again")
            rest = max(self._every, _REST * (time.monotonic() - began))

    def look_after(self, now: datetime) -> None:
        """One round, as of `now`. Each task is looked at again in the transaction that changes it."""
        with self._store.read() as reader:
            numbers = [record.number for record in reader.namespaces()]
        for number in numbers:
            try:
                for due in self._due(number, now):
                    self._queue_idle(due.idle, now)
                    for id in due.compressed:
                        self._shrink(id, now)
                    for id in due.dropped:
                        self._drop(id, now)
            except SiltstoneError as error:
                if error.reason not in ("NAMESPACE_NOT_FOUND", "TASK_NOT_FOUND"):  # deleted meanwhile
                    raise
        self._trim_jobs(now)

    def _due(self, namespace: int, now: datetime) -> Iterator[_Due]:
        after: str | None = ""
        while after is not None and not self._stop.is_set():
            due = _Due()
            with self._store.read() as reader:
                tasks = list(reader.tasks(namespace, after_id=after, limit=_LOOKED_AT))
                for task in tasks:
                    if self._is_idle(task, now):
                        due.idle.append(task.id)
                    elif self._is_over(task, now):
                        due.dropped.append(task.id)
                    elif self._may_shrink(reader, task, now):
                        due.compressed.append(task.id)
            after = tasks[-1].id if len(tasks) == _LOOKED_AT else None
            yield due

    # --- idle ones

    def _is_idle(self, task: Task, now: datetime) -> bool:
        return (
            bool(self._idle)
            and task.status is TaskStatus.RUNNING
            and task.step_count > task.hindsight_steps
            and task.update_time is not None
            and task.update_time <= now - self._idle
        )

    def _queue_idle(self, ids: Sequence[str], now: datetime) -> None:
        def operation(writer: Writer, some: Sequence[str]) -> list[HindsightJob]:
            queued = []
            for id in some:
                task = writer.task(id)
                if task is not None and self._is_idle(task, now):
                    job, task = queue_job(writer, task, JobTrigger.IDLE)
                    writer.put_task(task, quiet=True)
                    queued.append(job)
            return queued

        for some in _portions(ids):
            for job in self._store.commit(_with(operation, some)):
                self._jobs.add(job)

    # --- finished ones

    def _may_shrink(self, reader: Reader, task: Task, now: datetime) -> bool:
        """Not before it was looked back over with success: until then its steps are all there is."""
        if not self._compress or task.compress_time is not None or not _ended(task, now - self._compress):
            return False
        job = reader.job(task.hindsight_job_id) if task.hindsight_job_id else None
        return job is None or job.state is JobState.DONE

    def _shrink(self, id: str, now: datetime) -> None:
        """Mark it first: from then on nobody looks back over what is left of it."""

        def mark(writer: Writer) -> set[int] | None:
            task = writer.task(id)
            if task is None or not self._may_shrink(writer, task, now):
                return None
            writer.put_task(replace(task, compress_time=writer.now), quiet=True)
            return cited_steps(writer, task)

        keep = self._store.commit(mark)
        if keep is not None:
            self._drop_steps(id, keep)

    def _is_over(self, task: Task, now: datetime) -> bool:
        return bool(self._keep) and _ended(task, now - self._keep)

    def _drop(self, id: str, now: datetime) -> None:
        def mark(writer: Writer) -> None:
            task = writer.task(id)
            if task is not None and task.compress_time is None:
                writer.put_task(replace(task, compress_time=writer.now), quiet=True)

        def operation(writer: Writer) -> None:
            task = writer.task(id)
            job = writer.job(task.hindsight_job_id) if task and task.hindsight_job_id else None
            if task is not None and self._is_over(task, now):
                if job is not None and job.state in OPEN_STATES:
                    writer.put_job(replace(job, state=JobState.CANCELLED, retry_time=None))
                writer.delete_task(id)

        self._store.commit(mark)
        self._drop_steps(id, set())
        self._store.commit(operation)

    def _drop_steps(self, id: str, keep: set[int]) -> None:
        def operation(writer: Writer) -> int:
            if writer.task(id) is None:
                return 0
            return writer.drop_steps(id, keep=keep, limit=_STEPS_AT_ONCE)

        while self._store.commit(operation) == _STEPS_AT_ONCE:
            pass

    # --- jobs

    def _trim_jobs(self, now: datetime) -> None:
        if not self._keep_jobs:
            return
        before = now - self._keep_jobs
        with self._store.read() as reader:
            old = [job.id for job in reader.jobs() if _old(job, before)]

        def operation(writer: Writer, some: Sequence[str]) -> None:
            for id in some:
                job = writer.job(id)
                if job is not None and _old(job, before):
                    writer.delete_job(id)

        for some in _portions(old):
            self._store.commit(_with(operation, some))


def cited_steps(reader: Reader, task: Task) -> set[int]:
    """Numbers of the steps that memories of this task cite, in their present or a former state."""
    cited: set[int] = set()
    for id in task.memory_ids:
        memory = reader.memory(id)
        if memory is not None:
            states = [memory, *(revision.memory for revision in reader.revisions(id))]
            for source in (state.source for state in states):
                if source is not None and source.task_id == task.id:
                    cited.update(source.steps)
    return cited


def _ended(task: Task, before: datetime) -> bool:
    return task.status is TaskStatus.FINISHED and task.finish_time is not None and task.finish_time <= before


def _old(job: HindsightJob, before: datetime) -> bool:
    return job.state not in OPEN_STATES and job.update_time is not None and job.update_time <= before


def _portions(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(ids), _AT_ONCE):
        yield ids[at : at + _AT_ONCE]


def _with(operation: Callable[[Writer, Sequence[str]], T], some: Sequence[str]) -> Callable[[Writer], T]:
    return lambda writer: operation(writer, some)

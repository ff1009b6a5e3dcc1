"""Runs hindsight jobs in threads of their own. The queue is the store: what was waiting or running when the
process ended runs again at the next start.

What a job found and that it is done go down in one transaction: a job that dies with the process has written
nothing, one that is done writes nothing again. Jobs of one task run one after the other.
"""

import itertools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from siltstone.errors import FailedPreconditionError, SiltstoneError, UnavailableError
from siltstone.hindsight import Check, unwatched
from siltstone.model import OPEN_STATES, Hindsight, HindsightJob, JobState, JobTrigger, Task
from siltstone.store import Store, Writer

log = logging.getLogger(__name__)

_LONGEST_S = 900.0  # between two tries
_LOOK_S = 1.0  # between two looks whether somebody still waits for a job

Keep = Callable[[Writer], Hindsight]
# What another try cannot mend.
_HOPELESS = frozenset(
    {
        "TASK_NOT_FOUND",
        "NAMESPACE_NOT_FOUND",
        "EMBEDDING_MODEL_MISMATCH",
        "VECTOR_REQUIRED",
        "TOO_MANY_MEMORIES",
    }
)


def backoff(attempts: int) -> float:
    """Seconds until a job that failed so often is tried again: 5, 20, 80, … at most 15 minutes."""
    return min(_LONGEST_S, 5.0 * 4.0 ** (attempts - 1))


class JobStopped(Exception):
    """The job was cancelled, or the service ends."""


@dataclass(order=True, slots=True)
class _Entry:
    due: float  # on the clock of time.monotonic
    number: int
    id: str = field(compare=False)
    task_id: str = field(compare=False)


class Control:
    """What a running job tells of itself, and learns."""

    def __init__(self, runner: "JobRunner", id: str) -> None:
        self._runner = runner
        self._id = id

    def reached(self, share: float) -> None:
        """So much (0..1) is done; JobStopped when there is no use in going on."""
        self._runner.note_progress(self._id, share)

    def check(self) -> None:
        """JobStopped when there is no use in going on."""
        if not self.wanted():
            raise JobStopped

    def wanted(self) -> bool:
        """Whether there is use in going on."""
        return self._runner.wants(self._id)


class JobRunner:
    """Args:
    store: holds the jobs.
    look: looks back, without locks, and returns the operation that keeps what it found.
    threads: how many run at a time; with 0 they wait for a later start.
    attempts: after so many a job counts as failed.
    delay: seconds until the next try after so many.
    pause: seconds until a job whose state the store did not take (a full disk) is tried again.
    """

    def __init__(
        self,
        store: Store,
        look: Callable[[HindsightJob, Control], Keep],
        *,
        threads: int,
        attempts: int,
        delay: Callable[[int], float] = backoff,
        pause: float = 30.0,
    ) -> None:
        self._store = store
        self._look = look
        self._attempts = attempts
        self._delay = delay
        self._pause = pause
        self._changed = threading.Condition()
        self._waiting: dict[str, _Entry] = {}  # by id of the job
        self._in_hand: dict[str, str] = {}  # id of the job → its task
        self._progress: dict[str, float] = {}  # of jobs in hand
        self._numbers = itertools.count()
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._work, name=f"siltstone-hindsight-{i}", daemon=True)
            for i in range(threads)
        ]

    def start(self) -> None:
        with self._store.read() as reader:
            waiting = list(reader.jobs(states=OPEN_STATES))
        now = datetime.now(UTC)
        for job in waiting:
            left = (job.retry_time - now).total_seconds() if job.retry_time else 0.0
            left = min(left, _LONGEST_S)  # the clock may have been set back
            # One that was running when the process died may have ended it: the others go first.
            again = self._delay(job.attempts) if job.state is JobState.RUNNING and job.attempts > 1 else 0.0
            self.add(job, max(0.0, left, again))
        for thread in self._threads:
            thread.start()

    def add(self, job: HindsightJob, delay: float = 0.0) -> None:
        """Run it in `delay` seconds, or as soon as a thread is free; one that waits longer comes forward."""
        due = time.monotonic() + delay
        with self._changed:
            if not self._threads or job.id in self._in_hand:
                return
            earlier = self._waiting.get(job.id)
            if earlier is None or due < earlier.due:
                number = next(self._numbers) if earlier is None else earlier.number
                self._waiting[job.id] = _Entry(due, number, job.id, job.task_id)
                self._changed.notify_all()

    def stop(self) -> None:
        """Begin no more and let the jobs in hand end soon; they and what waits stay in the store. Who waits
        for one is told."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def close(self) -> None:
        """`stop`, and wait for the jobs in hand."""
        self.stop()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def check_wait(self) -> None:
        """FailedPreconditionError where nobody runs jobs, so that to wait for one would never end."""
        if not self._threads:
            raise FailedPreconditionError(
                "wait: nobody runs hindsight jobs here (hindsight_workers is 0); leave wait out, or "
                "start the service with workers",
                reason="NO_HINDSIGHT_WORKERS",
                field="wait",
            )

    def wait(self, id: str, timeout: float | None, check: Check = unwatched) -> bool:
        """Until the job is done, failed or cancelled; False when the time is over first. `check` is asked
        every second; what it raises ends the waiting."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _LOOK_S if until is None else min(_LOOK_S, until - time.monotonic())
            with self._changed:
                done = self._changed.wait_for(lambda: self._stopping or not self._open(id), max(0.0, left))
            if done or left < _LOOK_S:
                break
            check()
        if self._stopping and self._open(id):
            raise UnavailableError(f"the service is stopping; job {id} runs at its next start")
        return done

    def settled(self) -> None:
        """Wake those who wait: some job came to an end."""
        with self._changed:
            self._changed.notify_all()

    def with_progress(self, job: HindsightJob) -> HindsightJob:
        """The job as it stands right now."""
        if job.state is JobState.DONE:
            return replace(job, progress=1.0)
        return replace(job, progress=self._progress.get(job.id, 0.0) if job.state in OPEN_STATES else 0.0)

    def note_progress(self, id: str, share: float) -> None:
        self._progress[id] = share
        if not self.wants(id):
            raise JobStopped

    def wants(self, id: str) -> bool:
        """Whether a job in hand is to go on: it was not cancelled, and the service does not end."""
        return not self._stopping and self._open(id)

    def _open(self, id: str) -> bool:
        with self._store.read() as reader:
            job = reader.job(id)
        return job is not None and job.state in OPEN_STATES

    def _work(self) -> None:
        while (entry := self._next()) is not None:
            again: float | None = None
            try:
                again = self._attempt(entry.id)
            except Exception as error:
                if isinstance(error, UnavailableError) and error.reason == "CLOSED":
                    return
                log.exception("hindsight job %s could not be recorded; it is tried again later", entry.id)
                again = self._pause
            with self._changed:
                del self._in_hand[entry.id]
                self._progress.pop(entry.id, None)
                self._changed.notify_all()
            if again is not None:
                self.add(HindsightJob(id=entry.id, task_id=entry.task_id), again)

    def _next(self) -> _Entry | None:
        """The first that is due and whose task has no other in hand; None at the end."""
        with self._changed:
            while not self._stopping:
                now, busy = time.monotonic(), set(self._in_hand.values())
                waiting = self._waiting.values()
                ready = [entry for entry in waiting if entry.due <= now and entry.task_id not in busy]
                if ready:
                    entry = min(ready)
                    del self._waiting[entry.id]
                    self._in_hand[entry.id] = entry.task_id
                    return entry
                due = min((entry.due for entry in waiting if entry.due > now), default=None)
                self._changed.wait(None if due is None else due - now)
            return None

    def _attempt(self, id: str) -> float | None:
        """Run a job; in how many seconds to run it again, None where it has ended."""
        job = self._store.commit(lambda writer: self._begin(writer, id))
        if job is None:
            return None
        try:
            keep = self._look(job, Control(self, id))
            self._store.commit(lambda writer: _finish(writer, id, keep))
        except JobStopped:
            self._store.commit(lambda writer: _put_back(writer, id))
        except SiltstoneError as error:
            if error.reason == "CALLER_GONE":  # it was stopped inside of a call
                self._store.commit(lambda writer: _put_back(writer, id))
                return None
            hopeless = error.status == "INVALID_ARGUMENT" or error.reason in _HOPELESS
            return self._failed(job, str(error), hopeless)
        except Exception as error:
            log.exception("hindsight job %s failed", id)
            return self._failed(job, f"{type(error).__name__}: {error}", hopeless=False)
        return None

    def _begin(self, writer: Writer, id: str) -> HindsightJob | None:
        job = writer.job(id)
        if job is None or job.state not in OPEN_STATES:
            return None
        if job.attempts >= self._attempts:
            error = job.error or f"the service ended during each of {job.attempts} tries"
            writer.put_job(replace(job, state=JobState.FAILED, error=error, retry_time=None))
            return None
        return writer.put_job(
            replace(job, state=JobState.RUNNING, attempts=job.attempts + 1, retry_time=None)
        )

    def _failed(self, job: HindsightJob, error: str, hopeless: bool) -> float | None:
        seconds = self._delay(job.attempts)
        final = hopeless or job.attempts >= self._attempts

        def operation(writer: Writer) -> float | None:
            current = writer.job(job.id)
            if current is None or current.state not in OPEN_STATES:
                return None
            state = JobState.FAILED if final else JobState.QUEUED
            retry_time = None if final else writer.now + timedelta(seconds=seconds)
            writer.put_job(replace(current, state=state, error=error, retry_time=retry_time))
            return None if final else seconds

        return self._store.commit(operation)


def queue_job(writer: Writer, task: Task, trigger: JobTrigger) -> tuple[HindsightJob, Task]:
    """A job that looks at the task's steps so far, and the task that knows it, which the caller stores. One
    that waits already will see them: it takes the new reason, and waits no longer."""
    waiting = writer.job(task.hindsight_job_id) if task.hindsight_job_id else None
    if waiting is None or waiting.state is not JobState.QUEUED:
        waiting = HindsightJob(namespace=task.namespace, task_id=task.id)
    job = writer.put_job(replace(waiting, trigger=trigger, attempts=0, error="", retry_time=None))
    return job, replace(task, hindsight_job_id=job.id, hindsight_steps=task.step_count)


def _finish(writer: Writer, id: str, keep: Keep) -> None:
    """Keep what was found, unless the job was cancelled meanwhile."""
    job = writer.job(id)
    if job is not None and job.state is JobState.RUNNING:
        writer.put_job(replace(job, state=JobState.DONE, error="", hindsight=keep(writer)))


def _put_back(writer: Writer, id: str) -> None:
    """A try that was stopped does not count."""
    job = writer.job(id)
    if job is not None and job.state is JobState.RUNNING:
        writer.put_job(replace(job, state=JobState.QUEUED, attempts=job.attempts - 1))

"""Runs hindsight jobs in threads of their own. The queue is the store: what was waiting or running when the
process ended runs again at the next start."""

import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import replace

from siltstone.errors import FailedPreconditionError, SiltstoneError, UnavailableError
from siltstone.model import Hindsight, HindsightJob, JobState
from siltstone.store import Store, Writer

log = logging.getLogger(__name__)

OPEN = frozenset({JobState.QUEUED, JobState.RUNNING})


class JobRunner:
    """Args:
    store: holds the jobs.
    run: carries one out; must write nothing twice when it is called again.
    threads: how many run at a time; with 0 they wait for a later start.
    attempts: after so many a job counts as failed.
    pause: seconds until a job whose state the store did not take (a full disk) is tried again.
    """

    def __init__(
        self,
        store: Store,
        run: Callable[[HindsightJob], Hindsight],
        *,
        threads: int,
        attempts: int,
        pause: float = 30.0,
    ) -> None:
        self._store = store
        self._run = run
        self._attempts = attempts
        self._pause = pause
        self._queue: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._settled = threading.Condition()
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._work, name=f"siltstone-hindsight-{i}", daemon=True)
            for i in range(threads)
        ]

    def start(self) -> None:
        with self._store.read() as reader:
            waiting = [job.id for job in reader.jobs(states=set(OPEN))]
        for id in waiting:
            self.add(id)
        for thread in self._threads:
            thread.start()

    def add(self, job_id: str) -> None:
        self._queue.put(job_id)

    def close(self) -> None:
        """End after the jobs in hand; what waits stays in the store."""
        self._stopping = True
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()
        self.settled()

    def check_wait(self) -> None:
        """FailedPreconditionError where nobody runs jobs, so that to wait for one would never end."""
        if not self._threads:
            raise FailedPreconditionError(
                "wait: nobody runs hindsight jobs here (hindsight_workers is 0); leave wait out, or "
                "start the service with workers",
                reason="NO_HINDSIGHT_WORKERS",
                field="wait",
            )

    def wait(self, id: str, timeout: float | None) -> bool:
        """Until the job is done, failed or cancelled; False when the time is over first."""
        with self._settled:
            done = self._settled.wait_for(lambda: self._stopping or not self._open(id), timeout)
        if self._stopping and self._open(id):
            raise UnavailableError(f"the service is stopping; job {id} runs at its next start")
        return done

    def settled(self) -> None:
        """Wake those who wait: some job came to an end."""
        with self._settled:
            self._settled.notify_all()

    def _open(self, id: str) -> bool:
        with self._store.read() as reader:
            job = reader.job(id)
        return job is not None and job.state in OPEN

    def _work(self) -> None:
        unrecorded: list[str] = []
        while True:
            try:
                id = self._queue.get(timeout=self._pause if unrecorded else None)
            except queue.Empty:
                for id in unrecorded:
                    self.add(id)
                unrecorded = []
                continue
            if id is None or self._stopping:
                return
            try:
                self._attempt(id)
            except Exception as error:
                if isinstance(error, UnavailableError) and error.reason == "CLOSED":
                    return
                log.exception("hindsight job %s could not be recorded; it is tried again later", id)
                unrecorded.append(id)
            self.settled()

    def _attempt(self, id: str) -> None:
        job = self._update(id, state=JobState.RUNNING)
        if job is None:
            return
        try:
            hindsight = self._run(job)
        except SiltstoneError as error:
            # Another try cannot help where the request itself is wrong.
            final = error.status in ("INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION")
            self._failed(job, str(error), final)
        except Exception as error:
            log.exception("hindsight job %s failed", id)
            self._failed(job, f"{type(error).__name__}: {error}", final=False)
        else:
            self._update(id, state=JobState.DONE, hindsight=hindsight)

    def _failed(self, job: HindsightJob, error: str, final: bool) -> None:
        if final or job.attempts >= self._attempts:
            self._update(job.id, state=JobState.FAILED, error=error)
        elif self._update(job.id, state=JobState.QUEUED, error=error) is not None:
            self.add(job.id)

    def _update(
        self, id: str, *, state: JobState, error: str = "", hindsight: Hindsight | None = None
    ) -> HindsightJob | None:
        """Write the job's new state; None when it is not open any more."""

        def operation(writer: Writer) -> HindsightJob | None:
            job = writer.job(id)
            if job is None or job.state not in OPEN:
                return None
            attempts = job.attempts + (state is JobState.RUNNING)
            return writer.put_job(
                replace(job, state=state, error=error, hindsight=hindsight, attempts=attempts)
            )

        return self._store.commit(operation)

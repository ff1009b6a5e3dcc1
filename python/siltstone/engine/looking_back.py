"""Hindsight: a trajectory becomes lessons, and lessons go down the write path like any other memory."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from siltstone import rust_core
from siltstone.engine.call import Call
from siltstone.engine.core import found, known_namespace
from siltstone.engine.jobs import Control, JobRunner, queue_job
from siltstone.engine.lessons import drafts_of, holds_already, replace_outdated
from siltstone.engine.memories import Memories
from siltstone.engine.pages import decode_token, encode_token
from siltstone.engine.screening import Policy
from siltstone.engine.validate import (
    check_draft,
    check_id,
    check_label,
    check_namespace,
    check_page,
    check_range,
    invalid,
)
from siltstone.errors import DeadlineExceededError, FailedPreconditionError, InvalidArgumentError
from siltstone.hindsight import (
    MAX_BYTES,
    Check,
    Extractor,
    Reading,
    numbered,
    read_trajectory,
    remembered_lessons,
    summarize_folded,
    trajectory_digest,
)
from siltstone.model import (
    OPEN_STATES,
    Hindsight,
    HindsightJob,
    JobState,
    JobTrigger,
    MemoryDraft,
    TaskStatus,
    Trajectory,
)
from siltstone.model.requests import (
    CancelHindsightJobRequest,
    CreateHindsightJobRequest,
    GetHindsightJobRequest,
    ListHindsightJobsRequest,
    ListHindsightJobsResponse,
    SummarizeTrajectoryRequest,
    TrajectoryChunk,
    WriteMemoriesRequest,
    WriteMemoriesResponse,
)
from siltstone.store import Writer
from siltstone.summary import shorten

_SUMMARY_TOKENS = 400
_MOST_MEMORIES = 1000  # whose ids a task keeps
_ANSWER_S = 1.0  # for the answer to get back
_READ, _EXTRACTED, _EMBEDDED = 0.1, 0.7, 0.9  # progress of a job


class LookingBack(Memories):
    jobs: JobRunner
    extractor: Extractor

    def summarize_trajectory(self, request: SummarizeTrajectoryRequest, call: Call) -> Hindsight:
        self._check_look_back(request)
        answer: Hindsight | None = self.answered("SummarizeTrajectory", request, call)
        return answer or self._look_back(request, _reading(request, call.remaining), call)

    def stream_trajectory(self, chunks: Iterator[TrajectoryChunk], call: Call) -> Hindsight:
        """As `summarize_trajectory`, for a log that comes in parts: only its steps are kept in memory."""
        first = next(chunks, TrajectoryChunk())
        options = first.options or SummarizeTrajectoryRequest()
        if options.trajectory is not None or options.data:
            raise invalid(
                "options", "has a trajectory or data of its own; send the log in data of the chunks"
            )
        self._check_look_back(options)
        reading = _read(_lines(chain([first], chunks), call.remaining), options, call.remaining)
        request = replace(options, trajectory=reading.trajectory)
        answer: Hindsight | None = self.answered("SummarizeTrajectory", request, call)
        return answer or self._look_back(request, reading, call)

    def _check_look_back(self, request: SummarizeTrajectoryRequest) -> None:
        check_namespace(request.namespace)
        if request.max_tokens is not None:
            check_range(request.max_tokens, 1, 100_000, "max_tokens")
        if request.task_id:
            check_label(request.task_id, "task_id")

    def _look_back(self, request: SummarizeTrajectoryRequest, reading: Reading, call: Call) -> Hindsight:
        trajectory = reading.trajectory
        hindsight = self._extracted(trajectory, call.remaining(), call.remaining)
        hindsight.skipped, hindsight.skipped_count = reading.skipped, reading.skipped_count
        self._summarize(hindsight, trajectory, request.max_tokens, call.remaining)
        if request.dry_run or not hindsight.lessons:
            return hindsight
        evidence = trajectory_digest(trajectory)
        most = self.settings.max_tags
        drafts = drafts_of(hindsight, trajectory, evidence, request.task_id, most)
        write = self._writing_lessons(drafts, request.namespace, request.task_id, call)

        def operation(writer: Writer) -> Hindsight:
            return replace(hindsight, receipts=write(writer).receipts)

        return self.write("SummarizeTrajectory", request, call, operation)

    def _extracted(self, trajectory: Trajectory, timeout: float | None, check: Check) -> Hindsight:
        """What was asked to be remembered, then what the extractor finds."""
        extraction = self.extractor.extract(trajectory, timeout, check)
        return Hindsight(
            lessons=[*remembered_lessons(trajectory, check), *extraction.lessons],
            outcome=trajectory.outcome,
            format=trajectory.format,
            extractor=extraction.extractor,
            flags=extraction.flags,
        )

    def _summarize(
        self, hindsight: Hindsight, trajectory: Trajectory, max_tokens: int | None, check: Check
    ) -> None:
        text, hindsight.steps = summarize_folded(trajectory, hindsight.lessons, check)
        hindsight.summary = shorten(text, max_tokens or _SUMMARY_TOKENS)
        hindsight.summary_tokens = rust_core.count_tokens(hindsight.summary)

    def _writing_lessons(
        self, drafts: list[MemoryDraft], namespace: str, task_id: str, call: Call
    ) -> Callable[[Writer], WriteMemoriesResponse]:
        for i, draft in enumerate(drafts):
            check_draft(draft, self.settings, f"lessons[{i}]")
        # A refusal would leave a log that can never be looked back on.
        policy = Policy.of(self.settings).without_refusal()
        request = WriteMemoriesRequest(drafts=drafts, namespace=namespace, task_id=task_id)
        return self.writing(request, call, policy)

    # --- jobs

    def create_hindsight_job(self, request: CreateHindsightJobRequest, call: Call) -> HindsightJob:
        id = check_id(request.task_id, "task_id")
        if request.wait:
            self.jobs.check_wait()

        def operation(writer: Writer) -> HindsightJob:
            task = found(writer.task(id), "task", id, "task_id")
            if task.compress_time is not None:
                raise FailedPreconditionError(
                    f"task_id: of task {id} only the steps are left that memories cite; look at its memories",
                    reason="COMPRESSED",
                    field="task_id",
                )
            if not task.step_count:
                raise FailedPreconditionError(
                    f"task_id: task {id} has no steps; append some first", reason="NO_STEPS", field="task_id"
                )
            job, task = queue_job(writer, task, JobTrigger.REQUEST)
            writer.put_task(task, quiet=True)
            return job

        answer: HindsightJob | None = self.answered("CreateHindsightJob", request, call)
        job = answer or self.write("CreateHindsightJob", request, call, operation)
        return self.started(job, request.wait, call)

    def started(self, job: HindsightJob, wait: bool, call: Call) -> HindsightJob:
        """A job that was just put into the store, or, with `wait`, the job once it has ended."""
        self.jobs.add(job)
        return self.wait_for_job(job.id, call) if wait else job

    def wait_for_job(self, id: str, call: Call) -> HindsightJob:
        left = call.remaining()
        # The answer must reach the caller before its own clock gives up, or it would not know of the job.
        until = None if left is None else left - min(_ANSWER_S, left / 10)
        if not self.jobs.wait(id, until, call.remaining):
            raise DeadlineExceededError(
                f"wait: hindsight job {id} was not done in time; it goes on: ask for it by its id",
                reason="JOB_GOES_ON",
                field="wait",
            )
        return self._job(id)

    def get_hindsight_job(self, request: GetHindsightJobRequest, call: Call) -> HindsightJob:
        return self._job(check_id(request.id, "id"))

    def _job(self, id: str) -> HindsightJob:
        with self.store.read() as reader:
            return self.jobs.with_progress(found(reader.job(id), "job", id))

    def list_hindsight_jobs(self, request: ListHindsightJobsRequest, call: Call) -> ListHindsightJobsResponse:
        size = check_page(request.page_size)
        scope = ("ListHindsightJobs", request.namespace, *sorted(set(request.states)))
        after = decode_token(request.page_token, scope)
        with self.store.read() as reader:
            number = known_namespace(reader, request.namespace).number if request.namespace else None
            wanted = reader.jobs(states=set(request.states) or None, namespace=number)
            jobs = list(
                islice((job for job in wanted if job.id > after and call.sees(job.namespace)), size + 1)
            )
        token = encode_token(jobs[size - 1].id, scope) if len(jobs) > size else ""
        shown = [self.jobs.with_progress(job) for job in jobs[:size]]
        return ListHindsightJobsResponse(jobs=shown, next_page_token=token)

    def cancel_hindsight_job(self, request: CancelHindsightJobRequest, call: Call) -> HindsightJob:
        id = check_id(request.id, "id")

        def operation(writer: Writer) -> HindsightJob:
            job = found(writer.job(id), "job", id)
            if job.state is JobState.CANCELLED:
                return job
            if job.state not in OPEN_STATES:
                raise FailedPreconditionError(
                    f"id: job {id} is {job.state}, only one that waits or runs can be cancelled",
                    reason="JOB_ENDED",
                    field="id",
                )
            return writer.put_job(replace(job, state=JobState.CANCELLED, retry_time=None))

        cancelled = self.store.commit(operation, timeout=call.remaining())
        self.jobs.settled()
        return cancelled

    def look_at_task(self, job: HindsightJob, control: Control) -> Callable[[Writer], Hindsight]:
        """Look back over a task; the operation returned keeps what was found. The task is the identity of the
        evidence: however often it is looked at, it says a thing once."""
        with self.store.read() as reader:
            task = found(reader.task(job.task_id), "task", job.task_id, "task_id")
            steps = list(reader.steps(task.id))
            former = [memory for id in task.memory_ids if (memory := reader.memory(id)) is not None]
        trajectory = Trajectory(
            goal=task.goal,
            outcome=task.outcome,
            steps=steps,
            id=task.id,
            task_type=task.task_type,
            format="task",
        )
        control.reached(_READ)
        hindsight = self._extracted(trajectory, None, control.check)
        if task.status is TaskStatus.RUNNING:
            hindsight.lessons = [lesson for lesson in hindsight.lessons if holds_already(lesson)]
        self._summarize(hindsight, trajectory, None, control.check)
        control.reached(_EXTRACTED)
        drafts = drafts_of(hindsight, trajectory, f"task:{task.id}", task.id, self.settings.max_tags)
        replace_outdated(drafts, former)
        call = Call(waiting=control.wanted)
        write = self._writing_lessons(drafts, task.namespace, task.id, call) if drafts else None
        control.reached(_EMBEDDED)

        def kept(writer: Writer) -> Hindsight:
            # Deleted meanwhile, its namespace must not come back with lessons from what was deleted.
            current = found(writer.task(task.id), "task", task.id, "task_id")
            receipts = write(writer).receipts if write else []
            ids = dict.fromkeys([*current.memory_ids, *(receipt.memory.id for receipt in receipts)])
            writer.put_task(replace(current, memory_ids=list(ids)[-_MOST_MEMORIES:]), quiet=True)
            return replace(hindsight, receipts=receipts)

        def keep(writer: Writer) -> Hindsight:
            writer.principal = task.principal
            return self.counted(kept, writer, task.principal)

        return keep


def _reading(request: SummarizeTrajectoryRequest, check: Check) -> Reading:
    if request.trajectory is not None and request.data:
        raise invalid("trajectory", "give trajectory or data, not both")
    if request.trajectory is None:
        if not request.data.strip():
            raise invalid("trajectory", "is missing; give a trajectory, or a log in data")
        return _read(request.data, request, check)
    trajectory = replace(
        request.trajectory,
        goal=request.goal or request.trajectory.goal,
        outcome=request.outcome or request.trajectory.outcome,
    )
    if not trajectory.steps and not trajectory.goal.strip():
        raise invalid("trajectory", "has no goal and no steps; there is nothing to look back on")
    return Reading(trajectory=numbered(trajectory), skipped=[])


def _read(source: str | Iterator[bytes], request: SummarizeTrajectoryRequest, check: Check) -> Reading:
    try:
        return read_trajectory(source, goal=request.goal, outcome=request.outcome, check=check)
    except InvalidArgumentError as error:
        # The reader names places in the log, or the log itself; the caller knows it as `data`.
        inside = "" if error.field in ("", "source") else f".{error.field}"
        problem = error.message.removeprefix(f"{error.field}: ")
        raise invalid(f"data{inside}", problem, error.reason) from None


def _lines(chunks: Iterable[TrajectoryChunk], check: Check) -> Iterator[bytes]:
    """The lines of a log that was cut anywhere. Of one above the largest the reader takes, its beginning: the
    reader refuses it, and memory stays bounded."""
    rest: list[bytes] = []  # of the line that is not whole yet; joined once, however many chunks it takes
    size = 0
    for chunk in chunks:
        check()
        *whole, last = chunk.data.split(b"\n")
        for line in whole:
            yield b"".join([*rest, line, b"\n"])
            rest.clear()
            size = 0
        if size <= MAX_BYTES:
            rest.append(last)
            size += len(last)
    if any(rest):
        yield b"".join(rest)

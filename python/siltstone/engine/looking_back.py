"""Hindsight: a trajectory becomes lessons, and lessons go down the write path like any other memory."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from siltstone import rust_core
from siltstone.engine.call import Call
from siltstone.engine.core import found, known_namespace
from siltstone.engine.jobs import JobRunner
from siltstone.engine.memories import Memories
from siltstone.engine.pages import decode_token, encode_token
from siltstone.engine.validate import (
    MAX_LABEL_BYTES,
    MAX_LABELS,
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
    Extractor,
    Reading,
    lesson_text,
    read_trajectory,
    summarize_run,
    trajectory_digest,
)
from siltstone.model import (
    ExtractedLesson,
    Hindsight,
    HindsightJob,
    JobState,
    MemoryDraft,
    MemoryType,
    Source,
    Trajectory,
    WriteReceipt,
)
from siltstone.model.requests import (
    CancelHindsightJobRequest,
    GetHindsightJobRequest,
    ListHindsightJobsRequest,
    ListHindsightJobsResponse,
    SummarizeTrajectoryRequest,
    WriteMemoriesRequest,
)
from siltstone.store import Writer

_SUMMARY_TOKENS = 400


class LookingBack(Memories):
    jobs: JobRunner
    extractor: Extractor

    def summarize_trajectory(self, request: SummarizeTrajectoryRequest, call: Call) -> Hindsight:
        return self._look_back(request, call, None)

    def _look_back(self, request: SummarizeTrajectoryRequest, call: Call, job_of: str | None) -> Hindsight:
        """`job_of` is the task whose job this is; its lessons are kept only while it exists."""
        check_namespace(request.namespace)
        if request.max_tokens is not None:
            check_range(request.max_tokens, 1, 100_000, "max_tokens")
        if request.task_id:
            check_label(request.task_id, "task_id")
        answer: Hindsight | None = self.answered("SummarizeTrajectory", request, call)
        if answer is not None:
            return answer
        reading = _reading(request)
        trajectory = reading.trajectory
        extraction = self.extractor.extract(trajectory, call.remaining())
        lessons = extraction.lessons
        hindsight = Hindsight(
            lessons=lessons,
            outcome=trajectory.outcome,
            steps=len(trajectory.steps),
            format=trajectory.format,
            extractor=extraction.extractor,
            skipped=reading.skipped,
            flags=extraction.flags,
        )
        hindsight.summary = rust_core.truncate_tokens(
            summarize_run(trajectory, lessons), request.max_tokens or _SUMMARY_TOKENS
        )
        hindsight.summary_tokens = rust_core.count_tokens(hindsight.summary)
        if request.dry_run or not lessons:
            return hindsight
        return self._keep(request, call, trajectory, hindsight, job_of)

    def _keep(
        self,
        request: SummarizeTrajectoryRequest,
        call: Call,
        trajectory: Trajectory,
        hindsight: Hindsight,
        job_of: str | None,
    ) -> Hindsight:
        digest = trajectory_digest(trajectory)
        drafts = [
            _draft(lesson, trajectory, digest, request.task_id, hindsight.extractor)
            for lesson in hindsight.lessons
        ]
        for i, draft in enumerate(drafts):
            check_draft(draft, self.settings, f"lessons[{i}]")
        write = self.writing(
            WriteMemoriesRequest(drafts=drafts, namespace=request.namespace, task_id=request.task_id)
        )

        def operation(writer: Writer) -> Hindsight:
            if job_of is not None:
                # Deleted meanwhile, its namespace must not come back with lessons from what was deleted.
                found(writer.task(job_of), "task", job_of)
            receipts: list[WriteReceipt] = write(writer).receipts
            return replace(hindsight, receipts=receipts)

        return self.write("SummarizeTrajectory", request, call, operation)

    # --- jobs

    def enqueue(self, job_id: str) -> None:
        self.jobs.add(job_id)

    def wait_for_job(self, id: str, call: Call) -> HindsightJob:
        if not self.jobs.wait(id, call.remaining()):
            raise DeadlineExceededError(
                f"hindsight job {id} was not done in time; it goes on, ask for it by its id"
            )
        return self.get_hindsight_job(GetHindsightJobRequest(id=id), call)

    def get_hindsight_job(self, request: GetHindsightJobRequest, call: Call) -> HindsightJob:
        id = check_id(request.id, "id")
        with self.store.read() as reader:
            return found(reader.job(id), "job", id)

    def list_hindsight_jobs(self, request: ListHindsightJobsRequest, call: Call) -> ListHindsightJobsResponse:
        size = check_page(request.page_size)
        scope = ("ListHindsightJobs", request.namespace, *sorted(set(request.states)))
        after = decode_token(request.page_token, scope)
        with self.store.read() as reader:
            number = known_namespace(reader, request.namespace).number if request.namespace else None
            wanted = reader.jobs(states=set(request.states) or None, namespace=number)
            jobs = list(islice((job for job in wanted if job.id > after), size + 1))
        token = encode_token(jobs[size - 1].id, scope) if len(jobs) > size else ""
        return ListHindsightJobsResponse(jobs=jobs[:size], next_page_token=token)

    def cancel_hindsight_job(self, request: CancelHindsightJobRequest, call: Call) -> HindsightJob:
        id = check_id(request.id, "id")

        def operation(writer: Writer) -> HindsightJob:
            job = found(writer.job(id), "job", id)
            if job.state is JobState.CANCELLED:
                return job
            if job.state is not JobState.QUEUED:
                raise FailedPreconditionError(
                    f"id: job {id} is {job.state}, only a queued one can be cancelled",
                    reason="JOB_NOT_QUEUED",
                    field="id",
                )
            return writer.put_job(replace(job, state=JobState.CANCELLED))

        cancelled = self.store.commit(operation, timeout=call.remaining())
        self.jobs.settled()
        return cancelled

    def run_job(self, job: HindsightJob) -> Hindsight:
        """Look back over a finished task. Run twice, it writes once: the job is the request id."""
        with self.store.read() as reader:
            task = found(reader.task(job.task_id), "task", job.task_id)
            steps = list(reader.steps(task.id))
        trajectory = Trajectory(
            goal=task.goal,
            outcome=task.outcome,
            steps=steps,
            id=task.id,
            task_type=task.task_type,
            format="task",
        )
        request = SummarizeTrajectoryRequest(
            trajectory=trajectory, namespace=job.namespace, task_id=task.id, request_id=job.id
        )
        return self._look_back(request, Call(principal="hindsight"), task.id)


def _reading(request: SummarizeTrajectoryRequest) -> Reading:
    if request.trajectory is not None and request.data:
        raise invalid("trajectory", "give trajectory or data, not both")
    if request.trajectory is None:
        if not request.data.strip():
            raise invalid("trajectory", "is missing; give a trajectory, or a log in data")
        try:
            return read_trajectory(request.data, goal=request.goal, outcome=request.outcome)
        except InvalidArgumentError as error:
            # The reader names places in the log, or the log itself; the caller knows it as `data`.
            inside = "" if error.field in ("", "source") else f".{error.field}"
            problem = error.message.removeprefix(f"{error.field}: ")
            raise invalid(f"data{inside}", problem, error.reason) from None
    trajectory = replace(
        request.trajectory,
        goal=request.goal or request.trajectory.goal,
        outcome=request.outcome or request.trajectory.outcome,
    )
    if not trajectory.steps and not trajectory.goal.strip():
        raise invalid("trajectory", "has no goal and no steps; there is nothing to look back on")
    return Reading(trajectory=trajectory, skipped=[])


def _draft(
    lesson: ExtractedLesson, trajectory: Trajectory, digest: str, task_id: str, extractor: str
) -> MemoryDraft:
    times = [step.time for step in trajectory.steps if step.time is not None]
    return MemoryDraft(
        content=lesson_text(lesson),
        lesson=lesson.lesson,
        memory_type=MemoryType.PROCEDURAL if lesson.lesson.solution else MemoryType.EPISODIC,
        task_type=next(iter(_labels([lesson.task_type, trajectory.task_type])), ""),
        outcome=lesson.outcome,
        tags=_labels(lesson.tags),
        tools_used=_labels(lesson.tools_used),
        confidence=lesson.confidence,
        event_time=max(times, default=None),
        source=Source(
            task_id=task_id,
            trajectory=digest,
            steps=sorted({evidence.step for evidence in lesson.lesson.evidence}),
            writer="hindsight",
            extractor=extractor,
        ),
    )


def _labels(found: Sequence[str]) -> list[str]:
    """Those that can be labels of a memory: a log may hold anything where it names a tool, and a lesson is
    worth more than the label."""
    fitting = [label for label in found if label.strip() and len(label.encode()) <= MAX_LABEL_BYTES]
    return fitting[:MAX_LABELS]

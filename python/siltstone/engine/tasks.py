"""Working memory: what an agent knows about the piece of work it is in."""

from dataclasses import replace
from itertools import islice

from siltstone import rust_core
from siltstone.embed.texts import MAX_CHARACTERS
from siltstone.engine.call import Call
from siltstone.engine.core import found, known_namespace
from siltstone.engine.jobs import queue_job
from siltstone.engine.looking_back import LookingBack
from siltstone.engine.pages import decode_token, encode_token
from siltstone.engine.render import render
from siltstone.engine.validate import (
    check_batch,
    check_id,
    check_label,
    check_mask,
    check_namespace,
    check_page,
    check_range,
    check_revision,
    check_size,
    invalid,
)
from siltstone.errors import FailedPreconditionError
from siltstone.hindsight import asks_to_remember, block_start, derive_state
from siltstone.model import HindsightJob, JobTrigger, RenderedTask, SearchRequest, Step, Task, TaskStatus
from siltstone.model.requests import (
    AppendStepsRequest,
    FinishTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    RenderTaskRequest,
    StartTaskRequest,
    UpdateTaskRequest,
)
from siltstone.store import Reader, Writer

_UPDATABLE = {"steps_done", "current_hypothesis", "pending", "findings", "variables"}
# The latest steps that a task's state is read from, and by how many that window moves on.
_STATE_STEPS, _STATE_BLOCK = 200, 50


class Tasks(LookingBack):
    def start_task(self, request: StartTaskRequest, call: Call) -> Task:
        check_namespace(request.namespace)
        if not request.goal.strip():
            raise invalid("goal", "is blank; say what the task is for", "EMPTY_GOAL")
        check_size(request.goal, self.settings, "goal")
        if request.task_type:
            check_label(request.task_type, "task_type")
        every = self.settings.hindsight_every
        if request.hindsight_every is not None:
            check_range(request.hindsight_every, 0, 10_000, "hindsight_every")
            every = request.hindsight_every

        def operation(writer: Writer) -> Task:
            if writer.namespace(request.namespace) is None:
                writer.create_namespace(request.namespace)
            return writer.put_task(
                Task(
                    namespace=request.namespace,
                    goal=request.goal,
                    task_type=request.task_type,
                    hindsight_every=every,
                    principal=call.principal,
                )
            )

        answer: Task | None = self.answered("StartTask", request, call)
        return answer or self.write("StartTask", request, call, operation)

    def update_task(self, request: UpdateTaskRequest, call: Call) -> Task:
        id = check_id(request.task.id, "task_id")
        check_mask(request.update_mask, _UPDATABLE)
        changes = {field: getattr(request.task, field) for field in request.update_mask}
        check_size(str(changes), self.settings, "task")
        for name in changes.get("variables", ()):
            check_label(name, "variables key")

        def operation(writer: Writer) -> Task:
            old = _running(writer, id)
            check_revision(request.revision, old.revision, id)
            return writer.put_task(replace(old, **changes))

        answer: Task | None = self.answered("UpdateTask", request, call)
        return answer or self.write("UpdateTask", request, call, operation)

    def append_steps(self, request: AppendStepsRequest, call: Call) -> Task:
        id = check_id(request.task_id, "task_id")
        check_batch(request.steps, self.settings, "steps")
        for i, step in enumerate(request.steps):
            check_size(step.text + step.result + str(step.arguments), self.settings, f"steps[{i}]")
            if step.tool:
                check_label(step.tool, f"steps[{i}].tool")

        tokens = sum(map(_tokens, request.steps))
        remember = any(map(asks_to_remember, request.steps))

        def operation(writer: Writer) -> Task:
            _running(writer, id)
            writer.append_steps(id, request.steps, tokens=tokens)
            task = _running(writer, id)
            new = task.step_count - task.hindsight_steps
            if not (remember or 0 < task.hindsight_every <= new):
                return task
            trigger = JobTrigger.REMEMBER if remember else JobTrigger.TURNS
            _, task = queue_job(writer, task, trigger)
            return writer.put_task(task, quiet=True)

        answer: Task | None = self.answered("AppendSteps", request, call)
        if answer is None:
            answer = self.write("AppendSteps", request, call, operation)
            if answer.hindsight_job_id and answer.hindsight_steps == answer.step_count:
                self.jobs.add(HindsightJob(id=answer.hindsight_job_id, task_id=id))
        return answer

    def get_task(self, request: GetTaskRequest, call: Call) -> Task:
        id = check_id(request.task_id, "task_id")
        task, steps = self._with_steps(id)
        return replace(task, derived=derive_state(steps, before=task.step_count - len(steps)))

    def _with_steps(self, id: str) -> tuple[Task, list[Step]]:
        """A task with the latest steps of its log: those that its state is read from."""
        with self.store.read() as reader:
            task = found(reader.task(id), "task", id, "task_id")
            after = block_start(task.step_count, _STATE_STEPS, _STATE_BLOCK)
            return task, list(reader.steps(id, after=after))

    def list_tasks(self, request: ListTasksRequest, call: Call) -> ListTasksResponse:
        size = check_page(request.page_size)
        scope = ("ListTasks", request.namespace, str(request.status))
        after = decode_token(request.page_token, scope)
        with self.store.read() as reader:
            namespace = known_namespace(reader, request.namespace)
            wanted = (
                task
                for task in reader.tasks(namespace.number)
                if task.id > after and request.status in (None, task.status)
            )
            tasks = list(islice(wanted, size + 1))
        token = encode_token(tasks[size - 1].id, scope) if len(tasks) > size else ""
        return ListTasksResponse(tasks=tasks[:size], next_page_token=token)

    def render_task(self, request: RenderTaskRequest, call: Call) -> RenderedTask:
        id = check_id(request.task_id, "task_id")
        check_range(request.max_tokens, 16, 100_000, "max_tokens")
        check_range(request.with_memories, 0, 50, "with_memories")
        task, steps = self._with_steps(id)
        hits = []
        if request.with_memories:
            search = SearchRequest(
                query=self._query_of(task.goal),
                namespaces=[task.namespace],
                top_k=request.with_memories,
                task_id=id,
            )
            hits = self.search_memories(search, call).hits
        return render(task, steps, hits, request.max_tokens)

    def _query_of(self, goal: str) -> str:
        """The beginning of a goal, as much as one query takes."""
        query = goal[:MAX_CHARACTERS]
        while self.embedder.query_problem(query):
            query = query[: len(query) // 2]
        return query

    def finish_task(self, request: FinishTaskRequest, call: Call) -> HindsightJob:
        id = check_id(request.task_id, "task_id")
        if request.wait:
            self.jobs.check_wait()

        def operation(writer: Writer) -> HindsightJob:
            known = found(writer.task(id), "task", id, "task_id")
            last = writer.job(known.hindsight_job_id) if known.hindsight_job_id else None
            if known.status is TaskStatus.FINISHED and known.outcome is request.outcome and last is not None:
                return last  # said twice; there is nothing more to do
            task = _running(writer, id)
            job, task = queue_job(writer, task, JobTrigger.FINISH)
            task = replace(task, status=TaskStatus.FINISHED, outcome=request.outcome)
            writer.put_task(replace(task, finish_time=writer.now))
            return job

        answer: HindsightJob | None = self.answered("FinishTask", request, call)
        job = answer or self.write("FinishTask", request, call, operation)
        return self.started(job, request.wait, call)


def _tokens(step: Step) -> int:
    return sum(map(rust_core.count_tokens, (step.text, step.tool, str(step.arguments or ""), step.result)))


def _running(reader: Reader, id: str) -> Task:
    task = found(reader.task(id), "task", id, "task_id")
    if task.status is not TaskStatus.RUNNING:
        raise FailedPreconditionError(
            f"task_id: task {id} is finished as {task.outcome}; start a new one",
            reason="TASK_FINISHED",
            field="task_id",
        )
    return task

"""Working memory: what an agent knows about the piece of work it is in."""

from dataclasses import replace
from itertools import islice

from siltstone.embed.texts import MAX_CHARACTERS
from siltstone.engine.call import Call
from siltstone.engine.core import found, known_namespace
from siltstone.engine.looking_back import LookingBack
from siltstone.engine.pages import decode_token, encode_token
from siltstone.engine.render import render
from siltstone.engine.validate import (
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
from siltstone.model import HindsightJob, RenderedTask, SearchRequest, Task, TaskStatus
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
_RENDERED_STEPS = 5  # latest steps that a rendering draws on


class Tasks(LookingBack):
    def start_task(self, request: StartTaskRequest, call: Call) -> Task:
        check_namespace(request.namespace)
        if not request.goal.strip():
            raise invalid("goal", "is blank; say what the task is for", "EMPTY_GOAL")
        check_size(request.goal, self.settings, "goal")
        if request.task_type:
            check_label(request.task_type, "task_type")

        def operation(writer: Writer) -> Task:
            if writer.namespace(request.namespace) is None:
                writer.create_namespace(request.namespace)
            return writer.put_task(
                Task(namespace=request.namespace, goal=request.goal, task_type=request.task_type)
            )

        answer: Task | None = self.answered("StartTask", request, call)
        return answer or self.write("StartTask", request, call, operation)

    def update_task(self, request: UpdateTaskRequest, call: Call) -> Task:
        id = check_id(request.task.id, "task_id")
        check_mask(request.update_mask, _UPDATABLE)
        changes = {field: getattr(request.task, field) for field in request.update_mask}
        check_size(str(changes), self.settings, "task")

        def operation(writer: Writer) -> Task:
            old = _running(writer, id)
            check_revision(request.revision, old.revision, id)
            return writer.put_task(replace(old, **changes))

        answer: Task | None = self.answered("UpdateTask", request, call)
        return answer or self.write("UpdateTask", request, call, operation)

    def append_steps(self, request: AppendStepsRequest, call: Call) -> Task:
        id = check_id(request.task_id, "task_id")
        if not request.steps:
            raise invalid("steps", "is empty; give at least one")
        if len(request.steps) > self.settings.max_batch:
            raise invalid("steps", f"has {len(request.steps)}; at most {self.settings.max_batch} (max_batch)")
        for i, step in enumerate(request.steps):
            check_size(step.text + step.result + str(step.arguments), self.settings, f"steps[{i}]")
            if step.tool:
                check_label(step.tool, f"steps[{i}].tool")

        def operation(writer: Writer) -> Task:
            _running(writer, id)
            writer.append_steps(id, request.steps)
            return _running(writer, id)

        answer: Task | None = self.answered("AppendSteps", request, call)
        return answer or self.write("AppendSteps", request, call, operation)

    def get_task(self, request: GetTaskRequest, call: Call) -> Task:
        id = check_id(request.task_id, "task_id")
        with self.store.read() as reader:
            return found(reader.task(id), "task", id, "task_id")

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
        with self.store.read() as reader:
            task = found(reader.task(id), "task", id, "task_id")
            after = max(0, task.step_count - _RENDERED_STEPS)
            steps = list(reader.steps(id, after=after))
        hits = []
        if request.with_memories:
            search = SearchRequest(
                query=task.goal[:MAX_CHARACTERS],
                namespaces=[task.namespace],
                top_k=request.with_memories,
                task_id=id,
            )
            hits = self.search_memories(search, call).hits
        return render(task, steps, hits, request.max_tokens)

    def finish_task(self, request: FinishTaskRequest, call: Call) -> HindsightJob:
        id = check_id(request.task_id, "task_id")
        if request.wait:
            self.jobs.check_wait()

        def operation(writer: Writer) -> HindsightJob:
            task = _running(writer, id)
            job = writer.put_job(HindsightJob(namespace=task.namespace, task_id=id))
            writer.put_task(
                replace(
                    task,
                    status=TaskStatus.FINISHED,
                    outcome=request.outcome,
                    finish_time=writer.now,
                    hindsight_job_id=job.id,
                )
            )
            return job

        job: HindsightJob | None = self.answered("FinishTask", request, call)
        if job is None:
            job = self.write("FinishTask", request, call, operation)
            self.enqueue(job.id)
        return self.wait_for_job(job.id, call) if request.wait else job


def _running(reader: Reader, id: str) -> Task:
    task = found(reader.task(id), "task", id, "task_id")
    if task.status is not TaskStatus.RUNNING:
        raise FailedPreconditionError(
            f"task_id: task {id} is finished; start a new one", reason="TASK_FINISHED", field="task_id"
        )
    return task

"""A service small enough to hold in the head: every call checked as the real one's, memories in a dict.

Run as a program it serves MCP over stdin and stdout.
"""

import asyncio
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Self

from siltstone import model as m
from siltstone.api import Api
from siltstone.data import from_data
from siltstone.errors import InvalidArgumentError, NotFoundError, StaleRevisionError, UnimplementedError
from siltstone.model import requests as r
from siltstone.operations import OPERATIONS

NOW = datetime(2026, 5, 1, 8, tzinfo=UTC)


class FakeClient(Api):
    """Finds a memory by any word of the query in its content."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.memories: dict[str, m.Memory] = {}
        self.tasks: dict[str, m.Task] = {}
        self.seen: list[Any] = []
        self.failure: Exception | None = None
        self.hold: asyncio.Event | None = None  # set: calls wait for it
        self.cancelled = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        return None

    async def ready(self, *, timeout: float | None = None) -> None:
        if self.failure:
            raise self.failure

    async def _call(self, rpc: str, given: dict[str, Any], then: Callable[[Any], Any] | None = None) -> Any:
        operation = OPERATIONS[rpc]
        request = from_data(operation.request, given)
        self.seen.append(request)
        try:
            if self.hold:
                await self.hold.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        if self.failure:
            raise self.failure
        handler = getattr(self, "on_" + operation.method, None)
        if handler is None:
            raise UnimplementedError(f"{rpc} is not in this version")
        response = handler(request)
        assert isinstance(response, operation.response)
        return then(response) if then else response

    def on_write_memories(self, request: r.WriteMemoriesRequest) -> r.WriteMemoriesResponse:
        receipts = []
        for number, draft in enumerate(request.drafts):
            if draft.content == "reject me":
                raise InvalidArgumentError(
                    f"drafts[{number}].content: rejected",
                    reason="REJECTED",
                    field=f"drafts[{number}].content",
                )
            memory = m.Memory(
                id=str(uuid.uuid4()),
                namespace=request.namespace,
                memory_type=draft.memory_type,
                content=draft.content,
                summary=draft.summary or draft.content[:200],
                task_type=draft.task_type,
                outcome=draft.outcome,
                lesson=draft.lesson,
                tags=draft.tags,
                tools_used=draft.tools_used,
                attributes=draft.attributes,
                confidence=0.7 if draft.confidence is None else draft.confidence,
                create_time=NOW,
                event_time=draft.event_time or NOW,
                valid_until=draft.valid_until,
                supersedes=draft.supersedes,
                revision=1,
            )
            self.memories[memory.id] = memory
            related = [m.Related(id=i, relation="superseded", similarity=0.9) for i in draft.supersedes]
            action = m.Action.SUPERSEDED if related else m.Action.CREATED
            receipts.append(m.WriteReceipt(action=action, memory=memory, related=related))
        return r.WriteMemoriesResponse(receipts=receipts)

    def on_search_memories(self, request: m.SearchRequest) -> m.SearchResult:
        if request.filter and not m.Filter() != request.filter:
            raise InvalidArgumentError("filter: empty", field="filter")
        words = (request.query or "").split()
        found = [
            memory
            for memory in self.memories.values()
            if memory.namespace in request.namespaces and any(word in memory.content for word in words)
        ]
        hits = [
            m.Hit(
                memory=memory,
                score=0.75,
                similarity=0.8,
                gate=1.0,
                recency=0.5,
                confidence=memory.confidence,
                cosine=0.6,
                lexical=1.0,
                support=0.0,
            )
            for memory in found[: request.top_k]
        ]
        return m.SearchResult(hits=hits, tokens_used=10 * len(hits), truncated=len(hits) < len(found))

    def on_get_memories(self, request: r.GetMemoriesRequest) -> r.GetMemoriesResponse:
        return r.GetMemoriesResponse(memories=[self._memory(i) for i in request.ids], tokens_used=5)

    def on_update_memory(self, request: r.UpdateMemoryRequest) -> m.Memory:
        memory = self._memory(request.memory.id)
        if request.revision not in (None, memory.revision):
            raise StaleRevisionError(f"revision: it is {memory.revision} now; read again", field="revision")
        if request.memory.content == "reject me":
            raise InvalidArgumentError("memory.content: rejected", field="memory.content")
        for name in request.update_mask:
            setattr(memory, name, getattr(request.memory, name))
        memory.revision += 1
        return memory

    def on_forget_memories(self, request: r.ForgetMemoriesRequest) -> m.ForgetResult:
        tags = set(request.filter.tags_any) if request.filter else set()
        ids = request.ids or [i for i, memory in self.memories.items() if tags & set(memory.tags)]
        for id in ids:
            self._memory(id)
            if not request.dry_run:
                del self.memories[id]
        return m.ForgetResult(count=len(ids), ids=ids, mode=request.mode, dry_run=request.dry_run)

    def on_summarize_trajectory(self, request: r.SummarizeTrajectoryRequest) -> m.Hindsight:
        lesson = m.Lesson(problem="登录失败", root_cause="old plugin", solution="set the plugin")
        return m.Hindsight(
            lessons=[m.ExtractedLesson(lesson=lesson)],
            summary=request.data,
            summary_tokens=len(request.data),
            outcome=request.outcome or m.Outcome.SUCCESS,
            steps=1,
            format="steps",
            extractor="rules/1",
        )

    def on_start_task(self, request: r.StartTaskRequest) -> m.Task:
        task = m.Task(id=str(uuid.uuid4()), namespace=request.namespace, goal=request.goal, revision=1)
        self.tasks[task.id] = task
        return task

    def on_update_task(self, request: r.UpdateTaskRequest) -> m.Task:
        task = self._task(request.task.id)
        for name in request.update_mask:
            setattr(task, name, getattr(request.task, name))
        task.revision += 1
        return task

    def on_append_steps(self, request: r.AppendStepsRequest) -> m.Task:
        task = self._task(request.task_id)
        task.step_count += len(request.steps)
        return task

    def on_get_task(self, request: r.GetTaskRequest) -> m.Task:
        return self._task(request.task_id)

    def on_render_task(self, request: r.RenderTaskRequest) -> m.RenderedTask:
        task = self._task(request.task_id)
        text = "\n".join([task.goal, *task.findings])
        return m.RenderedTask(text=text, tokens=len(text))

    def on_finish_task(self, request: r.FinishTaskRequest) -> m.HindsightJob:
        task = self._task(request.task_id)
        task.outcome = request.outcome
        return m.HindsightJob(id=str(uuid.uuid4()), task_id=task.id, create_time=NOW)

    def on_list_namespaces(self, request: r.ListNamespacesRequest) -> r.ListNamespacesResponse:
        return r.ListNamespacesResponse(namespaces=[m.Namespace(name="default", memories=len(self.memories))])

    def _memory(self, id: str) -> m.Memory:
        if id not in self.memories:
            raise NotFoundError(f"ids[0]: no memory {id!r} here", field="ids[0]")
        return self.memories[id]

    def _task(self, id: str) -> m.Task:
        if id not in self.tasks:
            raise NotFoundError(f"task.id: no task {id!r} here", reason="TASK_NOT_FOUND", field="task.id")
        return self.tasks[id]


if __name__ == "__main__":
    from siltstone.gateway import run_stdio

    run_stdio(FakeClient())

"""A fake service behind the command line: requests are checked as by the real one, answers are canned."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from siltstone import model as m
from siltstone.api import Api
from siltstone.cli.context import Context
from siltstone.data import from_data
from siltstone.errors import NotFoundError, SiltstoneError
from siltstone.files import Sink, pour
from siltstone.model import requests as r
from siltstone.operations import OPERATIONS

TIME = datetime(2026, 5, 1, 8, tzinfo=UTC)
ID = "01970000-0000-7000-8000-000000000001"
OTHER = "01970000-0000-7000-8000-000000000002"
CONTENT = "容器之间用服务名互相访问。\n服务要监听 0.0.0.0\x1b[31m😀"


def memory(**changes: Any) -> m.Memory:
    fields: dict[str, Any] = {
        "id": ID,
        "content": CONTENT,
        "summary": "服务要监听 0.0.0.0",
        "tags": ["docker", "网络"],
        "event_time": TIME,
        "revision": 1,
    }
    return m.Memory(**{**fields, **changes})


def hit(**changes: Any) -> m.Hit:
    fields: dict[str, Any] = {
        "memory": memory(content=""),
        "score": 0.8421,
        "similarity": 0.91,
        "gate": 1.0,
        "recency": 0.93,
        "confidence": 0.7,
        "cosine": 0.88,
        "lexical": 0.4,
        "support": 0.0,
    }
    return m.Hit(**{**fields, **changes})


def answers() -> dict[str, Any]:
    lesson = m.Lesson(
        problem="web 连不上 api",
        root_cause="api 监听 127.0.0.1",
        solution="改为监听 0.0.0.0",
        evidence=[m.LessonEvidence(field="root_cause", step=4, quote="127.0.0.1:3000 LISTEN")],
    )
    receipt = m.WriteReceipt(
        action=m.Action.MERGED,
        memory=memory(),
        related=[m.Related(id=OTHER, relation="merged", similarity=0.97)],
    )
    task = m.Task(id="task-1", goal="修复网络", findings=["端口没开"], create_time=TIME)
    token = m.Token(id="t1", name="审计员", namespaces=["团队/*"], roles=["auditor"], create_time=TIME)
    job = m.HindsightJob(id="job-1", task_id="task-1", trigger=m.JobTrigger.TURNS)
    return {
        "WriteMemories": r.WriteMemoriesResponse(receipts=[receipt]),
        "GetMemories": r.GetMemoriesResponse(memories=[memory(lesson=lesson)], tokens_used=12),
        "ListMemories": r.ListMemoriesResponse(memories=[memory()], next_page_token="next"),
        "SearchMemories": m.SearchResult(hits=[hit()], tokens_used=9),
        "UpdateMemory": memory(revision=2),
        "ForgetMemories": m.ForgetResult(count=1, ids=[ID]),
        "RestoreMemory": memory(revision=3),
        "TraceMemory": m.Trace(
            memory=memory(superseded_by=OTHER),
            revisions=[m.Revision(revision=1, update_time=TIME, reason="updated", memory=memory())],
            superseded_by=[memory(id=OTHER)],
        ),
        "StartTask": task,
        "UpdateTask": task,
        "AppendSteps": task,
        "GetTask": task,
        "RenderTask": m.RenderedTask(text="# 修复网络\n\x1b]0;owned\x07", tokens=7),
        "FinishTask": job,
        "ListTasks": r.ListTasksResponse(tasks=[task]),
        "ListHindsightJobs": r.ListHindsightJobsResponse(jobs=[job]),
        "GetHindsightJob": job,
        "CreateHindsightJob": job,
        "CancelHindsightJob": job,
        "StreamTrajectory": m.Hindsight(
            lessons=[m.ExtractedLesson(lesson=lesson, tools_used=["run_command"], confidence=0.8)],
            receipts=[receipt],
            summary="复盘摘要",
            summary_tokens=5,
            outcome=m.Outcome.SUCCESS,
            steps=9,
            format="openai",
            extractor="rules/1",
            skipped=["line 17: not JSON"],
            skipped_count=1,
        ),
        "ListNamespaces": r.ListNamespacesResponse(namespaces=[m.Namespace(name="团队/甲", memories=3)]),
        "DeleteNamespace": r.DeleteNamespaceResponse(memories=3),
        "GetStats": m.Stats(namespaces=2, memories=3, version="0.1.0"),
        "CheckStore": m.CheckReport(namespaces=2, memories=3, vectors=3),
        "VerifyMemory": memory(verification="CONFIRMED", revision=2),
        "ListAuditQueue": r.ListAuditQueueResponse(memories=[memory()]),
        "ListAuditEvents": r.ListAuditEventsResponse(
            events=[
                m.AuditEvent(
                    seq=7,
                    time=TIME,
                    namespace="团队/甲",
                    memory_id=ID,
                    action="confirmed",
                    principal="local",
                    note="复核\n通过",
                )
            ],
            next_page_token="next",
        ),
        "CreateBackup": r.Backup(name="20260501T080000000000Z-7", target="nightly", seq=7, new_bytes=9),
        "ReembedMemories": r.ReembedReport(model="use-multilingual-v3-q6/1", memories=3),
        "CompactStore": r.CompactReport(bytes_before=8192, bytes_after=4096),
        "CreateToken": replace(token, secret="slt_t1_secret"),
        "ListTokens": r.ListTokensResponse(tokens=[token, replace(token, id="t2", revoke_time=TIME)]),
        "RevokeToken": r.RevokeTokenResponse(),
    }


class FakeApi(Api):
    """Keeps the requests; fails with `failure` if that is set."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any]] = []
        self.answers = answers()
        self.failure: SiltstoneError | None = None

    def _call(
        self,
        rpc: str,
        given: dict[str, Any],
        then: Callable[[Any], Any] | None = None,
        sink: Sink | None = None,
    ) -> Any:
        operation = OPERATIONS[rpc]
        if operation.request_stream:
            given = [from_data(operation.request, message) for message in given["messages"]]
        else:
            given = from_data(operation.request, given)
        self.requests.append((rpc, given))
        if self.failure is not None:
            raise self.failure
        if rpc not in self.answers:
            raise NotFoundError(f"the fake has no answer to {rpc}")
        if sink is not None:
            return pour(self.answers[rpc], sink)
        return self.answers[rpc] if then is None else then(self.answers[rpc])

    @property
    def request(self) -> Any:
        """The only request made."""
        ((_, request),) = self.requests
        return request


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in list(os.environ):
        if name.startswith("SILTSTONE_") or name in ("LANG", "LC_ALL", "LC_MESSAGES"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    api = FakeApi()

    @contextmanager
    def connect(_: Context) -> Iterator[Api]:
        yield api

    monkeypatch.setattr(Context, "api", connect)
    return api

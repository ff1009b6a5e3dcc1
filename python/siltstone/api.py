"""The methods of Siltstone, the same in process and over gRPC.

`Api` turns keyword arguments into one request and hands it to `_call`; `siltstone.open`, `Client` and
`AsyncClient` differ only in that one method. Arguments are checked here, by type, for every door; their
meaning is checked by the engine.

Wherever a time is taken it is an aware `datetime` or RFC 3339 text; a duration is a `timedelta` or text such
as ``"30d"``; a namespace is a path such as ``"team/agent-a"``. Every method raises `SiltstoneError`s, listed
in `siltstone.errors`.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any, Generic, TypeVar

from siltstone.backup import Receiver
from siltstone.data import to_data
from siltstone.errors import InvalidArgumentError
from siltstone.files import Download, Progress, Sink, parts_of
from siltstone.model import (
    AuditEvent,
    CheckReport,
    Filter,
    ForgetResult,
    Hindsight,
    HindsightJob,
    Lesson,
    Memory,
    MemoryDraft,
    Namespace,
    RenderedTask,
    SearchRequest,
    SearchResult,
    Source,
    Stats,
    Step,
    Task,
    Token,
    Trace,
    Trajectory,
    Weights,
    WriteReceipt,
)
from siltstone.model.requests import Backup, CompactReport, ImportReport, ReembedReport

T = TypeVar("T")
Time = datetime | str
Duration = timedelta | str

FilterLike = Filter | Mapping[str, Any]
Receipts = list[WriteReceipt]  # `list` is a method below
Results = list[SearchResult]


class Page(list[T], Generic[T]):
    """A list with what came beside it."""

    next_page_token: str = ""  # "" on the last page
    tokens_used: int = 0
    truncated_ids: Sequence[str] = ()  # ids whose content max_tokens cut


class Api(ABC):
    """Every call a user can make."""

    @abstractmethod
    def _call(
        self,
        rpc: str,
        given: dict[str, Any],
        then: Callable[[Any], Any] | None = None,
        sink: Sink | None = None,
    ) -> Any:
        """Check `given` against the RPC's request, carry it out, and pass the response through `then`. Where
        requests are a stream, ``given["messages"]`` is what each is made of, taken as it is sent. Where
        responses are one, `sink` takes them as they come, and its result is returned."""

    # --- memories

    def write(
        self,
        content: str,
        *,
        namespace: str = "default",
        summary: str | None = None,
        lesson: Lesson | Mapping[str, Any] | None = None,
        memory_type: str = "SEMANTIC",
        task_type: str = "",
        outcome: str = "",
        tags: Sequence[str] = (),
        tools_used: Sequence[str] = (),
        attributes: Mapping[str, Any] | None = None,
        confidence: float = 0.7,
        event_time: Time | None = None,
        valid_until: Time | None = None,
        ttl: Duration | None = None,
        supersedes: Sequence[str] = (),
        sequence: str | None = None,
        position: int | None = None,
        source: Source | Mapping[str, Any] | None = None,
        vector: Sequence[float] | None = None,
        on_duplicate: str = "MERGE",
        on_too_long: str = "REFUSE",
        task_id: str | None = None,
        request_id: str | None = None,
    ) -> WriteReceipt:
        """Keep one memory, unless an older one says the same.

        A text that says that it takes an older memory's place ("use B instead of A", 不再) hides that one
        (SUPERSEDED, undone by `restore_memory`); where that is unsure, or the old one is CONFIRMED, both are
        marked (CONFLICT) and nothing is hidden. `receipt.related` says why.

        Args:
            content: the text, verbatim, any language; not blank. What the server's policy masks (secrets, by
                default) is named in `receipt.masked`; what it flags, in the memory's `flags`.
            summary: what searches show, at most 64 tokens; made from the content by default.
            lesson: problem, root_cause, solution and the steps that prove them.
            memory_type: SEMANTIC (what is so), EPISODIC (what happened) or PROCEDURAL (how to do it).
            outcome: of the task it came from: SUCCESS, FAILURE, PARTIAL, or "" (unknown).
            attributes: name → text, number, bool or time, for filters: ``{"mysql": "8.0"}``.
            confidence: 0..1, how sure the writer is.
            event_time: when it happened; by default now.
            valid_until: searches leave it out from then on; `ttl` says the same as a duration.
            supersedes: ids of the memories this one replaces.
            sequence, position: the ordered run it belongs to and its place in it.
            vector: its embedding, if the caller makes it (finite, not zero, of the namespace's dimension).
            on_duplicate: MERGE updates the memory that says the same, KEEP always makes a new one and judges
                nothing, REJECT raises AlreadyExistsError.
            on_too_long: of content above the server's cap: REFUSE, or COMPRESS, which keeps the sentences
                that matter most and says so in the memory's `original_bytes`.
            task_id: the task that writes. When it says what an older memory says and was not shown that, it
                is independent evidence for it.
            request_id: repeats of the same call with the same id are answered with the first one's receipt.
        """
        draft = _given(
            content=content,
            summary=summary,
            lesson=lesson,
            memory_type=memory_type,
            task_type=task_type,
            outcome=outcome or "UNKNOWN",
            tags=tags,
            tools_used=tools_used,
            attributes=attributes,
            confidence=confidence,
            event_time=event_time,
            valid_until=valid_until,
            ttl=ttl,
            supersedes=supersedes,
            sequence=sequence,
            position=position,
            source=source,
            vector=vector,
            on_duplicate=on_duplicate,
            on_too_long=on_too_long,
        )
        given = _given(drafts=[draft], namespace=namespace, task_id=task_id, request_id=request_id)
        receipt: WriteReceipt = self._call("WriteMemories", given, lambda response: response.receipts[0])
        return receipt

    def write_many(
        self,
        drafts: Iterable[MemoryDraft | Mapping[str, Any]],
        *,
        namespace: str = "default",
        task_id: str | None = None,
        request_id: str | None = None,
    ) -> Receipts:
        """Keep several memories, all or none; receipts in their order. A draft's keys are `write`'s."""
        given = _given(drafts=drafts, namespace=namespace, task_id=task_id, request_id=request_id)
        receipts: Receipts = self._call("WriteMemories", given, lambda r: r.receipts)
        return receipts

    def search(
        self,
        query: str | None = None,
        *,
        vector: Sequence[float] | None = None,
        namespace: str | Sequence[str] = "default",
        include_public: bool = True,
        top_k: int = 8,
        filter: FilterLike | None = None,
        profile: str = "balanced",
        weights: Weights | Mapping[str, Any] | None = None,
        now: Time | None = None,
        time_zone: str = "UTC",
        as_of: Time | None = None,
        view: str = "SUMMARY",
        max_tokens: int | None = None,
        min_score: float | None = None,
        include_superseded: bool = False,
        include_expired: bool = False,
        include_refuted: bool = False,
        task_id: str | None = None,
        explain: bool = False,
        diversity: float = 0.9,
        rerank: bool = True,
    ) -> SearchResult:
        """The `top_k` memories, best first.

        Args:
            query: text in any language; without it and without `vector`, recency and confidence order.
            vector: the query's embedding, if the caller makes it.
            namespace: one or several; `public` is searched too unless `include_public` is False.
            top_k: 1..10,000.
            filter: what may be returned, see `Filter`.
            profile: balanced, troubleshooting or knowledge: a set of weights.
            weights: a `Weights` replaces the profile's, a dict those it names.
            now: the moment recency and validity are measured at; by default the server's clock.
            as_of: answer from what was believed at that moment, which then is the clock as well.
            view: SUMMARY (hits without content and lesson) or FULL.
            max_tokens: hard cap on the tokens of the texts returned, the first hit included.
            min_score: 0..1, leaves out hits below.
            include_superseded, include_expired, include_refuted: let those in too.
            task_id: the task that is shown the hits.
            explain: add how the search was carried out.
            diversity: share of its score, 0..1, that a hit loses when the `top_k` (up to 100) are chosen and
                three better ones (at most half the list) say nearly the same; 0 gives the `top_k` by score.
            rerank: let the reranker order the best hits, where the server has one.
        """
        given = _given(
            query=query,
            vector=vector,
            namespace=namespace,
            include_public=include_public,
            top_k=top_k,
            filter=filter,
            profile=profile,
            weights=weights,
            now=now,
            time_zone=time_zone,
            as_of=as_of,
            view=view,
            max_tokens=max_tokens,
            min_score=min_score,
            include_superseded=include_superseded,
            include_expired=include_expired,
            include_refuted=include_refuted,
            task_id=task_id,
            explain=explain,
            diversity=diversity,
            rerank=rerank,
        )
        result: SearchResult = self._call("SearchMemories", _search(given))
        return result

    def search_many(self, requests: Iterable[SearchRequest | Mapping[str, Any]]) -> Results:
        """Many searches in one call, results in their order. A request's keys are `search`'s arguments."""
        given = {"requests": requests}
        if isinstance(requests, Iterable):  # else `_call` says what is wrong with it
            given = {"requests": [_search(r) if isinstance(r, Mapping) else r for r in requests]}
        results: Results = self._call("BatchSearchMemories", given, lambda r: r.results)
        return results

    def get(
        self,
        ids: str | Sequence[str],
        *,
        max_tokens: int | None = None,
        task_id: str | None = None,
        as_of: Time | None = None,
    ) -> Page[Memory]:
        """The memories with these ids, whole, in order. `max_tokens` cuts texts from the first that does
        not fit; the ids cut are in `truncated_ids`. With `as_of`, as they stood then. NotFoundError names the
        first id that is unknown, or was then."""
        given = _given(ids=_list(ids), max_tokens=max_tokens, task_id=task_id, as_of=as_of)
        page: Page[Memory] = self._call("GetMemories", given, _memories)
        return page

    def list(
        self,
        namespace: str = "default",
        *,
        filter: FilterLike | None = None,
        page_size: int = 100,
        page_token: str = "",
    ) -> Page[Memory]:
        """One page (1..1,000) of a namespace's memories in the order they were made, superseded, expired and
        refuted ones included, invalidated ones not."""
        given = _given(namespace=namespace, filter=filter, page_size=page_size, page_token=page_token)
        page: Page[Memory] = self._call("ListMemories", given, _memories)
        return page

    def update(
        self,
        id: str,
        *,
        content: str | None = None,
        summary: str | None = None,
        lesson: Lesson | Mapping[str, Any] | None = None,
        memory_type: str | None = None,
        task_type: str | None = None,
        outcome: str | None = None,
        tags: Sequence[str] | None = None,
        tools_used: Sequence[str] | None = None,
        attributes: Mapping[str, Any] | None = None,
        confidence: float | None = None,
        event_time: Time | None = None,
        valid_until: Time | None = None,
        clear: Sequence[str] = (),
        revision: int | None = None,
        request_id: str | None = None,
    ) -> Memory:
        """Change what is given; what is None stays. `clear` empties fields (``clear=["valid_until"]``). With
        `revision`, StaleRevisionError if the memory has changed since. To raise confidence takes the role
        auditor; anyone may lower it. The former state stays in `trace`."""
        changes = _given(
            content=content,
            summary=summary,
            lesson=lesson,
            memory_type=memory_type,
            task_type=task_type,
            outcome=outcome,
            tags=tags,
            tools_used=tools_used,
            attributes=attributes,
            confidence=confidence,
            event_time=event_time,
            valid_until=valid_until,
        )
        given = _given(
            memory={"id": id, **changes},
            update_mask=[*changes, *_list(clear)],
            revision=revision,
            request_id=request_id,
        )
        memory: Memory = self._call("UpdateMemory", given)
        return memory

    def forget(
        self,
        *,
        ids: str | Sequence[str] | None = None,
        filter: FilterLike | None = None,
        namespace: str = "default",
        mode: str = "INVALIDATE",
        dry_run: bool = False,
        request_id: str | None = None,
    ) -> ForgetResult:
        """Take memories out of every answer, by ids or by filter (never both). INVALIDATE is undone by
        `restore_memory`. ERASE leaves no trace of their text in any file of the service, and nothing undoes
        it. `dry_run` only counts. An empty filter is refused."""
        given = _given(
            ids=None if ids is None else _list(ids),
            filter=filter,
            namespace=namespace,
            mode=mode,
            dry_run=dry_run,
            request_id=request_id,
        )
        result: ForgetResult = self._call("ForgetMemories", given)
        return result

    def verify(
        self,
        id: str,
        verdict: str,
        *,
        evidence: str | None = None,
        task_id: str | None = None,
        reviewer: str | None = None,
        note: str = "",
        request_id: str | None = None,
    ) -> Memory:
        """Say what became of a memory.

        Args:
            verdict: WORKED or FAILED, from whoever followed it; CONFIRM or REFUTE, from an auditor, whose
                word stands until another's.
            evidence: what shows it, in words or as a reference; at most 4 KiB.
            task_id: the task that followed it. One report counts a task, its latest. Without it, and from
                the task that wrote the memory, WORKED is only noted in the audit log.
            reviewer: who says so.

        Returns:
            The memory with its confidence, verification and evidence as they are now. A memory is CONFIRMED
            by two tasks for it and none against, REFUTED by at least two against it that are more than twice
            those for it. Refuted ones leave searches at once.

        Raises:
            NotFoundError: no such memory, or no such task.
            PermissionDeniedError: CONFIRM or REFUTE without the role auditor.
        """
        given = _given(
            id=id,
            verdict=verdict,
            evidence=evidence,
            task_id=task_id,
            reviewer=reviewer,
            note=note,
            request_id=request_id,
        )
        memory: Memory = self._call("VerifyMemory", given)
        return memory

    def restore_memory(self, id: str, *, request_id: str | None = None) -> Memory:
        """Undo an INVALIDATE or a supersession."""
        memory: Memory = self._call("RestoreMemory", _given(id=id, request_id=request_id))
        return memory

    def trace(self, id: str) -> Trace:
        """A memory's revisions, what it replaced and what replaced it, its conflicts and evidence."""
        trace: Trace = self._call("TraceMemory", {"id": id})
        return trace

    def audit_queue(self, namespace: str = "default", *, limit: int = 20) -> Page[Memory]:
        """Memories a person should look at first: those still PENDING by confidence · (1 + the number of
        tasks that were shown it), highest first. `limit` is 1..1,000. Takes the role auditor."""
        page: Page[Memory] = self._call("ListAuditQueue", {"namespace": namespace, "limit": limit}, _memories)
        return page

    def audit_log(
        self,
        *,
        since_seq: int = 0,
        namespace: str | None = None,
        page_size: int = 100,
        page_token: str = "",
    ) -> Page[AuditEvent]:
        """One page (1..1,000) of the changes of memories after a commit number, oldest first, of one
        namespace or all. Takes the role auditor."""
        given = _given(since_seq=since_seq, namespace=namespace, page_size=page_size, page_token=page_token)
        page: Page[AuditEvent] = self._call("ListAuditEvents", given, lambda r: _page(r, r.events))
        return page

    # --- tasks

    def start_task(
        self,
        goal: str,
        *,
        namespace: str = "default",
        task_type: str = "",
        hindsight_every: int | None = None,
        request_id: str | None = None,
    ) -> Task:
        """Open working memory for one piece of work. It is looked back over after every `hindsight_every`
        steps (0..10,000; 0: never; None: the service's setting), and when it ends."""
        given = _given(
            goal=goal,
            namespace=namespace,
            task_type=task_type,
            hindsight_every=hindsight_every,
            request_id=request_id,
        )
        task: Task = self._call("StartTask", given)
        return task

    def update_task(
        self,
        task_id: str,
        *,
        steps_done: Sequence[str] | None = None,
        current_hypothesis: str | None = None,
        pending: Sequence[str] | None = None,
        findings: Sequence[str] | None = None,
        variables: Mapping[str, str] | None = None,
        revision: int | None = None,
        request_id: str | None = None,
    ) -> Task:
        """Replace the fields given, word for word; the others stay. With `revision`, StaleRevisionError if
        the task has changed since."""
        changes = _given(
            steps_done=steps_done,
            current_hypothesis=current_hypothesis,
            pending=pending,
            findings=findings,
            variables=variables,
        )
        given = _given(
            task={"id": task_id, **changes},
            update_mask=[*changes],
            revision=revision,
            request_id=request_id,
        )
        task: Task = self._call("UpdateTask", given)
        return task

    def append_steps(
        self, task_id: str, steps: Sequence[Step | Mapping[str, Any]], *, request_id: str | None = None
    ) -> Task:
        """Add steps to the task's log; the store numbers them. A step with ``remember``, or whose text says
        "remember this" or 记住这个, is kept as a memory soon after."""
        task: Task = self._call("AppendSteps", _given(task_id=task_id, steps=steps, request_id=request_id))
        return task

    def get_task(self, task_id: str) -> Task:
        """The task; `derived` holds the state that rules read from its steps."""
        task: Task = self._call("GetTask", {"task_id": task_id})
        return task

    def render_task(self, task_id: str, *, max_tokens: int = 800, with_memories: int = 0) -> RenderedTask:
        """The task's state as text for a prompt, at most `max_tokens` (16..100,000), in a stable order; with
        the best `with_memories` (0..50) memories for its goal."""
        given = {"task_id": task_id, "max_tokens": max_tokens, "with_memories": with_memories}
        rendered: RenderedTask = self._call("RenderTask", given)
        return rendered

    def finish_task(
        self, task_id: str, outcome: str, *, wait: bool = False, request_id: str | None = None
    ) -> HindsightJob:
        """Close the task as SUCCESS, FAILURE, PARTIAL or UNKNOWN and queue looking back over it. `wait`
        answers when that is done."""
        given = _given(task_id=task_id, outcome=outcome, wait=wait, request_id=request_id)
        job: HindsightJob = self._call("FinishTask", given)
        return job

    def list_tasks(
        self,
        namespace: str = "default",
        *,
        status: str | None = None,
        page_size: int = 100,
        page_token: str = "",
    ) -> Page[Task]:
        given = _given(namespace=namespace, status=status, page_size=page_size, page_token=page_token)
        page: Page[Task] = self._call("ListTasks", given, lambda r: _page(r, r.tasks))
        return page

    # --- hindsight

    def summarize_trajectory(
        self,
        trajectory: Trajectory | Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | os.PathLike[str],
        *,
        namespace: str = "default",
        goal: str = "",
        outcome: str | None = None,
        max_tokens: int | None = None,
        dry_run: bool = False,
        task_id: str | None = None,
        request_id: str | None = None,
    ) -> Hindsight:
        """Look back over a run: extract its lessons and keep them.

        Args:
            trajectory: a `Trajectory`, a log as a dict or a list of messages, or the path of a JSON or JSONL
                file, read on this side.
            goal, outcome: what the run was for and how it ended, where the log does not say.
            max_tokens: cap of the summary; 400 by default.
            dry_run: extract only, write nothing.
        """
        given = _given(
            namespace=namespace,
            goal=goal,
            outcome=outcome,
            max_tokens=max_tokens,
            dry_run=dry_run,
            task_id=task_id,
            request_id=request_id,
        )
        hindsight: Hindsight
        if isinstance(trajectory, str | os.PathLike):
            messages = chain([{"options": given}], ({"data": part} for part in parts_of(trajectory)))
            hindsight = self._call("StreamTrajectory", {"messages": messages})
        else:
            hindsight = self._call("SummarizeTrajectory", {**_trajectory(trajectory), **given})
        return hindsight

    def create_hindsight_job(
        self, task_id: str, *, wait: bool = False, request_id: str | None = None
    ) -> HindsightJob:
        """Look back over a task now, over its steps so far. `wait` answers when that is done."""
        given = _given(task_id=task_id, wait=wait, request_id=request_id)
        job: HindsightJob = self._call("CreateHindsightJob", given)
        return job

    def get_hindsight_job(self, id: str) -> HindsightJob:
        job: HindsightJob = self._call("GetHindsightJob", {"id": id})
        return job

    def list_hindsight_jobs(
        self,
        *,
        namespace: str = "",
        states: Sequence[str] = (),
        page_size: int = 100,
        page_token: str = "",
    ) -> Page[HindsightJob]:
        given = {"namespace": namespace, "states": states, "page_size": page_size, "page_token": page_token}
        page: Page[HindsightJob] = self._call("ListHindsightJobs", given, lambda r: _page(r, r.jobs))
        return page

    def cancel_hindsight_job(self, id: str) -> HindsightJob:
        """Cancel a job that waits or runs: what it found is not kept. FailedPreconditionError once it is done
        or failed."""
        job: HindsightJob = self._call("CancelHindsightJob", {"id": id})
        return job

    # --- administration

    def namespaces(self, *, page_size: int = 1000, page_token: str = "") -> Page[Namespace]:
        given = {"page_size": page_size, "page_token": page_token}
        page: Page[Namespace] = self._call("ListNamespaces", given, lambda r: _page(r, r.namespaces))
        return page

    def delete_namespace(self, name: str, *, request_id: str | None = None) -> int:
        """Delete a namespace with everything in it; returns how many memories that were. `default` and
        `public` are emptied and stay."""
        count: int = self._call(
            "DeleteNamespace", _given(name=name, request_id=request_id), lambda r: r.memories
        )
        return count

    def stats(self, namespace: str | None = None) -> Stats:
        stats: Stats = self._call("GetStats", _given(namespace=namespace))
        return stats

    def metrics(self) -> str:
        """Figures of the server in the text format of Prometheus, version 0.0.4."""
        text: str = self._call("GetMetrics", {}, lambda r: r.text)
        return text

    def check(self, repair: bool = False) -> CheckReport:
        """Compare store and index; `repair` rebuilds what is derived."""
        report: CheckReport = self._call("CheckStore", {"repair": repair})
        return report

    def compact(self) -> CompactReport:
        """Make the store's file anew without what was deleted. Forgetting with ERASE does it by itself unless
        `erase_compacts` says later. Takes the role admin."""
        report: CompactReport = self._call("CompactStore", {})
        return report

    def backup(self, target: str) -> Backup:
        """Back up to a target named in the server's configuration."""
        backup: Backup = self._call("CreateBackup", {"target": target})
        return backup

    def backup_to(self, directory: str | os.PathLike[str], *, progress: Progress | None = None) -> Backup:
        """Back up into a folder of the caller's machine. What former backups in it hold is not sent again.

        Args:
            progress: told how many bytes have come.
        """
        receiver = Receiver(Path(directory), progress)
        backup: Backup = self._call("StreamBackup", {"known": receiver.known()}, sink=receiver)
        return backup

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        namespaces: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> int:
        """Write all memories as versioned JSONL to a local file (`docs/export.md`); returns how many bytes it
        has. The file has its name only once it is whole.

        Args:
            namespaces: only of these.
            progress: told how many bytes have come.
        """
        file = Download(path, progress)
        written: int = self._call("ExportMemories", {"namespaces": namespaces}, sink=file)
        return written

    def import_(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> ImportReport:
        """Read memories from a local file that `export` wrote. What is there already, under its id and the
        same, stays as it is; so an import that was interrupted is simply repeated.

        Args:
            progress: told how many bytes were sent.
        """
        messages = ({"data": part} for part in parts_of(path, progress))
        report: ImportReport = self._call("ImportMemories", {"messages": messages})
        return report

    def reembed(self, model: str, *, namespace: str | None = None, wait: bool = False) -> ReembedReport:
        """Move memories to another embedding model, in the background: until all is ready the former serves.
        Called again, it tells how far that is; with the model that a namespace has, it ends a move to
        another.

        Args:
            model: as the setting embedding_model names it.
            namespace: only this one; None: all but those whose vectors their callers bring.
            wait: return when it is done, or the client's timeout is nearly up.
        """
        given = _given(model=model, namespace=namespace, wait=wait)
        report: ReembedReport = self._call("ReembedMemories", given)
        return report

    def create_token(self, name: str, *, namespaces: Sequence[str], roles: Sequence[str]) -> Token:
        """Make an access token; its `secret` is in this answer only.

        Args:
            namespaces: patterns of those it opens: ``team/*`` one level below team, ``team/**`` all below it,
                ``**`` everything, the store itself with it. `public` may be read with any role reader.
            roles: what it may do there: reader, writer, auditor, admin; none of them includes another.
        """
        token: Token = self._call("CreateToken", {"name": name, "namespaces": namespaces, "roles": roles})
        return token

    def tokens(self, *, page_size: int = 100, page_token: str = "") -> Page[Token]:
        """Tokens by their age, revoked ones too, without their secrets."""
        given = {"page_size": page_size, "page_token": page_token}
        page: Page[Token] = self._call("ListTokens", given, lambda r: _page(r, r.tokens))
        return page

    def revoke_token(self, id: str) -> None:
        """Make a token useless at once. The first token closes a service to callers without one, and it stays
        closed when the last one is revoked."""
        self._call("RevokeToken", {"id": id}, lambda _: None)


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _list(value: str | Sequence[str]) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


def _search(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """`search`'s arguments as a SearchRequest's fields."""
    given = _given(**arguments)
    if "namespace" in given:
        given["namespaces"] = _list(given.pop("namespace"))
    weights = given.get("weights")
    if isinstance(weights, Weights):
        given["weights"] = {f.name: getattr(weights, f.name) for f in fields(weights)}
    return given


def _trajectory(source: Any) -> dict[str, Any]:
    if isinstance(source, Trajectory):
        return {"trajectory": source}
    try:
        return {"data": json.dumps(to_data(source), ensure_ascii=False)}
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgumentError(
            f"trajectory: not plain data that JSON can hold: {error}", field="trajectory"
        ) from None


def _page(response: Any, items: Iterable[T]) -> Page[T]:
    page = Page(items)
    page.next_page_token = getattr(response, "next_page_token", "")
    page.tokens_used = getattr(response, "tokens_used", 0)
    page.truncated_ids = getattr(response, "truncated_ids", ())
    return page


def _memories(response: Any) -> Page[Memory]:
    return _page(response, response.memories)

"""What became of memories: reports of tasks and verdicts of reviewers."""

from siltstone.engine.call import Call
from siltstone.engine.core import found
from siltstone.engine.erasing import Erasing
from siltstone.engine.evidence import FOR, REVIEWS, is_author, with_evidence
from siltstone.engine.validate import check_id, check_label, invalid
from siltstone.errors import FailedPreconditionError
from siltstone.model import Evidence, Memory, Verdict
from siltstone.model.requests import VerifyMemoryRequest
from siltstone.store import Writer

MAX_WORDS = 4096  # bytes of a note, and of what is given as evidence

_ACTIONS = {
    Verdict.CONFIRM: "confirmed",
    Verdict.REFUTE: "refuted",
    Verdict.WORKED: "worked",
    Verdict.FAILED: "failed",
}


class Verifying(Erasing):
    def verify_memory(self, request: VerifyMemoryRequest, call: Call) -> Memory:
        id = check_id(request.id, "id")
        task_id = check_id(request.task_id, "task_id") if request.task_id else ""
        _check(request)
        if request.verdict in REVIEWS:
            call.require("auditor", f"give the verdict {request.verdict}", "verdict")
        answer: Memory | None = self.answered("VerifyMemory", request, call)
        if answer is not None:
            return answer

        def operation(writer: Writer) -> Memory:
            memory = found(writer.memory(id), "memory", id)
            if memory.invalidate_time is not None:
                raise FailedPreconditionError(
                    f"id: memory {id} was forgotten; restore it before reporting on it",
                    reason="INVALIDATED",
                    field="id",
                )
            if task_id:
                found(writer.task(task_id), "task", task_id, "task_id")
            note = "; ".join(part for part in (request.note, request.evidence) if part)
            said = ": ".join(part for part in (request.reviewer, note) if part)
            action = _ACTIONS[request.verdict]
            piece = Evidence(
                verdict=request.verdict,
                time=writer.now,
                task_id=task_id,
                reviewer=request.reviewer,
                note=note,
            )
            if not _counts(writer, memory, piece):
                writer.audit_memory(memory, action, said)
                return memory
            new = with_evidence(memory, piece)
            # Whatever moves confidence keeps the state before it: `as_of` shows what was believed then.
            return writer.put_memory(new, former="verified", action=action, note=said)

        return self.write("VerifyMemory", request, call, operation)


def _check(request: VerifyMemoryRequest) -> None:
    if request.verdict not in _ACTIONS:
        raise invalid("verdict", f"{request.verdict} is no report; give one of {', '.join(_ACTIONS)}")
    if request.reviewer:
        check_label(request.reviewer, "reviewer")
    for name in ("note", "evidence"):
        size = len(getattr(request, name).encode())
        if size > MAX_WORDS:
            raise invalid(name, f"{size:,} bytes; at most {MAX_WORDS:,} are allowed")


def _counts(writer: Writer, memory: Memory, piece: Evidence) -> bool:
    """Whether a report moves anything. Trust rises by others only: success is no news from the task that
    wrote the memory, and without a task nobody can say whose it is. It falls on anybody's word, without a
    task once, since a writer may lower it anyway."""
    if piece.verdict in REVIEWS:
        return True
    earlier = next(
        (e for e in memory.evidence if e.task_id == piece.task_id and e.verdict not in REVIEWS), None
    )
    if piece.verdict in FOR:
        if not piece.task_id or is_author(writer, memory, piece.task_id):
            return False
        return earlier is None or earlier.verdict is not piece.verdict
    return earlier is None or earlier.verdict is not Verdict.FAILED

"""What evidence does to a memory: its confidence and how far it is verified.

A piece is what one task observed: that following the memory worked or failed, or that the task came to the
same by itself. One task is one piece, its latest word; one trajectory is one piece. Beside them stand the
verdicts of reviewers. `docs/decisions/0009-evidence.md` says why the rules are these.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from siltstone.engine.core import is_task
from siltstone.model import Evidence, Memory, Source, Verdict, Verification
from siltstone.store import Reader, Writer

PRIOR = 2  # pieces that the writer's own confidence weighs
REMEMBERED = 8  # pieces beyond which older ones fade, so that news can still move a memory
CEILING = 0.95  # where pieces for a memory end; a reviewer's CONFIRM is worth that much
FLOOR = 0.05  # a reviewer's REFUTE
ENOUGH = 2  # tasks that confirm or refute
KEPT = 100  # pieces and verdicts kept with a memory

FOR = frozenset({Verdict.WORKED, Verdict.REACHED})
REVIEWS = frozenset({Verdict.CONFIRM, Verdict.REFUTE})


def with_evidence(memory: Memory, new: Evidence) -> Memory:
    """The memory after a piece, or a reviewer's verdict. A task's piece takes the place of its earlier one.

    Confidence is the mean of a Beta distribution (Gelman et al., Bayesian Data Analysis, 3rd ed., 2.4) whose
    prior is the writer's confidence with the weight of `PRIOR` observations, in its incremental form: with n
    pieces so far, each new one x (1 for, 0 against) moves it by
    (x - c) / (PRIOR + min(n, REMEMBERED - 1) + 1). It rises to `CEILING` at most.
    """
    if new.verdict in REVIEWS:
        confirmed = new.verdict is Verdict.CONFIRM
        confidence = max(memory.confidence, CEILING) if confirmed else min(memory.confidence, FLOOR)
        return _verified(memory, [*memory.evidence, new], confidence)
    pieces = [e for e in memory.evidence if e.verdict not in REVIEWS]
    earlier = next((e for e in pieces if e.task_id == new.task_id), None)
    if earlier is None:
        weight = PRIOR + min(len(pieces), REMEMBERED - 1) + 1
        confidence = memory.confidence + (_value(new) - memory.confidence) / weight
    else:
        weight = PRIOR + min(len(pieces), REMEMBERED)
        confidence = memory.confidence + (_value(new) - _value(earlier)) / weight
    if confidence > memory.confidence:
        confidence = max(memory.confidence, min(confidence, CEILING))
    kept = [e for e in memory.evidence if e is not earlier]
    return _verified(memory, [*kept, new], max(confidence, 0.0))


def verification_of(evidence: Sequence[Evidence]) -> Verification:
    """What a memory's evidence makes of it. The latest verdict of a reviewer stands, whatever tasks observe.
    Without one: CONFIRMED by `ENOUGH` tasks for it and none against; REFUTED by `ENOUGH` against it, more
    than twice those for it; else PENDING. A failure that no task stands for refutes nothing."""
    for piece in reversed(evidence):
        if piece.verdict in REVIEWS:
            return Verification.CONFIRMED if piece.verdict is Verdict.CONFIRM else Verification.REFUTED
    given = sum(1 for e in evidence if e.verdict in FOR)
    against = sum(1 for e in evidence if e.verdict is Verdict.FAILED and e.task_id)
    if against >= ENOUGH and against > 2 * given:
        return Verification.REFUTED
    if given >= ENOUGH and not any(e.verdict is Verdict.FAILED for e in evidence):
        return Verification.CONFIRMED
    return Verification.PENDING


def evidence_of_merge(writer: Writer, old: Memory, source: Source | None) -> dict[str, Any]:
    """What the merge of a duplicate changes in the trust of `old`: nothing, unless the task that wrote it is
    independent evidence, because it is known not to have been shown `old` and did not write it before.

    Args:
        source: of the duplicate. Without a task there is nobody whose sight is known.

    Returns:
        Fields of `Memory` to replace; empty when nothing changes. A refuted memory stays as it is.
    """
    if source is None or not source.task_id or old.verification is Verification.REFUTED:
        return {}
    if any(_is_of(piece, source) for piece in old.evidence) or not _unaided(writer, old, source.task_id):
        return {}
    piece = Evidence(
        verdict=Verdict.REACHED, time=writer.now, task_id=source.task_id, trajectory=source.trajectory
    )
    new = with_evidence(old, piece)
    return {name: getattr(new, name) for name in ("confidence", "verification", "evidence")}


def note_author(writer: Writer, memory: Memory, source: Source | None) -> None:
    """Remember that a task wrote a memory, which is to know it: nothing it says of it later is unaided."""
    if source is not None and source.task_id and is_task(writer, source.task_id, writer.sees):
        writer.put_exposures(source.task_id, [memory.id])


def is_author(reader: Reader, memory: Memory, task_id: str) -> bool:
    """Whether the task wrote the memory, or a former state of it."""
    return reader.came_from(memory.id, task_id=task_id)


def _unaided(writer: Writer, memory: Memory, task_id: str) -> bool:
    return is_task(writer, task_id, writer.sees) and not writer.exposed(task_id, memory.id)


def _is_of(piece: Evidence, source: Source) -> bool:
    return piece.task_id == source.task_id or (
        bool(piece.trajectory) and piece.trajectory == source.trajectory
    )


def _value(piece: Evidence) -> float:
    return 1.0 if piece.verdict in FOR else 0.0


def _verified(memory: Memory, evidence: list[Evidence], confidence: float) -> Memory:
    while len(evidence) > KEPT:
        oldest = next((i for i, e in enumerate(evidence) if e.verdict not in REVIEWS), 0)
        evidence = evidence[:oldest] + evidence[oldest + 1 :]
    return replace(memory, evidence=evidence, confidence=confidence, verification=verification_of(evidence))

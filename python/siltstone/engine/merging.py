"""What a write does to the memories that were there: merge into one, take the place of some, stand against
others. Each function stores what it changes and returns what the receipt says of it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from siltstone.engine.duplicates import nearness
from siltstone.engine.evidence import evidence_of_merge
from siltstone.engine.thought import Thought
from siltstone.model import Action, Memory, Outcome, Related, Verification, WriteReceipt
from siltstone.store import Writer

BY_WRITER = "the writer said so"
_LONGEST_CHAIN = 1000


def merge(
    writer: Writer, memory: Memory, thought: Thought, old: Memory, similarity: float, replaced: Sequence[str]
) -> WriteReceipt:
    """Update `old`, which says the same. The former text and its vector stay in the revisions, times move on,
    and what is known of it stays: a refuted memory stays refuted.

    Args:
        memory: the draft as a memory.
        similarity: cosine of the two, for the receipt.
        replaced: ids of the memories that the merged one takes the place of.
    """
    related = [
        Related(
            id=old.id, relation="merged", similarity=similarity, reason=_standing(old, memory, writer.now)
        )
    ]
    if not replaced and _same_evidence(writer, memory, old):
        return WriteReceipt(action=Action.UNCHANGED, memory=old, related=related)
    assert memory.event_time is not None
    merged = replace(
        old,
        content=memory.content,
        original_bytes=memory.original_bytes,
        summary=memory.summary,
        lesson=memory.lesson or old.lesson,
        task_type=memory.task_type or old.task_type,
        outcome=memory.outcome if memory.outcome is not Outcome.UNKNOWN else old.outcome,
        flags=list(dict.fromkeys(old.flags + memory.flags)),
        tags=list(dict.fromkeys(old.tags + memory.tags)),
        tools_used=list(dict.fromkeys(old.tools_used + memory.tools_used)),
        attributes=old.attributes | memory.attributes,
        event_time=max(old.event_time or memory.event_time, memory.event_time),
        valid_until=memory.valid_until or _still_valid(old, writer.now),
        source=memory.source or old.source,
        supersedes=list(dict.fromkeys([*old.supersedes, *replaced])),
        **evidence_of_merge(writer, old, memory.source),
    )
    # Said again word for word, only its times move: there is no former text to keep, and a text that is said
    # every day must not grow a revision a day.
    again = replace(merged, event_time=old.event_time) == old
    stored = writer.put_memory(
        merged, None if again else thought.vectors, former="" if again else "merged", action="merged"
    )
    return WriteReceipt(action=Action.MERGED, memory=stored, related=related)


def supersede(writer: Writer, thought: Thought, old: Memory, by: str, reason: str) -> Related:
    """`old` leaves the default search, with the reason; `by` is the id of the memory in its place."""
    similarity = nearness(writer.vectors(old.id), thought.vectors)
    writer.put_memory(replace(old, superseded_by=by, supersede_reason=reason), former="superseded")
    return Related(id=old.id, relation="superseded", similarity=similarity, reason=reason)


def contradict(writer: Writer, thought: Thought, old: Memory, by: str, reason: str) -> Related:
    """`old` is marked as standing against the memory `by`; nothing is hidden."""
    similarity = nearness(writer.vectors(old.id), thought.vectors)
    marked = list(dict.fromkeys([*old.conflicts_with, by]))
    writer.put_memory(replace(old, conflicts_with=marked), former="updated", action="conflict")
    return Related(id=old.id, relation="conflicts_with", similarity=similarity, reason=reason)


def successor(writer: Writer, old: Memory) -> Memory | None:
    """The memory that stands in a superseded one's place today; None when that was forgotten."""
    current: Memory | None = old
    for _ in range(_LONGEST_CHAIN):
        if current is None or current.invalidate_time is not None:
            return None
        if not current.superseded_by:
            return current
        current = writer.memory(current.superseded_by)
    return None


def _standing(old: Memory, new: Memory, now: datetime) -> str:
    """What the writer should know of the memory it was merged into."""
    if old.verification is Verification.REFUTED:
        return "the memory was refuted and stays so; searches leave it out"
    if old.valid_until is not None and old.valid_until <= now and new.valid_until is None:
        return "the memory had expired and is valid again"
    return ""


def _still_valid(old: Memory, now: datetime) -> datetime | None:
    """An expired memory that is said again lives on without end."""
    return old.valid_until if old.valid_until and old.valid_until > now else None


def _same_evidence(writer: Writer, memory: Memory, old: Memory) -> bool:
    """Whether the same trajectory said it before: the same one twice is one evidence."""
    return memory.source is not None and writer.came_from(old.id, trajectory=memory.source.trajectory)

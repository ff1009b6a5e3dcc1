"""From what looking back found to drafts of memories, and how a later look replaces an earlier one's."""

from collections.abc import Sequence

from siltstone.engine.validate import MAX_LABEL_BYTES
from siltstone.hindsight import EXTRACTOR, is_note, lesson_text
from siltstone.model import (
    ExtractedLesson,
    Hindsight,
    Lesson,
    Memory,
    MemoryDraft,
    MemoryType,
    Outcome,
    Source,
    Trajectory,
    Verification,
)

_SAME_PROBLEM = 0.5  # likeness from which a later lesson speaks of the same


def drafts_of(
    hindsight: Hindsight, trajectory: Trajectory, evidence: str, task_id: str, max_tags: int
) -> list[MemoryDraft]:
    """A draft for each lesson, in order. `evidence` is the identity of what was looked at: the digest of a
    trajectory, or the task."""
    times = [step.time for step in trajectory.steps if step.time is not None]
    drafts = []
    for lesson in hindsight.lessons:
        note = is_note(lesson)
        solved = MemoryType.PROCEDURAL if lesson.lesson.solution else MemoryType.EPISODIC
        drafts.append(
            MemoryDraft(
                content=lesson.lesson.solution if note else lesson_text(lesson),
                lesson=lesson.lesson,
                memory_type=MemoryType.SEMANTIC if note else solved,
                task_type=next(iter(_labels([lesson.task_type, trajectory.task_type], 1)), ""),
                outcome=lesson.outcome,
                tags=_labels(lesson.tags, max_tags),
                tools_used=_labels(lesson.tools_used, max_tags),
                confidence=lesson.confidence,
                event_time=max(times, default=None),
                source=Source(
                    task_id=task_id,
                    trajectory=evidence,
                    steps=sorted({evidence.step for evidence in lesson.lesson.evidence}),
                    writer="hindsight",
                    extractor=EXTRACTOR if note else hindsight.extractor,
                ),
            )
        )
    return drafts


def holds_already(lesson: ExtractedLesson) -> bool:
    """Whether a lesson of a task that still runs holds however the task ends: it was asked for, or the log
    shows that its solution worked."""
    return is_note(lesson) or (lesson.outcome is Outcome.SUCCESS and bool(lesson.lesson.solution))


def replace_outdated(drafts: Sequence[MemoryDraft], former: Sequence[Memory]) -> None:
    """Let each draft supersede what earlier looks at the same task said about the same problem in other
    words. What a person confirmed or changed stays."""
    told = {draft.content for draft in drafts}
    for memory in former:
        if memory.lesson is None or memory.content in told or not _replaceable(memory):
            continue
        likeness = [_likeness(memory.lesson, draft.lesson) if draft.lesson else 0.0 for draft in drafts]
        if likeness and max(likeness) >= _SAME_PROBLEM:
            drafts[likeness.index(max(likeness))].supersedes.append(memory.id)


def _replaceable(memory: Memory) -> bool:
    return (
        memory.verification is Verification.PENDING
        and not memory.superseded_by
        and memory.invalidate_time is None
        and memory.source is not None
        and memory.source.writer == "hindsight"
    )


def _likeness(a: Lesson, b: Lesson) -> float:
    """How far two lessons of one task speak of the same problem, 0..1: by its words and the quotes for it."""
    if not a.problem or not b.problem:
        return 0.0
    if a.problem == b.problem:
        return 1.0
    return len(_told(a) & _told(b)) / max(1, len(_told(a) | _told(b)))


def _told(lesson: Lesson) -> set[tuple[int, str]]:
    return {(e.step, e.quote) for e in lesson.evidence if e.field == "problem"}


def _labels(found: Sequence[str], most: int) -> list[str]:
    """Those that can be labels of a memory: a log may hold anything where it names a tool, and a lesson is
    worth more than the label."""
    fitting = [label for label in found if label.strip() and len(label.encode()) <= MAX_LABEL_BYTES]
    return fitting[:most]

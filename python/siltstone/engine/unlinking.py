"""Taking a memory out of the relations of others before it is removed."""

from dataclasses import replace

from siltstone.model import Memory
from siltstone.store import Writer


def unlink(writer: Writer, memory: Memory) -> None:
    """Nobody refers to the memory any more. What it replaced is replaced by what replaced it, or else, since
    nothing stored says otherwise any longer, current again."""
    others = dict.fromkeys([*memory.supersedes, memory.superseded_by, *memory.conflicts_with])
    for id in others:
        other = writer.memory(id) if id else None
        if other is None:
            continue
        new = replace(
            other,
            supersedes=_replaced(other.supersedes, memory.id, memory.supersedes),
            conflicts_with=[each for each in other.conflicts_with if each != memory.id],
        )
        if other.superseded_by == memory.id:
            new.superseded_by = memory.superseded_by
            new.supersede_reason = memory.supersede_reason
        if new != other:
            writer.put_memory(new, action="unlinked")


def _replaced(ids: list[str], gone: str, heirs: list[str]) -> list[str]:
    if gone not in ids:
        return ids
    return list(dict.fromkeys(each for id in ids for each in (heirs if id == gone else [id])))

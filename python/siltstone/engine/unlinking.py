"""Taking a memory out of the relations of others before it is removed."""

from dataclasses import replace

from siltstone.model import Memory
from siltstone.store import Writer


def unlink(writer: Writer, memory: Memory) -> None:
    """Nobody refers to the memory any more, in former states neither. What it replaced is replaced by what
    replaced it, or else, since nothing stored says otherwise any longer, current again."""
    others = dict.fromkeys([*memory.supersedes, memory.superseded_by, *memory.conflicts_with])
    for id in others:
        other = writer.memory(id) if id else None
        if other is None:
            continue
        new = _unlinked(other, memory)
        if new != other:
            writer.put_memory(new, action="unlinked")
        writer.rewrite_revisions(id, lambda former: _unlinked(former, memory))


def _unlinked(other: Memory, gone: Memory) -> Memory:
    new = replace(
        other,
        supersedes=_replaced(other.supersedes, gone),
        conflicts_with=[id for id in other.conflicts_with if id != gone.id],
    )
    if other.superseded_by == gone.id:
        # The reason may quote the memory that goes.
        new.superseded_by, new.supersede_reason = gone.superseded_by, gone.supersede_reason
    return new


def _replaced(ids: list[str], gone: Memory) -> list[str]:
    if gone.id not in ids:
        return ids
    return list(dict.fromkeys(each for id in ids for each in (gone.supersedes if id == gone.id else [id])))

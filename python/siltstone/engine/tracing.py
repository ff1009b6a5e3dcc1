"""How a memory came to be what it is, in an answer of bounded size."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from siltstone.model import Memory, Trace
from siltstone.store import Reader, records

REVISIONS = 100
RELATED = 1000  # memories of each relation
BYTES = 4 << 20  # of the revisions, and of each relation; with the memory itself below one message


def trace(reader: Reader, memory: Memory) -> Trace:
    """The newest revisions and the nearest of each relation; `truncated` when there are more."""
    revisions, truncated = reader.newest_revisions(memory.id, limit=REVISIONS, max_bytes=BYTES)
    found = Trace(memory=memory, revisions=revisions, truncated=truncated)
    _take(found, found.superseded, _follow(reader, memory, lambda m: m.supersedes))
    _take(found, found.superseded_by, _follow(reader, memory, _successors))
    _take(found, found.conflicts, filter(None, map(reader.memory, memory.conflicts_with)))
    return found


def _take(trace: Trace, into: list[Memory], memories: Iterable[Memory]) -> None:
    size = 0
    for memory in memories:
        size += len(records.encode(memory))
        if len(into) == RELATED or size > BYTES:
            trace.truncated = True
            return
        into.append(memory)


def _successors(memory: Memory) -> list[str]:
    return [memory.superseded_by] if memory.superseded_by else []


def _follow(reader: Reader, start: Memory, links: Callable[[Memory], list[str]]) -> Iterator[Memory]:
    """All memories reached over `links`, nearest first; each once, even in a ring."""
    seen, ahead = {start.id}, deque(links(start))
    while ahead:
        id = ahead.popleft()
        memory = reader.memory(id) if id not in seen else None
        seen.add(id)
        if memory is not None:
            yield memory
            ahead += links(memory)

"""Counting the tokens of what is returned, and fitting it into `max_tokens`.

Every text that a writer gave counts, wherever it stands in a memory: tags and quotes fill a prompt as
contents do. Ids, digests, names of enumerations, numbers and times do not.
"""

from collections.abc import Iterator
from dataclasses import replace

from siltstone import rust_core
from siltstone.model import Hit, Memory, SearchResult
from siltstone.model.requests import GetMemoriesResponse


def texts(memory: Memory) -> Iterator[str]:
    """All texts of a memory that somebody wrote, in no particular order."""
    yield memory.summary
    yield memory.content
    yield memory.task_type
    yield memory.sequence
    yield from memory.tags
    yield from memory.tools_used
    for name, value in memory.attributes.items():
        yield name
        if isinstance(value, str):
            yield value
    if memory.lesson is not None:
        yield from (memory.lesson.problem, memory.lesson.root_cause, memory.lesson.solution)
        yield from (evidence.quote for evidence in memory.lesson.evidence)
    for evidence in memory.evidence:
        yield from (evidence.reviewer, evidence.note)
    if memory.source is not None:
        yield memory.source.writer


def count(memory: Memory, *more: str) -> int:
    return sum(rust_core.count_tokens(text) for text in (*texts(memory), *more) if text)


def fit_hits(result: SearchResult, max_tokens: int | None) -> None:
    """Keep the hits that fit, best first; of a first that does not, the part of its summary that does."""
    kept: list[Hit] = []
    for hit in result.hits:
        left = None if max_tokens is None else max_tokens - result.tokens_used
        tokens = count(hit.memory, hit.passage)
        if left is not None and tokens > left:
            result.truncated = True
            summary = "" if kept else rust_core.truncate_tokens(hit.memory.summary, left)
            if not summary:
                break
            hit = replace(hit, memory=replace(_bare(hit.memory), summary=summary), passage="")
            tokens = count(hit.memory)
        kept.append(hit)
        result.tokens_used += tokens
        if result.truncated:
            break
    result.hits = kept


def fit_memories(memories: list[Memory], max_tokens: int | None) -> GetMemoriesResponse:
    """Memories are whole up to the budget, but for the summary, which says nothing new and gives way first;
    the first that crosses it keeps as much of its content as fits, those after it no text at all. All are
    there, with their ids."""
    response = GetMemoriesResponse()
    for memory in memories:
        left = None if max_tokens is None else max_tokens - response.tokens_used
        if left is not None and (response.truncated_ids or count(memory) > left):
            brief = replace(memory, summary="")
            if response.truncated_ids or count(brief) > left:
                content = "" if response.truncated_ids else rust_core.truncate_tokens(memory.content, left)
                brief = replace(_bare(memory), content=content)
                response.truncated_ids.append(memory.id)
            memory = brief
        response.tokens_used += count(memory)
        response.memories.append(memory)
    return response


def _bare(memory: Memory) -> Memory:
    """The memory without any text."""
    return replace(
        memory,
        summary="",
        content="",
        task_type="",
        sequence="",
        position=None,
        tags=[],
        tools_used=[],
        attributes={},
        lesson=None,
        evidence=[],
        source=None,
    )

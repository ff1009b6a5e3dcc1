"""`max_tokens` is a hard cap: whatever the script and the view, the texts returned stay below it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from siltstone import rust_core
from siltstone.data import parse_time
from siltstone.engine.budget import count, fit_hits, fit_memories, texts
from siltstone.gateway import readable
from siltstone.local import Local
from siltstone.model import Evidence, Hit, Lesson, LessonEvidence, Memory, SearchResult, Source, Verdict

# Scripts of one, two, three and four bytes, marks that combine, and what tokenizers trip over.
SCRIPTS = st.text(
    alphabet=st.one_of(
        st.characters(codec="utf-8", exclude_categories=["Cs"]),
        st.sampled_from("abc déßЖשلไम汉字仮名한글😀👩‍🚀\u0301\u200d \n\t`'"),
    ),
    max_size=120,
)
SHORT = st.text(alphabet="ab汉ไ😀 ", min_size=1, max_size=20)


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    lesson = Lesson(
        problem=draw(SCRIPTS),
        solution=draw(SCRIPTS),
        evidence=[LessonEvidence(field="problem", step=1, quote=draw(SCRIPTS))],
    )
    time = parse_time("2026-01-01T00:00:00Z", "time")
    return Memory(
        id="01970000-0000-7000-8000-000000000001",
        content=draw(SCRIPTS),
        summary=draw(SCRIPTS),
        tags=draw(st.lists(SHORT, max_size=3)),
        tools_used=draw(st.lists(SHORT, max_size=2)),
        attributes=draw(st.dictionaries(SHORT, st.one_of(SHORT, st.floats(0, 1), st.booleans()), max_size=3)),
        task_type=draw(SHORT),
        sequence=draw(SHORT),
        lesson=draw(st.one_of(st.none(), st.just(lesson))),
        evidence=[Evidence(verdict=Verdict.WORKED, time=time, note=draw(SCRIPTS))],
        source=Source(writer=draw(SHORT)),
    )


def hit(memory: Memory, passage: str = "") -> Hit:
    parts = dict.fromkeys(("score", "similarity", "gate", "recency", "confidence", "cosine", "lexical"), 0.5)
    return Hit(memory=memory, support=0.0, passage=passage, **parts)


@settings(deadline=None)
@given(st.lists(st.tuples(memories(), SCRIPTS), max_size=5), st.integers(1, 200))
def test_hits_stay_below_the_cap_and_tokens_used_is_what_they_take(
    found: list[tuple[Memory, str]], most: int
) -> None:
    result = SearchResult(hits=[hit(memory, passage) for memory, passage in found])
    whole = SearchResult(hits=list(result.hits))
    fit_hits(whole, None)
    fit_hits(result, most)
    assert result.tokens_used == sum(count(h.memory, h.passage) for h in result.hits) <= most
    assert result.truncated == (result.hits != whole.hits)
    assert result.truncated == (whole.tokens_used > most)
    for kept, was in zip(result.hits[1:], whole.hits[1:], strict=False):
        assert kept == was, "only the first is ever cut"


@settings(deadline=None)
@given(st.lists(memories(), max_size=5), st.integers(1, 200))
def test_memories_read_stay_below_the_cap_and_all_are_there(found: list[Memory], most: int) -> None:
    response = fit_memories(found, most)
    assert [m.id for m in response.memories] == [m.id for m in found]
    assert response.tokens_used == sum(count(m) for m in response.memories) <= most
    whole = fit_memories(found, None)
    assert whole.memories == found
    assert whole.truncated_ids == []
    for kept, was in zip(response.memories, found, strict=True):
        assert was.content.startswith(kept.content)
        assert kept.id in response.truncated_ids or kept.content == was.content


@settings(deadline=None)
@given(st.lists(memories(), min_size=1, max_size=4), st.integers(1, 200))
def test_what_an_agent_reads_holds_no_text_beyond_the_cap(found: list[Memory], most: int) -> None:
    """What frames a note (id, score, dates) comes on top. A text in a line of its own may take a few tokens
    more than as it was counted."""
    result = SearchResult(hits=[hit(memory) for memory in found])
    fit_hits(result, most)
    frame = SearchResult(hits=[hit(_bare(h.memory)) for h in result.hits], truncated=result.truncated)
    shown = readable.search_result(result)
    pieces = sum(len(text.split()) + 4 for h in result.hits for text in texts(h.memory) if text)
    assert _tokens(shown) <= _tokens(readable.search_result(frame)) + most + pieces

    response = fit_memories(found, most)
    bare = replace(response, memories=[_bare(memory) for memory in response.memories])
    pieces = sum(len(text.split()) + 4 for memory in response.memories for text in texts(memory) if text)
    assert _tokens(readable.memories(response)) <= _tokens(readable.memories(bare)) + most + pieces


def _bare(memory: Memory) -> Memory:
    return Memory(id=memory.id, namespace=memory.namespace, event_time=memory.event_time)


def _tokens(text: str) -> int:
    return rust_core.count_tokens(text)


LONG = "磁盘满了。The disk was full! दूसरा वाक्य। 👩‍🚀 " * 60


@pytest.mark.parametrize("view", ["SUMMARY", "FULL"])
@pytest.mark.parametrize("most", [1, 7, 60, 300, 2000])
def test_a_search_keeps_the_cap_in_every_view(mem: Local, view: str, most: int) -> None:
    for i in range(4):
        mem.write(f"{i} {LONG}", tags=["标签" * 40], lesson={"problem": LONG}, on_duplicate="KEEP")
    result = mem.search("disk full 磁盘", view=view, max_tokens=most)
    assert result.tokens_used == sum(count(h.memory, h.passage) for h in result.hits) <= most
    assert result.truncated == (len(result.hits) < 4 or result.hits[0].memory.tags == [])
    assert result.hits or most == 1


def test_tags_and_quotes_count_as_contents_do(mem: Local) -> None:
    mem.write("short", tags=["word " * 50])
    assert mem.search("short").tokens_used > 50
    cut = mem.search("short", max_tokens=20)
    assert cut.truncated
    assert [(h.memory.summary, h.memory.tags) for h in cut.hits] == [("short", [])]


def test_the_summary_gives_way_before_the_content(mem: Local) -> None:
    id = mem.write("alpha " * 50).memory.id
    [memory] = mem.get(id, max_tokens=60)
    assert (memory.content, memory.summary) == ("alpha " * 50, "")


def test_eight_hits_come_by_default(mem: Local) -> None:
    for i in range(20):
        mem.write(f"note {i} 笔记", on_duplicate="KEEP")
    assert len(mem.search("note 笔记").hits) == 8

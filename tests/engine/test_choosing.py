"""Which hits fill a list: near-identical ones do not, and nothing else gives way."""

import numpy as np
import pytest
import siltstone
from hypothesis import given, settings
from hypothesis import strategies as st
from siltstone.engine.choosing import choose, copies_shown, near_cosine, pool_size
from siltstone.local import Local

SAME = {"on_duplicate": "KEEP"}


def alike(size: int, *groups: tuple[int, ...]) -> np.ndarray:
    near = np.full((size, size), -1.0, dtype=np.float32)
    for group in groups:
        near[np.ix_(group, group)] = 0.1
    np.fill_diagonal(near, -1.0)
    return near


def chosen(
    scores: list[float], near: np.ndarray, top_k: int, diversity: float = 0.5, differ: bool = False
) -> list[int]:
    return choose([(False, s) for s in scores], near, lambda i, j: differ, top_k, diversity)


def test_a_distinct_hit_takes_the_place_of_one_copy_too_many() -> None:
    scores = [0.9, 0.88, 0.87, 0.86, 0.5, 0.45]
    near = alike(6, (0, 1, 2, 3))
    assert chosen(scores, near, 2) == [0, 4]
    assert chosen(scores, near, 4) == [0, 1, 4, 5]
    assert [copies_shown(k) for k in (1, 2, 3, 4, 5, 6, 8, 100)] == [1, 1, 1, 2, 2, 3, 3, 3]


def test_a_copy_is_rather_shown_than_what_is_worth_less_than_what_it_keeps() -> None:
    assert chosen([0.9, 0.88, 0.3], alike(3, (0, 1)), 2) == [0, 1]
    assert chosen([0.9, 0.88, 0.3], alike(3, (0, 1)), 2, diversity=1.0) == [0, 2]


def test_what_differs_in_a_fact_is_no_copy() -> None:
    scores, near = [0.9, 0.88, 0.5], alike(3, (0, 1))
    assert chosen(scores, near, 2) == [0, 2]
    assert chosen(scores, near, 2, differ=True) == [0, 1]


def test_the_window_comes_before_what_is_worth_more() -> None:
    values = [(True, 0.4), (True, 0.39), (False, 0.9)]
    assert choose(values, alike(3, (0, 1)), lambda i, j: False, 2, 0.5) == [0, 1]


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=30),
    st.integers(1, 12),
    st.floats(0, 1),
    st.randoms(use_true_random=False),
)
def test_the_choice_is_the_plain_greedy_one(
    scores: list[float], top_k: int, diversity: float, random: object
) -> None:
    scores.sort(reverse=True)
    size = len(scores)
    near = np.array([[random.random() - 0.7 for _ in scores] for _ in scores], dtype=np.float32)  # type: ignore[attr-defined]
    near = np.minimum(near, near.T)
    np.fill_diagonal(near, -1.0)
    facts = np.array([[random.random() < 0.5 for _ in scores] for _ in scores])  # type: ignore[attr-defined]
    got = choose([(False, s) for s in scores], near, lambda i, j: bool(facts[i, j]), top_k, diversity)

    left, expected = list(range(size)), []
    while left and len(expected) < top_k:

        def worth(i: int) -> float:
            copies = sum(near[i, j] >= 0 and not facts[i, j] for j in expected)
            return scores[i] * (1 - diversity if copies >= copies_shown(top_k) else 1)

        best = max(left, key=lambda i: (worth(i), -i))
        left.remove(best)
        expected.append(best)
    assert got == sorted(expected)
    assert got[0] == 0
    assert len(got) == min(top_k, size)


def test_the_pool_is_a_few_times_the_list_and_bounded() -> None:
    assert pool_size(8, 0.5) == 24
    assert pool_size(100, 0.5) == 150
    assert pool_size(101, 0.5) == 101
    assert pool_size(8, 0.0) == 8


def test_nearness_is_measured_between_background_and_one() -> None:
    assert near_cosine(0.8) == pytest.approx(0.97)
    assert near_cosine(0.05) == pytest.approx(0.8575)
    assert near_cosine(None) == 0.98


COPIES = [
    "The api container refuses connections from the web container.",
    "the api container refuses connections from the web container",
    "The api container refuses connections from the web container!",
    "the API container refuses connections from the web container.",
    "THE API CONTAINER REFUSES CONNECTIONS FROM THE WEB CONTAINER",
    "The api container refuses connections, from the web container",
]
OTHERS = [
    "container connections need the same docker network",
    "the web container reaches the api by its service name",
    "a firewall refuses connections to the container host",
    "restart the api container after its port changed",
]


def write_copies(mem: Local) -> list[str]:
    """The ids of the copies, which are there beside the others."""
    ids = [mem.write(t, event_time="2026-01-01T00:00:00Z", **SAME).memory.id for t in COPIES + OTHERS]
    return ids[: len(COPIES)]


QUERY = {"query": "api container refuses connections from web container", "now": "2026-01-02T00:00:00Z"}


def test_copies_do_not_fill_the_list_and_explain_names_them(mem: Local) -> None:
    copies = set(write_copies(mem))
    plain = mem.search(**QUERY, top_k=5, diversity=0, explain=True)
    assert {h.memory.id for h in plain.hits} <= copies
    assert plain.explain is not None
    assert plain.explain.gave_way == []
    diverse = mem.search(**QUERY, top_k=5, explain=True)
    shown = [h.memory.id for h in diverse.hits]
    assert shown[0] == plain.hits[0].memory.id, "the best hit stays"
    assert len(copies & set(shown)) == 2
    assert len(shown) == 5
    assert diverse.explain is not None
    assert set(diverse.explain.gave_way) == {h.memory.id for h in plain.hits} - set(shown)
    assert [h.score for h in diverse.hits] == sorted((h.score for h in diverse.hits), reverse=True)


@pytest.mark.parametrize(("top_k", "most"), [(3, 1), (4, 2), (6, 3), (7, 3)])
def test_full_diversity_shows_so_many_copies_and_no_more(mem: Local, top_k: int, most: int) -> None:
    copies = set(write_copies(mem))
    shown = [h.memory.id for h in mem.search(**QUERY, top_k=top_k, diversity=1).hits]
    assert len(copies & set(shown)) == most
    assert len(shown) == top_k
    assert shown[0] in copies


def test_copies_are_all_there_when_there_is_room(mem: Local) -> None:
    copies = set(write_copies(mem))
    assert copies <= {h.memory.id for h in mem.search(**QUERY, top_k=10).hits}


def test_scores_do_not_depend_on_diversity(mem: Local) -> None:
    write_copies(mem)
    all_of_them = {h.memory.id: h.score for h in mem.search(**QUERY, top_k=10, diversity=0).hits}
    for hit in mem.search(**QUERY, top_k=5).hits:
        assert hit.score == all_of_them[hit.memory.id]


def test_a_copy_in_public_does_not_take_two_places(mem: Local) -> None:
    for namespace in ("mine", "public"):
        mem.write("容器之间无法通过服务名互相访问", namespace=namespace)
    for i, text in enumerate(["容器网络要相同", "服务名要写对", "容器重启之后再访问"]):
        mem.write(text, namespace="mine", position=i, sequence="s")
    query = "容器之间无法通过服务名访问"
    both = mem.search(query, namespace="mine", top_k=2, diversity=0).hits
    assert {h.memory.namespace for h in both} == {"mine", "public"}
    hits = mem.search(query, namespace="mine", top_k=2, diversity=1).hits
    assert len({h.memory.summary for h in hits}) == 2


def test_vectors_of_callers_count_as_alike_only_when_nearly_equal(mem: Local) -> None:
    for i, vector in enumerate([[1.0, 0.0, 0.0], [1.0, 0.01, 0.0], [0.9, 0.4, 0.0], [0.8, 0.0, 0.6]]):
        mem.write(f"caller {'abcd'[i]}", namespace="v", vector=vector, **SAME)
    found = mem.search(vector=[1.0, 0.0, 0.0], namespace="v", top_k=3, diversity=1)
    assert [h.memory.summary[-1] for h in found.hits] == ["a", "c", "d"]


def test_a_list_without_a_question_misses_nothing(mem: Local) -> None:
    write_copies(mem)
    newest = mem.search(top_k=5, explain=True)
    assert newest.explain is not None
    assert newest.explain.gave_way == []


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_diversity_out_of_range_is_refused_by_name(mem: Local, value: float) -> None:
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.search("x", diversity=value)
    assert caught.value.field == "diversity"

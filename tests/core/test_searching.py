"""Scores, order and batches against the formulas in numpy."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

DIMENSION = 8


def unit(vectors: Any) -> Any:
    vectors = np.asarray(vectors, dtype=np.float32).astype(np.float64)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.fixture
def vectors(core: Any) -> Any:
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(300, DIMENSION))
    core.apply(
        [
            (
                core.record(
                    i + 1,
                    f"note {i}",
                    confidence=float(rng.random()),
                    event_time=core.now - int(rng.integers(-3, 100)) * core.day,
                    sequence="run" if i % 2 else "",
                    position=int(rng.integers(0, 1000)) if i % 3 else None,
                ),
                core.pack(vectors[i]),
            )
            for i in range(300)
        ]
    )
    return vectors


def test_plain_weights_give_the_plain_formula(core: Any, vectors: Any) -> None:
    query = np.random.default_rng(6).normal(size=DIMENSION)
    hits = core.search(query, weights=core.plain, top_k=300)
    assert len(hits) == 300
    cosines = unit(vectors) @ unit(query)
    for hit in hits:
        cosine = cosines[core.number(hit.id) - 1]
        assert hit.cosine == pytest.approx(cosine, abs=2e-4)
        assert hit.score == pytest.approx(
            0.5 * max(hit.cosine, 0) + 0.3 * hit.recency + 0.2 * hit.confidence, abs=1e-6
        )
        assert hit.gate == 1.0
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_calibration_is_against_the_mean_of_all_live_vectors(core: Any, vectors: Any) -> None:
    query = np.random.default_rng(7).normal(size=DIMENSION)
    core.apply([], removes=[core.id(i) for i in range(1, 101)])
    cosines = (unit(vectors) @ unit(query))[100:]
    mu = (200 * cosines.mean() + 50 * 0.1) / 250
    weights = core.balanced | {"neighbours": 0.0}
    for hit in core.search(query, weights=weights, top_k=300):
        cosine = cosines[core.number(hit.id) - 101]
        expected = np.clip((max(cosine, 0) - mu) / (1 - mu), 0, 1)
        assert hit.similarity == pytest.approx(expected, abs=1e-4)


def test_every_score_is_what_its_parts_say(core: Any, vectors: Any) -> None:
    query = np.random.default_rng(8).normal(size=DIMENSION)
    hits = core.search(query, text="note 17", top_k=300)
    best = max(hit.similarity for hit in hits)
    assert any(hit.support > 0 for hit in hits)
    assert any(hit.lexical > 0 for hit in hits)
    for hit in hits:
        assert hit.gate == pytest.approx((hit.similarity / best) ** 6, abs=1e-9)
        score = 0.5 * hit.similarity + hit.gate * (0.3 * hit.recency + 0.2 * hit.confidence)
        assert hit.score == pytest.approx(score, abs=1e-9)


def test_a_batch_answers_as_one_by_one(core: Any, vectors: Any) -> None:
    rng = np.random.default_rng(9)
    requests = [core.request(rng.normal(size=DIMENSION), text=f"note {i}", top_k=5 + i) for i in range(20)]
    parts = ("id", "score", "similarity", "gate", "recency", "confidence", "cosine", "lexical", "support")

    def plain(output: Any) -> Any:
        return [tuple(getattr(hit, part) for part in parts) for hit in output.hits]

    batch = [plain(output) for output in core.search_many(requests)]
    single = [plain(core.search_many([request])[0]) for request in requests]
    assert batch == single
    with ThreadPoolExecutor(8) as pool:
        at_once = list(pool.map(lambda request: plain(core.search_many([request])[0]), requests * 5))
    assert at_once == single * 5


def test_an_empty_batch_has_no_answers(core: Any) -> None:
    assert core.search_many([]) == []


def test_the_plan_is_told(core: Any, vectors: Any) -> None:
    query = np.ones(DIMENSION)
    empty, some, few = core.search_many(
        [
            core.request(query, filter={"tags_any": ["none"]}),
            core.request(query),
            core.request(query, filter={"ids": [core.id(1)]}),
        ]
    )
    assert (empty.plan, empty.allowed, empty.candidates, empty.hits) == ("none", 0, 0, [])
    assert (some.plan, some.allowed, some.candidates) == ("scan", 300, 300)
    assert (few.plan, few.allowed, few.candidates) == ("all", 1, 1)


def test_chinese_text_is_matched_by_its_words(core: Any) -> None:
    rng = np.random.default_rng(10)
    texts = [
        "数据库连接超时，重启连接池后恢复",
        "部署脚本需要先登录",
        "用户喜欢喝咖啡",
        "database connection pool",
    ]
    for i, text in enumerate(texts):
        core.put(i + 1, text, rng.normal(size=DIMENSION))
    hits = core.search(text="连接超时")
    assert core.number(hits[0].id) == 1
    assert hits[0].lexical > 0.5
    assert core.found(text="咖啡")[0] == 3
    assert all(hit.cosine == 0 for hit in hits)


def test_without_vector_and_text_recency_and_confidence_order(core: Any) -> None:
    axis = np.eye(DIMENSION)
    core.put(1, "old and sure", axis[0], event_time=core.now - 300 * core.day, confidence=1.0)
    core.put(2, "new", axis[1], event_time=core.now, confidence=0.5)
    core.put(3, "future", axis[2], event_time=core.now + core.day, confidence=0.4)
    hits = core.search()
    assert [core.number(hit.id) for hit in hits] == [2, 3, 1]
    assert all(hit.similarity == 0 and hit.gate == 1 for hit in hits)
    assert hits[1].recency == 1.0


def test_neighbours_support_even_from_outside_the_filter(core: Any) -> None:
    axis = np.eye(DIMENSION)
    core.put(1, "问题", axis[0], sequence="会话", position=10, tags=["asked"])
    core.put(2, "回答", axis[1], sequence="会话", position=20, tags=["said"])
    core.put(3, "旁边", axis[2], sequence="会话", position=30, tags=["said"])
    core.put(4, "别处", axis[3], sequence="其他", position=15, tags=["said"])
    weights = core.balanced | {"calibrate": False}
    hits = {
        core.number(hit.id): hit
        for hit in core.search(axis[0], filter={"tags_any": ["said"]}, weights=weights)
    }
    assert hits.keys() == {2, 3, 4}
    assert hits[2].support == pytest.approx(0.3)
    assert hits[3].support == pytest.approx(0.1)
    assert hits[4].support == 0
    core.put(1, "问题", axis[0], sequence="会话", position=10, tags=["asked"], verification="REFUTED")
    assert all(
        hit.support == 0 for hit in core.search(axis[0], filter={"tags_any": ["said"]}, weights=weights)
    )


def test_a_hit_is_a_memory_scored_by_its_best_passage(core: Any) -> None:
    axis = np.eye(DIMENSION)
    core.put(1, "long", axis[:3])
    core.put(2, "short", axis[3])
    hit = core.search(axis[2], weights=core.plain)[0]
    assert (core.number(hit.id), hit.passage) == (1, 2)
    assert hit.cosine == pytest.approx(1.0)
    assert core.index.status(1).vectors == 4
    assert core.index.vectors_of(1, core.id(1)) == core.pack(axis[:3])
    assert core.index.vectors_of(1, core.id(9)) is None


def test_hits_inside_the_window_come_first(core: Any, vectors: Any) -> None:
    query = np.ones(DIMENSION)
    start, end = core.now - 20 * core.day, core.now - 10 * core.day
    hits = core.search(query, window=[start, end], top_k=300)
    inside = [hit.in_window for hit in hits]
    assert inside == sorted(inside, reverse=True)
    assert 0 < sum(inside) < 300
    for part in (True, False):
        scores = [hit.score for hit in hits if hit.in_window is part]
        assert scores == sorted(scores, reverse=True)
    open_end = core.search(query, window=[core.now, None], top_k=300)
    assert 0 < sum(hit.in_window for hit in open_end) < sum(hit.recency == 1.0 for hit in open_end) + 1


def test_min_score_cuts_and_top_k_limits(core: Any, vectors: Any) -> None:
    query = np.ones(DIMENSION)
    scores = [hit.score for hit in core.search(query, top_k=300)]
    assert [hit.score for hit in core.search(query, top_k=7)] == scores[:7]
    assert [hit.score for hit in core.search(query, top_k=300, min_score=scores[20])] == scores[:21]


def test_several_collections_are_scored_together(core: Any, make_core: Any) -> None:
    rng = np.random.default_rng(11)
    core.create(2)
    whole = make_core()
    whole.create()
    for i in range(60):
        vector = rng.normal(size=DIMENSION)
        core.put(i + 1, "text", vector, collection=1 + i % 2)
        whole.put(i + 1, "text", vector)
    query = rng.normal(size=DIMENSION)
    parted = core.search(query, collections=(2, 1), top_k=60)
    together = whole.search(query, top_k=60)
    assert [hit.id for hit in parted] == [hit.id for hit in together]
    assert [hit.score for hit in parted] == pytest.approx([hit.score for hit in together], abs=1e-9)
    assert {hit.collection for hit in parted} == {1, 2}
    assert core.search_many([core.request(query, collections=(1, 2))])[0].plan == "scan+scan"


def test_nearest_sees_every_live_memory(core: Any, vectors: Any) -> None:
    core.put(301, "hidden", vectors[0] * 3, superseded_by="x", verification="REFUTED", valid_until=0)
    queries = vectors[:4]
    found = core.index.nearest(1, core.pack(queries), 3)
    cosines = unit(vectors) @ unit(queries).T
    assert {core.number(id) for id, _ in found[0][:2]} == {1, 301}
    for i in range(1, 4):
        best = np.argsort(-cosines[:, i])[:3]
        assert [core.number(id) for id, _ in found[i] if core.number(id) != 301] == list(best + 1)[
            : len(found[i])
        ]
        assert found[i][0][1] == pytest.approx(1.0, abs=1e-6)
    assert core.index.nearest(1, b"", 3) == []

"""The core against the formulas in numpy, over more memories than it measures exactly at once."""

from typing import Any

import numpy as np
import pytest

COUNT, DIMENSION = 1500, 48
TOPICS = ["部署", "数据库", "network", "ci"]


def unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def world() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(30, DIMENSION))
    return {
        "vectors": centres[rng.integers(30, size=COUNT)] + 0.8 * rng.normal(size=(COUNT, DIMENSION)),
        "queries": centres[:6] + 0.8 * rng.normal(size=(6, DIMENSION)),
        "age_days": rng.integers(0, 200, size=COUNT),
        "confidence": rng.integers(0, 101, size=COUNT) / 100,
        "topic": rng.integers(4, size=COUNT),
        "version": rng.integers(0, 40, size=COUNT),
        "refuted": rng.random(COUNT) < 0.1,
        "run": rng.integers(60, size=COUNT),
    }


@pytest.fixture(scope="module")
def core(world: dict[str, Any], make_core_for_module: Any) -> Any:
    core = make_core_for_module(dimension=DIMENSION)
    core.create()
    core.apply(
        [
            (
                core.record(
                    i + 1,
                    f"memory {i}",
                    event_time=core.now - int(world["age_days"][i]) * core.day,
                    confidence=float(world["confidence"][i]),
                    tags=[TOPICS[world["topic"][i]]],
                    attributes={"version": f"8.0.{world['version'][i]}"},
                    verification="REFUTED" if world["refuted"][i] else "PENDING",
                    sequence=f"会话{world['run'][i]}",
                    position=i,
                ),
                core.pack(world["vectors"][i]),
            )
            for i in range(COUNT)
        ]
    )
    return core


FILTERS: dict[str, tuple[Any, Any]] = {
    "none": (None, lambda w: np.ones(COUNT, dtype=bool)),
    "tag": ({"tags_any": ["数据库", "ci"]}, lambda w: np.isin(w["topic"], [1, 3])),
    "not": ({"not": {"tags_any": ["部署"]}}, lambda w: w["topic"] != 0),
    "version": ({"attributes": {"version": {"gte": "8.0.9"}}}, lambda w: w["version"] >= 9),
    "confidence": (
        {"confidence": {"gt": 0.3, "lte": 0.9}},
        lambda w: (w["confidence"] > 0.3) & (w["confidence"] <= 0.9),
    ),
}
WEIGHTS: dict[str, dict[str, Any]] = {
    "balanced": {},
    "plain": {"gate": 0.0, "neighbours": 0.0, "calibrate": False},
    "no gate": {"gate": 0.0},
    "recency alone": {"similarity": 0.0, "confidence": 0.0, "recency": 1.0},
    "strong neighbours": {"neighbours": 0.9, "gate": 2.0},
}


def expected(core: Any, world: dict[str, Any], query: Any, weights: dict[str, Any], allowed: Any) -> Any:
    """The score of every memory; −1 where it may not be returned."""
    cosine = unit(world["vectors"]) @ unit(query)
    alone = np.clip(cosine, 0, 1)
    if weights["calibrate"]:
        mu = min((COUNT * cosine.mean() + 50 * 0.1) / (COUNT + 50), 0.95)
        alone = np.clip((np.maximum(cosine, 0) - mu) / (1 - mu), 0, 1)
    unsupported = np.ones(COUNT)
    for run in range(60):
        members = np.flatnonzero((world["run"] == run) & ~world["refuted"])
        for distance, share in ((1, 1.0), (2, 1 / 3)):
            factor = 1 - weights["neighbours"] * share * alone[members]
            unsupported[members[distance:]] *= factor[:-distance]
            unsupported[members[:-distance]] *= factor[distance:]
    similarity = 1 - (1 - alone) * unsupported
    allowed = allowed & ~world["refuted"]
    best = similarity[allowed].max()
    gate = (similarity / best) ** weights["gate"]
    recency = 0.5 ** (world["age_days"] * core.day / weights["half_life"])
    rest = weights["recency"] * recency + weights["confidence"] * world["confidence"]
    return np.where(allowed, weights["similarity"] * similarity + gate * rest, -1)


@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_scan_gives_the_top_k_of_all(core: Any, world: dict[str, Any], filter: str, weights: str) -> None:
    packed, lets_through = FILTERS[filter]
    weighed = core.balanced | WEIGHTS[weights]
    for query in world["queries"]:
        scores = expected(core, world, query, weighed, lets_through(world))
        hits = core.search(query, filter=packed, weights=weighed, top_k=10)
        found = [core.number(hit.id) - 1 for hit in hits]
        best = np.sort(scores)[::-1][:10]
        # rounding may swap near-equal scores: places compare by score, and every score is its own memory's
        assert [hit.score for hit in hits] == pytest.approx(best, abs=2e-4)
        assert [hit.score for hit in hits] == pytest.approx(scores[found], abs=2e-4)
        assert len(set(found)) == 10
        for hit in hits:
            parts = weighed["recency"] * hit.recency + weighed["confidence"] * hit.confidence
            assert hit.score == pytest.approx(
                weighed["similarity"] * hit.similarity + hit.gate * parts, abs=1e-6
            )


def test_a_batch_gives_bit_for_bit_what_single_searches_give(core: Any, world: dict[str, Any]) -> None:
    requests = [
        core.request(query, text, filter=packed, weights=core.balanced | weights, explain=True)
        for query in world["queries"]
        for packed, _ in FILTERS.values()
        for text, weights in (("", WEIGHTS["balanced"]), ("memory 7", WEIGHTS["strong neighbours"]))
    ]
    together = core.search_many(requests)
    for request, output in zip(requests, together, strict=True):
        (alone,) = core.search_many([request])
        assert [(h.id, h.score, h.cosine) for h in output.hits] == [
            (h.id, h.score, h.cosine) for h in alone.hits
        ]
        assert set(output.stages) == {"filter", "candidates", "scan", "score"}
        assert sum(output.stages.values()) == output.elapsed_us
    assert core.search_many([core.request(world["queries"][0])])[0].stages == {}


def test_nearest_gives_the_exact_order(core: Any, world: dict[str, Any]) -> None:
    cosines = unit(world["queries"]) @ unit(world["vectors"]).T
    for found, exact in zip(core.index.nearest(1, core.pack(world["queries"]), 8), cosines, strict=True):
        assert [core.number(id) - 1 for id, _ in found] == np.argsort(-exact)[:8].tolist()
        assert [cosine for _, cosine in found] == pytest.approx(np.sort(exact)[::-1][:8], abs=2e-5)

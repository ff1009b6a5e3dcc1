"""The search path: validate → embed → one native call → read the hits → choose → fit them into the budget."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field as default
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgpack

from siltstone.config import Settings
from siltstone.embed import Embedder
from siltstone.embed.texts import MAX_CHARACTERS
from siltstone.engine.budget import fit_hits
from siltstone.engine.call import PUBLIC, Call
from siltstone.engine.choosing import pool_size
from siltstone.engine.committing import dimension_mismatch
from siltstone.engine.core import TRIES, known_namespace
from siltstone.engine.filters import filter_map
from siltstone.engine.past import PastIndex
from siltstone.engine.ranking import Answer, Ranking
from siltstone.engine.validate import (
    Vector,
    check_batch,
    check_filter,
    check_label,
    check_range,
    check_vector,
    invalid,
    resolve_weights,
    shown,
)
from siltstone.engine.writing import Writing
from siltstone.errors import NotFoundError, UnavailableError
from siltstone.model import Explanation, SearchRequest, SearchResult, TimeWindow, Weights
from siltstone.model.requests import BatchSearchMemoriesRequest, BatchSearchMemoriesResponse
from siltstone.store import NamespaceRecord, Reader
from siltstone.store.records import to_microseconds
from siltstone.timephrase import find_window

DEFAULT_TOP_K = 8


@dataclass(slots=True)
class Plan:
    """A checked request with what it is answered from."""

    request: SearchRequest
    namespaces: list[NamespaceRecord]
    top_k: int
    weights: Weights
    vector: Vector | None
    now: datetime
    window: TimeWindow | None  # that the words for time in the query name
    embedded: dict[str, Vector] = default(default_factory=dict)  # model → of the query's text


class Searching(Writing):
    past: PastIndex
    ranking: Ranking

    def search_memories(self, request: SearchRequest, call: Call) -> SearchResult:
        return self._search([request], call, [""])[0]

    def batch_search_memories(
        self, request: BatchSearchMemoriesRequest, call: Call
    ) -> BatchSearchMemoriesResponse:
        check_batch(request.requests, self.settings, "requests")
        asked = sum(DEFAULT_TOP_K if r.top_k is None else r.top_k for r in request.requests)
        if asked > self.settings.max_batch_hits:
            raise invalid(
                "requests",
                f"ask for {asked:,} hits together; at most {self.settings.max_batch_hits:,} in one call "
                "(max_batch_hits), split it or lower top_k",
                "BATCH_TOO_LARGE",
            )
        fields = [f"requests[{i}]." for i in range(len(request.requests))]
        return BatchSearchMemoriesResponse(results=self._search(request.requests, call, fields))

    def _search(
        self, requests: Sequence[SearchRequest], call: Call, fields: Sequence[str]
    ) -> list[SearchResult]:
        for _ in range(TRIES):
            with self.store.read() as reader:
                plans = [self._plan(reader, r, field) for r, field in zip(requests, fields, strict=True)]
            searched = {n.number: n for plan in plans if plan.request.as_of is None for n in plan.namespaces}
            embed_us = self._embed(plans, fields)
            call.remaining()
            specs = [self._spec(plan, field) for plan, field in zip(plans, fields, strict=True)]
            try:
                with self.collections.held(searched.values()):
                    answers = self._answers(plans, specs, call)
                    if any(self.collections.generation(n.number) != n.generation for n in searched.values()):
                        continue  # moved to another model meanwhile: a query of the former says nothing
                    started = time.perf_counter()
                    results = self._results(plans, answers, call)
                    read_us = _microseconds_since(started)
                break
            except (KeyError, NotFoundError):
                continue  # a memory or namespace was deleted or an index reset meanwhile: the next plan knows
        else:
            raise UnavailableError("the namespaces changed faster than they could be searched; try again")
        for plan, answer, result in zip(plans, answers, results, strict=True):
            _say_window(result, plan.window)
            fit_hits(result, plan.request.max_tokens)
            if plan.request.task_id:
                self.show(plan.request.task_id, [hit.memory.id for hit in result.hits], call)
            if plan.request.explain:
                explain = result.explain or Explanation(plan="none")
                explain.embed_us, explain.read_us = embed_us, read_us
                if answer is not None:
                    explain.plan = answer.output.plan
                    explain.allowed = answer.output.allowed
                    explain.candidates = answer.output.candidates
                    explain.search_us = answer.output.elapsed_us
                    explain.stages_us = answer.output.stages
                result.explain = explain
            else:
                result.explain = None
        return results

    def _answers(
        self, plans: Sequence[Plan], specs: Sequence[dict[str, Any]], call: Call
    ) -> list[Answer | None]:
        """What the core finds; None for a search over namespaces that nothing was written to yet."""
        present = [
            spec
            for plan, spec in zip(plans, specs, strict=True)
            if plan.namespaces and plan.request.as_of is None
        ]
        index = self.collections.index
        with self.part("search"):
            found = iter(index.search(msgpack.packb(present)) if present else ())
        answers: list[Answer | None] = []
        for plan, spec in zip(plans, specs, strict=True):
            if not plan.namespaces:
                answers.append(None)
            elif plan.request.as_of is not None:
                answers.append(self.past.search(spec, plan.namespaces, plan.request.as_of, call))
            else:
                answers.append(Answer(next(found), index, {n.number: n for n in plan.namespaces}))
        return answers

    def _results(
        self, plans: Sequence[Plan], answers: Sequence[Answer | None], call: Call
    ) -> list[SearchResult]:
        """What is shown of what was found, read from the store in one snapshot."""
        orders = [
            None if answer is None else self.ranking.order(plan.request, plan.top_k, answer, call)
            for plan, answer in zip(plans, answers, strict=True)
        ]
        results = []
        with self.store.read() as reader:
            for order in orders:
                call.remaining()
                results.append(SearchResult() if order is None else self.ranking.result(order, reader))
        return results

    def _plan(self, reader: Reader, request: SearchRequest, field: str) -> Plan:
        _check_request(request, self.settings, field)
        top_k = DEFAULT_TOP_K if request.top_k is None else request.top_k
        check_range(top_k, 1, self.settings.max_top_k, f"{field}top_k")
        names = request.namespaces or ["default"]
        namespaces = [known_namespace(reader, name, f"{field}namespaces") for name in dict.fromkeys(names)]
        vector = None if request.vector is None else check_vector(request.vector, f"{field}vector")
        if request.include_public and PUBLIC not in names:
            public = reader.namespace(PUBLIC)
            if public is not None and self._searchable(public, request, vector):
                namespaces.append(public)
        now = request.as_of or request.now or datetime.now(UTC)
        found = find_window(request.query, now, request.time_zone) if request.query else None
        return Plan(
            request=request,
            namespaces=[n for n in namespaces if n.embedding_dimension],
            top_k=top_k,
            weights=resolve_weights(request, field),
            vector=vector,
            now=now,
            window=found.window if found else None,
        )

    def _searchable(self, public: NamespaceRecord, request: SearchRequest, vector: Vector | None) -> bool:
        """Whether `public`, which nobody named, has vectors that this search can be compared with. Whoever
        writes to it binds it to a model: that must not make the searches of all others fail."""
        if _takes(public, vector) or (request.query is None and vector is None):
            return bool(public.embedding_dimension)
        return request.query is not None and self.embedders.maker_of(public) is not None

    def _embed(self, plans: Sequence[Plan], fields: Sequence[str]) -> int:
        """Embed, in one batch, the queries that come without a vector; the time it took, in µs."""
        started = time.perf_counter()
        wanted: dict[str, tuple[Embedder, list[Plan]]] = {}
        for plan, field in zip(plans, fields, strict=True):
            for embedder in self._needed(plan) if plan.request.query is not None else ():
                if problem := embedder.query_problem(plan.request.query or ""):
                    raise invalid(f"{field}query", f"{problem}, ask for what matters in it", "QUERY_TOO_LONG")
                wanted.setdefault(embedder.model, (embedder, []))[1].append(plan)
        for model, (embedder, asking) in wanted.items():
            queries = [p.request.query for p in asking if p.request.query is not None]
            with self.part("embed"):
                vectors = embedder.embed_queries(queries)
            for plan, vector in zip(asking, vectors, strict=True):
                plan.embedded[model] = vector
        return _microseconds_since(started)

    def _needed(self, plan: Plan) -> list[Embedder]:
        """The models that embed the query, each once."""
        found = {}
        for namespace in plan.namespaces:
            embedder = self.embedders.maker_of(namespace)
            if embedder is not None and not _takes(namespace, plan.vector):
                found[embedder.model] = embedder
        return list(found.values())

    def _spec(self, plan: Plan, field: str) -> dict[str, Any]:
        """The request as the core reads it."""
        request, weights = plan.request, plan.weights
        return {
            "targets": [
                {
                    "collection": n.number,
                    "vector": self._target_vector(plan, n, field),
                    "background": self._background(n),
                }
                for n in plan.namespaces
            ],
            "text": request.query or "",
            "filter": filter_map(request.filter),
            "now": to_microseconds(plan.now),
            "weights": {
                "similarity": weights.similarity,
                "recency": weights.recency,
                "confidence": weights.confidence,
                "lexical": weights.lexical,
                "neighbours": weights.neighbours,
                "calibrate": weights.calibrate,
                "gate": weights.gate,
                "half_life": round(weights.half_life.total_seconds() * 1e6),
            },
            "top_k": self._pool(plan),
            "min_score": request.min_score,
            "include_superseded": request.include_superseded,
            "include_expired": request.include_expired,
            "include_refuted": request.include_refuted,
            "window": _bounds(plan.window),
            "explain": request.explain,
        }

    def _background(self, namespace: NamespaceRecord) -> float:
        embedder = self.embedders.maker_of(namespace)
        return 0.0 if embedder is None else embedder.background

    def _target_vector(self, plan: Plan, namespace: NamespaceRecord, field: str) -> bytes | None:
        vector = plan.vector
        if _takes(namespace, vector):
            pass
        elif plan.request.query is not None:
            self.check_model(namespace.embedding_model, namespace, f"{field}vector")
            vector = plan.embedded[namespace.embedding_model]
        elif vector is not None:
            raise dimension_mismatch(vector.size, namespace, f"{field}vector")
        return None if vector is None else vector.astype("<f4").tobytes()

    def _pool(self, plan: Plan) -> int:
        """How many hits the list is chosen from."""
        request = plan.request
        if request.query is None and plan.vector is None:
            return plan.top_k  # a list by time and confidence, which nothing is to be missing from
        return pool_size(plan.top_k, 1.0 if self.ranking.reranks(request) else request.diversity)


def _check_request(request: SearchRequest, settings: Settings, field: str) -> None:
    if request.query is not None and not request.query.strip():
        raise invalid(
            f"{field}query", "is blank; give text, or leave it out to order by recency", "EMPTY_QUERY"
        )
    if request.query is not None and len(request.query) > MAX_CHARACTERS:
        raise invalid(
            f"{field}query",
            f"{len(request.query):,} characters; at most {MAX_CHARACTERS:,}, ask for what matters in it",
            "QUERY_TOO_LONG",
        )
    if request.task_id:
        check_label(request.task_id, f"{field}task_id")
    if request.namespaces:
        check_batch(request.namespaces, settings, f"{field}namespaces")
    if request.filter is not None:
        check_filter(request.filter, settings, f"{field}filter")
    if request.max_tokens is not None:
        check_range(request.max_tokens, 1, 10_000_000, f"{field}max_tokens")
    if request.min_score is not None:
        check_range(request.min_score, 0.0, 1.0, f"{field}min_score")
    check_range(request.diversity, 0.0, 1.0, f"{field}diversity")
    try:
        ZoneInfo(request.time_zone)
    except (KeyError, ValueError, OSError):
        raise invalid(
            f"{field}time_zone", f"{shown(request.time_zone)} is no IANA time zone such as Asia/Shanghai"
        ) from None


def _bounds(window: TimeWindow | None) -> list[int | None] | None:
    if window is None:
        return None
    return [None if end is None else to_microseconds(end) for end in (window.start, window.end)]


def _say_window(result: SearchResult, window: TimeWindow | None) -> None:
    result.time_window = window
    if window is not None and not (window.start is not None and window.start == window.end):
        result.nothing_in_window = not any(hit.in_window for hit in result.hits)


def _takes(namespace: NamespaceRecord, vector: Vector | None) -> bool:
    return vector is not None and vector.size == namespace.embedding_dimension


def _microseconds_since(started: float) -> int:
    return round((time.perf_counter() - started) * 1e6)

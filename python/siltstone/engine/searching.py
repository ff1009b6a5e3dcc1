"""The search path: validate → embed → one native call → read the hits → fit them into the budget."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgpack

from siltstone import rust_core
from siltstone.embed.passages import split_passages
from siltstone.embed.texts import MAX_CHARACTERS
from siltstone.engine.call import Call
from siltstone.engine.core import PUBLIC, TRIES, known_namespace
from siltstone.engine.filters import filter_map
from siltstone.engine.validate import (
    Vector,
    check_filter,
    check_label,
    check_range,
    check_vector,
    invalid,
    resolve_weights,
    shown,
)
from siltstone.engine.writing import Writing, dimension_mismatch
from siltstone.errors import UnavailableError, UnimplementedError
from siltstone.model import Explanation, Hit, Memory, SearchRequest, SearchResult, View, Weights
from siltstone.model.requests import BatchSearchMemoriesRequest, BatchSearchMemoriesResponse
from siltstone.store import NamespaceRecord, Reader
from siltstone.store.keys import format_id
from siltstone.store.records import to_microseconds

DEFAULT_TOP_K = 8


@dataclass(slots=True)
class Plan:
    """A checked request with what it is answered from."""

    request: SearchRequest
    namespaces: list[NamespaceRecord]
    top_k: int
    weights: Weights
    vector: Vector | None
    embedded: Vector | None = None  # of the query's text


class Searching(Writing):
    def search_memories(self, request: SearchRequest, call: Call) -> SearchResult:
        return self._search([request], call, [""])[0]

    def batch_search_memories(
        self, request: BatchSearchMemoriesRequest, call: Call
    ) -> BatchSearchMemoriesResponse:
        if not request.requests:
            raise invalid("requests", "is empty; give at least one")
        if len(request.requests) > self.settings.max_batch:
            raise invalid(
                "requests",
                f"has {len(request.requests)}; at most {self.settings.max_batch} in one call (max_batch)",
            )
        fields = [f"requests[{i}]." for i in range(len(request.requests))]
        return BatchSearchMemoriesResponse(results=self._search(request.requests, call, fields))

    def _search(
        self, requests: Sequence[SearchRequest], call: Call, fields: Sequence[str]
    ) -> list[SearchResult]:
        for _ in range(TRIES):
            with self.store.read() as reader:
                plans = [self._plan(reader, r, field) for r, field in zip(requests, fields, strict=True)]
            for namespace in {n.number: n for plan in plans for n in plan.namespaces}.values():
                self.collections.ready(namespace)
            embed_us = self._embed(plans)
            call.remaining()
            specs = [self._spec(plan, field) for plan, field in zip(plans, fields, strict=True)]
            try:
                outputs = self._answers(specs)
            except KeyError:
                continue  # a namespace was deleted or its index reset meanwhile: the next plan knows
            started = time.perf_counter()
            with self.store.read() as reader:
                results = [self._result(reader, p, o) for p, o in zip(plans, outputs, strict=True)]
            read_us = _microseconds_since(started)
            if all(o is None or len(r.hits) == len(o.hits) for r, o in zip(results, outputs, strict=True)):
                break
        else:
            raise UnavailableError("the namespaces changed faster than they could be searched; try again")
        for plan, output, result in zip(plans, outputs, results, strict=True):
            self._budget(result, plan.request)
            if plan.request.explain:
                result.explain = Explanation(plan="none", embed_us=embed_us, read_us=read_us)
                if output is not None:
                    result.explain.plan = output.plan
                    result.explain.allowed = output.allowed
                    result.explain.candidates = output.candidates
                    result.explain.search_us = output.elapsed_us
        return results

    def _answers(self, specs: Sequence[dict[str, Any]]) -> list[rust_core.SearchOutput | None]:
        """What the core finds; None for a search over namespaces that nothing was written to yet."""
        asked = [spec for spec in specs if spec["targets"]]
        found = iter(self.collections.index.search(msgpack.packb(asked)) if asked else ())
        return [next(found) if spec["targets"] else None for spec in specs]

    def _plan(self, reader: Reader, request: SearchRequest, field: str) -> Plan:
        _check_request(request, field)
        top_k = DEFAULT_TOP_K if request.top_k is None else request.top_k
        check_range(top_k, 1, self.settings.max_top_k, f"{field}top_k")
        names = request.namespaces or ["default"]
        namespaces = [known_namespace(reader, name, f"{field}namespaces") for name in dict.fromkeys(names)]
        vector = None if request.vector is None else check_vector(request.vector, f"{field}vector")
        if request.include_public and PUBLIC not in names:
            public = reader.namespace(PUBLIC)
            if public is not None and self._searchable(public, request, vector):
                namespaces.append(public)
        return Plan(
            request=request,
            namespaces=[n for n in namespaces if n.embedding_dimension],
            top_k=top_k,
            weights=resolve_weights(request, field),
            vector=vector,
        )

    def _searchable(self, public: NamespaceRecord, request: SearchRequest, vector: Vector | None) -> bool:
        """Whether `public`, which nobody named, has vectors that this search can be compared with. Whoever
        writes to it binds it to a model: that must not make the searches of all others fail."""
        if _takes(public, vector) or (request.query is None and vector is None):
            return bool(public.embedding_dimension)
        return request.query is not None and public.embedding_model == self.embedder.model

    def _embed(self, plans: Sequence[Plan]) -> int:
        """Embed, in one batch, the queries that come without a vector; the time it took, in µs."""
        started = time.perf_counter()
        wanted = [p for p in plans if p.request.query is not None and self._needs_embedding(p)]
        if wanted:
            queries = [p.request.query for p in wanted if p.request.query is not None]
            for plan, vector in zip(wanted, self.embedder.embed_queries(queries), strict=True):
                plan.embedded = vector
        return _microseconds_since(started)

    def _needs_embedding(self, plan: Plan) -> bool:
        return any(
            n.embedding_model == self.embedder.model and not _takes(n, plan.vector) for n in plan.namespaces
        )

    def _spec(self, plan: Plan, field: str) -> dict[str, Any]:
        """The request as the core reads it."""
        request, weights = plan.request, plan.weights
        return {
            "targets": [
                {
                    "collection": n.number,
                    "vector": self._target_vector(plan, n, field),
                    "background": self.embedder.background
                    if n.embedding_model == self.embedder.model
                    else 0.0,
                }
                for n in plan.namespaces
            ],
            "text": request.query or "",
            "filter": filter_map(request.filter),
            "now": to_microseconds(request.now or datetime.now(UTC)),
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
            "top_k": plan.top_k,
            "min_score": request.min_score,
            "include_superseded": request.include_superseded,
            "include_expired": request.include_expired,
            "include_refuted": request.include_refuted,
            "window": None,
            "explain": request.explain,
        }

    def _target_vector(self, plan: Plan, namespace: NamespaceRecord, field: str) -> bytes | None:
        vector = plan.vector
        if _takes(namespace, vector):
            pass
        elif plan.request.query is not None:
            self.check_model(namespace.embedding_model, namespace, f"{field}vector")
            vector = plan.embedded
        elif vector is not None:
            raise dimension_mismatch(vector.size, namespace, f"{field}vector")
        return None if vector is None else vector.astype("<f4").tobytes()

    def _result(self, reader: Reader, plan: Plan, output: rust_core.SearchOutput | None) -> SearchResult:
        if output is None:
            return SearchResult()
        memories = reader.memories([format_id(hit.id) for hit in output.hits])
        hits = [
            Hit(
                memory=_view(memory, plan.request.view),
                score=hit.score,
                similarity=hit.similarity,
                gate=hit.gate,
                recency=hit.recency,
                confidence=hit.confidence,
                cosine=hit.cosine,
                lexical=hit.lexical,
                support=hit.support,
                passage=self._passage(memory, hit.passage),
                in_window=hit.in_window,
            )
            for hit, memory in zip(output.hits, memories, strict=True)
            if memory is not None and memory.invalidate_time is None
        ]
        return SearchResult(hits=hits)

    def _passage(self, memory: Memory, number: int) -> str:
        """The text of the passage that scored best; "" where the content is one passage."""
        limit = self.embedder.passage_tokens
        # A token is at least a byte: short contents need no splitting to know that they are whole.
        if memory.embedding_model != self.embedder.model or len(memory.content.encode()) <= limit:
            return ""
        passages = split_passages(memory.content, limit)
        return passages[number] if 1 < len(passages) > number else ""

    def _budget(self, result: SearchResult, request: SearchRequest) -> None:
        """Count the tokens of what is returned, and cut it to `max_tokens`."""
        left = request.max_tokens
        kept: list[Hit] = []
        for hit in result.hits:
            tokens = _tokens(hit)
            if left is not None and tokens > left:
                result.truncated = True
                cut = None if kept else _cut(hit, left)
                if cut is not None:
                    result.tokens_used += _tokens(cut)
                    kept.append(cut)
                break
            result.tokens_used += tokens
            left = None if left is None else left - tokens
            kept.append(hit)
        result.hits = kept


def _check_request(request: SearchRequest, field: str) -> None:
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
    if request.as_of is not None:
        raise UnimplementedError(
            "as_of is part of the contract but not of this version", field=f"{field}as_of"
        )
    if request.task_id:
        check_label(request.task_id, f"{field}task_id")
    if request.filter is not None:
        check_filter(request.filter, f"{field}filter")
    if request.max_tokens is not None:
        check_range(request.max_tokens, 1, 10_000_000, f"{field}max_tokens")
    if request.min_score is not None:
        check_range(request.min_score, 0.0, 1.0, f"{field}min_score")
    try:
        ZoneInfo(request.time_zone)
    except (KeyError, ValueError, OSError):
        raise invalid(
            f"{field}time_zone", f"{shown(request.time_zone)} is no IANA time zone such as Asia/Shanghai"
        ) from None


def _takes(namespace: NamespaceRecord, vector: Vector | None) -> bool:
    return vector is not None and vector.size == namespace.embedding_dimension


def _view(memory: Memory, view: View) -> Memory:
    return memory if view is View.FULL else replace(memory, content="", lesson=None)


def _texts(hit: Hit) -> Iterator[str]:
    yield hit.memory.summary
    yield hit.passage
    yield hit.memory.content
    if hit.memory.lesson is not None:
        yield hit.memory.lesson.problem
        yield hit.memory.lesson.root_cause
        yield hit.memory.lesson.solution


def _tokens(hit: Hit) -> int:
    return sum(rust_core.count_tokens(text) for text in _texts(hit) if text)


def _cut(hit: Hit, tokens: int) -> Hit | None:
    """The hit with its summary alone, cut to so many tokens; None where nothing of it fits."""
    summary = rust_core.truncate_tokens(hit.memory.summary, tokens)
    if not summary:
        return None
    return replace(hit, memory=replace(hit.memory, summary=summary, content="", lesson=None), passage="")


def _microseconds_since(started: float) -> int:
    return round((time.perf_counter() - started) * 1e6)

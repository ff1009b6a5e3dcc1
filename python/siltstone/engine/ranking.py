"""From what the core found to the hits that are returned: read, rerank, choose."""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from siltstone import rust_core
from siltstone.embed import Embedder
from siltstone.embed.passages import split_passages
from siltstone.engine.call import Call
from siltstone.engine.choosing import MOST_DIVERSE, Matrix, choose, near_cosine
from siltstone.model import Explanation, Hit, Memory, SearchRequest, SearchResult, View
from siltstone.rerank import Reranker, RerankError
from siltstone.store import NamespaceRecord, Past, Store
from siltstone.store.keys import format_id

log = logging.getLogger(__name__)

_COMPARED = 300  # characters of two contents that are looked at for facts in which they differ
_RERANKED_TOKENS = 512  # of a text that is one passage; more than rerankers take


@dataclass(frozen=True, slots=True)
class Answer:
    """What the core found, best first, and where: the index that knows the vectors of the hits."""

    output: rust_core.SearchOutput
    index: rust_core.Index
    searched: Mapping[int, NamespaceRecord]  # by the collection's number


@dataclass(slots=True)
class _Found:
    core: rust_core.CoreHit
    memory: Memory
    passage: str
    rerank_score: float | None = None


class Ranking:
    def __init__(self, store: Store, embedder: Embedder, reranker: Reranker | None) -> None:
        self._store = store
        self._embedder = embedder
        self._reranker = reranker

    def close(self) -> None:
        if self._reranker is not None:
            self._reranker.close()

    def reranks(self, request: SearchRequest) -> bool:
        return self._reranker is not None and request.rerank and request.query is not None

    def result(self, request: SearchRequest, top_k: int, answer: Answer, call: Call) -> SearchResult:
        """At most `top_k` hits. KeyError when something that was found is gone meanwhile."""
        explain = Explanation()
        hits = answer.output.hits
        near = self._near(answer, top_k) if request.diversity and len(hits) > top_k else None
        reranks = self.reranks(request)
        found = self._read(request, hits if reranks or near is not None else hits[:top_k])
        if reranks:
            order, explain.rerank = self._reranked(request, found, top_k, call)
            found = [found[i] for i in order]
            near = None if near is None else near[np.ix_(order, order)]
        best = list(range(min(top_k, len(found))))
        if near is not None:
            chosen = choose(
                _values(found),
                near,
                lambda i, j: _differ(found[i].memory, found[j].memory),
                top_k,
                request.diversity,
            )
            explain.gave_way = [found[i].memory.id for i in best if i not in chosen]
            best = chosen
        return SearchResult(hits=[_hit(found[i], request.view) for i in best], explain=explain)

    def _near(self, answer: Answer, top_k: int) -> Matrix | None:
        """How much nearer each two hits are than is needed to say nearly the same, by their best passages.
        None when no two of the first `top_k` do."""
        hits = answer.output.hits
        near = self._nearness(answer, hits[:top_k])
        if not (np.triu(near, 1) >= 0).any():
            return None
        return self._nearness(answer, hits)

    def _nearness(self, answer: Answer, hits: Sequence[rust_core.CoreHit]) -> Matrix:
        near = np.full((len(hits), len(hits)), -1.0, dtype=np.float32)
        by_model: dict[tuple[str, int], list[int]] = {}
        for i, hit in enumerate(hits):
            namespace = answer.searched[hit.collection]
            key = namespace.embedding_model, namespace.embedding_dimension
            by_model.setdefault(key, []).append(i)
        for (model, dimension), places in by_model.items():
            rows = np.stack([_row(answer.index, hits[i], dimension) for i in places])
            known = model == self._embedder.model
            threshold = near_cosine(self._embedder.background if known else None)
            near[np.ix_(places, places)] = rows @ rows.T - np.float32(threshold)
        np.fill_diagonal(near, -1.0)
        return near

    def _read(self, request: SearchRequest, hits: Sequence[rust_core.CoreHit]) -> list[_Found]:
        ids = [format_id(hit.id) for hit in hits]
        with self._store.read() as reader:
            memories = (reader if request.as_of is None else Past(reader, request.as_of)).memories(ids)
        found = []
        for hit, memory in zip(hits, memories, strict=True):
            if memory is None or memory.invalidate_time is not None:
                raise KeyError(format_id(hit.id))
            found.append(_Found(hit, memory, self._passage(memory, hit.passage)))
        return found

    def _passage(self, memory: Memory, number: int) -> str:
        """The text of the passage that scored best; "" where the content is one passage."""
        limit = self._embedder.passage_tokens
        # A token is at least a byte: short contents need no splitting to know that they are whole.
        if memory.embedding_model != self._embedder.model or len(memory.content.encode()) <= limit:
            return ""
        passages = split_passages(memory.content, limit)
        return passages[number] if 1 < len(passages) > number else ""

    def _reranked(
        self, request: SearchRequest, found: Sequence[_Found], top_k: int, call: Call
    ) -> tuple[list[int], str]:
        """The order in which the reranker has them, those in the window first, and what is said of it. It is
        the order they come in when it fails."""
        own = list(range(len(found)))
        if top_k > MOST_DIVERSE:
            return own, f"not asked: top_k is above {MOST_DIVERSE}"
        if not found:
            return own, ""
        assert self._reranker is not None
        assert request.query is not None
        texts = [
            hit.passage or rust_core.truncate_tokens(hit.memory.content, _RERANKED_TOKENS) for hit in found
        ]
        try:
            scores = self._reranker.scores(request.query, texts, timeout_s=call.remaining())
        except RerankError as error:
            log.warning("the reranker gave no order: %s", error)
            return own, f"failed: {error}"
        for hit, score in zip(found, scores, strict=True):
            hit.rerank_score = score
        return sorted(own, key=lambda i: (not found[i].core.in_window, -scores[i], i)), "done"


def _row(index: rust_core.Index, hit: rust_core.CoreHit, dimension: int) -> Matrix:
    packed = index.vectors_of(hit.collection, hit.id)
    if packed is None:
        raise KeyError(format_id(hit.id))
    rows = np.frombuffer(packed, dtype="<f4").reshape(-1, dimension)
    if hit.passage >= len(rows):
        raise KeyError(format_id(hit.id))  # written anew meanwhile, shorter
    row: Matrix = rows[hit.passage]
    return row


def _values(found: Sequence[_Found]) -> list[tuple[bool, float]]:
    """What each hit is worth, 0..1: its score, or the reranker's on whatever scale that is."""
    scores = [hit.core.score if hit.rerank_score is None else hit.rerank_score for hit in found]
    if any(hit.rerank_score is not None for hit in found) and not all(0 <= s <= 1 for s in scores):
        scores = [1 / (1 + math.exp(-max(-500.0, min(500.0, s)))) for s in scores]
    return [(hit.core.in_window, score) for hit, score in zip(found, scores, strict=True)]


def _differ(a: Memory, b: Memory) -> bool:
    return rust_core.facts_differ(a.content[:_COMPARED], b.content[:_COMPARED]) is not None


def _hit(found: _Found, view: View) -> Hit:
    core, memory = found.core, found.memory
    return Hit(
        memory=memory if view is View.FULL else replace(memory, content="", lesson=None),
        score=core.score,
        similarity=core.similarity,
        gate=core.gate,
        recency=core.recency,
        confidence=core.confidence,
        cosine=core.cosine,
        lexical=core.lexical,
        support=core.support,
        passage=found.passage,
        in_window=core.in_window,
        rerank_score=found.rerank_score,
    )

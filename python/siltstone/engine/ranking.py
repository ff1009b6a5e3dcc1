"""From what the core found to the hits that are returned: read, rerank, choose."""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from siltstone import rust_core
from siltstone.embed.passages import split_passages
from siltstone.engine.call import Call
from siltstone.engine.choosing import MOST_DIVERSE, Matrix, choose, near_cosine
from siltstone.engine.conflicts import newer_first
from siltstone.engine.embedders import Embedders
from siltstone.model import Explanation, Hit, Memory, SearchRequest, SearchResult, View
from siltstone.rerank import Reranker, RerankError
from siltstone.store import NamespaceRecord, Past, Reader, Store
from siltstone.store.keys import format_id

log = logging.getLogger(__name__)

_COMPARED = 300  # characters of two contents that are looked at for facts in which they differ
_MOST_VECTORS = 16  # of a memory that is compared with others: a longer text is hardly a copy
_NOT_IN_SUMMARY = ("lesson",)  # nor is the content, which is needed to tell the passage and the copies
_RERANKED_TOKENS = 512  # of a text that is one passage; more than rerankers take


@dataclass(frozen=True, slots=True)
class Answer:
    """What the core found, best first, and where: the index that knows the vectors of the hits."""

    output: rust_core.SearchOutput
    index: rust_core.Index
    searched: Mapping[int, NamespaceRecord]  # by the collection's number


@dataclass(slots=True)
class _Found:
    memory: Memory
    passage: str


@dataclass(slots=True)
class Order:
    """What was found, in the order in which it is to be shown."""

    request: SearchRequest
    top_k: int
    answer: Answer
    places: Sequence[int]  # of the hits, best first
    explain: Explanation
    found: dict[int, _Found]  # by place: what is read already
    reranked: dict[int, float]  # by place


class Ranking:
    def __init__(self, store: Store, embedders: Embedders, reranker: Reranker | None) -> None:
        self._store = store
        self._embedders = embedders
        self._reranker = reranker

    def reranks(self, request: SearchRequest) -> bool:
        return self._reranker is not None and request.rerank and request.query is not None

    def order(self, request: SearchRequest, top_k: int, answer: Answer, call: Call) -> Order:
        """The core's order, or the reranker's. KeyError when something that was found is gone meanwhile."""
        hits = answer.output.hits
        order = Order(request, top_k, answer, range(len(hits)), Explanation(), {}, {})
        if self.reranks(request):
            with self._store.read() as reader:
                for i in order.places:
                    self._look(order, reader, i)
            order.reranked, order.explain.rerank = self._reranked(request, order.found, top_k, call)
            order.places = sorted(
                order.places, key=lambda i: (not hits[i].in_window, -order.reranked.get(i, 0.0), i)
            )
        return order

    def result(self, order: Order, reader: Reader) -> SearchResult:
        """At most `top_k` hits. KeyError when something that was found is gone meanwhile."""
        hits, request, top_k = order.answer.output.hits, order.request, order.top_k
        best = order.places[:top_k]
        if request.diversity and len(hits) > top_k:
            near = self._near(order.answer, top_k)
            if near is not None:
                best = self._chosen(order, near, reader)
        shown = [
            _hit(hits[i], self._look(order, reader, i), request.view, order.reranked.get(i)) for i in best
        ]
        return SearchResult(hits=newer_first(shown), explain=order.explain)

    def _chosen(self, order: Order, near: Matrix, reader: Reader) -> list[int]:
        """The places of the hits that fill the list."""
        hits, places, top_k = order.answer.output.hits, order.places, order.top_k

        def differ(i: int, j: int) -> bool:
            one, other = (self._look(order, reader, places[at]).memory for at in (i, j))
            return _differ(one, other)

        worth = _worth([order.reranked.get(i, hits[i].score) for i in places])
        values = [(hits[i].in_window, value) for i, value in zip(places, worth, strict=True)]
        chosen = choose(values, near[np.ix_(places, places)], differ, top_k, order.request.diversity)
        order.explain.gave_way = [format_id(hits[places[i]].id) for i in range(top_k) if i not in chosen]
        return [places[i] for i in chosen]

    def _near(self, answer: Answer, top_k: int) -> Matrix | None:
        """How much nearer each two hits are than is needed to say nearly the same. None when no two of the
        first `top_k` do."""
        hits = answer.output.hits
        first = self._nearness(answer, hits[:top_k])
        return self._nearness(answer, hits) if first.max(initial=-1.0) >= 0 else None

    def _nearness(self, answer: Answer, hits: Sequence[rust_core.CoreHit]) -> Matrix:
        """As for a write: vector by vector, and the least of them; one that has more vectors says more."""
        alike: dict[tuple[str, int, int], list[int]] = {}  # model, dimension, bytes → hits to be compared
        packed = [_packed_vectors(answer.index, hit) for hit in hits]
        for i, hit in enumerate(hits):
            namespace = answer.searched[hit.collection]
            key = namespace.embedding_model, namespace.embedding_dimension, len(packed[i])
            alike.setdefault(key, []).append(i)
        near = np.full((len(hits), len(hits)), -1.0, dtype=np.float32)
        for (_, dimension, size), places in alike.items():
            count = size // (4 * dimension)
            if count > _MOST_VECTORS:
                continue
            numbers = np.frombuffer(b"".join([packed[i] for i in places]), dtype="<f4")
            if count == 1:
                rows = numbers.reshape(len(places), dimension)
                least = rows @ rows.T
            else:
                stack = numbers.reshape(len(places), count, dimension).transpose(1, 0, 2)
                least = (stack @ stack.transpose(0, 2, 1)).min(axis=0)
            least -= np.float32(self._near_cosine(answer.searched[hits[places[0]].collection]))
            if len(places) == len(hits):
                near = least
            else:
                near[np.ix_(places, places)] = least
        near.flat[:: len(hits) + 1] = -1.0  # none is compared with itself
        return near

    def _near_cosine(self, namespace: NamespaceRecord) -> float:
        embedder = self._embedders.maker_of(namespace)
        return near_cosine(None if embedder is None else embedder.background)

    def _look(self, order: Order, reader: Reader, place: int) -> _Found:
        if place not in order.found:
            hit = order.answer.output.hits[place]
            order.found[place] = self._read(reader, order.request, order.answer, hit)
        return order.found[place]

    def _read(self, reader: Reader, request: SearchRequest, answer: Answer, hit: rust_core.CoreHit) -> _Found:
        if request.as_of is None:
            without = () if request.view is View.FULL else _NOT_IN_SUMMARY
            memory = reader.member(answer.searched[hit.collection].number, hit.id, without)
        else:
            memory = Past(reader, request.as_of).memory(format_id(hit.id))
        if memory is None or memory.invalidate_time is not None:
            raise KeyError(hit.id)
        return _Found(memory, self._passage(memory, answer.searched[hit.collection], hit.passage))

    def _passage(self, memory: Memory, namespace: NamespaceRecord, number: int) -> str:
        """The text of the passage that scored best; "" where the content is one passage."""
        embedder = self._embedders.of(namespace)
        limit = embedder.passage_tokens
        # A token is at least a byte: short contents need no splitting to know that they are whole.
        if memory.embedding_model != embedder.model or len(memory.content.encode()) <= limit:
            return ""
        passages = split_passages(memory.content, limit)
        return passages[number] if 1 < len(passages) > number else ""

    def _reranked(
        self, request: SearchRequest, found: Mapping[int, _Found], top_k: int, call: Call
    ) -> tuple[dict[int, float], str]:
        """What the reranker gives to each, nothing when it fails; and what is said of it."""
        if top_k > MOST_DIVERSE:
            return {}, f"not asked: top_k is above {MOST_DIVERSE}"
        if not found:
            return {}, ""
        assert self._reranker is not None
        assert request.query is not None
        texts = [
            hit.passage or rust_core.truncate_tokens(hit.memory.content, _RERANKED_TOKENS)
            for hit in found.values()
        ]
        try:
            scores = self._reranker.scores(request.query, texts, timeout_s=call.remaining())
        except RerankError as error:
            # Not what the reranker said: it may repeat what it was sent.
            log.warning("the reranker gave no order: %s", str(error).partition(":")[0])
            return {}, f"failed: {error}"
        return dict(zip(found, scores, strict=True)), "done"


def _packed_vectors(index: rust_core.Index, hit: rust_core.CoreHit) -> bytes:
    packed = index.vectors_of(hit.collection, hit.id)
    if packed is None:
        raise KeyError(format_id(hit.id))
    return packed


def _worth(scores: list[float]) -> list[float]:
    """The scores as they are, or mapped into 0..1 where a reranker gives them on another scale."""
    if all(0 <= score <= 1 for score in scores):
        return scores
    return [1 / (1 + math.exp(-max(-500.0, min(500.0, score)))) for score in scores]


def _differ(a: Memory, b: Memory) -> bool:
    return rust_core.facts_differ(a.content[:_COMPARED], b.content[:_COMPARED]) is not None


def _hit(core: rust_core.CoreHit, found: _Found, view: View, rerank_score: float | None) -> Hit:
    memory = found.memory  # read for this answer alone
    if view is not View.FULL:
        memory.content, memory.lesson = "", None
    return Hit(
        memory=memory,
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
        rerank_score=rerank_score,
    )

"""Embeddings of texts seen lately."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from hashlib import blake2b

import numpy as np

from siltstone.embed.protocol import Embedder, Vectors
from siltstone.embed.texts import check_texts


class CachedEmbedder:
    """An embedder that keeps the `entries` vectors used last, queries and passages apart.

    Texts are kept as digests, so memory is bounded by ``entries · (4 · dimension + about 300)`` bytes and no
    text outlives its memory here. A text that another thread is embedding is waited for, not embedded again.
    The lock is never held while the model works.
    """

    def __init__(self, inner: Embedder, entries: int) -> None:
        self._inner = inner
        self._entries = entries
        self._lock = threading.Lock()
        self._vectors: OrderedDict[bytes, Vectors] = OrderedDict()
        self._pending: dict[bytes, Future[Vectors]] = {}
        self.model = inner.model
        self.dimension = inner.dimension
        self.background = inner.background
        self.merge_threshold = inner.merge_threshold
        self.passage_tokens = inner.passage_tokens

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed(b"passage", self._inner.embed_passages, texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._embed(b"query", self._inner.embed_queries, texts)

    def query_problem(self, text: str) -> str:
        return self._inner.query_problem(text)

    def close(self) -> None:
        with self._lock:
            self._vectors.clear()
        self._inner.close()

    def _embed(
        self, kind: bytes, compute: Callable[[Sequence[str]], Vectors], texts: Sequence[str]
    ) -> Vectors:
        # Checked before the split below, so that an error names the caller's position and a bad text of one
        # caller fails no other.
        checked = check_texts(texts)
        keys = [blake2b(text.encode(), digest_size=16, person=kind).digest() for text in checked]
        text_of = dict(zip(keys, checked, strict=True))
        found: dict[bytes, Vectors] = {}
        mine: dict[bytes, Future[Vectors]] = {}
        others: dict[bytes, Future[Vectors]] = {}
        with self._lock:
            for key in text_of:
                if key in self._vectors:
                    self._vectors.move_to_end(key)
                    found[key] = self._vectors[key]
                elif key in self._pending:
                    others[key] = self._pending[key]
                else:
                    mine[key] = self._pending[key] = Future()
        if mine:
            found |= self._compute(compute, text_of, mine)
        for key, future in others.items():
            # The other call may have failed for reasons of its own: then this text gets its own call.
            found[key] = compute([text_of[key]])[0] if future.exception() else future.result()
        vectors = np.empty((len(keys), self.dimension), dtype=np.float32)
        for row, key in enumerate(keys):
            vectors[row] = found[key]
        return vectors

    def _compute(
        self,
        compute: Callable[[Sequence[str]], Vectors],
        text_of: dict[bytes, str],
        mine: dict[bytes, Future[Vectors]],
    ) -> dict[bytes, Vectors]:
        try:
            rows = compute([text_of[key] for key in mine])
        except BaseException as error:
            with self._lock:
                for key in mine:
                    del self._pending[key]
            for future in mine.values():
                future.set_exception(error)
            raise
        # Copies: a view would keep the whole batch in memory.
        computed = {key: row.copy() for key, row in zip(mine, rows, strict=True)}
        with self._lock:
            for key, vector in computed.items():
                self._vectors[key] = vector
                del self._pending[key]
            while len(self._vectors) > self._entries:
                self._vectors.popitem(last=False)
        for key, future in mine.items():
            future.set_result(computed[key])
        return computed

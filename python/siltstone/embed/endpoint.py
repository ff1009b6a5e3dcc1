"""Any OpenAI-compatible embeddings endpoint."""

import json
import time
from collections.abc import Sequence
from typing import Any

import httpx2
import numpy as np

from siltstone.embed.protocol import Vectors
from siltstone.embed.texts import check_texts, without_nul
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


class _Transient(Exception):
    """Worth another try; the text says what happened."""


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
        api_key = api_key.strip()
        if not (api_key.isascii() and api_key.isprintable()):
            # The client would quote it in its own error.
            raise InvalidArgumentError(
                "api_key: has characters that no HTTP header may have", field="api_key"
            )
        self._name = model
        self.model = f"openai:{model}"
        self.background = background
        self.merge_threshold = merge_threshold
        self._key = api_key
        self._timeout_s = timeout_s
        self._backoff_s = backoff_s
        self._url, self._shown_url = _embeddings_url(base_url)
        self._client = httpx2.Client(
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {}, timeout=timeout_s
        )
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
            self._client.close()
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
        self._client.close()

    def _request(self, texts: list[str]) -> Vectors:
        for attempt in range(RETRIES + 1):
            try:
                return self._vectors(self._post(texts), len(texts))
            except _Transient as error:
                if attempt == RETRIES:
                    raise self._unavailable(f"{error}, {attempt + 1} times") from error
                time.sleep(self._backoff_s * 2**attempt)
        raise AssertionError("unreachable")

    def _post(self, texts: list[str]) -> bytes:
        deadline = time.monotonic() + self._timeout_s
        payload = {"model": self._name, "input": texts, "encoding_format": "float"}
        try:
            with self._client.stream("POST", self._url, json=payload) as response:
                body = bytearray()
                for chunk in response.iter_bytes():
                    body += chunk
                    # The client's timeout is for each read: a trickle would never end.
                    if time.monotonic() > deadline:
                        raise self._unavailable(f"no whole answer within {self._timeout_s:g} s")
                    if len(body) > MAX_BODY:
                        raise self._unavailable(f"answer above {MAX_BODY} bytes")
                if response.status_code != 200:
                    raise self._refusal(response.status_code, bytes(body))
                return bytes(body)
        except httpx2.TimeoutException as error:
            raise self._unavailable(f"no answer within {self._timeout_s:g} s") from error
        except httpx2.TransportError as error:
            raise _Transient(f"connection failed ({self._without_key(str(error))})") from error
        except httpx2.HTTPError as error:
            raise self._unavailable(self._without_key(str(error))) from error

    def _refusal(self, status: int, body: bytes) -> Exception:
        said = self._without_key(body[:300].decode(errors="replace"))
        if status == 429 or status >= 500:
            return _Transient(f"HTTP {status} ({said})")
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

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _embeddings_url(base_url: str) -> tuple[str, str]:
    """The URL to post to, and the same without user and password, for messages."""
    try:
        url = httpx2.URL(base_url.rstrip("/") + "/embeddings")
    except httpx2.InvalidURL as error:
        raise _bad_url(base_url, str(error)) from None
    if url.scheme not in ("http", "https") or not url.host:
        raise _bad_url(base_url, "no http:// or https:// address")
    return str(url), str(url.copy_with(username="", password=""))


def _bad_url(base_url: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"base_url: {base_url!r}: {why}; give the endpoint as http://host:port/v1", field="base_url"
    )

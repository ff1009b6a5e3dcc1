"""``POST /rerank`` as text-embeddings-inference, Jina and Cohere speak it (vLLM and llama.cpp speak Jina's).

TEI: ``{"query", "texts"}`` → ``[{"index", "score"}]``. Jina and Cohere: ``{"model", "query", "documents"}`` →
``{"results": [{"index", "relevance_score"}]}``. TEI serves the one model it was started with, so an endpoint
without a model's name is asked in its words.
"""

import json
import math
import threading
import time
from collections.abc import Sequence
from typing import Any

from siltstone.endpoint import Connection, Endpoint, EndpointError

MAX_BODY = 4 << 20  # bytes; an answer is a few numbers a text
PAUSE_S = 10.0  # after a failure: a dead reranker must not slow down every search


class RerankError(Exception):
    """The reranker gave no order; the text says why, and never holds its key."""


class Reranker:
    """Safe for many threads."""

    def __init__(
        self,
        base_url: str,
        *,
        model: str = "",
        api_key: str = "",
        timeout_s: float = 2.0,
        pause_s: float = PAUSE_S,
    ) -> None:
        """Nothing is asked yet: a reranker that is down keeps nothing from starting.

        Args:
            base_url: what stands before ``/rerank``, as ``http://127.0.0.1:8080`` or ``https://host/v1``.
            model: as the endpoint calls it; "" for one that serves a single model.
            api_key: sent as bearer token; "" sends none.
            timeout_s: for one request as a whole, > 0.
            pause_s: seconds in which it is not asked again after a failure.

        Raises:
            InvalidArgumentError: the URL or the key cannot be used.
        """
        self._endpoint = Endpoint(
            base_url, "/rerank", api_key=api_key, example="http://127.0.0.1:8080", settings="rerank_"
        )
        self._connection = Connection(self._endpoint)
        self._model = model
        self._timeout_s = timeout_s
        self._pause_s = pause_s
        self._lock = threading.Lock()
        self._resume_at = 0.0  # on time.monotonic's clock

    def scores(self, query: str, texts: Sequence[str], *, timeout_s: float | None = None) -> list[float]:
        """How well each text answers the query, in the order of `texts`; higher is better, finite, and of a
        scale of the model's own.

        Args:
            timeout_s: what is left of a deadline, where that is less than the setting; None: no deadline.

        Raises:
            RerankError: it cannot be reached, took too long, refused, or answered nonsense.
        """
        with self._lock:
            left = self._resume_at - time.monotonic()
        if left > 0:
            raise RerankError(f"not asked for another {left:.0f} s after a failure")
        allowed = self._timeout_s if timeout_s is None else min(timeout_s, self._timeout_s)
        try:
            return _scores(self._post(query, texts, allowed), len(texts))
        except RerankError:
            # A caller in a hurry says nothing about the endpoint.
            if allowed == self._timeout_s:
                with self._lock:
                    self._resume_at = time.monotonic() + self._pause_s
            raise

    def close(self) -> None:
        self._connection.close()

    def _post(self, query: str, texts: Sequence[str], allowed: float) -> bytes:
        payload: dict[str, Any] = {"query": query}
        if self._model:
            payload |= {"model": self._model, "documents": list(texts), "top_n": len(texts)}
        else:
            payload |= {"texts": list(texts), "truncate": True}
        try:
            status, body = self._connection.post(payload, timeout_s=allowed, most=MAX_BODY)
        except EndpointError as error:
            raise RerankError(str(error)) from None
        if status != 200:
            said = self._endpoint.without_key(body[:200].decode(errors="replace"))
            raise RerankError(f"HTTP {status}: {said}")
        return body


def _scores(body: bytes, count: int) -> list[float]:
    try:
        answer = json.loads(body)
        rows: list[Any] = answer if isinstance(answer, list) else answer["results"]
        scores = {row["index"]: row.get("relevance_score", row.get("score")) for row in rows}
        ordered = [float(scores[i]) for i in range(count)]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise RerankError(f"not an answer to /rerank: {type(error).__name__}: {error}") from None
    if len(rows) != count or not all(map(math.isfinite, ordered)):
        raise RerankError(f"{len(rows)} scores for {count} texts, or some that are not finite")
    return ordered

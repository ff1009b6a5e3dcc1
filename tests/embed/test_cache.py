"""The cache in front of a model."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from siltstone.embed import CachedEmbedder, Vectors
from siltstone.embed.hashing import HashingEmbedder
from siltstone.errors import InvalidArgumentError, UnavailableError


class Counting(HashingEmbedder):
    """Counts the texts the model saw, and can be made to wait or fail."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()
        self.fail_on = ""
        self.closed = 0

    def _see(self, kind: str, texts: Sequence[str]) -> Vectors:
        self.seen += [(kind, text) for text in texts]
        self.entered.set()
        assert self.go_on.wait(10)
        if self.fail_on in texts and self.fail_on:
            raise UnavailableError("down")
        return HashingEmbedder.embed_passages(self, texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._see("passage", texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._see("query", texts)

    def close(self) -> None:
        self.closed += 1


def until(condition: threading.Event) -> None:
    assert condition.wait(10)


def test_a_text_seen_before_is_not_embedded_again_and_rows_keep_their_order() -> None:
    model = Counting()
    cached = CachedEmbedder(model, 10)
    cached.embed_passages(["b", "好"])
    vectors = cached.embed_passages(["a", "好", "b", "a"])
    np.testing.assert_array_equal(vectors, HashingEmbedder().embed_passages(["a", "好", "b", "a"]))
    assert model.seen == [("passage", "b"), ("passage", "好"), ("passage", "a")]


def test_queries_and_passages_are_kept_apart() -> None:
    model = Counting()
    cached = CachedEmbedder(model, 10)
    cached.embed_passages(["a"])
    cached.embed_queries(["a"])
    assert model.seen == [("passage", "a"), ("query", "a")]


def test_the_entry_unused_longest_is_dropped_first() -> None:
    model = Counting()
    cached = CachedEmbedder(model, 2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed_queries([text])
    assert [text for _, text in model.seen] == ["a", "b", "c", "b"]


def test_a_batch_larger_than_the_cache_is_answered_whole() -> None:
    texts = [f"文本 {i}" for i in range(50)]
    vectors = CachedEmbedder(Counting(), 3).embed_passages(texts)
    np.testing.assert_array_equal(vectors, HashingEmbedder().embed_passages(texts))


def test_changing_an_answer_does_not_change_the_cache() -> None:
    cached = CachedEmbedder(Counting(), 10)
    first = cached.embed_queries(["a"])
    kept = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(cached.embed_queries(["a"]), kept)


def test_a_text_being_embedded_is_waited_for_while_others_pass() -> None:
    model = Counting()
    cached = CachedEmbedder(model, 10)
    cached.embed_queries(["known"])
    model.entered.clear()
    model.go_on.clear()
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(cached.embed_queries, ["slow"])
        until(model.entered)
        waiting = [pool.submit(cached.embed_queries, ["slow", "known"]) for _ in range(3)]
        cached.embed_queries(["known"])  # the model works, the lock is free
        model.go_on.set()
        for future in waiting:
            np.testing.assert_array_equal(future.result(10)[0], first.result(10)[0])
    assert model.seen.count(("query", "slow")) == 1


def test_the_failure_of_one_call_is_not_the_failure_of_another() -> None:
    model = Counting()
    cached = CachedEmbedder(model, 10)
    model.fail_on = "bad"
    model.go_on.clear()
    with ThreadPoolExecutor(2) as pool:
        failing = pool.submit(cached.embed_queries, ["good", "bad"])
        until(model.entered)
        waiting = pool.submit(cached.embed_queries, ["good"])
        model.go_on.set()
        with pytest.raises(UnavailableError):
            failing.result(10)
        assert waiting.result(10).shape == (1, model.dimension)


def test_a_failed_text_is_tried_again_by_the_next_call() -> None:
    model = Counting()
    cached = CachedEmbedder(model, 10)
    model.fail_on = "a"
    with pytest.raises(UnavailableError):
        cached.embed_queries(["a"])
    model.fail_on = ""
    assert cached.embed_queries(["a"]).shape == (1, model.dimension)


def test_a_bad_text_is_named_by_the_callers_position() -> None:
    model = Counting()
    cached = CachedEmbedder(model, 10)
    cached.embed_queries(["a"])
    with pytest.raises(InvalidArgumentError, match=r"texts\[2\]"):
        cached.embed_queries(["a", "a", "\udfff"])
    assert model.seen == [("query", "a")]


def test_no_texts_do_not_reach_the_model() -> None:
    model = Counting()
    assert CachedEmbedder(model, 10).embed_queries([]).shape == (0, model.dimension)
    assert model.seen == []


def test_closing_closes_the_model_and_forgets_the_vectors() -> None:
    model = Counting()
    cached = CachedEmbedder(model, 10)
    cached.embed_queries(["a"])
    cached.close()
    assert model.closed == 1
    cached.embed_queries(["a"])
    assert len(model.seen) == 2

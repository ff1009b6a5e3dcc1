"""Which of the best hits fill the list: near-identical ones do not fill it.

In the manner of maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998), with a step in place of a
slope: a hit loses a share of its value only to a better one that says nearly the same. Embeddings call notes
alike that differ in a version or a name, and those are news; so they lose half as much.
"""

import heapq
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

MOST_DIVERSE = 100  # a longer list is read by a program, which wants it by score
_NEAR = 0.85  # of the way from the cosine of unrelated texts to that of equal ones
_NEAR_UNKNOWN_MODEL = 0.98  # for vectors that callers bring

Matrix = npt.NDArray[np.float32]


def pool_size(top_k: int, diversity: float) -> int:
    """How many hits to choose from: enough for others to take the place of those that are alike."""
    return top_k if diversity == 0 or top_k > MOST_DIVERSE else min(3 * top_k, top_k + 50)


def near_cosine(background: float | None) -> float:
    """The cosine from which two passages say nearly the same.

    Args:
        background: the model's usual cosine of unrelated texts; None: it is not known.
    """
    return _NEAR_UNKNOWN_MODEL if background is None else background + _NEAR * (1 - background)


def choose(
    values: Sequence[tuple[bool, float]],
    near: Matrix,
    differ: Callable[[int, int], bool],
    top_k: int,
    diversity: float,
) -> list[int]:
    """The positions of at most `top_k` hits, ascending. The first hit is always among them.

    Args:
        values: of each hit, best first: whether it lies in the window, and what it is worth (≥ 0). One in the
            window comes before one outside whatever they are worth.
        near: (hits, hits); how much nearer two are than needed to say nearly the same, below 0 where they
            do not.
        differ: whether two near hits differ in a fact all the same. Asked seldom: it is slow.
        diversity: share of its value, 0..1, that a hit loses to a near one chosen before it.
    """
    # Lazily: what a hit is worth only falls as others are chosen, so the one on top of the heap is chosen
    # when, looked at again, it is still worth what put it there.
    heap = [(not inside, -value, i) for i, (inside, value) in enumerate(values)]
    heapq.heapify(heap)
    loss = [0.0] * len(values)
    compared: list[set[int]] = [set() for _ in values]
    chosen: list[int] = []
    while heap and len(chosen) < top_k:
        outside, worth, i = heap[0]
        for j in chosen:
            if loss[i] < diversity and near[i, j] >= 0 and j not in compared[i]:
                compared[i].add(j)
                loss[i] = max(loss[i], diversity / 2 if differ(i, j) else diversity)
        now = -values[i][1] * (1 - loss[i])
        if now > worth:
            heapq.heapreplace(heap, (outside, now, i))
        else:
            heapq.heappop(heap)
            chosen.append(i)
    return sorted(chosen)

"""Which of the best hits fill the list: copies of one statement do not.

A slope, as in maximal marginal relevance, takes places from what is merely related; here only a hit of which
the list has several copies already loses by it. Embeddings call notes alike that differ in a version or a
name, and those are news: facts decide what is a copy.
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


def copies_shown(top_k: int) -> int:
    """How many hits that say nearly the same a list shows before others go first: a third of it or so. The
    wordings of one statement answer different questions, so it is not one."""
    return max(1, min(3, top_k // 2))


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
        diversity: share of its value, 0..1, that a hit loses when `copies_shown` copies of it are chosen.
    """
    most = copies_shown(top_k)
    # Lazily: what a hit is worth only falls as others are chosen, so the one on top of the heap is chosen
    # when, looked at again, it is still worth what put it there.
    heap = [(not inside, -value, i) for i, (inside, value) in enumerate(values)]
    heapq.heapify(heap)
    compared = [0] * len(values)  # with how many of the chosen
    copies = [0] * len(values)
    chosen: list[int] = []
    while heap and len(chosen) < top_k:
        outside, worth, i = heap[0]
        for j in chosen[compared[i] :]:
            if copies[i] < most and near[i, j] >= 0 and not differ(i, j):
                copies[i] += 1
        compared[i] = len(chosen)
        now = -values[i][1] * (1 - diversity if copies[i] >= most else 1)
        if now > worth:
            heapq.heapreplace(heap, (outside, now, i))
        else:
            heapq.heappop(heap)
            chosen.append(i)
    return sorted(chosen)

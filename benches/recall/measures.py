"""What a ranking is worth, given the evidence of its question."""

import math
from collections.abc import Sequence

NAMES = ("recall@5", "recall@10", "hit@10", "MRR", "nDCG@10")


def measures(evidence: frozenset[str], ranked: Sequence[str]) -> dict[str, float]:
    """Each 0..1. What stands twice counts at its first place.

    recall@k: share of the evidence in the first k; hit@10: any of it there; MRR: 1 / rank of the first in the
    list; nDCG@10 with binary gains.
    """
    ranked = list(dict.fromkeys(ranked))
    ranks = [rank for rank, item in enumerate(ranked, 1) if item in evidence]
    within = [rank for rank in ranks if rank <= 10]
    ideal = sum(1 / math.log2(1 + rank) for rank in range(1, min(10, len(evidence)) + 1))
    return {
        "recall@5": sum(rank <= 5 for rank in ranks) / len(evidence),
        "recall@10": len(within) / len(evidence),
        "hit@10": float(bool(within)),
        "MRR": 1 / ranks[0] if ranks else 0.0,
        "nDCG@10": sum(1 / math.log2(1 + rank) for rank in within) / ideal,
    }

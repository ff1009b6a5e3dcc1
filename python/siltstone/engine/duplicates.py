"""Which memory says the same as a draft already.

A cosine never decides: in every small model contradictions are nearer than paraphrases. It only names whom to
compare; the texts decide, by their facts and their wording (`rust_core.statements_differ`).
`benches/duplicates.py` shows what that gives and where the thresholds come from.
"""

import math
from collections.abc import Iterator

import numpy as np

from siltstone import rust_core
from siltstone.engine.unseen import unseen_difference
from siltstone.engine.validate import Vector
from siltstone.store import NamespaceRecord, Writer, records
from siltstone.store.keys import format_id

LOOKED_AT = 16  # nearest memories of a draft whose texts are compared
MAX_COMPARED = 16_000  # characters; comparing longer texts takes longer than a writer may wait


def same_statement(old: str, new: str, cosine: float) -> bool:
    """Whether two texts with near vectors are one statement. Above `MAX_COMPARED` only equal ones are.

    Args:
        cosine: of their vectors.
    """
    if old == new:
        return True
    if max(len(old), len(new)) > MAX_COMPARED or unseen_difference(old, new, cosine):
        return False
    return rust_core.statements_differ(old, new) is None


def cosine_of(a: Vector | None, b: Vector) -> float:
    """How near two memories are: the least of their passages' cosines, pair by pair; 0 where they differ in
    number, since then one says more than the other."""
    if a is None or a.shape != b.shape:
        return 0.0
    return float(np.clip(np.einsum("ij,ij->i", a, b).min(), 0.0, 1.0))


def nearness(a: Vector | None, b: Vector) -> float:
    """The cosine of the two nearest passages of two memories, 0..1."""
    if a is None or a.shape[1] != b.shape[1]:
        return 0.0
    return float(np.clip((a @ b.T).max(), 0.0, 1.0))


class Newer:
    """Memories that the index did not show when the drafts were thought about: looked at all at once, since
    a batch compares every draft with all before it."""

    def __init__(self, dimension: int) -> None:
        self._ids: list[str] = []
        self._firsts = np.empty((16, dimension), dtype=np.float32)  # each one's first passage

    def add(self, id: str, vectors: Vector) -> None:
        if len(self._ids) == len(self._firsts):
            self._firsts = np.concatenate([self._firsts, np.empty_like(self._firsts)])
        self._firsts[len(self._ids)] = vectors[0]
        self._ids.append(id)

    def near(self, vectors: Vector, threshold: float, limit: int = LOOKED_AT) -> list[str]:
        """Ids of at most `limit` whose first passage is as near as `threshold`, nearest first."""
        if math.isinf(threshold):
            return []
        cosines = self._firsts[: len(self._ids)] @ vectors[0]
        near = np.flatnonzero(cosines >= threshold - 1e-5)
        return [self._ids[i] for i in near[np.argsort(-cosines[near], kind="stable")][:limit]]


def newer_memories(writer: Writer, namespace: NamespaceRecord, seq: int) -> Iterator[tuple[str, Vector]]:
    """Memories put since `seq`, earlier operations of this very transaction included."""
    for change in writer.changes(namespace.number, seq) or ():
        for record, packed in change.puts:
            id = format_id(records.unpack(record)["id"])
            yield id, np.frombuffer(packed, dtype="<f4").reshape(-1, namespace.embedding_dimension)

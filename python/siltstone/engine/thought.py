"""A draft with all that can be worked out before its transaction."""

from dataclasses import dataclass, field

from siltstone.engine.conflicts import Claim, Judgement, judge
from siltstone.engine.duplicates import same_statement
from siltstone.engine.validate import Vector
from siltstone.model import Memory, MemoryDraft


@dataclass(slots=True)
class Thought:
    """Opinions on a memory are kept with the state they were formed on: what was looked at before the
    transaction is not looked at again in it, unless it changed."""

    draft: MemoryDraft
    memory: Memory
    vectors: Vector  # (passages, dimension), unit length
    digest: bytes
    claim: Claim | None  # None: it neither replaces nor contradicts anything by its text
    near: list[str]  # ids of memories that are near in meaning, nearest first
    masked: list[str] = field(default_factory=list)  # what screening took out of the draft
    _same: dict[str, tuple[str, bool]] = field(default_factory=dict)
    _judged: dict[str, tuple[Memory, Judgement | None]] = field(default_factory=dict)

    def says_the_same(self, old: Memory, cosine: float) -> bool:
        seen = self._same.get(old.id)
        if seen is None or seen[0] != old.content:
            seen = old.content, same_statement(old.content, self.draft.content, cosine)
            self._same[old.id] = seen
        return seen[1]

    def judgement(self, old: Memory) -> Judgement | None:
        if self.claim is None:
            return None
        seen = self._judged.get(old.id)
        if seen is None or seen[0] != old:
            seen = old, judge(self.claim, old)
            self._judged[old.id] = seen
        return seen[1]

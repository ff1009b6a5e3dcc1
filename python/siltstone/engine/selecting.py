"""The memories that a filter lets through, as of the commit that changes them.

An index answers which those are, before the transaction and without a lock. Until the transaction runs some
may have changed: those are asked again in it, of an index made of them alone, since what a filter means is
known in one place only.
"""

from dataclasses import dataclass

from siltstone.engine import filters
from siltstone.errors import UnavailableError
from siltstone.model import Filter
from siltstone.rust_core import Index
from siltstone.store import Reader, records
from siltstone.store.keys import format_id


@dataclass(frozen=True, slots=True)
class Selection:
    """What a filter let through at a commit.

    Attributes:
        namespace: its number; 0: see `given`.
        seq: the commit; what changed later is asked again.
        now: the moment, µs since 1970, by which a memory counts as expired.
        ids: ascending.
    """

    namespace: int
    filter: Filter
    seq: int
    now: int
    ids: list[str]

    @classmethod
    def given(cls, ids: list[str]) -> "Selection":
        """Ids that no filter chose: they stay what they are."""
        return cls(0, Filter(), 0, 0, ids)

    def as_of(self, reader: Reader) -> list[str]:
        """The ids at the commit that `reader` sees, ascending; forgotten memories among them."""
        if not self.namespace:
            return self.ids
        changed = reader.changed(self.namespace, self.seq)
        if changed is None:
            raise UnavailableError("the namespace changed faster than it could be searched; try again")
        if not changed:
            return self.ids
        again = select(self.namespace, reader.packed(self.namespace, changed), self.filter, self.now)
        return sorted({*again, *(id for id in self.ids if id not in changed)})


def select(number: int, packed: list[tuple[bytes, bytes]], filter: Filter, now: int) -> list[str]:
    """Ids of those among (record, vectors) that a filter lets through, ascending; forgotten memories too."""
    if not packed:
        return []
    index = Index(None)
    index.create(number, records.unpack(packed[0][0])["embedding_dimension"], 0)
    index.apply(number, 1, packed, [])
    return [format_id(id) for id in index.select(number, filters.packed(filter), now)]

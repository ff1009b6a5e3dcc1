"""What memories were at a moment in the past, from their revisions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import numpy as np

from siltstone.model import Memory
from siltstone.store import records
from siltstone.store.reader import Reader
from siltstone.store.records import NamespaceRecord


@dataclass(frozen=True, slots=True)
class PastRecord:
    """What an index of that moment would hold of a memory.

    Attributes:
        record: msgpack, as `rust_core.Index.apply` takes it.
        vectors: packed little-endian float32; b"" where they were of another model than the namespace's is
            now, which cannot be compared with today's queries.
    """

    id: str
    record: bytes
    vectors: bytes


class Past:
    """A snapshot read as of a moment.

    A change that kept no revision left the text as it was, so the state after it stands for the one before.
    What was erased since is not there: it left no trace.
    """

    def __init__(self, reader: Reader, time: datetime) -> None:
        self._reader = reader
        self._time = time

    def memory(self, id: str) -> Memory | None:
        """The memory as it stood, an invalidated one as well; None for one that was made later."""
        memory = self._reader.memory(id)
        if memory is None or memory.create_time is None or memory.create_time > self._time:
            return None
        if memory.update_time is None or memory.update_time <= self._time:
            return memory
        return self._reader.state_before(memory, self._time)

    def memories(self, ids: Sequence[str]) -> list[Memory | None]:
        """As `memory`, in the order of `ids`."""
        return [self.memory(id) for id in ids]

    def record(self, id: str, namespace: NamespaceRecord) -> PastRecord | None:
        """None for a memory that was not in the index: made later, invalidated, or without vectors."""
        memory = self.memory(id)
        if memory is None or memory.invalidate_time is not None:
            return None
        vectors = self._reader.revision_vectors(id, memory.revision)
        if vectors is None:
            return None
        same = memory.embedding_model == namespace.embedding_model
        same = same and vectors.shape[1] == namespace.embedding_dimension  # a model of the same name
        packed = np.ascontiguousarray(vectors, dtype="<f4").tobytes() if same else b""
        return PastRecord(id, records.encode(memory), packed)

    def scan(self, namespace: NamespaceRecord, *, after_id: str, count: int) -> tuple[list[PastRecord], str]:
        """Those of the next `count` memories behind `after_id` ("" for the first) that were in the index, and
        the id to go on after; "" when there are no more."""
        time = records.to_microseconds(self._time)
        found: list[PastRecord] = []
        scanned = list(islice(self._reader.scan_packed(namespace.number, after_id=after_id), count))
        for id, record, vectors in scanned:
            fields = records.unpack(record)
            if fields["create_time"] > time:
                continue
            # As most memories are: not changed since, so that nothing need be decoded.
            if fields["update_time"] <= time and fields.get("embedding_model") == namespace.embedding_model:
                if vectors and "invalidate_time" not in fields:
                    found.append(PastRecord(id, record, vectors))
            elif (past := self.record(id, namespace)) is not None:
                found.append(past)
        return found, scanned[-1][0] if len(scanned) == count else ""

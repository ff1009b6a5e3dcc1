"""Searching what was believed at a moment in the past.

Revisions are not in the live index. A search with `as_of` builds a collection of the namespace as it stood
then, in memory, from the store alone, and asks the same core: filters and scores are those of any search. It
costs one scan of the namespace (about a second for 50,000 memories), so the collections used last are kept.
Later commits change little of the past (an erasure, for one); a kept collection learns them from the change
log.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgpack
import numpy as np

from siltstone.embed.passages import embedded_texts
from siltstone.engine.call import Call
from siltstone.engine.embedders import Embedders
from siltstone.engine.ranking import Answer
from siltstone.errors import DeadlineExceededError, FailedPreconditionError, ResourceExhaustedError
from siltstone.model import Memory
from siltstone.rust_core import Index
from siltstone.store import Change, NamespaceRecord, Past, PastRecord, Store, records
from siltstone.store.keys import format_id, parse_id

_KEPT = 8  # collections
_CHUNK = (
    1000  # memories read in one snapshot while building: a long one would keep pages from being used again
)


@dataclass(slots=True)
class _Collection:
    number: int
    seq: int  # the commit up to which the store was looked at


class PastIndex:
    """Collections of namespaces as they stood. Searches take turns: a collection is built within one."""

    def __init__(self, store: Store, embedders: Embedders, most_memories: int) -> None:
        self._index = Index(None)
        self._store = store
        self._embedders = embedders
        self._most = most_memories
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int, datetime], _Collection] = OrderedDict()  # least recent first
        self._made = 0

    def search(
        self, spec: dict[str, Any], namespaces: Sequence[NamespaceRecord], as_of: datetime, call: Call
    ) -> Answer:
        """What the core finds in `namespaces`, which the targets of `spec` name in this order.

        Raises:
            NotFoundError: a namespace was deleted meanwhile.
            ResourceExhaustedError: (AS_OF_TOO_LARGE) a namespace has more memories than the setting allows.
        """
        left = call.remaining()
        if not self._lock.acquire(timeout=-1 if left is None else left):
            raise DeadlineExceededError("the deadline passed while other searches of the past ran; try again")
        try:
            targets, searched = [], {}
            for target, namespace in zip(spec["targets"], namespaces, strict=True):
                collection = self._ready(namespace, as_of, call)
                targets.append(target | {"collection": collection.number})
                searched[collection.number] = namespace
            [output] = self._index.search(msgpack.packb([spec | {"targets": targets}]))
            self._trim()
        finally:
            self._lock.release()
        return Answer(output, self._index, searched)

    def _ready(self, namespace: NamespaceRecord, as_of: datetime, call: Call) -> _Collection:
        key = namespace.number, namespace.generation, as_of
        collection = self._kept.get(key)
        if collection is not None and not self._catch_up(collection, namespace, as_of):
            self._index.drop(self._kept.pop(key).number)
            collection = None
        if collection is None:
            self._made += 1
            collection = _Collection(self._made, 0)
            try:
                self._build(collection, namespace, as_of, call)
            except BaseException:
                self._index.drop(collection.number)
                raise
            self._kept[key] = collection
        self._kept.move_to_end(key)
        return collection

    def _build(
        self, collection: _Collection, namespace: NamespaceRecord, as_of: datetime, call: Call
    ) -> None:
        self._index.create(collection.number, namespace.embedding_dimension, 0)
        with self._store.read() as reader:
            collection.seq = reader.seq
        after, memories = "", 0
        while True:
            call.remaining()
            with self._store.read() as reader:
                found, after = Past(reader, as_of).scan(namespace, after_id=after, count=_CHUNK)
            memories += len(found)
            if memories > self._most:
                raise ResourceExhaustedError(
                    f"as_of: namespace {namespace.name!r} had more than {self._most:,} memories then, too "
                    "many to read its past; raise max_as_of_memories on a machine with the memory for it",
                    reason="AS_OF_TOO_LARGE",
                    field="as_of",
                )
            self._apply(collection, namespace, found, [])
            if not after:
                break
        # What was erased, or changed before its chunk was read, while others were.
        if not self._catch_up(collection, namespace, as_of):
            raise ResourceExhaustedError(
                "as_of: more was written while the past was read than the change log keeps; try again",
                reason="AS_OF_TOO_LARGE",
                field="as_of",
            )

    def _catch_up(self, collection: _Collection, namespace: NamespaceRecord, as_of: datetime) -> bool:
        """Take over what commits since changed of the past; False when the change log no longer tells."""
        with self._store.read() as reader:
            changes = reader.changes(namespace.number, collection.seq)
            if changes is None:
                return False
            changed = [id for change in changes for id in _ids(change)]
            past = Past(reader, as_of)
            now = [past.record(id, namespace) for id in changed]
            collection.seq = reader.seq
        gone = [id for id, record in zip(changed, now, strict=True) if record is None]
        self._apply(collection, namespace, [record for record in now if record is not None], gone)
        return True

    def _apply(
        self,
        collection: _Collection,
        namespace: NamespaceRecord,
        puts: Sequence[PastRecord],
        removes: Sequence[str],
    ) -> None:
        if puts or removes:
            seq = self._index.status(collection.number).applied_seq + 1
            packed = [(put.record, put.vectors or self._embed(put.record, namespace)) for put in puts]
            self._index.apply(collection.number, seq, packed, [parse_id(id) for id in removes])

    def _embed(self, record: bytes, namespace: NamespaceRecord) -> bytes:
        """Vectors for a text whose own were made by a former model."""
        embedder = self._embedders.of(namespace)
        if namespace.embedding_model != embedder.model:
            raise FailedPreconditionError(
                f"as_of: the namespace {namespace.name!r} was moved to another embedding model since, and "
                f"{namespace.embedding_model!r}, which could embed its former texts, is not the one that "
                f"runs ({embedder.model!r}); start the service with it",
                reason="EMBEDDING_MODEL_MISMATCH",
                field="as_of",
            )
        memory = records.decode(record, Memory)
        texts = embedded_texts(memory.content, memory.lesson, embedder.passage_tokens)
        vectors = embedder.embed_passages(texts)
        return np.ascontiguousarray(vectors, dtype="<f4").tobytes()

    def _trim(self) -> None:
        sizes = {key: self._index.status(kept.number).memories for key, kept in self._kept.items()}
        while len(self._kept) > _KEPT or sum(sizes.values()) > self._most:
            key, collection = self._kept.popitem(last=False)
            del sizes[key]
            self._index.drop(collection.number)


def _ids(change: Change) -> list[str]:
    put = [records.unpack(record)["id"] for record, _ in change.puts]
    return [format_id(id) for id in [*put, *change.removes]]

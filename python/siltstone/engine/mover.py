"""Moves namespaces to another embedding model, behind the calls.

The vectors of the new model gather beside those that serve; an index is made of them; then one small commit
says that they are the namespace's. Where it stands is in the store alone, so it goes on after whatever
stopped it.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial

from siltstone.embed.passages import embedded_texts
from siltstone.engine.collections import Collections
from siltstone.engine.embedders import Embedders
from siltstone.errors import SiltstoneError
from siltstone.model import Memory
from siltstone.store import NamespaceRecord, Store, Writer

_AT_ONCE = 16  # memories embedded between two looks at whether to stop
_CLEARED_AT_ONCE = 1000
_LOOK_S = 1.0  # between two looks whether somebody still waits
RETRY_S = 30.0  # after a failure, such as an endpoint that does not answer

log = logging.getLogger(__name__)


class Mover:
    def __init__(self, store: Store, collections: Collections, embedders: Embedders) -> None:
        self._store = store
        self._collections = collections
        self._embedders = embedders
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._turn = threading.Condition()
        self._failures = 0  # rounds after which something has to be tried again
        self._thread = threading.Thread(target=self._run, name="siltstone-mover", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """What is under way stops between two steps, and goes on with the next start."""
        self._stop.set()
        self._wake.set()
        self._told()
        if self._thread.is_alive():
            self._thread.join()

    def wake(self) -> None:
        """There is something to move."""
        self._wake.set()

    def wait(
        self,
        timeout: float | None,
        numbers: Collection[int] | None = None,
        check: Callable[[], object] = lambda: None,
    ) -> bool:
        """Wait until none of these namespaces (by default: of all) is moving, or there was a failure, or the
        service stops; whether none is. `check` is asked every second; what it raises ends the waiting."""
        until = None if timeout is None else time.monotonic() + timeout
        failures = self._failures
        while True:
            left = _LOOK_S if until is None else min(_LOOK_S, until - time.monotonic())
            with self._turn:
                self._turn.wait_for(
                    lambda: self._stop.is_set() or self._failures > failures or not self._moving(numbers),
                    max(left, 0.0),
                )
                over = self._stop.is_set() or self._failures > failures or left < _LOOK_S
            if not self._moving(numbers):
                return True
            if over:
                return False
            check()

    def _moving(self, numbers: Collection[int] | None) -> bool:
        with self._store.read() as reader:
            return any(
                record.next_model and (numbers is None or record.number in numbers)
                for record in reader.namespaces()
            )

    def _told(self) -> None:
        with self._turn:
            self._turn.notify_all()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                done = self._round()
            except SiltstoneError as error:
                log.error("re-embedding waits %.0f s: %s", RETRY_S, error)
                done = False
            except Exception:
                log.exception("re-embedding waits %.0f s", RETRY_S)
                done = False
            self._failures += not done
            self._told()
            self._wake.wait(None if done else RETRY_S)

    def _round(self) -> bool:
        """Carry on with what is to be moved or cleared; False when some of it has to be tried again."""
        done = True
        with self._store.read() as reader:
            records = [r for r in reader.namespaces() if r.next_model or r.clearing]
        for record in records:
            try:
                if record.clearing:
                    self._clear(record.number)
                elif not self._stop.is_set():
                    done &= self._move(record)
            except SiltstoneError as error:
                if error.reason == "NAMESPACE_NOT_FOUND":  # deleted meanwhile
                    continue
                log.error("namespace %r is not re-embedded yet: %s", record.name, error)
                done = False
            self._told()
        return done

    def _clear(self, number: int) -> None:
        more = True
        while more and not self._stop.is_set():
            more = self._store.commit(lambda writer: writer.clear_other_vectors(number, _CLEARED_AT_ONCE))

    def _move(self, record: NamespaceRecord) -> bool:
        """Move a namespace; False when that was given up for now."""
        while not self._stop.is_set():
            seq = self._embed_all(record)
            if seq is None:
                return not self._stop.is_set()
            self._collections.prepare(record, seq)
            switch = partial(_switch, record=record, seq=seq)
            while not self._stop.is_set():
                missing = self._store.commit(switch)
                if missing is None:
                    log.info("namespace %r was moved to %s", record.name, record.next_model)
                    self._clear(record.number)
                    return True
                if missing == []:
                    break  # something went, or more changed than the log tells: look at everything again
                if not self._embed(record, missing):
                    return True
        return False

    def _embed_all(self, record: NamespaceRecord) -> int | None:
        """Embed whatever has no vectors of the new model. The commit at which none was missing; None when the
        service stops, or the namespace is to be moved no longer."""
        while True:
            with self._store.read() as reader:
                seq = reader.seq
            after, found = "", 0
            while True:
                with self._store.read() as reader:
                    some, after = reader.without_next_vectors(record.number, after_id=after, limit=_AT_ONCE)
                if some and not self._embed(record, some):
                    return None
                found += len(some)
                if not after:
                    break
            if not found:
                return seq

    def _embed(self, record: NamespaceRecord, memories: Sequence[Memory]) -> bool:
        """Keep the vectors of some memories; False when the service stops, or the move was cancelled."""
        if self._stop.is_set():
            return False
        embedder = self._embedders.by_name(record.next_name)
        if embedder.model != record.next_model:  # another release of its package since
            log.error("%s is %s now, not %s", record.next_name, embedder.model, record.next_model)
            self._store.commit(lambda writer: writer.cancel_move(record.number))
            return False
        passages = [embedded_texts(m.content, m.lesson, embedder.passage_tokens) for m in memories]
        vectors = embedder.embed_passages([text for texts in passages for text in texts])

        def keep(writer: Writer) -> bool:
            if not _is_moving(writer, record):
                return False
            at = 0
            for memory, texts in zip(memories, passages, strict=True):
                writer.put_next_vectors(memory, vectors[at : at + len(texts)])
                at += len(texts)
            return True

        kept: bool = self._store.commit(keep)
        self._told()
        return kept


def _switch(writer: Writer, record: NamespaceRecord, seq: int) -> list[Memory] | None:
    """Finish the move if nothing is missing, and return None; else the memories that changed since `seq` and
    have no vectors yet, or none of them where everything has to be looked at again."""
    if not _is_moving(writer, record):
        return None
    changed = writer.changed(record.number, seq)
    if changed is None:
        return []
    memories = [writer.memory(id) for id in changed]
    if any(memory is None for memory in memories):
        return []  # the index that was made holds what was erased since
    missing = [m for m in memories if m is not None and not writer.has_next_vectors(record.number, m.id)]
    if missing:
        return missing
    writer.finish_move(record.number)
    return None


def _is_moving(writer: Writer, record: NamespaceRecord) -> bool:
    """Whether the namespace is there and still being moved to the same model."""
    now = writer.namespace(record.name)
    return now is not None and now.number == record.number and now.next_model == record.next_model

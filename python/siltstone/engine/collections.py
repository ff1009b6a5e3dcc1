"""The derived index kept beside the store: one collection a namespace, loaded when first needed.

The store calls `apply` after every commit, in the order of `seq`. A collection that is not ready misses
nothing: what it needs is in the change log, or else in the store itself. Anything wrong with it is mended by
dropping it; the next `ready` builds it again. When all take more memory than they may, those that were not
used for longest are saved and leave it; one with few memories is not worth a file, it is built again as fast.
"""

import logging
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from siltstone.engine.memory_budget import MemoryBudget, half_of_memory
from siltstone.errors import NotFoundError, UnavailableError
from siltstone.model import IndexProgress
from siltstone.rust_core import CollectionStatus, Index
from siltstone.store import Change, NamespaceRecord, Reader, Store
from siltstone.store.records import to_microseconds

log = logging.getLogger(__name__)

_BELOW_ALL_COMMITS = -(2**62)
_CHUNK = 1000  # memories handed to the core at a time while rebuilding
_SNAPSHOT_AFTER = 10_000  # commits applied since the last snapshot that make a new one worth its writing
_SNAPSHOT_EVERY_S = 30.0
_NEXT = "next"  # directory of indexes of models that namespaces are being moved to
_LOADS = 5  # tries: a collection may be reset while it is loaded
_FEW = 64  # memories of a collection that is not saved when it leaves memory
_FEW_SAVED_AT_CLOSE = (
    256  # collections of fewer memories: each costs a sync now and a look at its file at start
)
_PROGRESS_EVERY_S = 5.0  # between lines of the log about a collection that is being built


class Collections:
    """Loads, feeds and saves the collections of one `Index`.

    Args:
        memory: bytes that all together may take; None for half of what the machine has.
    """

    def __init__(self, directory: Path, memory: int | None = None) -> None:
        self.index = Index(str(directory))
        self.budget = MemoryBudget(half_of_memory() if memory is None else memory)
        self._directory = directory
        self._building: dict[int, IndexProgress] = {}
        self._store: Store | None = None
        self._ready: dict[int, int] = {}  # namespace number → seq of its snapshot on disk
        self._generations: dict[int, int] = {}  # namespace number → of the vectors in its collection
        self._births: dict[int, int] = {}  # namespace number → when it was made, for `_Label`
        self._apply_lock = threading.Lock()  # held by whoever changes collections
        self._load_locks: dict[int, threading.Lock] = {}
        self._save_lock = threading.Lock()  # or one's snapshot could get another's label
        self._stop = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="siltstone-snapshots", daemon=True)

    def start(self, store: Store) -> None:
        self._store = store
        with store.read() as reader:
            for file in self._directory.glob("*.*"):
                number = file.name.split(".")[0]
                if number.isdecimal():
                    label = _read_label(self._directory, int(number))
                    record = reader.numbered(int(number))
                    # Now, before this store has commits that the snapshot's store had under the same numbers.
                    if (
                        label is None
                        or record is None
                        or label.birth != to_microseconds(record.create_time)
                        or label.generation != record.generation
                        or label.seq > reader.seq
                    ):
                        try:
                            file.unlink(missing_ok=True)
                        except OSError as error:
                            log.warning("%s cannot be deleted: %s", file, error)
            for path in (self._directory / _NEXT).glob("*.label"):
                record = reader.numbered(int(path.stem)) if path.stem.isdecimal() else None
                if record is not None:  # moved, perhaps, and stopped before its new index was taken over
                    self._adopt(record.number, record.generation)
        self._keeper.start()

    @contextmanager
    def held(self, namespaces: Collection[NamespaceRecord]) -> Iterator[bool]:
        """Make namespaces searchable, and keep them in memory until the end; whether all are `ready`."""
        with self.budget.holding([namespace.number for namespace in namespaces]):
            there = [self.ready(namespace) for namespace in namespaces]
            yield all(there)

    def ready(self, namespace: NamespaceRecord) -> bool:
        """Make the namespace searchable. False when nothing was ever written to it, or it was deleted. Unless
        it is `held` it may leave memory at any time, as if it had been reset."""
        number = namespace.number
        self.budget.use(number)
        if self._generations.get(number) != namespace.generation:
            if self._generations.get(number, 0) > namespace.generation:
                raise KeyError(number)  # moved to another model since the caller looked
            with self._apply_lock:
                self._adopt(number, namespace.generation)
        if number in self._ready:
            return True
        if not namespace.embedding_dimension or not self._loaded(namespace):
            self.budget.gone(namespace.number)
            return False
        self._make_room()
        return True

    def _loaded(self, namespace: NamespaceRecord) -> bool:
        """Load or build the collection, unless another thread does. False when the namespace was deleted."""
        number = namespace.number
        with self._apply_lock:
            load_lock = self._load_locks.setdefault(number, threading.Lock())
        with load_lock:
            for _ in range(_LOADS):
                if number in self._ready:
                    return True
                try:
                    self._load(namespace)
                except KeyError:
                    self._refuse_when_moved(namespace)
                    continue  # reset or deleted meanwhile: the store tells which
                except ValueError:  # vectors of another dimension
                    self._refuse_when_moved(namespace)
                    raise
                except NotFoundError:
                    # Deleted. The applier may have been told so before there was a collection to drop.
                    with self._apply_lock:
                        self._forget(number)
                    return False
        if number not in self._ready:
            raise UnavailableError(
                f"the index of {namespace.name!r} was reset while it was loaded; try again"
            )
        return True

    def apply(self, changes: list[Change]) -> None:
        """Carry commits over to the index, in order. Never fails: a collection that refuses is dropped."""
        with self._apply_lock:
            for change in _together(changes):
                if change.deleted:
                    self._forget(change.namespace)
                    continue
                self._adopt(change.namespace, change.generation)
                if change.namespace in self._ready:
                    try:
                        self.index.apply(change.namespace, change.seq, change.puts, change.removes)
                    except Exception:
                        log.exception("index of namespace %d refused commit %d", change.namespace, change.seq)
                        self._drop(change.namespace)

    def generation(self, number: int) -> int:
        """Of the vectors that are searched. Who embedded for another has asked in vain."""
        return self._generations.get(number, 0)

    def prepare(self, namespace: NamespaceRecord, seq: int) -> None:
        """Make the index of the model that the namespace is being moved to, beside the one that serves.

        `seq`: a commit at which no memory lacked its vectors. Those written since may lack them still, so
        what came after it is applied again when the index is taken over.
        """
        assert self._store is not None
        number = namespace.number
        _clear(self._directory / _NEXT, number)
        index = Index(str(self._directory / _NEXT))
        index.create(number, namespace.next_dimension, _BELOW_ALL_COMMITS)
        with self._store.read() as reader:
            for i, chunk in enumerate(_chunks(reader.scan_next_records(number), _CHUNK), start=1):
                index.apply(number, _BELOW_ALL_COMMITS + i, chunk, [])
        index.apply(number, seq, [], [])
        index.snapshot(number)
        label = _Label(to_microseconds(namespace.create_time), seq, namespace.generation + 1)
        _write_label(self._directory / _NEXT, number, label)

    def reset(self, number: int) -> None:
        """Forget a collection and its snapshot; it is rebuilt when next needed."""
        with self._apply_lock:
            self._drop(number)
            _clear(self._directory / _NEXT, number)

    def statuses(self) -> dict[int, CollectionStatus]:
        """Those in memory, by number; their sizes are noted."""
        found = {}
        for number in list(self._ready):
            try:
                found[number] = self.index.status(number)
            except KeyError:
                continue  # dropped meanwhile
            self.budget.measured(number, found[number].bytes)
            if number not in self._ready:
                self.budget.gone(number)
        return found

    def building(self) -> list[IndexProgress]:
        """The collections that are being built from the store, and how far."""
        return list(self._building.values())

    def loaded(self) -> int:
        """How many collections are loaded."""
        return len(self._ready)

    def loaded_bytes(self) -> int:
        """Memory that all of them take."""
        return sum(status.bytes for status in self.statuses().values())

    def agrees(self, namespace: NamespaceRecord) -> bool:
        """Whether the index equals one made from the store alone, both at the same commit."""
        assert self._store is not None
        number = namespace.number
        try:
            other = Index(None)
            seq = self._build(other, namespace)
            # The index may lag behind the store by what the applier has in hand: it waits here meanwhile.
            with self.held([namespace]), self._apply_lock, self._store.read() as reader:
                record = reader.numbered(number)
                if number not in self._ready or record is None or record.generation != namespace.generation:
                    return True  # deleted, moved to another model, or reset and to be rebuilt
                current = self.index.status(number).applied_seq
                return (
                    _catch_up(reader, other, number, seq)
                    and _catch_up(reader, self.index, number, current)
                    and self.index.digest(number) == other.digest(number)
                )
        except (KeyError, NotFoundError):
            return True  # deleted, or moved to another model meanwhile

    def close(self) -> None:
        """Save what changed since its last snapshot; of those with few memories the first ones."""
        self._stop.set()
        self._keeper.join()
        few = 0
        for number, status in self.statuses().items():
            if status.memories < _FEW:
                few += 1
                if few > _FEW_SAVED_AT_CLOSE:
                    continue
            self._save(number, pending=1)

    def _load(self, namespace: NamespaceRecord) -> None:
        assert self._store is not None
        number, dimension = namespace.number, namespace.embedding_dimension
        birth = to_microseconds(namespace.create_time)
        try:
            applied = self.index.load(number, dimension)
        except OSError:
            log.exception("the snapshot of namespace %d cannot be read; its index is rebuilt", number)
            applied = None
        label = _Label(birth, -1 if applied is None else applied, namespace.generation)
        if applied is None or _read_label(self._directory, number) != label:
            current = False
        else:
            with self._store.read() as reader:
                current = _catch_up(reader, self.index, number, applied)
        if not current:
            applied = -1
            progress = IndexProgress(namespace=namespace.name)
            self._building[number] = progress
            try:
                self._build(self.index, namespace, progress)
            finally:
                del self._building[number]
        with self._apply_lock:
            # Commits that came meanwhile; the applier waits here, so none is missed between the two.
            with self._store.read() as reader:
                record = reader.numbered(number)
                if record is not None and record.generation != namespace.generation:
                    self._adopt(number, record.generation)  # what was loaded may hold vectors of both models
                    raise KeyError(number)
                if not _catch_up(reader, self.index, number, self.index.status(number).applied_seq):
                    raise RuntimeError(f"the change log ends before the rebuilt index of namespace {number}")
            self._births[number] = birth
            self._ready[number] = -1 if applied is None else applied
            self.budget.measured(number, self.index.status(number).bytes)

    def _refuse_when_moved(self, namespace: NamespaceRecord) -> None:
        """KeyError when the namespace has another model than the caller looked at."""
        assert self._store is not None
        with self._store.read() as reader:
            record = reader.numbered(namespace.number)
        if record is not None and record.generation != namespace.generation:
            raise KeyError(namespace.number)

    def _build(self, index: Index, namespace: NamespaceRecord, progress: IndexProgress | None = None) -> int:
        """Make a collection from the store; the commit it stands at."""
        assert self._store is not None
        number, dimension = namespace.number, namespace.embedding_dimension
        told = time.monotonic()
        with self._store.read() as reader:
            seq = reader.seq
            if progress is not None:
                progress.total = reader.count_memories(number)
            # The chunks are numbered below 0, where no commit is; the last step is to the commit itself.
            try:
                index.create(number, dimension, _BELOW_ALL_COMMITS)
            except OSError as error:  # of its former snapshot; the collection is there all the same
                log.warning("the snapshot of namespace %d cannot be deleted: %s", number, error)
            for i, chunk in enumerate(_chunks(reader.scan_records(number), _CHUNK), start=1):
                index.apply(number, _BELOW_ALL_COMMITS + i, chunk, [])
                if progress is not None:
                    progress.done += len(chunk)
                    if time.monotonic() - told > _PROGRESS_EVERY_S:
                        told = time.monotonic()
                        log.info(
                            "the index of %r is built from the store: %d of %d memories",
                            namespace.name,
                            progress.done,
                            progress.total,
                        )
            index.apply(number, seq, [], [])
        return seq

    def _adopt(self, number: int, generation: int) -> None:
        """The namespace has vectors of this generation from now on. Where that is news, the index made for
        them takes the place of the former."""
        known = self._generations.get(number)
        if known is not None and known >= generation:
            return
        self._generations[number] = generation  # first: who searches meanwhile sees that it asked in vain
        made = _read_label(self._directory / _NEXT, number) if generation else None
        if known is None and (made is None or made.generation != generation):
            return
        self._drop(number)
        try:
            # The label last, since a snapshot without it is not used.
            for file in sorted((self._directory / _NEXT).glob(f"{number}.*"), key=_is_label):
                file.replace(self._directory / file.name)
        except OSError as error:
            log.warning("the new index of namespace %d cannot be taken over: %s", number, error)

    def _drop(self, number: int) -> None:
        """Never fails: what cannot be deleted is no reason to refuse a commit or a search."""
        self._ready.pop(number, None)
        self.budget.gone(number)
        try:
            # First, since a snapshot without its label is not used.
            _label_path(self._directory, number).unlink(missing_ok=True)
        except OSError as error:
            log.warning("the label of namespace %d cannot be deleted: %s", number, error)
        try:
            self.index.drop(number, delete_snapshot=True)
        except OSError as error:
            log.warning("the snapshot of namespace %d cannot be deleted: %s", number, error)

    def _forget(self, number: int) -> None:
        """The namespace is gone for good: so is all that is known of it here."""
        self._drop(number)
        self._births.pop(number, None)
        self._generations.pop(number, None)
        self._load_locks.pop(number, None)

    def _make_room(self) -> None:
        for number in self.budget.surplus():
            with self._apply_lock:
                load_lock = self._load_locks.get(number)
            if load_lock is None or not load_lock.acquire(blocking=False):
                continue  # deleted, or it is being loaded again
            try:
                self._let_go(number)
            except KeyError:
                continue  # dropped meanwhile
            finally:
                load_lock.release()

    def _let_go(self, number: int) -> None:
        """Save a collection and take it out of memory, unless it is held or changed meanwhile."""
        few = self.index.status(number).memories < _FEW
        if not few:
            self._save(number, pending=1)
        with self._apply_lock, self.budget.lock:
            status = self.index.status(number)
            saved = self._ready.get(number)
            if saved is None or self.budget.held(number) or not (few or status.applied_seq == saved):
                return
            del self._ready[number], self._births[number]
            self.budget.gone(number)
            self.index.drop(number)

    def _keep(self) -> None:
        while not self._stop.wait(_SNAPSHOT_EVERY_S):
            for number in self.statuses():
                self._save(number, pending=_SNAPSHOT_AFTER)
            self._make_room()

    def _save(self, number: int, pending: int) -> None:
        """Write a snapshot where at least `pending` commits came since the last. Searches go on meanwhile."""
        with self._save_lock:
            self._save_alone(number, pending)

    def _save_alone(self, number: int, pending: int) -> None:
        try:
            saved = self._ready[number]
            if self.index.status(number).applied_seq - saved >= pending:
                applied = self.index.snapshot(number)
                with self._apply_lock:
                    if number in self._ready:
                        # Labelled last: a crash in between leaves a snapshot without its label, which is not
                        # used.
                        label = _Label(self._births[number], applied, self.generation(number))
                        _write_label(self._directory, number, label)
                        self._ready[number] = applied
        except KeyError:
            pass  # dropped meanwhile
        except OSError:
            log.exception("the index of namespace %d could not be saved; it is rebuilt at need", number)


@dataclass(frozen=True, slots=True)
class _Label:
    """Which store a snapshot is of, and where in its history it stands. The core numbers collections as the
    store numbers namespaces: in the directory of another store, or of an older copy of this one, the same
    numbers mean other memories."""

    birth: int  # when the namespace was made, µs: unique in a store, and never the same in two
    seq: int  # the snapshot's
    generation: int = 0  # of its vectors


def _label_path(directory: Path, number: int) -> Path:
    return directory / f"{number}.label"


def _write_label(directory: Path, number: int, label: _Label) -> None:
    text = f"{label.birth} {label.seq} {label.generation}"
    _label_path(directory, number).write_text(text)


def _read_label(directory: Path, number: int) -> _Label | None:
    """None where it is missing or cannot be read: the snapshot is rebuilt then."""
    try:
        return _Label(*map(int, _label_path(directory, number).read_text().split()))
    except (OSError, ValueError, TypeError):
        return None


def _is_label(file: Path) -> bool:
    return file.suffix == ".label"


def _clear(directory: Path, number: int) -> None:
    """Labels first, since a snapshot without its label is not used."""
    for file in sorted(directory.glob(f"{number}.*"), key=_is_label, reverse=True):
        file.unlink(missing_ok=True)


def _catch_up(reader: Reader, index: Index, number: int, after_seq: int) -> bool:
    """Apply the commits after `after_seq`; False when the log does not reach back that far."""
    changes = reader.changes(number, after_seq)
    if changes is None:
        return False
    for change in changes:
        index.apply(number, change.seq, change.puts, change.removes)
    return True


def _together(changes: Sequence[Change]) -> Iterator[Change]:
    """The changes with those of one namespace in one, as far as that is the same: a call of the core costs
    more than the memory in it. Removes come first in a call, so one behind a put begins another."""
    current: dict[int, Change] = {}
    for change in changes:
        before = current.get(change.namespace)
        moved = before is not None and before.generation != change.generation
        if before is None or before.deleted or change.deleted or change.removes or moved:
            if before is not None:
                yield before
            current[change.namespace] = change
        else:
            current[change.namespace] = replace(before, seq=change.seq, puts=before.puts + change.puts)
    yield from current.values()


def _chunks(records: Iterable[tuple[bytes, bytes]], size: int) -> Iterator[list[tuple[bytes, bytes]]]:
    rest = iter(records)
    while chunk := list(islice(rest, size)):
        yield chunk

"""The entries of a data file in chunks, and a data file made from such chunks.

A chunk holds neighbouring entries of one table. Where one ends is told by its keys, so that after a change
most chunks are byte for byte what they were: who has them need not be sent them again. Chunks do not depend
on the machine, as LMDB's own file does.
"""

import os
import shutil
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lmdb
import msgpack

from siltstone.errors import FailedPreconditionError
from siltstone.store import keys, upgrades
from siltstone.store.datafile import note_created, refuse_when_cut, sync_directory
from siltstone.store.environment import RESTORING
from siltstone.store.failures import translated
from siltstone.store.lockfile import LockFile
from siltstone.store.upgrades import FORMER

CHUNK_BYTES = 1 << 20  # from here on, a chunk ends at the next key whose checksum says so
MOST_CHUNK_BYTES = 4 << 20  # or here, unless one entry is larger
_END_WITHIN = 1 << 18  # bytes in which such a key comes, on average
_INCOMPRESSIBLE = frozenset({"vectors", "other_vectors", "former_vectors"})  # numbers: zlib gains 7 %
_PLAIN, _DEFLATED = b"p", b"z"
_MOST_TABLES = 256
_SMALLEST_MAP = 16 << 20
_CHUNK_UNREADABLE = "BACKUP_DAMAGED"


@dataclass(frozen=True, slots=True)
class Chunk:
    table: str
    entries: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Frozen:
    """A data file of its own that nobody changes: one consistent state of a store.

    Attributes:
        store: the store's id.
        seq: its last commit.
        format: of its tables and keys.
    """

    store: bytes
    seq: int
    format: int
    _env: Any

    @classmethod
    def open(cls, directory: Path) -> "Frozen":
        with translated(directory):
            size = (directory / "data.mdb").stat().st_size
            env = lmdb.open(
                str(directory), readonly=True, lock=False, max_dbs=_MOST_TABLES, lib_version=0, map_size=size
            )
            with env.begin() as txn:
                meta = env.open_db(b"meta", txn=txn, create=False)
                version = upgrades.written_format(txn, meta)
                seq, store = txn.get(b"seq", db=meta), txn.get(b"id", db=meta)
        return cls(store or b"", keys.parse_number(seq) if seq else 0, version[0] if version else 0, env)

    def close(self) -> None:
        self._env.close()

    def tables(self) -> list[str]:
        with self._env.begin() as txn, txn.cursor() as cursor:
            return [name.decode() for name in cursor.iternext(values=False)]

    def chunks(self, tables: Sequence[str] = ()) -> Iterator[Chunk]:
        """All entries, or those of some tables, by table and key."""
        for table in tables or self.tables():
            with self._env.begin() as txn:
                yield from _chunks(table, txn, self._env.open_db(table.encode(), txn=txn, create=False))


def _chunks(table: str, txn: Any, handle: Any) -> Iterator[Chunk]:
    flat: list[bytes] = []
    size = 0
    with txn.cursor(db=handle) as cursor:
        for key, value in cursor:
            flat += (key, value)
            entry = len(key) + len(value)
            size += entry
            ends = size >= CHUNK_BYTES and zlib.crc32(key) * _END_WITHIN < entry << 32
            if ends or size >= MOST_CHUNK_BYTES:
                yield _packed(table, flat)
                flat, size = [], 0
    if flat:
        yield _packed(table, flat)


def _packed(table: str, flat: list[bytes]) -> Chunk:
    data = msgpack.packb(flat)
    stored = _PLAIN + data if table in _INCOMPRESSIBLE else _DEFLATED + zlib.compress(data, 1)
    return Chunk(table, len(flat) // 2, stored)


def entries_of(data: bytes) -> list[tuple[bytes, bytes]]:
    """The entries of a chunk; FailedPreconditionError (BACKUP_DAMAGED) when it is none."""
    try:
        raw = zlib.decompress(data[1:]) if data[:1] == _DEFLATED else data[1:]
        flat = msgpack.unpackb(raw)
        if not isinstance(flat, list) or not set(map(type, flat)) <= {bytes}:
            raise TypeError("it is no list of bytes")
        return list(zip(flat[::2], flat[1::2], strict=True))
    except (zlib.error, ValueError, TypeError) as error:
        raise FailedPreconditionError(
            f"a chunk of the backup cannot be read: {error}", reason=_CHUNK_UNREADABLE
        ) from error


def build(directory: Path, tables: Iterable[str], chunks: Iterable[tuple[str, bytes]]) -> None:
    """Make a data file in the empty `directory` from (table, data of a chunk), which come in the order of
    `Frozen.chunks`. It is on disk when this returns."""
    names = list(tables)
    with translated(directory):
        env = lmdb.open(
            str(directory),
            map_size=_SMALLEST_MAP,
            mode=0o700,
            max_dbs=len(names) + 1,
            lib_version=0,
            sync=False,
            lock=False,  # nobody else knows of it; on a full disk LMDB would die of SIGBUS in its lock file
        )
        try:
            handles = {name: env.open_db(name.encode()) for name in names}
            for table, data in chunks:
                _put_all(env, handles[table], table, entries_of(data))
            env.sync(True)
        finally:
            env.close()


def _put_all(env: Any, handle: Any, table: str, entries: list[tuple[bytes, bytes]]) -> None:
    while True:
        try:
            with env.begin(write=True) as txn:
                _, added = txn.cursor(db=handle).putmulti(entries, append=True)
        except lmdb.MapFullError:
            env.set_mapsize(2 * env.info()["map_size"])
            continue
        if added != len(entries):
            raise FailedPreconditionError(
                f"the backup's entries of {table} are not in order", reason=_CHUNK_UNREADABLE
            )
        return


class Replacement:
    """A data file in the making that will take the place of the one in `directory`, if there is one. Holds
    the directory's lock meanwhile.

    Raises:
        FailedPreconditionError: (DATA_LOCKED) a server has the directory open.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.made = directory / RESTORING
        with translated(directory):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = LockFile(directory)
            try:
                shutil.rmtree(self.made, ignore_errors=True)
                self.made.mkdir(mode=0o700)
            except BaseException:
                self._lock.release()
                raise

    def exists(self) -> bool:
        """Whether there is a data file to be replaced."""
        return (self.directory / "data.mdb").exists()

    @contextmanager
    def former(self) -> Iterator[Frozen]:
        """The data file that is to be replaced; FailedPreconditionError when it cannot be read."""
        refuse_when_cut(self.directory)
        frozen = Frozen.open(self.directory)
        try:
            with translated(self.directory):
                yield frozen
        finally:
            frozen.close()

    def put_in_place(self, label: str) -> Path | None:
        """Let `made` take the data file's place, at once: whenever the machine stops, there is the one or the
        other. The former file is kept below `former/`; its path, None where there was none."""
        with translated(self.directory):
            kept = None
            data = self.directory / "data.mdb"
            if data.exists():
                kept = self.directory / FORMER / label / "data.mdb"
                kept.parent.mkdir(mode=0o700, parents=True)
                _link(data, kept)
                sync_directory(kept.parent)
            os.replace(self.made / "data.mdb", data)
            sync_directory(self.directory)
            note_created(self.directory)
            return kept

    def close(self) -> None:
        shutil.rmtree(self.made, ignore_errors=True)
        self._lock.release()

    def __enter__(self) -> "Replacement":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copyfile(source, target)

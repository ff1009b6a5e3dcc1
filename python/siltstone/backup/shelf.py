"""The layout of a target, and what is done with it.

    STORE/backups/NAME.json     the manifest; written last: without it there is no backup
    STORE/chunks/ab/abcd…       a chunk, named by its SHA-256 and shared by all backups that hold it

STORE is the store's id, so that several stores may share a target.
"""

import contextlib
import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from siltstone.backup.manifest import Manifest, StoredChunk, damaged
from siltstone.backup.target import Target
from siltstone.errors import InternalError, NotFoundError, SiltstoneError, UnavailableError

_PART = re.compile(
    r"[0-9a-f]{32}/(?:backups/[0-9TZ-]{1,64}\.json|chunks/([0-9a-f]{2})/(?P<digest>\1[0-9a-f]{62}))"
)
_MANIFEST = re.compile(r"[0-9a-f]{32}/backups/(?P<time>[0-9T]{21})[0-9TZ-]{1,43}\.json")
_TIME = "%Y%m%dT%H%M%S%f"


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a backup: its name at the target and its bytes."""

    name: str
    data: bytes


def parts_of(
    chunks: Iterable[tuple[str, int, bytes]],
    known: Mapping[str, int],
    *,
    store: str,
    seq: int,
    store_format: int,
    version: str,
    now: datetime,
) -> Iterator[Part | Manifest]:
    """The chunks that a target does not have yet, and then the manifest.

    Args:
        chunks: (table, number of entries, bytes), the chunks of a table in a row.
        known: names of files that the target has, manifests too, with their sizes.
    """
    tables: dict[str, list[StoredChunk]] = {}
    sent: set[str] = set()
    for table, entries, data in chunks:
        digest = hashlib.sha256(data).hexdigest()
        tables.setdefault(table, []).append(StoredChunk(digest, len(data), entries))
        name = _chunk_name(store, digest)
        if name not in sent and known.get(name) != len(data):
            yield Part(name, data)
        sent.add(name)
    now = _next_time(known, store, now)
    name = f"{now:{_TIME}}Z-{seq}"
    yield Manifest(name, store, now, seq, store_format, version, tables)


def manifest_part(manifest: Manifest) -> Part:
    return Part(f"{manifest.store}/backups/{manifest.name}.json", manifest.to_bytes())


def is_part(name: str) -> bool:
    """Whether a file of this name is one of a backup, and not one that lies there by chance."""
    return _PART.fullmatch(name) is not None


def check_part(part: Part) -> Part:
    """The part, if it is one: what came over a wire must not be written where it wants to."""
    match = _PART.fullmatch(part.name)
    if match is None:
        raise InternalError(f"{part.name!r} is no file of a backup", reason="UNREADABLE_ANSWER")
    if (digest := match["digest"]) and hashlib.sha256(part.data).hexdigest() != digest:
        raise InternalError(f"{part.name} arrived damaged; back up again", reason="UNREADABLE_ANSWER")
    return part


def put_part(target: Target, part: Part) -> None:
    """Write a part. Before a manifest, see that all its chunks are there."""
    if _MANIFEST.fullmatch(part.name):
        manifest = Manifest.from_bytes(part.data, part.name)
        there = target.sizes(f"{manifest.store}/chunks")
        for digest, size in manifest.chunks().items():
            if there.get(_chunk_name(manifest.store, digest)) != size:
                raise UnavailableError(
                    f"chunk {digest} went from {target.location} while the backup was made; back up again",
                    reason="TARGET_FAILED",
                )
    target.write(part.name, part.data)


def backups_at(
    target: Target, store: str = "", unread: dict[str, SiltstoneError] | None = None
) -> list[Manifest]:
    """All backups at a target, or those of one store, oldest first.

    Args:
        unread: takes, by its file, what is wrong with a manifest that cannot be read; without it, that is
            raised.
    """
    found = []
    for name in filter(_MANIFEST.fullmatch, target.sizes(store)):
        where = f"{target.location}/{name}"
        try:
            manifest = Manifest.from_bytes(target.read(name), where)
            if manifest_part(manifest).name != name:
                raise damaged(f"{where} is the manifest of another backup, {manifest.name}")
            found.append(manifest)
        except SiltstoneError as error:
            if unread is None or error.reason not in ("BACKUP_DAMAGED", "BACKUP_FORMAT"):
                raise
            unread[name] = error
    return sorted(found, key=lambda manifest: (manifest.create_time, manifest.name))


def name_of(file: str) -> str:
    """Name of the backup whose manifest lies at a target under `file`."""
    return file.rpartition("/")[2].removesuffix(".json")


def _next_time(known: Collection[str], store: str, now: datetime) -> datetime:
    """The time of a backup that is made `now`: behind those that the target has, whatever the clock says, or
    it would count as an old one and be the first to go."""
    for match in filter(None, map(_MANIFEST.fullmatch, known)):
        if match.string.startswith(store):
            with contextlib.suppress(ValueError, OverflowError):  # a name that is none of ours
                last = datetime.strptime(match["time"], _TIME).replace(tzinfo=UTC)
                now = max(now, last + timedelta(microseconds=1))
    return now


def chunk_of(target: Target, manifest: Manifest, chunk: StoredChunk) -> bytes:
    """The bytes of a chunk, verified; FailedPreconditionError (BACKUP_DAMAGED) when they are not there or
    not the ones."""
    name = _chunk_name(manifest.store, chunk.digest)
    try:
        data = target.read(name)
    except NotFoundError:
        raise damaged(f"{target.location}/{name} of backup {manifest.name} is missing") from None
    if len(data) != chunk.size or hashlib.sha256(data).hexdigest() != chunk.digest:
        raise damaged(f"{target.location}/{name} of backup {manifest.name} is damaged")
    return data


def prune(target: Target, store: str, keep: int, said: Callable[[str], None]) -> Collection[str]:
    """Delete all but the newest `keep` backups of a store, and the chunks that no backup names any more.
    Nobody else may back this store up to the target meanwhile. A target with a manifest that cannot be read
    is left alone, since that may name chunks too.

    Args:
        said: told of each backup that goes.

    Returns:
        Names of the files that went.
    """
    backups = backups_at(target, store)
    kept, gone = backups[-keep:], backups[:-keep]
    if not gone:
        return []
    # Manifests first: whoever stops in between leaves chunks too many, never too few.
    deleted = [manifest_part(manifest).name for manifest in gone]
    for manifest in gone:
        said(manifest.name)
    target.delete(deleted)
    needed = {_chunk_name(store, digest) for manifest in kept for digest in manifest.chunks()}
    surplus = sorted(target.sizes(f"{store}/chunks").keys() - needed)
    target.delete(surplus)
    return [*deleted, *surplus]


def _chunk_name(store: str, digest: str) -> str:
    return f"{store}/chunks/{digest[:2]}/{digest}"

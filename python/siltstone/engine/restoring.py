"""Restoring a data directory from a backup, while no server has it open."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from siltstone.backup import Manifest, Target, backups_at, chunk_of, name_of
from siltstone.backup.manifest import damaged
from siltstone.engine.erasing import erase
from siltstone.errors import FailedPreconditionError, NotFoundError, SiltstoneError
from siltstone.model import Token
from siltstone.store import FORMAT_VERSION, Replacement, Store, Writer, build, entries_of, records
from siltstone.store.keys import format_id

_LEDGERS = ("erased", "tokens")
_AT_ONCE = 200  # erasures replayed in one commit


@dataclass(slots=True, kw_only=True)
class Restored:
    """What a restore did.

    Attributes:
        former: where the data file lies that was replaced; "" where there was none.
        erased: memories that the backup held and that were erased since.
        revoked: tokens that the backup held and that were revoked since.
        unread: why the data file that was there, or a later backup, could not tell what was erased since; ""
            where they could.
    """

    name: str
    seq: int
    create_time: datetime
    former: str = ""
    erased: int = 0
    revoked: int = 0
    unread: str = ""


@dataclass(slots=True)
class _Later:
    """What is known of the store's life besides a backup: nothing erased comes back, no token revoked, and a
    store that asked for tokens does not forget to. Which state is later than which does not matter, and could
    not always be told: a store that was restored before has lived twice."""

    erased: set[bytes] = field(default_factory=set)
    tokens: dict[bytes, bytes] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)


def choose(target: Target, name: str = "") -> Manifest:
    """The backup of this name, or the newest.

    Raises:
        NotFoundError: (BACKUP_NOT_FOUND) there is none.
        FailedPreconditionError: (SEVERAL_STORES) the target holds backups of several stores, so that "the
            newest" names none.
    """
    unread: dict[str, SiltstoneError] = {}
    made = backups_at(target, unread=unread)
    names = ", ".join(manifest.name for manifest in made[-5:]) or "none"
    if name:
        for manifest in made:
            if manifest.name == name:
                return manifest
        for file, error in unread.items():
            if name_of(file) == name:
                raise error
    elif newer := [error for file, error in unread.items() if not made or name_of(file) > made[-1].name]:
        raise FailedPreconditionError(
            f"backup: the newest at {target.location} cannot be read ({newer[0]}); name another, of {names}",
            reason=newer[0].reason,
            field="backup",
        )
    elif len({manifest.store for manifest in made}) > 1:
        raise FailedPreconditionError(
            f"backup: {target.location} holds backups of several stores; name one, such as {names}",
            reason="SEVERAL_STORES",
            field="backup",
        )
    elif made:
        return made[-1]
    wanted = f"backup {name!r}" if name else "backup"
    there = f"the newest there are {names}" if made else "name the folder or URL that backups were written to"
    raise NotFoundError(
        f"backup: no {wanted} at {target.location}; {there}",
        reason="BACKUP_NOT_FOUND",
        field="backup",
    )


def verify(target: Target, manifest: Manifest) -> None:
    """Read a whole backup and check every byte of it; FailedPreconditionError (BACKUP_DAMAGED, or
    FORMAT_VERSION when a later release made it)."""
    for _ in _chunks(target, manifest):
        pass


def restore(data: Path, target: Target, manifest: Manifest, *, replace: bool = False) -> Restored:
    """Make the data directory what it was at a backup, but for what was erased and revoked since.

    A new data file is made from the backup, verified and opened before it takes the place of the old one, at
    once; that is kept in ``store/former/``. What was erased later is known from the old one and from later
    backups at the target.

    Args:
        replace: a store may be in the directory already.

    Raises:
        FailedPreconditionError: (DATA_EXISTS) one is, and `replace` is not given; (DATA_LOCKED) a server has
            it open; (BACKUP_DAMAGED, FORMAT_VERSION) see `verify`. Nothing is changed then.
    """
    with Replacement(data / "store") as replacement:
        if replacement.exists() and not replace:
            raise FailedPreconditionError(
                f"data: {data} holds a store; give --replace to put the backup in its place (the former data "
                "file is kept), or another directory",
                reason="DATA_EXISTS",
                field="data",
            )
        build(replacement.made, manifest.tables, _chunks(target, manifest))
        restored = Restored(name=manifest.name, seq=manifest.seq, create_time=manifest.create_time)
        later = _later_backups(target, manifest)
        try:
            _learn_from_former(later, replacement, manifest)
        except SiltstoneError as error:  # it may well be why the backup is needed
            later.unread.append(str(error))
        restored.unread = "; ".join(later.unread)
        with Store(replacement.made, applier=lambda _: None) as store:
            restored.erased, restored.revoked = _replay(store, later)
            if restored.erased:
                store.compact()  # or the file would still hold their words in places not used again yet
        shutil.rmtree(data / "index", ignore_errors=True)  # it is made anew from the store
        former = replacement.put_in_place(f"before-restore-{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z")
        restored.former = str(former or "")
        return restored


def _chunks(target: Target, manifest: Manifest, tables: Sequence[str] = ()) -> Iterator[tuple[str, bytes]]:
    """(table, bytes) of every chunk, or of those of some tables, each verified."""
    if manifest.store_format > FORMAT_VERSION:
        raise FailedPreconditionError(
            f"the backup {manifest.name} is of store format {manifest.store_format}, made by release "
            f"{manifest.version}; this release reads formats 1 to {FORMAT_VERSION}: use that one, or a newer",
            reason="FORMAT_VERSION",
        )
    for table, chunks in manifest.tables.items():
        for chunk in chunks if not tables or table in tables else ():
            data = chunk_of(target, manifest, chunk)
            if len(entries_of(data)) != chunk.entries:
                raise damaged(f"a chunk of {table} has another number of entries than {chunk.entries}")
            yield table, data


def _later_backups(target: Target, manifest: Manifest) -> _Later:
    later = _Later()
    _learn(later, _chunks(target, manifest, ("tokens",)))
    unread: dict[str, SiltstoneError] = {}
    for other in backups_at(target, manifest.store, unread):
        if other.create_time > manifest.create_time:
            try:
                _learn(later, _chunks(target, other, _LEDGERS))
            except SiltstoneError as error:
                later.unread.append(str(error))
    later.unread += [str(error) for file, error in unread.items() if name_of(file) > manifest.name]
    return later


def _learn_from_former(later: _Later, replacement: Replacement, manifest: Manifest) -> None:
    if replacement.exists():
        with replacement.former() as former:
            if former.store == bytes.fromhex(manifest.store):
                _learn(later, ((c.table, c.data) for c in former.chunks(_LEDGERS)))


def _learn(later: _Later, chunks: Iterator[tuple[str, bytes]]) -> None:
    """Take over another state of the store: what is erased or revoked in one of them is so for ever."""
    for table, data in chunks:
        for key, value in entries_of(data):
            if table == "erased":
                later.erased.add(key)
            elif key not in later.tokens or records.decode(value, Token).revoke_time is not None:
                later.tokens[key] = value


def _replay(store: Store, later: _Later) -> tuple[int, int]:
    """Erase and revoke what was since; how many memories and tokens those were."""
    ids = sorted(later.erased)
    erased = 0
    for at in range(0, len(ids), _AT_ONCE):
        some = [format_id(raw) for raw in ids[at : at + _AT_ONCE]]

        def operation(writer: Writer, some: list[str] = some) -> int:
            writer.principal = "restore"
            return sum(_erase(writer, id) for id in some)

        erased += store.commit(operation)
    return erased, store.commit(lambda writer: writer.replace_tokens(later.tokens))


def _erase(writer: Writer, id: str) -> bool:
    if erase(writer, id):
        return True
    if not writer.is_erased(id):
        writer.note_erased(id)
    return False

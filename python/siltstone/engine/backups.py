"""Backups to targets of the configuration, on request and by the clock."""

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime

from siltstone.backup import (
    Manifest,
    Part,
    Target,
    backups_at,
    manifest_part,
    open_target,
    parts_of,
    prune,
    put_part,
)
from siltstone.engine.admin import release
from siltstone.errors import FailedPreconditionError, NotFoundError, ResourceExhaustedError, SiltstoneError
from siltstone.model.requests import Backup
from siltstone.store import Store

_MOST_STREAMS = 2  # backups that are sent to callers at once
RETRY_S = 600.0  # after a scheduled backup failed

log = logging.getLogger(__name__)


class BackupKeeper:
    """Args:
    targets: (name, location) of the configuration.
    every: seconds between backups to each target; 0: only by `run`.
    keep: newest backups that stay at a target; 0: all.
    """

    def __init__(self, store: Store, targets: Sequence[tuple[str, str]], *, every: float, keep: int) -> None:
        self._store = store
        self._locations = dict(targets)
        self._every = every
        self._keep = keep
        self._lock = threading.Lock()  # one at a time: pruning must not meet another's chunks
        self._streams = threading.BoundedSemaphore(_MOST_STREAMS)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run_by_the_clock, name="siltstone-backups", daemon=True)

    def start(self) -> None:
        if self._every and self._locations:
            self._thread.start()

    def close(self) -> None:
        """A backup under way ends between two of its files, without a manifest."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def run(self, name: str) -> Backup:
        """Back up to a target by its name, now.

        Raises:
            NotFoundError: (TARGET_NOT_FOUND) the configuration has no such target.
            FailedPreconditionError: (BACKUP_RUNNING) another one runs.
            UnavailableError, ResourceExhaustedError: see `Target`; former backups are as they were.
        """
        location = self._locations.get(name)
        if location is None:
            known = ", ".join(self._locations) or "none"
            raise NotFoundError(
                f"target: the server's configuration has no backup target {name!r}; backup_targets names "
                f"{known}",
                reason="TARGET_NOT_FOUND",
                field="target",
            )
        if not self._lock.acquire(blocking=False):
            raise FailedPreconditionError(
                "another backup is being made; wait for it to end", reason="BACKUP_RUNNING"
            )
        try:
            return self._back_up(name, open_target(location))
        finally:
            self._lock.release()

    @contextmanager
    def streaming(self) -> Iterator[None]:
        """While a backup is sent to a caller. Each holds a copy of the data for as long as the caller takes.

        Raises:
            ResourceExhaustedError: (BACKUP_RUNNING) as many are sent already as may be.
        """
        if not self._streams.acquire(blocking=False):
            raise ResourceExhaustedError(
                f"{_MOST_STREAMS} backups are being sent already, each from a copy of the data; wait for one "
                "to end",
                reason="BACKUP_RUNNING",
            )
        try:
            yield
        finally:
            self._streams.release()

    def _back_up(self, name: str, target: Target) -> Backup:
        new_bytes = 0
        for part in backup_parts(self._store, target.sizes("")):
            if self._stop.is_set():
                raise FailedPreconditionError("the server is stopping; back up again", reason="CLOSED")
            if isinstance(part, Part):
                put_part(target, part)
                new_bytes += len(part.data)
                continue
            put_part(target, manifest_part(part))
            made = describe(part, name, new_bytes)
            log.info("backup %s to %s: %d bytes, %d new", made.name, name, made.size_bytes, new_bytes)
            self._prune(target, part.store)
        return made

    def _prune(self, target: Target, store: str) -> None:
        """Let old backups go. The one that was made is good even where that fails."""
        try:
            if self._keep:
                prune(target, store, self._keep, lambda gone: log.info("backup %s went", gone))
        except SiltstoneError as error:
            log.error("old backups stay at %s: %s", target.location, error)

    def _run_by_the_clock(self) -> None:
        # By a clock that nobody sets.
        due = {name: time.monotonic() + self._left(name) for name in self._locations}
        while True:
            name = min(due, key=lambda each: due[each])
            if self._stop.wait(max(due[name] - time.monotonic(), 0.0)):
                return
            try:
                self.run(name)
                pause = self._every
            except SiltstoneError as error:
                if self._stop.is_set():
                    return
                log.error("the backup to %s failed: %s", name, error)
                pause = min(RETRY_S, self._every)
            except Exception:
                log.exception("the backup to %s failed", name)
                pause = min(RETRY_S, self._every)
            due[name] = time.monotonic() + pause

    def _left(self, name: str) -> float:
        """Seconds until the next backup to a target is due; 0 where that cannot be told."""
        try:
            with self._store.read() as reader:
                store = reader.store_id.hex()
            made = backups_at(open_target(self._locations[name]), store)
            age = (datetime.now(UTC) - made[-1].create_time).total_seconds() if made else self._every
            return self._every - age if age >= 0.0 else 0.0  # one of the future: the clock was set back
        except SiltstoneError as error:
            log.warning("backup target %s: %s", name, error)
            return 0.0


def backup_parts(store: Store, known: Mapping[str, int]) -> Iterator[Part | Manifest]:
    """What a target that has the `known` files lacks of a backup of the store as it is now; its manifest
    comes last."""
    store.save_exposures()
    with store.frozen() as frozen:
        chunks = ((chunk.table, chunk.entries, chunk.data) for chunk in frozen.chunks())
        with closing(chunks):
            yield from parts_of(
                chunks,
                known,
                store=frozen.store.hex(),
                seq=frozen.seq,
                store_format=frozen.format,
                version=release(),
                now=datetime.now(UTC),
            )


def describe(manifest: Manifest, target: str, new_bytes: int) -> Backup:
    return Backup(
        name=manifest.name,
        target=target,
        seq=manifest.seq,
        size_bytes=manifest.size_bytes,
        create_time=manifest.create_time,
        new_bytes=new_bytes,
    )

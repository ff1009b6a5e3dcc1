"""From one format of the data file to the next: one function a step, each in a transaction of its own.

Before the first step the file is copied to `former/format-N`, so that the release that wrote it can go on
from there: stop, put that file in the place of `data.mdb`. The copy lies there until somebody deletes it, or
until the file is made anew (compacting, erasing), since it holds what was deleted later.
"""

import logging
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from siltstone.store import keys
from siltstone.store.datafile import sync_directory

FORMAT_VERSION = 2  # of the tables and keys; records carry their own
WRITTEN_BY = b"siltstone"
STORE_ID_BYTES = 16
FORMER = "former"  # directory of data files that others took the place of

log = logging.getLogger(__name__)

Tables = Mapping[str, Any]


def written_format(txn: Any, meta: Any) -> tuple[int, str] | None:
    """Format version and writer of a data file; None for a new one."""
    written = txn.get(b"format", db=meta)
    return None if written is None else (keys.parse_number(written[:8]), written[8:].decode())


def begin(txn: Any, tables: Tables) -> None:
    """What a new data file begins with."""
    _identify(txn, tables)
    _note_format(txn, tables, FORMAT_VERSION)


def upgrade(env: Any, tables: Tables, version: int, directory: Path) -> None:
    """Take every step from `version` to the format of this release."""
    keep_former(env, directory, f"format-{version}")
    for step in range(version, FORMAT_VERSION):
        with env.begin(write=True) as txn:
            STEPS[step](txn, tables)
            _note_format(txn, tables, step + 1)
        log.info("%s was brought from format %d to format %d", directory, step, step + 1)


def keep_former(env: Any, directory: Path, label: str) -> None:
    """Copy the data file to `former/label`, whole or not at all."""
    unfinished, kept = directory / FORMER / f"{label}.unfinished", directory / FORMER / label
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700, parents=True)
    try:
        env.copy(str(unfinished), compact=True)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    shutil.rmtree(kept, ignore_errors=True)
    unfinished.rename(kept)
    sync_directory(directory / FORMER)


def _note_format(txn: Any, tables: Tables, version: int) -> None:
    txn.put(b"format", keys.number(version) + WRITTEN_BY, db=tables["meta"])


def _identify(txn: Any, tables: Tables) -> None:
    txn.put(b"id", secrets.token_bytes(STORE_ID_BYTES), db=tables["meta"])


STEPS: dict[int, Callable[[Any, Tables], None]] = {
    1: _identify,  # and vectors may lie in `other_vectors`, which an older release would overlook
}

"""A copy of the data file that holds the live entries and nothing else.

LMDB's own compacting copy takes pages as they are, with whatever an earlier page left in the slack of a large
value. Entries written anew into a fresh file leave no such remains.
"""

from collections.abc import Collection, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import lmdb

_AT_ONCE = 10_000  # entries in one transaction of the copy


def copy_live_entries(
    txn: Any, tables: Mapping[str, Any], target: Path, map_size: int, left_out: Collection[str]
) -> None:
    """Write every entry that `txn` sees into a new data file in the empty directory `target`, synced.

    Args:
        tables: name → handle; those in `left_out` are made and stay empty.
        map_size: of the source: a copy needs no more.
    """
    copy = lmdb.open(
        str(target),
        map_size=map_size,
        subdir=True,
        mode=0o700,
        max_dbs=len(tables),
        lib_version=0,
        sync=False,
        lock=False,  # nobody else knows of it; and on a full disk LMDB would die of SIGBUS in its lock file
    )
    try:
        for name, table in tables.items():
            into = copy.open_db(name.encode())
            if name in left_out:
                continue
            with txn.cursor(db=table) as cursor:
                entries = iter(cursor)
                while some := list(islice(entries, _AT_ONCE)):
                    with copy.begin(write=True) as out:
                        out.cursor(db=into).putmulti(some, append=True)
        copy.sync(True)
    finally:
        copy.close()

"""Whether a data file is all there, asked before LMDB maps it: whoever touches a page behind the end of a
mapped file is killed by the system (SIGBUS), in the midst of a read and without a word.

The layout is that of LMDB 0.9 in the machine's own words (mdb.c: MDB_meta, MDB_page, MDB_node).
"""

import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from siltstone.errors import FailedPreconditionError

_MARKER = "siltstone.created"  # beside a data file that held a store once

_PAGE = struct.Struct("@NHHHH")  # number, pad, flags, end of the offsets of its nodes, start of the nodes
_DB = struct.Struct("@IHHNNNNN")  # page size (of the first), flags, depth, pages by kind, entries, root
_META = struct.Struct("@IIPN")  # magic, version, address, map size; then two _DB, the last page, the commit
_LAST = struct.Struct("@NN")
_NODE = struct.Struct("@HHHH")  # two halves of the data's size or of a page, flags, size of the key
_WORD = struct.Struct("@N")
_MAGIC = 0xBEEFC0DE
_BRANCH, _LEAF = 0x01, 0x02
_IN_PAGES_OF_ITS_OWN = 0x01
_NO_PAGE = (1 << 8 * _WORD.size) - 1
_PAGE_SIZES = {1 << power for power in range(8, 17)}


def refuse_when_cut(directory: Path) -> None:
    """FailedPreconditionError (STORE_TRUNCATED) when the directory's data file lost its end, or all of it
    although there was a store. A file that LMDB itself refuses is left to it."""
    path = directory / "data.mdb"
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        size = 0
    else:
        try:
            size = os.fstat(descriptor).st_size
            if size:
                _refuse_when_short(path, descriptor, size)
        finally:
            os.close(descriptor)
    if not size and (directory / _MARKER).exists():
        raise _truncated(path, "is empty or gone, although this directory holds a store")


def note_created(directory: Path) -> None:
    """Note that the directory holds a store from now on. Only when its first commit is on disk: a crash
    before leaves a directory that counts as fresh."""
    marker = directory / _MARKER
    if not marker.exists():
        sync_directory(directory)  # the data file's name first: the mark must not be all that stays
        os.close(os.open(marker, os.O_WRONLY | os.O_CREAT, 0o600))


def sync_directory(path: Path) -> None:
    if os.name == "posix":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _refuse_when_short(path: Path, descriptor: int, size: int) -> None:
    try:
        meta = _newest_meta(descriptor)
        if meta is None:
            return
        page_size, free_root, last_page = meta
        if size >= (last_page + 1) * page_size:
            return
        # LMDB does not write pages that a transaction took and gave back: the file may rightly end before
        # them. What matters is whether a page in use is missing, that is one that is not among the free.
        first_missing = size // page_size
        free = _free_pages(descriptor, page_size, free_root, last_page)
        missing = last_page + 1 - first_missing - sum(page >= first_missing for page in free)
    except (EOFError, struct.error):
        raise _truncated(path, f"ends after {size:,} bytes, in the midst of its own index") from None
    if missing:
        wanted = (last_page + 1) * page_size
        raise _truncated(path, f"has {size:,} bytes of {wanted:,}; pages in use are missing: {missing:,}")


def _truncated(path: Path, problem: str) -> FailedPreconditionError:
    return FailedPreconditionError(
        f"{path} {problem}; restore the directory from a backup, or move it away to begin anew",
        reason="STORE_TRUNCATED",
    )


def _newest_meta(descriptor: int) -> tuple[int, int, int] | None:
    """Page size, root page of the free list, number of the last page; None when it is no file of LMDB's."""
    found: list[tuple[int, int, int, int]] = []
    at = 0
    for _ in range(2):
        raw = _read(descriptor, at, _PAGE.size + _META.size + 2 * _DB.size + _LAST.size)
        magic, *_ = _META.unpack_from(raw, _PAGE.size)
        free = _DB.unpack_from(raw, _PAGE.size + _META.size)
        last_page, commit = _LAST.unpack_from(raw, _PAGE.size + _META.size + 2 * _DB.size)
        if magic != _MAGIC or free[0] not in _PAGE_SIZES:
            return None
        found.append((commit, free[0], free[-1], last_page))
        at = free[0]
    return max(found)[1:]


def _free_pages(descriptor: int, page_size: int, root: int, last_page: int) -> Iterator[int]:
    """Numbers of the pages in the free list: a tree whose values are lists of them, each after its length."""
    ahead = [root] if root != _NO_PAGE else []
    looked_at = 0
    while ahead:
        page = ahead.pop()
        looked_at += 1
        if looked_at > last_page:
            raise EOFError  # it leads in circles
        raw = _read(descriptor, page * page_size, page_size)
        _, _, flags, end_of_offsets, _ = _PAGE.unpack_from(raw)
        for (node,) in struct.iter_unpack("@H", raw[_PAGE.size : end_of_offsets]):
            first, second, node_flags, key_size = _NODE.unpack_from(raw, node)
            number = first | second << 16 if sys.byteorder == "little" else second | first << 16
            if flags & _BRANCH:
                ahead.append(number | (node_flags << 32 if _WORD.size > 4 else 0))
                continue
            if not flags & _LEAF:
                raise EOFError
            at = node + _NODE.size + key_size
            data = raw[at : at + number]
            if node_flags & _IN_PAGES_OF_ITS_OWN:
                (page,) = _WORD.unpack_from(raw, at)
                data = _read(descriptor, page * page_size + _PAGE.size, number)
            (count,) = _WORD.unpack_from(data)
            yield from struct.unpack_from(f"@{count}N", data, _WORD.size)


def _read(descriptor: int, at: int, size: int) -> bytes:
    os.lseek(descriptor, at, os.SEEK_SET)
    raw = b""
    while len(raw) < size:
        more = os.read(descriptor, size - len(raw))
        if not more:
            raise EOFError
        raw += more
    return raw

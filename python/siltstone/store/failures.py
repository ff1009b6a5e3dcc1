"""What LMDB and the disk report, as errors of ours."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lmdb

from siltstone.errors import (
    FailedPreconditionError,
    InternalError,
    ResourceExhaustedError,
    SiltstoneError,
    UnavailableError,
)

_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_PROBE_BYTES = 1 << 20


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise LMDB's errors and disk errors from the body as ours."""
    try:
        yield
    except (lmdb.Error, OSError) as error:
        raise translate(error, path) from error


def translate(error: Exception, path: Path) -> SiltstoneError:
    """Our error for one of LMDB's or the system's; `path` is the data directory."""
    code = error.errno if isinstance(error, OSError) else getattr(error, "code", 0)
    if code in _FULL or (code == errno.EIO and _is_full(path)):
        return ResourceExhaustedError(
            f"the disk of {path} is full; nothing of this write was kept: free space, then retry",
            reason="DISK_FULL",
        )
    if isinstance(error, lmdb.PanicError) or code == errno.EIO:
        return UnavailableError(
            f"the disk of {path} reported an error ({error}); the write is not acknowledged: "
            "check the disk, then restart",
            reason="STORAGE_FAILED",
        )
    if isinstance(error, lmdb.ReadersFullError):
        return ResourceExhaustedError("too many reads at once; retry", reason="OVERLOADED")
    if isinstance(error, lmdb.TxnFullError):
        return ResourceExhaustedError(
            "the write is too large for one transaction; split it", reason="WRITE_TOO_LARGE"
        )
    if isinstance(error, lmdb.MapFullError) or code == errno.ENOMEM:
        return ResourceExhaustedError(f"no address space for the map of {path}: {error}", reason="MAP_FULL")
    if isinstance(error, lmdb.InvalidError | lmdb.VersionMismatchError):
        return FailedPreconditionError(
            f"{path} holds no LMDB 0.9 file ({error}); give another directory or restore a backup",
            reason="NOT_A_STORE",
        )
    if isinstance(error, OSError):
        return FailedPreconditionError(
            f"{path} cannot be used as a data directory: {error}; give another, or this one to this user",
            reason="DATA_UNUSABLE",
        )
    return InternalError(f"the store in {path} failed: {error}", reason="STORAGE_ERROR")


def _is_full(path: Path) -> bool:
    """Whether an EIO means a full disk: LMDB reports a write that was cut short as EIO. Asked by growing the
    data file a little, which changes nothing in it: LMDB counts its pages itself."""
    if not hasattr(os, "posix_fallocate"):
        return shutil.disk_usage(path).free < _PROBE_BYTES
    try:
        descriptor = os.open(path / "data.mdb", os.O_RDWR)
    except OSError:
        return False
    try:
        os.posix_fallocate(descriptor, os.fstat(descriptor).st_size, _PROBE_BYTES)
    except OSError as error:
        return error.errno in _FULL
    finally:
        os.close(descriptor)
    return False

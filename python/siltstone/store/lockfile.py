"""The lock that keeps a data directory to one process, and to one store in it."""

import os
import sys
from pathlib import Path

from siltstone.errors import FailedPreconditionError

if sys.platform == "win32":
    import msvcrt

    _LOCKED_BYTE = 1 << 20  # far behind the pid, which others must be able to read

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class LockFile:
    """Held from construction to `release`; the system releases it when the process ends, however it ends."""

    def __init__(self, directory: Path) -> None:
        path = directory / "siltstone.lock"
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(self._descriptor)
        except OSError as error:
            holder = os.pread(self._descriptor, 32, 0) if hasattr(os, "pread") else path.read_bytes()
            os.close(self._descriptor)
            pid = holder.decode("ascii", "replace").strip() or "unknown"
            raise FailedPreconditionError(
                f"the data directory {directory} is in use by process {pid}; stop that server, talk to it "
                "over gRPC, or give this one a directory of its own",
                reason="DATA_LOCKED",
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, f"{os.getpid()}\n".encode())
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.release)

    def release(self) -> None:
        """Give the lock up. In a forked child this drops only the child's hold: the parent keeps its lock,
        and a child that outlives the parent keeps nobody out."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

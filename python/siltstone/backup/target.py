"""Where backups lie: a folder of this machine, or whatever fsspec reaches by a URL."""

import contextlib
import errno
import importlib
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from siltstone.errors import (
    FailedPreconditionError,
    NotFoundError,
    ResourceExhaustedError,
    SiltstoneError,
    UnavailableError,
)

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_UNFINISHED = ".unfinished-"


class Target(Protocol):
    """Files by name, such as ``chunks/ab/abcd``. A name is there with all its bytes or not at all.

    Raises UnavailableError (TARGET_FAILED) where the other side fails, ResourceExhaustedError (TARGET_FULL)
    where there is no room.
    """

    @property
    def location(self) -> str: ...

    def write(self, name: str, data: bytes) -> None: ...

    def read(self, name: str) -> bytes:
        """NotFoundError (FILE_NOT_FOUND) when there is none of this name."""

    def sizes(self, folder: str) -> dict[str, int]:
        """Name → bytes of every file below a folder; empty when there is no such folder."""

    def delete(self, names: list[str]) -> None: ...


def open_target(location: str) -> Target:
    """The target at a folder's path or a URL. FailedPreconditionError (TARGET_UNKNOWN) for a URL whose kind
    needs a package that is not installed."""
    return Remote(location) if _URL.match(location) else Folder(Path(location))


class Folder:
    """A folder; made when something is written to it. Files are on disk when `write` returns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.location = str(path)

    def write(self, name: str, data: bytes) -> None:
        path = self._path / name
        with _told(self.location):
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_name(_UNFINISHED + uuid.uuid4().hex)
            try:
                with open(unfinished, "xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(unfinished, path)
            except BaseException:
                unfinished.unlink(missing_ok=True)
                raise
            _sync(path.parent)

    def read(self, name: str) -> bytes:
        with _told(self.location):
            return (self._path / name).read_bytes()

    def sizes(self, folder: str) -> dict[str, int]:
        root = self._path / folder
        found = {}
        with _told(self.location):
            for path in root.rglob("*") if root.is_dir() else ():
                if path.is_file():
                    found[path.relative_to(self._path).as_posix()] = path.stat().st_size
        return found

    def delete(self, names: list[str]) -> None:
        with _told(self.location):
            for name in names:
                (self._path / name).unlink(missing_ok=True)


class Remote:
    """What fsspec reaches: S3 and what speaks like it with s3fs installed, and many others. Endpoints and
    credentials come from where their libraries look for them (for S3: AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID,
    …), never from a file of Siltstone's."""

    def __init__(self, location: str) -> None:
        self.location = location
        kind = location.partition("://")[0]
        try:
            self._fs, root = importlib.import_module("fsspec").url_to_fs(location)
        except (ImportError, ValueError) as error:
            raise FailedPreconditionError(
                f"backup target {location}: {error}; install what reaches it, for s3:// "
                "pip install 'siltstone[s3]'",
                reason="TARGET_UNKNOWN",
            ) from None
        except Exception as error:
            raise _failed(f"{kind}://…", error) from error
        self._root = root.rstrip("/")

    def write(self, name: str, data: bytes) -> None:
        with _told(self.location):
            path = f"{self._root}/{name}"
            self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._fs.pipe_file(path, data)

    def read(self, name: str) -> bytes:
        with _told(self.location):
            data: bytes = self._fs.cat_file(f"{self._root}/{name}")
            return data

    def sizes(self, folder: str) -> dict[str, int]:
        with _told(self.location):
            self._fs.invalidate_cache()  # others write there, too
            root = f"{self._root}/{folder}".rstrip("/")
            try:
                found: dict[str, Any] = self._fs.find(root, detail=True)
            except FileNotFoundError:
                return {}
            base = self._fs._strip_protocol(self._root).rstrip("/") + "/"
            return {name.removeprefix(base): int(info["size"]) for name, info in found.items()}

    def delete(self, names: list[str]) -> None:
        with _told(self.location):
            if names:
                self._fs.rm([f"{self._root}/{name}" for name in names])


@contextmanager
def _told(location: str) -> Iterator[None]:
    """Raise what files and networks raise as errors of ours."""
    try:
        yield
    except SiltstoneError:
        raise
    except FileNotFoundError as error:
        raise NotFoundError(
            f"{error.filename or error} is not at {location}", reason="FILE_NOT_FOUND"
        ) from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            raise ResourceExhaustedError(
                f"{location} is full; nothing that was there is lost: free space, then back up again",
                reason="TARGET_FULL",
            ) from error
        raise _failed(location, error) from error


def _failed(location: str, error: Exception) -> UnavailableError:
    return UnavailableError(
        f"backup target {location}: {type(error).__name__}: {error}; see that it can be reached and written",
        reason="TARGET_FAILED",
    )


def _sync(directory: Path) -> None:
    if os.name == "posix":
        with contextlib.suppress(OSError):  # a file system that cannot
            descriptor = os.open(directory, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

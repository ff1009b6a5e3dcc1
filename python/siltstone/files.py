"""Files of the caller: written whole or not at all, sent as they are read."""

import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from siltstone.errors import InvalidArgumentError

CHUNK_BYTES = 1 << 20

Progress = Callable[[int], None]


class Sink(Protocol):
    """Takes the messages of an answer as they come."""

    def take(self, message: Any) -> None: ...

    def finish(self) -> Any:
        """Once all have come; what the caller gets."""

    def abandon(self) -> None:
        """The end, however it came to it; after `finish` there is nothing to do."""


def pour(messages: Iterable[Any], sink: Sink) -> Any:
    try:
        for message in messages:
            sink.take(message)
        return sink.finish()
    finally:
        sink.abandon()


class Download:
    """A file whose bytes come in the field `data` of messages. It has its name only once all have come.

    Args:
        progress: told how many bytes have come.
    """

    def __init__(self, path: str | os.PathLike[str], progress: Progress | None = None) -> None:
        self.path = Path(path)
        self._progress = progress
        self._bytes = 0
        self._unfinished = self.path.with_name(f".{self.path.name}.{uuid.uuid4().hex[:8]}")
        self._file: BinaryIO | None = None

    def take(self, message: Any) -> None:
        try:
            self._opened().write(message.data)
        except (OSError, ValueError) as error:
            raise _refused("write", self.path, error) from None
        self._bytes += len(message.data)
        if self._progress is not None:
            self._progress(self._bytes)

    def finish(self) -> int:
        """Give the file its name; how many bytes it has."""
        try:
            file = self._opened()
            file.flush()
            os.fsync(file.fileno())
            file.close()
            os.replace(self._unfinished, self.path)
        except (OSError, ValueError) as error:
            raise _refused("write", self.path, error) from None
        return self._bytes

    def abandon(self) -> None:
        """Leave nothing of it, unless it was finished."""
        if self._file is not None:
            self._file.close()
            self._unfinished.unlink(missing_ok=True)

    def _opened(self) -> BinaryIO:
        if self._file is None:
            # closed by finish or abandon
            self._file = open(self._unfinished, "xb", opener=_private)  # noqa: SIM115
        return self._file


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def parts_of(path: str | os.PathLike[str], progress: Progress | None = None) -> Iterator[bytes]:
    """A file in parts of `CHUNK_BYTES`; a path that cannot be read is told at once.

    Args:
        progress: told how many bytes were sent.
    """
    try:
        open(path, "rb").close()
    except (OSError, ValueError) as error:
        raise _refused("read", path, error) from None

    def parts() -> Iterator[bytes]:
        sent = 0
        with open(path, "rb") as file:
            while part := file.read(CHUNK_BYTES):
                yield part
                sent += len(part)
                if progress is not None:
                    progress(sent)

    return parts()


def _refused(verb: str, path: str | os.PathLike[str], error: Exception) -> InvalidArgumentError:
    reason = getattr(error, "strerror", None) or str(error)
    return InvalidArgumentError(f"path: cannot {verb} {os.fspath(path)!r}: {reason}", field="path")

"""A backup that comes part by part, into a folder."""

from collections.abc import Callable
from pathlib import Path

from siltstone.backup.manifest import Manifest
from siltstone.backup.shelf import Part, check_part, is_part, put_part
from siltstone.backup.target import Folder
from siltstone.errors import InternalError
from siltstone.model.requests import Backup, BackupPart


class Receiver:
    """Args:
    progress: told how many bytes have come.
    """

    def __init__(self, directory: Path, progress: Callable[[int], None] | None = None) -> None:
        self._folder = Folder(directory)
        self._progress = progress
        self._bytes = 0
        self._manifest: Manifest | None = None

    def known(self) -> list[dict[str, object]]:
        """What the folder has, as the request tells it."""
        sizes = self._folder.sizes("")
        return [{"name": name, "size_bytes": size} for name, size in sizes.items() if is_part(name)]

    def take(self, sent: BackupPart) -> None:
        part = check_part(Part(sent.name, sent.data))
        put_part(self._folder, part)
        if part.name.endswith(".json"):
            self._manifest = Manifest.from_bytes(part.data, part.name)
        else:
            self._bytes += len(part.data)
            if self._progress is not None:
                self._progress(self._bytes)

    def abandon(self) -> None:
        """What came serves the next backup."""

    def finish(self) -> Backup:
        manifest = self._manifest
        if manifest is None:
            raise InternalError("the backup ended before its manifest; back up again", reason="CUT_OFF")
        return Backup(
            name=manifest.name,
            target=self._folder.location,
            seq=manifest.seq,
            size_bytes=manifest.size_bytes,
            create_time=manifest.create_time,
            new_bytes=self._bytes,
        )

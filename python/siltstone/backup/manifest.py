"""What a backup consists of, as JSON that carries its own checksum."""

import hashlib
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from siltstone.errors import FailedPreconditionError

FORMAT_VERSION = 1
_HEX = re.compile("[0-9a-f]{64}")
_STORE = re.compile("[0-9a-f]{32}")
_NAME = re.compile("[0-9TZ-]{1,64}")


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """`digest` is the SHA-256 of its bytes as they lie at the target, in hex."""

    digest: str
    size: int
    entries: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """One backup.

    Attributes:
        name: unique among the store's backups, later ones sort behind earlier ones.
        store: the store's id, in hex.
        seq: the last commit in it.
        store_format: of the tables and keys in the chunks.
        tables: name → chunks in the order of their keys.
    """

    name: str
    store: str
    create_time: datetime
    seq: int
    store_format: int
    version: str
    tables: dict[str, list[StoredChunk]] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        return sum(chunk.size for chunks in self.tables.values() for chunk in chunks)

    def chunks(self) -> dict[str, int]:
        """Digest → size of every chunk."""
        return {chunk.digest: chunk.size for chunks in self.tables.values() for chunk in chunks}

    def to_bytes(self) -> bytes:
        content = {
            "format": FORMAT_VERSION,
            "name": self.name,
            "store": self.store,
            "create_time": self.create_time.astimezone(UTC).isoformat(),
            "seq": self.seq,
            "store_format": self.store_format,
            "version": self.version,
            "tables": {
                table: [[c.digest, c.size, c.entries] for c in chunks]
                for table, chunks in self.tables.items()
            },
        }
        sealed = {"backup": content, "sha256": _digest(content)}
        return (json.dumps(sealed, separators=(",", ":")) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes, where: str) -> "Manifest":
        """Raises FailedPreconditionError (BACKUP_DAMAGED) when it is not what `to_bytes` made, and
        (BACKUP_FORMAT) when a later release made it. `where` it was read is told then."""
        try:
            sealed = json.loads(data)
            content = sealed["backup"]
            if sealed["sha256"] != _digest(content):
                raise ValueError("its checksum is another")
            if isinstance(content["format"], int) and content["format"] > FORMAT_VERSION:
                raise FailedPreconditionError(
                    f"the backup {where} is of format {content['format']}, this release reads "
                    f"{FORMAT_VERSION}; restore it with the release that made it, or a newer one",
                    reason="BACKUP_FORMAT",
                )
            return _manifest(content)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise damaged(f"the manifest {where} is damaged: {error}") from None


def damaged(message: str) -> FailedPreconditionError:
    return FailedPreconditionError(
        f"{message}; take another backup, or another copy of this one", reason="BACKUP_DAMAGED"
    )


def _manifest(content: dict[str, Any]) -> Manifest:
    """What a checksum covers may still be anything: it names files that are read and deleted."""
    made = Manifest(
        _word(_NAME, content["name"]),
        _word(_STORE, content["store"]),
        datetime.fromisoformat(content["create_time"]).astimezone(UTC),
        _count(content["seq"]),
        _count(content["store_format"]),
        str(content["version"]),
        {table: [_chunk(*chunk) for chunk in chunks] for table, chunks in content["tables"].items()},
    )
    if _count(content["format"]) != FORMAT_VERSION:
        raise ValueError(f"its format is {content['format']}")
    return made


def _chunk(digest: object, size: object, entries: object) -> StoredChunk:
    return StoredChunk(_word(_HEX, digest), _count(size), _count(entries))


def _word(form: re.Pattern[str], value: object) -> str:
    if not isinstance(value, str) or not form.fullmatch(value):
        raise ValueError(f"{value!r:.100} is not what it seems")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r:.100} is no number of anything")
    return value


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

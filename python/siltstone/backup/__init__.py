"""Backups as they lie at a target: a manifest for each, and chunks that they share. Plain files and bytes:
what is in a chunk, the store knows."""

from siltstone.backup.manifest import FORMAT_VERSION, Manifest, StoredChunk
from siltstone.backup.receiver import Receiver
from siltstone.backup.shelf import (
    Part,
    backups_at,
    check_part,
    chunk_of,
    manifest_part,
    name_of,
    parts_of,
    prune,
    put_part,
)
from siltstone.backup.target import Folder, Target, open_target

__all__ = [
    "FORMAT_VERSION",
    "Folder",
    "Manifest",
    "Part",
    "Receiver",
    "StoredChunk",
    "Target",
    "backups_at",
    "check_part",
    "chunk_of",
    "manifest_part",
    "name_of",
    "open_target",
    "parts_of",
    "prune",
    "put_part",
]

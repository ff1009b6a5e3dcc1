"""The engine's figures as they are now. Each is at hand: asking costs little."""

from collections.abc import Iterator

from siltstone.engine.collections import Collections
from siltstone.store import Store
from siltstone.watching import Figure

# Table → what one entry of it is. `waiting` holds the jobs that are queued or running.
_COUNTED = {
    "memories": "memories",
    "revisions": "revisions",
    "tasks": "tasks",
    "steps": "steps",
    "jobs": "jobs",
    "waiting": "open_jobs",
    "names": "namespaces",
}


def figures_of(store: Store, collections: Collections) -> Iterator[Figure]:
    info = store.info()
    yield Figure("store_seq", "Number of the last commit", info.seq)
    yield Figure("store_bytes", "Size of the store's file", info.file_bytes)
    yield Figure("store_map_bytes", "What the file may grow to before the map grows", info.map_size)
    for table, counted in _COUNTED.items():
        yield Figure("store_entries", "What the store holds", info.entries[table], (("kind", counted),))
    yield Figure("store_reads_open", "Reads under way in the store", info.reads)
    yield Figure(
        "store_oldest_read_seconds",
        "How long the oldest read has been under way; free pages are not used again meanwhile",
        info.oldest_read_s,
    )
    yield Figure("writes_waiting", "Writes accepted and not yet answered", info.writes_waiting)
    yield Figure("index_lag_commits", "Commits that the index has not yet applied", info.unapplied)
    yield Figure("index_bytes", "Memory that the loaded indexes take", collections.loaded_bytes())
    yield Figure("index_collections", "Indexes that are loaded", collections.loaded())

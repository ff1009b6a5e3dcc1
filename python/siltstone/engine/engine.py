"""The engine: opens a data directory and answers every operation of `siltstone.operations`.

Its chapters stand on one another: core ← writing ← searching ← memories ← looking_back ← tasks ← admin ←
erasing ← verifying ← auditing ← backing_up ← token_keeping ← exporting ← importing ← reembedding; before each
operation stands the guard. Each operation has one rhythm: decode → think without locks → one transaction →
one apply → encode.
"""

import logging
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from siltstone.config import Settings
from siltstone.embed import Embedder, open_embedder
from siltstone.engine.backups import BackupKeeper
from siltstone.engine.call import Call
from siltstone.engine.collections import Collections
from siltstone.engine.embedders import Embedders
from siltstone.engine.guard import guarded
from siltstone.engine.jobs import JobRunner
from siltstone.engine.mover import Mover
from siltstone.engine.past import PastIndex
from siltstone.engine.ranking import Ranking
from siltstone.engine.reembedding import Reembedding
from siltstone.engine.sweeper import Sweeper
from siltstone.engine.task_keeper import TaskKeeper
from siltstone.engine.tokens import TokenBook
from siltstone.errors import FailedPreconditionError, ResourceExhaustedError
from siltstone.llm import open_extractor
from siltstone.rerank import open_reranker
from siltstone.store import Store

log = logging.getLogger(__name__)

TASKS_EVERY_S = 60.0  # between rounds of the task keeper


@guarded
class Engine(Reembedding):
    """Every operation takes its request and a `Call`, and returns its response. Safe for many threads."""

    @classmethod
    def open(cls, path: str | Path, settings: Settings | None = None) -> "Engine":
        """Open or create a data directory.

        Raises:
            FailedPreconditionError: another process has it open, a newer version wrote it, or the embedding
                model does not load.
        """
        settings = settings or Settings()

        def open_one(name: str) -> Embedder:
            return open_embedder(
                name,
                base_url=settings.embedding_base_url,
                api_key=settings.embedding_api_key,
                dimension=settings.embedding_dimension if name == settings.embedding_model else None,
                background=settings.embedding_background,
                merge_threshold=settings.embedding_merge_threshold,
            )

        return cls(Path(path), Embedders(open_one(settings.embedding_model), open_one), settings)

    def __init__(self, path: Path, embedders: Embedders, settings: Settings) -> None:
        with ExitStack() as opened:  # a start that fails leaves nothing open and nothing running
            opened.callback(embedders.close)
            extractor = open_extractor(settings)
            reranker = open_reranker(settings)
            if reranker is not None:
                opened.callback(reranker.close)
            collections = _collections(path, settings)
            store = Store(
                path / "store",
                applier=collections.apply,
                map_size=settings.map_size,
                max_namespaces=settings.max_namespaces,
                max_memories=settings.max_memories,
            )
            opened.callback(store.close)
            super().__init__(store, collections, embedders, settings)
            self.tokens = TokenBook(store)
            self.extractor = extractor
            self.past = PastIndex(store, embedders, settings.max_as_of_memories)
            self.ranking = Ranking(store, embedders, reranker)
            self.sweeper = Sweeper(
                store, grace=timedelta(days=settings.expired_grace_days), every=settings.sweep_every_s
            )
            self.jobs = JobRunner(
                store,
                self.look_at_task,
                threads=settings.hindsight_workers,
                attempts=settings.hindsight_attempts,
            )
            self.task_keeper = TaskKeeper(store, self.jobs, settings, every=TASKS_EVERY_S)
            self.backups = BackupKeeper(
                store, settings.backup_targets, every=settings.backup_every, keep=settings.backup_keep
            )
            self.mover = Mover(store, collections, embedders)
            collections.start(store)
            opened.callback(collections.close)
            try:
                self.finish_erasures(Call())
            except ResourceExhaustedError as error:
                # What was erased is in no answer; to refuse those of the rest would help nobody.
                log.error("the store's files may still hold erased text; run siltstone compact: %s", error)
            opened.callback(extractor.close)  # before the index: who waits for its model has not written yet
            for part in (self.jobs, self.sweeper, self.task_keeper, self.backups, self.mover):
                opened.callback(part.close)
                part.start()
            self._to_close = opened.pop_all()

    def close(self) -> None:
        """End what runs, save the index, release the directory. Nothing acknowledged is lost without it."""
        self._to_close.close()


def _collections(path: Path, settings: Settings) -> Collections:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        (path / "index").mkdir(mode=0o700, exist_ok=True)  # vectors tell what they are of
        return Collections(path / "index", settings.index_memory)
    except OSError as error:
        raise FailedPreconditionError(
            f"data: {path} cannot be a data directory ({error.strerror or error}); give a directory that "
            "this user may write to",
            reason="DATA_UNUSABLE",
            field="data",
        ) from error

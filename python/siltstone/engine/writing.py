"""The write path: validate → embed and look for duplicates, without locks → one transaction → one apply."""

import math
from dataclasses import replace

import numpy as np

from siltstone.embed.passages import embedded_texts
from siltstone.engine.call import Call
from siltstone.engine.committing import CALLER_MODEL, MOVED, WriteOperation, dimension_mismatch
from siltstone.engine.conflicts import NEAR, Claim
from siltstone.engine.core import Core
from siltstone.engine.duplicates import LOOKED_AT, cosine_of
from siltstone.engine.screening import Policy
from siltstone.engine.thought import Thought
from siltstone.engine.too_long import fit_content
from siltstone.engine.validate import (
    Vector,
    check_batch,
    check_draft,
    check_label,
    check_namespace,
    check_vector,
)
from siltstone.errors import FailedPreconditionError, NotFoundError
from siltstone.model import (
    Memory,
    MemoryDraft,
    OnDuplicate,
    Source,
)
from siltstone.model.requests import WriteMemoriesRequest, WriteMemoriesResponse
from siltstone.store import NamespaceRecord, content_digest
from siltstone.store.keys import format_id
from siltstone.summary import summarize

_DEFAULT_CONFIDENCE = 0.7


class Writing(Core):
    def write_memories(self, request: WriteMemoriesRequest, call: Call) -> WriteMemoriesResponse:
        check_namespace(request.namespace)
        check_batch(request.drafts, self.settings, "drafts")
        for i, draft in enumerate(request.drafts):
            check_draft(draft, self.settings, f"drafts[{i}]")
        if request.task_id:
            check_label(request.task_id, "task_id")
        answer: WriteMemoriesResponse | None = self.answered("WriteMemories", request, call)
        if answer is not None:
            return answer
        try:
            return self.write("WriteMemories", request, call, self.writing(request, call))
        except FailedPreconditionError as error:
            if error.reason != MOVED:
                raise
        # The namespace got its first vectors, or was moved to another model, since the drafts were embedded.
        return self.write("WriteMemories", request, call, self.writing(request, call))

    def writing(
        self, request: WriteMemoriesRequest, call: Call, policy: Policy | None = None
    ) -> WriteOperation:
        """Think about the drafts now; the operation returned commits them. The policy is the server's unless
        another is given."""
        policy = policy or Policy.of(self.settings)
        screened = []
        for i, draft in enumerate(request.drafts):
            call.remaining()
            screened.append(policy.screened_draft(draft, f"drafts[{i}]"))
        fitted = [fit_content(draft, self.settings) for draft, _ in screened]
        request = replace(request, drafts=[draft for draft, _ in fitted])
        seq, namespace = 0, None
        plain = all(d.vector is not None and d.on_duplicate is OnDuplicate.KEEP for d in request.drafts)
        if not plain:  # else nothing about it depends on what is stored
            with self.store.read() as reader:
                seq = reader.seq
                namespace = reader.namespace(request.namespace)
        embedder = self.embedders.of(namespace)
        model, all_vectors = self._vectors(request.drafts, namespace, call)
        thoughts = []
        for (draft, original_bytes), (_, masked), vectors in zip(fitted, screened, all_vectors, strict=True):
            call.remaining()
            memory = self._memory(draft, request, original_bytes)
            memory.flags = policy.flags_of(memory)
            judged = draft.on_duplicate is not OnDuplicate.KEEP
            thoughts.append(
                Thought(
                    draft=draft,
                    memory=memory,
                    vectors=vectors,
                    digest=content_digest(draft.content),
                    claim=Claim.of(memory) if judged else None,
                    near=[],
                    masked=masked,
                )
            )
        # The cosines of vectors that callers bring have no known scale: there equal text alone decides.
        scale = (math.inf, math.inf)
        if model == embedder.model:
            background = embedder.background
            scale = embedder.merge_threshold, background + NEAR * (1.0 - background)
            self._look_around(thoughts, namespace, *scale)
        return WriteOperation(request.namespace, "" if plain else model, *scale, thoughts, seq)

    def _vectors(
        self, drafts: list[MemoryDraft], namespace: NamespaceRecord | None, call: Call
    ) -> tuple[str, list[Vector]]:
        """The model id and, for each draft, its vectors: the caller's, or the embedded passages."""
        embedder = self.embedders.of(namespace)
        bound = namespace.embedding_model if namespace else ""
        if not bound and all(draft.vector is not None for draft in drafts):
            bound = CALLER_MODEL
        passages: list[list[str]] = []
        for i, draft in enumerate(drafts):
            call.remaining()
            if draft.vector is None:
                self.check_model(bound, namespace, f"drafts[{i}].vector")
            passages.append(
                embedded_texts(draft.content, draft.lesson, embedder.passage_tokens)
                if draft.vector is None
                else []
            )
        texts = [text for parts in passages for text in parts]
        embedded = self.embed_passages(texts, call, embedder) if texts else None
        vectors, at = [], 0
        for i, (draft, parts) in enumerate(zip(drafts, passages, strict=True)):
            if draft.vector is not None:
                vectors.append(check_vector(draft.vector, f"drafts[{i}].vector").reshape(1, -1))
            else:
                assert embedded is not None
                vectors.append(embedded[at : at + len(parts)])
                at += len(parts)
        return bound or embedder.model, vectors

    def check_model(self, bound: str, namespace: NamespaceRecord | None, field: str) -> None:
        """Refuse to embed text for a namespace whose vectors another model made."""
        embedder = self.embedders.of(namespace)
        if not bound or bound == embedder.model:
            return
        if bound == CALLER_MODEL:
            dimension = f" of dimension {namespace.embedding_dimension}" if namespace else ""
            raise FailedPreconditionError(
                f"{field}: the namespace keeps vectors that its callers bring{dimension}; pass `vector`",
                reason="VECTOR_REQUIRED",
                field=field,
            )
        raise FailedPreconditionError(
            f"{field}: the namespace was embedded by {bound!r}, this service runs {embedder.model!r}; "
            "start it with the former model (embedding_model), re-embed the namespace, or use another",
            reason="EMBEDDING_MODEL_MISMATCH",
            field=field,
        )

    def _look_around(
        self, thoughts: list[Thought], namespace: NamespaceRecord | None, same: float, near: float
    ) -> None:
        """Find each draft's near memories and compare the texts, so that the transaction need not."""
        wanted = [i for i, t in enumerate(thoughts) if t.draft.on_duplicate is not OnDuplicate.KEEP]
        if not wanted or namespace is None or self.embedders.maker_of(namespace) is None:
            return
        for i in wanted:
            if thoughts[i].vectors.shape[1] != namespace.embedding_dimension:
                raise dimension_mismatch(thoughts[i].vectors.shape[1], namespace, f"drafts[{i}].vector")
        # The first passage decides which memories are looked at; then the whole texts are compared.
        packed = b"".join(np.ascontiguousarray(thoughts[i].vectors[0], dtype="<f4").tobytes() for i in wanted)
        try:
            with self.collections.held([namespace]) as there:
                if not there:
                    return
                found = self.collections.index.nearest(namespace.number, packed, LOOKED_AT)
        except (KeyError, NotFoundError):
            return  # deleted meanwhile, and with it all that could be near
        with self.store.read() as reader:
            for i, hits in zip(wanted, found, strict=True):
                thought = thoughts[i]
                floor = min(same, near) if thought.claim else same
                thought.near = [format_id(id) for id, cosine in hits if cosine >= floor]
                for memory in reader.memories(thought.near):
                    if memory is None or memory.namespace != namespace.name:
                        continue
                    cosine = cosine_of(reader.vectors(memory.id), thought.vectors)
                    if cosine >= same:
                        thought.says_the_same(memory, cosine)
                    thought.judgement(memory)

    def _memory(self, draft: MemoryDraft, request: WriteMemoriesRequest, original_bytes: int) -> Memory:
        source = draft.source
        if request.task_id and (source is None or not source.task_id):
            source = replace(source or Source(), task_id=request.task_id)
        return Memory(
            namespace=request.namespace,
            memory_type=draft.memory_type,
            content=draft.content,
            summary=draft.summary if draft.summary and draft.summary.strip() else summarize(draft.content),
            task_type=draft.task_type,
            outcome=draft.outcome,
            lesson=draft.lesson,
            tags=list(dict.fromkeys(draft.tags)),
            tools_used=list(dict.fromkeys(draft.tools_used)),
            attributes=dict(draft.attributes),
            confidence=_DEFAULT_CONFIDENCE if draft.confidence is None else draft.confidence,
            event_time=draft.event_time,
            valid_until=draft.valid_until,
            sequence=draft.sequence,
            position=draft.position,
            source=source,
            original_bytes=original_bytes,
        )

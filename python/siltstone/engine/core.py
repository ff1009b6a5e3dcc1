"""What every chapter of the engine works with, and the rhythm of a write."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from siltstone.config import Settings
from siltstone.data import from_data, to_data
from siltstone.embed import Embedder, Vectors
from siltstone.engine.call import OWNER, Call
from siltstone.engine.collections import Collections
from siltstone.engine.embedders import Embedders
from siltstone.engine.figures import figures_of
from siltstone.engine.validate import check_label, check_namespace
from siltstone.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    UnavailableError,
)
from siltstone.operations import OPERATIONS
from siltstone.store import ERASED_ANSWER, Created, NamespaceRecord, Reader, Store, Writer
from siltstone.watching import Metrics, span
from siltstone.watching.metrics import timed

T = TypeVar("T")

EMBEDDED_AT_ONCE = 16  # passages, a few seconds; then a call's deadline is looked at
TRIES = 5  # a memory, or a whole namespace, may be deleted between plan, index and store


class Core:
    """The store (truth), the collections (derived), the embedding model and the settings."""

    def __init__(
        self, store: Store, collections: Collections, embedders: Embedders, settings: Settings
    ) -> None:
        self.store = store
        self.collections = collections
        self.embedders = embedders
        self.embedder = embedders.default
        self.settings = settings
        self.metrics = Metrics()
        self.metrics.ask("engine", lambda: figures_of(store, collections))
        self._parts = self.metrics.seconds("part_seconds", "Parts of calls: embed, search, commit", "part")

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Times a part of a call, and makes it a span of its trace: embed, search (in the core), commit."""
        with span(f"siltstone.{name}"), timed(self._parts.labels(name)):
            yield

    def write(self, rpc: str, request: Any, call: Call, operation: Callable[[Writer], T]) -> T:
        """One transaction: `operation`, and, where the request has an id, its answer for a repeat."""

        def once(writer: Writer) -> T:
            writer.principal = call.principal
            writer.sees = call.sees
            if not request.request_id:
                return self.counted(operation, writer, call.principal)
            answer: T | None = self.answered(rpc, request, call, writer)
            if answer is None:
                answer = self.counted(operation, writer, call.principal)
                encoded = json.dumps(to_data(answer), ensure_ascii=False).encode()
                writer.put_answer(call.principal, rpc, request.request_id, _digest(request), encoded)
            return answer

        with self.part("commit"):
            return self.store.commit(once, timeout=call.remaining())

    def counted(self, operation: Callable[[Writer], T], writer: Writer, principal: str) -> T:
        """Carry it out within what a token may create; what is over that is undone by the error."""
        answer = operation(writer)
        if principal not in ("", OWNER) and writer.created != Created():
            total = writer.add_created(principal)
            for made, name in ((total.memories, "memories"), (total.namespaces, "namespaces")):
                limit: int | None = getattr(self.settings, f"max_{name}_per_token")
                if limit is not None and made > limit and getattr(writer.created, name):
                    raise ResourceExhaustedError(
                        f"this token may create {limit:,} {name} (max_{name}_per_token), and with this call "
                        f"it would be {made:,}; nothing was written. What it creates counts, whatever "
                        "becomes of it: use another token, or raise the setting",
                        reason=f"TOO_MANY_{name.upper()}",
                    )
        return answer

    def show(self, task_id: str, memory_ids: Sequence[str], call: Call) -> None:
        """Note that a task is shown these memories; nothing for a task that the caller does not see."""
        if not call.namespaces.whole:
            with self.store.read() as reader:
                if not is_task(reader, task_id, call.sees):
                    return
        self.store.show(task_id, memory_ids)

    def embed_passages(self, texts: list[str], call: Call, embedder: Embedder) -> Vectors:
        """Vectors of texts to be found, float32 (n, dimension). DeadlineExceededError as soon as nobody waits
        for them any more: nothing is written then."""
        parts = []
        for start in range(0, len(texts), EMBEDDED_AT_ONCE):
            call.remaining()
            with self.part("embed"):
                parts.append(embedder.embed_passages(texts[start : start + EMBEDDED_AT_ONCE]))
        return np.concatenate(parts)

    def ask_index(self, namespace: str, question: Callable[[int], T], nothing: T) -> T:
        """What the namespace's index says to a question, which gets its number; `nothing` where nothing was
        ever written. NotFoundError when there is no such namespace."""
        for _ in range(TRIES):
            with self.store.read() as reader:
                record = known_namespace(reader, namespace)
            if not record.embedding_dimension:
                return nothing
            try:
                with self.collections.held([record]) as there:
                    if there:
                        return question(record.number)
            except KeyError:
                pass  # its index was reset, or it was deleted meanwhile: the next look at the store tells
        raise UnavailableError(f"namespace {namespace!r} changed faster than it could be read; try again")

    def answered(self, rpc: str, request: Any, call: Call, reader: Reader | None = None) -> Any | None:
        """The answer an earlier call with this request id got; AlreadyExistsError for another payload."""
        if not request.request_id:
            return None
        if reader is None:
            check_label(request.request_id, "request_id")
            with self.store.read() as reader:
                return self.answered(rpc, request, call, reader)
        encoded = reader.answer(call.principal, rpc, request.request_id, _digest(request))
        if encoded == ERASED_ANSWER:
            raise FailedPreconditionError(
                f"request_id: {rpc} was carried out under {request.request_id!r}, and its answer was erased "
                "with a memory it told of; it is not carried out again: take a new request_id to do so",
                reason="ANSWER_ERASED",
                field="request_id",
            )
        return None if encoded is None else from_data(OPERATIONS[rpc].response, json.loads(encoded))


def known_namespace(reader: Reader, name: str, field: str = "namespace") -> NamespaceRecord:
    """The namespace, or NotFoundError: never an empty answer for a name that does not exist."""
    check_namespace(name, field)
    record = reader.namespace(name)
    if record is None:
        raise namespace_not_found(name, field)
    return record


def namespace_not_found(name: str, field: str) -> NotFoundError:
    """For a name that there is not, and one that the caller does not see."""
    return NotFoundError(
        f"{field}: no namespace {name!r} for this caller; look at the list of namespaces, write to it, "
        "or use a token that opens it",
        reason="NAMESPACE_NOT_FOUND",
        field=field,
    )


def is_task(reader: Reader, task_id: str, sees: Callable[[str], bool]) -> bool:
    """Whether there is such a task for someone who sees these namespaces; what is given as a task's id may be
    any kind of text."""
    try:
        task = reader.task(task_id)
    except InvalidArgumentError:
        return False
    return task is not None and sees(task.namespace)


def found(value: T | None, kind: str, id: str, field: str = "id") -> T:
    if value is None:
        raise NotFoundError(f"{field}: no {kind} {id!r}", reason=f"{kind.upper()}_NOT_FOUND", field=field)
    return value


def _digest(request: Any) -> bytes:
    payload = json.dumps(to_data(replace(request, request_id="")), sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(payload.encode(), digest_size=16).digest()

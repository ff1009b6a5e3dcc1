"""Import: rows of an export, one by one. A bad row is reported with its line, and the rest goes on.

A memory that is there already under its id, and the same, stays as it is; so an import is repeated without
harm, and goes on where it was interrupted.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from siltstone.embed import Embedder
from siltstone.embed.passages import embedded_texts
from siltstone.engine.call import Call
from siltstone.engine.committing import CALLER_MODEL, dimension_mismatch
from siltstone.engine.core import TRIES
from siltstone.engine.evidence import KEPT
from siltstone.engine.export_format import (
    MAX_LINE_BYTES,
    End,
    MemoryRow,
    RevisionRow,
    Row,
    check_header,
    lines_of,
    memory_id_of,
    parse,
)
from siltstone.engine.exporting import Exporting
from siltstone.engine.validate import (
    Vector,
    check_attributes,
    check_content,
    check_count,
    check_id,
    check_label,
    check_labels,
    check_lesson,
    check_namespace,
    check_range,
    check_size,
    check_source,
    check_summary,
    check_tags,
    invalid,
)
from siltstone.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnavailableError,
)
from siltstone.model import Memory
from siltstone.model.requests import ImportChunk, ImportReport
from siltstone.store import NamespaceRecord, Writer

_ROWS = 200  # in one commit
_BATCH_BYTES = 4 << 20
_MOST_LINKS = 10_000  # of one memory
_REPORTED = 1000
_OF_THE_ROW = (InvalidArgumentError, FailedPreconditionError, AlreadyExistsError)


@dataclass(slots=True)
class _Planned:
    """A memory with what is known of it before the transaction."""

    line: int
    row: MemoryRow
    model: str = ""  # of its vectors, and of its namespace
    vectors: Vector | None = None
    embedded: bool = False


@dataclass(slots=True)
class _Former:
    line: int
    row: RevisionRow


@dataclass(slots=True)
class _Refused:
    """A row that was reported already."""

    memory_id: str


_Step = _Planned | _Former | _Refused


class _Rebound(Exception):
    """A namespace was bound to another model since its rows were planned."""


@dataclass(slots=True)
class _Import:
    report: ImportReport = field(default_factory=ImportReport)
    rows: int = 0  # between the first line and the last
    end: End | None = None
    refused: str = ""  # id of the last memory, if that was refused: its former states follow
    links: dict[str, tuple[int, str]] = field(default_factory=dict)  # missing id → line, field

    def failed(self, line: int, problem: str) -> None:
        self.report.failed += 1
        if len(self.report.failures) < _REPORTED:
            self.report.failures.append(f"line {line}: {problem}")

    def warn(self, line: int, problem: str) -> None:
        if len(self.report.warnings) < _REPORTED:
            self.report.warnings.append(f"line {line}: {problem}")


class Importing(Exporting):
    def import_memories(self, chunks: Iterable[ImportChunk], call: Call) -> ImportReport:
        state = _Import()
        lines = lines_of(chunk.data for chunk in chunks)
        number, first = next(lines, (1, b""))
        check_header(first or b"")
        for batch in _batches(lines):
            self._take(batch, state, call)
            number = batch[-1][0]
        self._finish(state, number)
        return state.report

    def _take(self, batch: list[tuple[int, bytes | None]], state: _Import, call: Call) -> None:
        planned: list[_Step] = []
        for line, data in batch:
            try:
                row = self._parsed(data)
            except _OF_THE_ROW as error:
                state.failed(line, error.message)
                state.rows += 1
                planned.append(_Refused(memory_id_of(data or b"")))
                continue
            if isinstance(row, End):
                state.end = row
                continue
            state.rows += 1
            planned.append(_Planned(line, row) if isinstance(row, MemoryRow) else _Former(line, row))
        if not planned:
            return
        for _ in range(TRIES):
            fit, problems = self._plan_vectors([p for p in planned if isinstance(p, _Planned)], call)
            try:
                done = self.store.commit(
                    lambda writer, fit=fit, problems=problems: _write(  # type: ignore[misc]
                        writer, planned, fit, problems, state.refused, call.principal
                    )
                )
            except _Rebound:
                continue
            break
        else:
            raise UnavailableError("the namespaces changed faster than could be imported; import again")
        state.refused = done.refused
        state.report.imported += done.report.imported
        state.report.unchanged += done.report.unchanged
        state.report.embedded += done.report.embedded
        for line, problem in done.problems:
            state.failed(line, problem)
        state.links.update(done.links)

    def _parsed(self, data: bytes | None) -> Row:
        if data is None:
            raise invalid("line", f"is longer than {MAX_LINE_BYTES:,} bytes")
        row = parse(data)
        if isinstance(row, MemoryRow):
            memory = self._checked(row.memory, "memory")
            return MemoryRow(memory, row.vectors)
        if isinstance(row, RevisionRow):
            memory = self._checked(row.revision.memory, "revision.memory")
            if memory.id != check_id(row.memory_id, "revision.memory_id"):
                raise invalid("revision.memory.id", f"is {memory.id}, not {row.memory_id}")
            check_size(row.revision.reason, self.settings, "revision.reason")
            if row.revision.revision != memory.revision:
                raise invalid("revision.revision", f"is {row.revision.revision}, not {memory.revision}")
            return RevisionRow(memory.id, replace(row.revision, memory=memory), row.vectors)
        return row

    def _checked(self, memory: Memory, field: str) -> Memory:
        settings = self.settings
        check_namespace(memory.namespace, f"{field}.namespace")
        check_content(memory.content, settings, f"{field}.content")
        check_summary(memory.summary, f"{field}.summary")
        for name in ("tags", "tools_used"):
            check_tags(getattr(memory, name), settings, f"{field}.{name}")
        if memory.task_type:
            check_label(memory.task_type, f"{field}.task_type")
        if memory.sequence:
            check_label(memory.sequence, f"{field}.sequence")
        check_attributes(memory.attributes, settings, f"{field}.attributes")
        if memory.lesson is not None:
            check_lesson(memory.lesson, settings, f"{field}.lesson")
        if memory.source is not None:
            check_source(memory.source, f"{field}.source")
            check_size(memory.source.principal, settings, f"{field}.source.principal")
        check_range(memory.confidence, 0.0, 1.0, f"{field}.confidence")
        check_range(memory.revision, 1, 2**31 - 1, f"{field}.revision")
        check_labels(memory.flags, f"{field}.flags")
        check_size(memory.supersede_reason, settings, f"{field}.supersede_reason")
        check_count(memory.evidence, KEPT, f"{field}.evidence")
        for i, piece in enumerate(memory.evidence):
            told = (piece.task_id, piece.trajectory, piece.reviewer, piece.note)
            check_size("".join(told), settings, f"{field}.evidence[{i}]")
        for name in ("create_time", "update_time", "event_time"):
            if getattr(memory, name) is None:
                raise invalid(f"{field}.{name}", "missing")
        for name in ("supersedes", "conflicts_with"):
            check_count(getattr(memory, name), _MOST_LINKS, f"{field}.{name}")
            for i, id in enumerate(getattr(memory, name)):
                check_id(id, f"{field}.{name}[{i}]")
        if memory.superseded_by:
            check_id(memory.superseded_by, f"{field}.superseded_by")
        return replace(memory, id=check_id(memory.id, f"{field}.id"))

    def _plan_vectors(
        self, planned: list[_Planned], call: Call
    ) -> tuple[dict[int, _Planned], dict[int, str]]:
        """Line → row with its vectors, of its namespace's model here; and what is wrong with the others."""
        names = {p.row.memory.namespace for p in planned}
        with self.store.read() as reader:
            namespaces = {name: reader.namespace(name) for name in names}
            there = {p.line for p in planned if reader.memory(p.row.memory.id) is not None}
        fit: dict[int, _Planned] = {}
        problems: dict[int, str] = {}
        to_embed: dict[str, tuple[Embedder, list[tuple[_Planned, list[str]]]]] = {}
        for p in planned:
            memory, given = p.row.memory, p.row.vectors
            namespace = namespaces[memory.namespace]
            embedder = self.embedders.of(namespace)
            model = self._model_for(namespace, memory)
            p = replace(p, model=model, vectors=None)
            if given is not None and len(given) and memory.embedding_model == model:
                p.vectors = given
            elif p.line in there:
                p.vectors = None  # it is not written again
            elif model == embedder.model:
                p.embedded = True
                texts = embedded_texts(memory.content, memory.lesson, embedder.passage_tokens)
                to_embed.setdefault(model, (embedder, []))[1].append((p, texts))
            else:
                problems[p.line] = (
                    f"memory.embedding_model: namespace {memory.namespace!r} has vectors of {model!r} here, "
                    f"this row of {memory.embedding_model or 'none'!r}, and the service runs "
                    f"{embedder.model!r}"
                )
                continue
            fit[p.line] = p
        for embedder, asking in to_embed.values():
            vectors = self.embed_passages([text for _, texts in asking for text in texts], call, embedder)
            at = 0
            for p, texts in asking:
                p.vectors, at = vectors[at : at + len(texts)], at + len(texts)
        return fit, problems

    def _model_for(self, namespace: NamespaceRecord | None, memory: Memory) -> str:
        if namespace is not None and namespace.embedding_model:
            return namespace.embedding_model
        return CALLER_MODEL if memory.embedding_model == CALLER_MODEL else self.embedder.model

    def _finish(self, state: _Import, line: int) -> None:
        with self.store.read() as reader:
            for id, (at, name) in state.links.items():
                if reader.memory(id) is None:
                    state.warn(at, f"memory.{name}: {id} is not in this store; the link stays")
        if state.end is None:
            state.failed(line, "the file ends without its last line: it was cut off, get it again")
        elif state.rows != state.end.memories + state.end.revisions:
            wanted = state.end.memories + state.end.revisions
            state.failed(line, f"the file has {state.rows} rows and was written with {wanted}")


@dataclass(slots=True)
class _Done:
    refused: str
    report: ImportReport = field(default_factory=ImportReport)
    problems: list[tuple[int, str]] = field(default_factory=list)
    links: dict[str, tuple[int, str]] = field(default_factory=dict)


def _write(
    writer: Writer,
    planned: list[_Step],
    fit: dict[int, _Planned],
    problems: dict[int, str],
    refused: str,
    principal: str,
) -> _Done:
    writer.principal = principal
    done = _Done(refused)
    for each in planned:
        if isinstance(each, _Refused):
            done.refused = each.memory_id
            continue
        if isinstance(each, _Former):
            if each.row.memory_id == done.refused:
                continue  # told of with its memory
            try:
                _write_revision(writer, each.row)
            except _OF_THE_ROW as error:
                done.problems.append((each.line, error.message))
            continue
        memory = each.row.memory
        try:
            if each.line in problems:
                raise FailedPreconditionError(problems[each.line])
            _write_memory(writer, fit[each.line], done)
        except _OF_THE_ROW as error:
            done.refused = memory.id
            done.problems.append((each.line, error.message))
        else:
            done.refused = ""
            for name, id in _links(memory):
                if writer.memory(id) is None:
                    done.links[id] = (each.line, name)
    return done


def _write_memory(writer: Writer, planned: _Planned, done: _Done) -> None:
    memory = planned.row.memory
    old = writer.memory(memory.id)
    if old is not None:
        if _without_model(old) != _without_model(memory):
            raise AlreadyExistsError(
                f"memory.id: {memory.id} is in this store in another state (revision {old.revision} of "
                f"{old.update_time}, the row's is {memory.revision} of {memory.update_time}); that stays",
                reason="ID_TAKEN",
            )
        done.report.unchanged += 1
        return
    if writer.is_erased(memory.id):
        raise FailedPreconditionError(f"memory.id: {memory.id} was erased here and does not come back")
    vectors = planned.vectors
    if vectors is None:
        raise _Rebound  # it was there and is gone
    namespace = writer.namespace(memory.namespace) or writer.create_namespace(memory.namespace)
    if not namespace.embedding_model:
        writer.bind_model(namespace.number, planned.model, vectors.shape[1])
    elif namespace.embedding_model != planned.model:
        raise _Rebound
    elif namespace.embedding_dimension != vectors.shape[1]:
        raise dimension_mismatch(vectors.shape[1], namespace, "vectors")
    writer.import_memory(memory, vectors)
    done.report.imported += 1
    done.report.embedded += planned.embedded


def _write_revision(writer: Writer, row: RevisionRow) -> None:
    memory = writer.memory(row.memory_id)
    if memory is None or memory.namespace != row.revision.memory.namespace:
        raise invalid("revision.memory_id", f"{row.memory_id} is no memory that came before")
    if row.revision.revision >= memory.revision:
        raise invalid("revision.revision", f"{row.revision.revision} is not below {memory.revision}")
    old = writer.revision(row.memory_id, row.revision.revision)
    if old is None:
        writer.import_revision(row.memory_id, row.revision, row.vectors)
    elif old != row.revision:
        raise AlreadyExistsError(
            f"revision: {row.memory_id} has another revision {old.revision} here; that stays",
            reason="ID_TAKEN",
        )


def _without_model(memory: Memory) -> Memory:
    return replace(memory, embedding_model="", embedding_dimension=0)


def _links(memory: Memory) -> Iterator[tuple[str, str]]:
    for name in ("supersedes", "conflicts_with"):
        for id in getattr(memory, name):
            yield name, id
    if memory.superseded_by:
        yield "superseded_by", memory.superseded_by


def _batches(lines: Iterable[tuple[int, bytes | None]]) -> Iterator[list[tuple[int, bytes | None]]]:
    batch: list[tuple[int, bytes | None]] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line[1] or b"")
        if len(batch) == _ROWS or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch

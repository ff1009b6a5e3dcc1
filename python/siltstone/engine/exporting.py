"""Export: all memories as lines of JSON, as they were when it began.

It reads page by page, so that no reader is held for long. What changes meanwhile is told from the revisions,
as a search of the past has it; what is erased before its page is read is not in it.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from siltstone.engine.admin import release
from siltstone.engine.call import Call
from siltstone.engine.core import known_namespace
from siltstone.engine.export_format import End, end_line, header_line, memory_line, revision_line
from siltstone.engine.token_keeping import TokenKeeping
from siltstone.errors import SiltstoneError
from siltstone.model import Memory
from siltstone.model.requests import ExportChunk, ExportMemoriesRequest
from siltstone.store import NamespaceRecord, Past, Reader

_CHUNK_BYTES = 1 << 20  # read in one snapshot, and sent in one message


class Exporting(TokenKeeping):
    def export_memories(self, request: ExportMemoriesRequest, call: Call) -> Iterator[ExportChunk]:
        with self.store.read() as reader:
            time, seq = reader.time, reader.seq
            namespaces = [
                known_namespace(reader, name, f"namespaces[{i}]")
                for i, name in enumerate(dict.fromkeys(request.namespaces))
            ] or reader.namespaces()
            described = [_described(reader, namespace) for namespace in namespaces]
        return self._chunks(
            header_line(time=time, seq=seq, version=release(), namespaces=described), namespaces, time
        )

    def _chunks(
        self, header: bytes, namespaces: list[NamespaceRecord], time: datetime
    ) -> Iterator[ExportChunk]:
        total = End(0, 0)
        yield ExportChunk(data=header)
        for namespace in namespaces:
            for lines, rows in self._pages(namespace, time):
                total = End(total.memories + rows.memories, total.revisions + rows.revisions)
                yield ExportChunk(data=b"".join(lines))
        yield ExportChunk(data=end_line(total))

    def _pages(self, namespace: NamespaceRecord, time: datetime) -> Iterator[tuple[list[bytes], End]]:
        """Some lines, and what they are. Nothing is read while they are sent."""
        after: str | None = ""
        while after is not None:
            lines: list[bytes] = []
            changed: list[Memory] = []
            size, more = 0, None
            try:
                with self.store.read() as reader:
                    past = Past(reader, time)
                    for memory in reader.scan_memories(namespace.number, after_id=after):
                        state = past.memory(memory.id)
                        if state is not None:
                            vectors = reader.revision_vectors(state.id, state.revision)
                            if state.embedding_model != memory.embedding_model:
                                vectors = None  # a former state, and the namespace was moved since
                            lines.append(memory_line(state, vectors))
                            size += len(lines[-1])
                            if state.revision > 1:
                                changed.append(state)
                        if size >= _CHUNK_BYTES or changed:
                            more = memory.id
                            break
            except SiltstoneError as error:
                if error.reason != "NAMESPACE_NOT_FOUND":
                    raise
            if lines:
                yield lines, End(len(lines), 0)
            for state in changed:  # the last of the lines: its former states follow it
                yield from self._former_states(state)
            after = more

    def _former_states(self, state: Memory) -> Iterator[tuple[list[bytes], End]]:
        after, more = 0, True
        while more:
            lines: list[bytes] = []
            size, more = 0, False
            with self.store.read() as reader:
                for revision in reader.revisions_after(state.id, after):
                    if revision.revision >= state.revision:
                        break
                    packed = reader.former_vectors(state.id, revision.revision)
                    lines.append(revision_line(state.id, revision, packed))
                    after, size = revision.revision, size + len(lines[-1])
                    if size >= _CHUNK_BYTES:
                        more = True
                        break
            if lines:
                yield lines, End(0, len(lines))


def _described(reader: Reader, namespace: NamespaceRecord) -> dict[str, Any]:
    return {
        "name": namespace.name,
        "memories": reader.count_memories(namespace.number),
        "embedding_model": namespace.embedding_model,
        "embedding_dimension": namespace.embedding_dimension,
    }

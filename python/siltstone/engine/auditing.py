"""What a person looks at: the queue of memories to review, and the log of every change."""

import heapq
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

import msgpack

from siltstone.engine.call import Call
from siltstone.engine.core import known_namespace
from siltstone.engine.filters import filter_map
from siltstone.engine.pages import decode_token, encode_token
from siltstone.engine.validate import check_page, invalid
from siltstone.engine.verifying import Verifying
from siltstone.hindsight import seldom
from siltstone.model import AuditEvent, Filter, Memory, Verification
from siltstone.model.requests import (
    ListAuditEventsRequest,
    ListAuditEventsResponse,
    ListAuditQueueRequest,
    ListAuditQueueResponse,
)
from siltstone.store.keys import format_id
from siltstone.store.records import to_microseconds

_PLACE = re.compile("[0-9]{1,18}[.][0-9]{1,9}")  # seq and place in it
_BY_CONFIDENCE = {
    "similarity": 0.0,
    "recency": 0.0,
    "confidence": 1.0,
    "lexical": 0.0,
    "neighbours": 0.0,
    "calibrate": False,
    "gate": 0.0,
    "half_life": 1,
}


class Auditing(Verifying):
    def list_audit_queue(self, request: ListAuditQueueRequest, call: Call) -> ListAuditQueueResponse:
        """The memories whose being wrong would do most harm: urgency is confidence · (1 + the number of tasks
        that were shown it), ties by id. Only what searches return and nobody confirmed yet."""
        call.require("auditor", "read the audit queue")
        limit = check_page(request.limit, "limit")
        now = datetime.now(UTC)
        nothing: list[str] = []
        confident = self.ask_index(
            request.namespace, lambda number: self._most_confident(number, limit, now), nothing
        )
        with self.store.read() as reader:
            namespace = known_namespace(reader, request.namespace)
            times = dict(reader.shown(namespace.number))
            best: list[tuple[float, Memory]] = []
            # Often shown first: once a full list is more urgent than any memory shown so often could be, no
            # rarer one gets in.
            for id in dict.fromkeys([*sorted(times, key=lambda id: (-times[id], id)), *confident]):
                count = times.get(id, 0)
                if count and len(best) >= limit and 1 + count < min(urgency for urgency, _ in best):
                    continue
                memory = reader.memory(id)
                if memory is not None and memory.namespace == namespace.name and _is_open(memory, now):
                    best.append((memory.confidence * (1 + count), memory))
                    best = heapq.nsmallest(limit, best, key=lambda entry: (-entry[0], entry[1].id))
        return ListAuditQueueResponse(memories=[memory for _, memory in best])

    def _most_confident(self, number: int, limit: int, now: datetime) -> list[str]:
        spec = {
            "targets": [{"collection": number, "vector": None, "background": 0.0}],
            "text": "",
            "filter": filter_map(Filter(verification=[Verification.PENDING])),
            "now": to_microseconds(now),
            "weights": _BY_CONFIDENCE,
            "top_k": limit,
            "min_score": None,
            "include_superseded": False,
            "include_expired": False,
            "include_refuted": False,
            "window": None,
            "explain": False,
        }
        (output,) = self.collections.index.search(msgpack.packb([spec]))
        return [format_id(hit.id) for hit in output.hits]

    def list_audit_events(self, request: ListAuditEventsRequest, call: Call) -> ListAuditEventsResponse:
        call.require("auditor", "read the audit log")
        size = check_page(request.page_size)
        if request.since_seq < 0:
            raise invalid("since_seq", f"{request.since_seq} is below 0; give the number of a commit")
        scope = ("ListAuditEvents", str(request.since_seq), request.namespace)
        last = decode_token(request.page_token, scope)
        # Whoever knows how can make a token up.
        if last and not _PLACE.fullmatch(last):
            raise invalid("page_token", "is none that this service gave; leave it out")
        seq, _, place = last.partition(".")
        with self.store.read() as reader:
            if request.namespace:
                known_namespace(reader, request.namespace)
            after = (int(seq), int(place)) if place else (request.since_seq, None)
            wanted = (
                event
                for event in _watched(reader.audit(after_seq=after[0], after_place=after[1]), call)
                if request.namespace in ("", event.namespace) and call.namespaces.match(event.namespace)
            )
            events = list(islice(wanted, size + 1))
        token = ""
        if len(events) > size:
            events = events[:size]
            token = encode_token(f"{events[-1].seq}.{events[-1].place}", scope)
        return ListAuditEventsResponse(events=events, next_page_token=token)


def _watched(events: Iterator[AuditEvent], call: Call) -> Iterator[AuditEvent]:
    """The events, for as long as somebody waits: among many, few may be the caller's."""
    check = seldom(call.remaining)
    for event in events:
        check()
        yield event


def _is_open(memory: Memory, now: datetime) -> bool:
    """Whether searches return it and nobody has confirmed it."""
    return (
        memory.verification is Verification.PENDING
        and memory.invalidate_time is None
        and not memory.superseded_by
        and (memory.valid_until is None or memory.valid_until > now)
    )

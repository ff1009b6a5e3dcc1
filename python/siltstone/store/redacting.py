"""Taking an erased text out of what was made from it, or held it beside: tasks, steps, jobs, stored answers.

Works on the maps of records as they lie on disk: whatever field a text stands in, it is found. The bytes of a
record are searched before it is decoded, since few records hold what is looked for.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgpack

from siltstone.model import Hindsight, HindsightJob
from siltstone.store import keys, records
from siltstone.store.records import AnswerRecord

if TYPE_CHECKING:
    from siltstone.store.writer import Writer

ERASED = "[erased]"
# A shorter text stands everywhere and tells nothing, and taken out it would ruin records.
SHORTEST = 12  # bytes
ERASED_ANSWER = b""  # no answer is empty
_IDS = frozenset({"id", "task_id", "hindsight_job_id"})


def redact(writer: "Writer", number: int, texts: Sequence[str], ids: Sequence[str]) -> None:
    """See `Writer.redact`. Longer texts are taken out first, so that none is cut in two by another."""
    long = [text for text in texts if len(text.encode()) >= SHORTEST]
    wanted = sorted({form for text in long for form in (text, _in_json(text))}, key=len, reverse=True)
    needles = [text.encode() for text in wanted]
    raw_ids = {keys.parse_id(id) for id in ids}
    for table in ("tasks", "steps", "jobs"):
        for key, value in list(writer._scan(table, keys.namespace(number))):
            if table == "jobs" and any(id in value for id in raw_ids):
                value = _without_lessons(value, set(ids))
            if any(needle in value for needle in needles):
                value = _without_texts(value, wanted)
            if value != writer._get(table, key):
                writer._put(table, key, value)
    marks = [*needles, *(id.encode() for id in ids)]
    for key, value in list(writer._scan("answers")):
        if any(mark in value for mark in marks):
            record = records.decode(value, AnswerRecord)
            writer._put("answers", key, records.encode(replace(record, answer=ERASED_ANSWER)))
    for key, _ in list(writer._scan("exposures", values=False)):
        if key[-keys.ID_BYTES :] in raw_ids:
            writer._delete("exposures", key)


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _without_texts(record: bytes, texts: Sequence[str]) -> bytes:
    fields = _walk(msgpack.unpackb(record), texts)
    if "variables" in fields:  # of a task: there the names are texts too
        fields["variables"] = {
            _walk(name, texts): _walk(value, texts) for name, value in fields["variables"].items()
        }
    return bytes(msgpack.packb(fields))


def _walk(value: Any, texts: Sequence[str]) -> Any:
    if isinstance(value, str):
        for text in texts:
            value = value.replace(text, ERASED)
        return value
    if isinstance(value, list):
        return [_walk(item, texts) for item in value]
    if isinstance(value, dict):
        return {name: item if name in _IDS else _walk(item, texts) for name, item in value.items()}
    return value


def _without_lessons(record: bytes, ids: set[str]) -> bytes:
    """A job without the lessons and receipts of these memories; its summary told of them too."""
    job = records.decode(record, HindsightJob)
    if job.hindsight is None:
        return record
    receipts, lessons = job.hindsight.receipts, job.hindsight.lessons
    kept = [i for i, receipt in enumerate(receipts) if receipt.memory.id not in ids]
    hindsight: Hindsight = replace(
        job.hindsight,
        receipts=[receipts[i] for i in kept],
        lessons=[lessons[i] for i in kept if i < len(lessons)],
        summary=ERASED,
        summary_tokens=0,
    )
    return records.encode(replace(job, hindsight=hindsight))

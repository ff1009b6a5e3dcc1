"""What the engine refuses, beyond types: ranges, sizes, names. Each check names field, value and remedy."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta

import numpy as np
import numpy.typing as npt

from siltstone import rust_core
from siltstone.config import Settings
from siltstone.errors import InvalidArgumentError, StaleRevisionError
from siltstone.model import PROFILES, Filter, Lesson, MemoryDraft, OnTooLong, SearchRequest, Source, Weights
from siltstone.store.keys import format_id, parse_id

SUMMARY_TOKENS = 64
MAX_LABELS = 64
MAX_LABEL_BYTES = 256
MAX_NAMESPACE_BYTES = 256
MAX_DIMENSION = 4096
_SAFE = 1e-60, 1e60  # squares of lengths at which no number of a vector leaves the range of float32
MAX_EVIDENCE = 1000  # steps that a lesson or a source refers to
MAX_HALF_LIFE = timedelta(days=3_652_500)  # 10,000 years; a protobuf Duration ends there
_LESSON_FIELDS = ("problem", "root_cause", "solution")
_SEGMENT = re.compile(r"[^/\s\x00-\x1f\x7f]+")

Vector = npt.NDArray[np.float32]


def invalid(field: str, problem: str, reason: str = "INVALID_ARGUMENT") -> InvalidArgumentError:
    return InvalidArgumentError(f"{field}: {problem}", reason=reason, field=field)


def check_namespace(name: str, field: str = "namespace") -> None:
    if not name:
        raise invalid(field, 'is empty; name one, such as "default" or "team/agent-a"', "INVALID_NAMESPACE")
    if len(name.encode()) > MAX_NAMESPACE_BYTES:
        raise invalid(
            field,
            f"{len(name.encode())} bytes; at most {MAX_NAMESPACE_BYTES} are allowed",
            "INVALID_NAMESPACE",
        )
    if not all(_SEGMENT.fullmatch(part) and part not in (".", "..") for part in name.split("/")):
        raise invalid(
            field,
            f"{name!r} is no path of names; write it as team/agent-a, without white space or empty parts",
            "INVALID_NAMESPACE",
        )


def check_id(id: str, field: str) -> str:
    """The canonical form of an id: 36 characters, lower case."""
    try:
        return format_id(parse_id(id))
    except InvalidArgumentError:
        raise invalid(field, f"{shown(id)} is no id; ids are UUIDs as the receipts give them") from None


def shown(text: str) -> str:
    """A value as an error quotes it: however long it is, the error stays short."""
    return repr(text) if len(text) <= 100 else f"{text[:100]!r}…"


def check_range(value: float, low: float, high: float, field: str) -> None:
    if not (math.isfinite(value) and low <= value <= high):
        raise invalid(field, f"{value} is out of range; give {low:,} to {high:,}", "OUT_OF_RANGE")


def check_vector(vector: Sequence[float], field: str) -> Vector:
    """The vector as float32 of unit length; finite and not zero as float32, which is what every door can
    carry; at most 4,096 long."""
    array = np.asarray(vector, dtype=np.float64)
    if not 1 <= array.size <= MAX_DIMENSION:
        raise invalid(field, f"has {array.size} numbers; give 1 to {MAX_DIMENSION}", "INVALID_VECTOR")
    with np.errstate(all="ignore"):
        square = float(array @ array)
    if not _SAFE[0] < square < _SAFE[1]:  # or it is not finite
        array = _scaled(array, field)
    else:
        array = array.astype(np.float32).astype(np.float64)
    unit: Vector = (array / math.sqrt(array @ array)).astype(np.float32)
    return unit


def _scaled(array: npt.NDArray[np.float64], field: str) -> npt.NDArray[np.float64]:
    """The vector as float32 carries it, with its largest number made 1."""
    if not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise invalid(field, f"number {bad} is {array[bad]}; all must be finite", "INVALID_VECTOR")
    with np.errstate(over="ignore"):
        carried = array.astype(np.float32)
    if not np.isfinite(carried).all():
        bad = int(np.flatnonzero(~np.isfinite(carried))[0])
        raise invalid(field, f"number {bad} is {array[bad]}; float32 ends at 3.4e38", "INVALID_VECTOR")
    array = carried.astype(np.float64)
    largest = float(np.abs(array).max())
    if largest == 0.0:
        raise invalid(field, "all numbers are zero; a zero vector has no direction", "INVALID_VECTOR")
    return array / largest


def check_count(values: Sequence[object], most: int, field: str) -> None:
    if len(values) > most:
        raise invalid(field, f"has {len(values):,} entries; at most {most:,} are allowed")


def check_batch(values: Sequence[object], settings: Settings, field: str) -> None:
    """What one call carries several of: at least one, at most `max_batch`."""
    if not values:
        raise invalid(field, "is empty; give at least one", "EMPTY_BATCH")
    if len(values) > settings.max_batch:
        raise invalid(
            field,
            f"has {len(values):,} entries; at most {settings.max_batch:,} in one call (max_batch), split it",
            "BATCH_TOO_LARGE",
        )


def check_tags(values: Sequence[str], settings: Settings, field: str) -> None:
    """Tags, or tools."""
    _check_tag_count(len(values), settings, field)
    for i, value in enumerate(values):
        check_label(value, f"{field}[{i}]")


def _check_tag_count(count: int, settings: Settings, field: str) -> None:
    if count > settings.max_tags:
        raise invalid(
            field,
            f"has {count:,} entries; at most {settings.max_tags} are allowed (max_tags)",
            "TOO_MANY_TAGS",
        )


def check_labels(values: Sequence[str], field: str) -> None:
    check_count(values, MAX_LABELS, field)
    for i, value in enumerate(values):
        check_label(value, f"{field}[{i}]")


def check_label(value: str, field: str) -> None:
    if not value.strip():
        raise invalid(field, "is blank; leave it out")
    if len(value.encode()) > MAX_LABEL_BYTES:
        raise invalid(field, f"{len(value.encode())} bytes; at most {MAX_LABEL_BYTES} are allowed")


def check_content(content: str, settings: Settings, field: str = "content") -> None:
    if not content.strip():
        raise invalid(field, "is blank; a memory needs text", "EMPTY_CONTENT")
    check_size(content, settings, field)


def check_size(text: str, settings: Settings, field: str) -> None:
    size = len(text.encode())
    if size > settings.max_content_bytes:
        raise invalid(
            field,
            f"{size:,} bytes; at most {settings.max_content_bytes:,} are allowed (max_content_bytes)",
            "CONTENT_TOO_LARGE",
        )


def check_mask(mask: Sequence[str], updatable: set[str]) -> None:
    if not mask:
        raise invalid("update_mask", "is empty; name the fields to change")
    for field in mask:
        if field not in updatable:
            known = ", ".join(sorted(updatable))
            raise invalid("update_mask", f"{field!r} cannot be updated; these can: {known}")


def check_revision(given: int | None, current: int, id: str) -> None:
    if given is not None and given != current:
        raise StaleRevisionError(
            f"revision: {id} has revision {current}, not {given}; read it again", field="revision"
        )


def check_draft(draft: MemoryDraft, settings: Settings, field: str) -> None:
    if not draft.content.strip() or draft.on_too_long is OnTooLong.REFUSE:
        check_content(draft.content, settings, f"{field}.content")
    if draft.summary is not None:
        check_summary(draft.summary, f"{field}.summary")
    for name in ("tags", "tools_used"):
        check_tags(getattr(draft, name), settings, f"{field}.{name}")
    if draft.task_type:
        check_label(draft.task_type, f"{field}.task_type")
    check_attributes(draft.attributes, settings, f"{field}.attributes")
    if draft.confidence is not None:
        check_range(draft.confidence, 0.0, 1.0, f"{field}.confidence")
    if draft.ttl is not None:
        if draft.valid_until is not None:
            raise invalid(f"{field}.ttl", "give ttl or valid_until, not both")
        if draft.ttl.total_seconds() <= 0:
            raise invalid(f"{field}.ttl", f"{draft.ttl} is over at once; give a positive duration")
    if draft.position is not None and not draft.sequence:
        raise invalid(f"{field}.position", "stands without sequence; name the sequence it is a place in")
    if draft.sequence:
        check_label(draft.sequence, f"{field}.sequence")
    check_labels(draft.supersedes, f"{field}.supersedes")
    if draft.lesson is not None:
        check_lesson(draft.lesson, settings, f"{field}.lesson")
    if draft.source is not None:
        check_source(draft.source, f"{field}.source")


def check_lesson(lesson: Lesson, settings: Settings, field: str) -> None:
    check_count(lesson.evidence, MAX_EVIDENCE, f"{field}.evidence")
    for i, evidence in enumerate(lesson.evidence):
        if evidence.field not in _LESSON_FIELDS:
            raise invalid(
                f"{field}.evidence[{i}].field",
                f"{shown(evidence.field)} is no field of a lesson; give one of {', '.join(_LESSON_FIELDS)}",
            )
    quotes = "".join(evidence.field + evidence.quote for evidence in lesson.evidence)
    check_size(lesson.problem + lesson.root_cause + lesson.solution + quotes, settings, field)


def check_source(source: Source, field: str) -> None:
    check_count(source.steps, MAX_EVIDENCE, f"{field}.steps")
    for name in ("task_id", "trajectory", "writer", "extractor"):
        if getattr(source, name):
            check_label(getattr(source, name), f"{field}.{name}")


def check_summary(summary: str, field: str) -> None:
    # A token is at least one byte, so most summaries need no counting.
    if len(summary.encode()) > SUMMARY_TOKENS:
        tokens = rust_core.count_tokens(summary)
        if tokens > SUMMARY_TOKENS:
            raise invalid(
                field, f"{tokens} tokens; at most {SUMMARY_TOKENS}, or leave it out to have one made"
            )


def check_attributes(attributes: Mapping[str, object], settings: Settings, field: str) -> None:
    _check_tag_count(len(attributes), settings, field)
    for name, value in attributes.items():
        check_label(name, f"{field} key")
        if isinstance(value, str) and len(value.encode()) > MAX_LABEL_BYTES:
            raise invalid(
                f"{field}.{name}", f"{len(value.encode())} bytes; at most {MAX_LABEL_BYTES} are allowed"
            )


def check_filter(filter: Filter, settings: Settings, field: str, depth: int = 1) -> None:
    if depth > settings.max_filter_depth:
        raise invalid(
            field,
            f"nested deeper than {settings.max_filter_depth} levels (max_filter_depth)",
            "FILTER_TOO_DEEP",
        )
    if depth == 1 and (values := _values(filter, settings.max_filter_depth)) > settings.max_filter_values:
        raise invalid(
            field,
            f"holds {values:,} values; at most {settings.max_filter_values:,} allowed (max_filter_values)",
            "FILTER_TOO_LARGE",
        )
    for i, id in enumerate(filter.ids):
        check_id(id, f"{field}.ids[{i}]")
    for name, condition in filter.attributes.items():
        bounds = (condition.eq, condition.gt, condition.gte, condition.lt, condition.lte)
        if all(bound is None for bound in bounds):
            raise invalid(f"{field}.attributes.{name}", "has no bound; give a value or gt, gte, lt, lte")
    if filter.not_ is not None:
        check_filter(filter.not_, settings, f"{field}.not", depth + 1)
    for i, part in enumerate(filter.any_of):
        check_filter(part, settings, f"{field}.any_of[{i}]", depth + 1)


def _values(filter: Filter, depth: int) -> int:
    """How many values a filter compares with, down to `depth` levels, since deeper ones are refused."""
    lists: tuple[Sequence[object], ...] = (
        filter.tags_any,
        filter.tags_all,
        filter.task_type,
        filter.tools_used,
        filter.outcome,
        filter.verification,
        filter.memory_type,
        filter.ids,
        list(filter.attributes),
    )
    inner = [*filter.any_of, *([filter.not_] if filter.not_ else [])] if depth else []
    return sum(map(len, lists)) + len(inner) + sum(_values(part, depth - 1) for part in inner)


def resolve_weights(request: SearchRequest, field: str) -> Weights:
    """The profile's weights with the request's own laid over; finite, not negative, half-life positive."""
    base = PROFILES[request.profile]
    given = request.weights
    weights = Weights(
        **{
            name: getattr(base, name)
            if given is None or getattr(given, name) is None
            else getattr(given, name)
            for name in Weights.__slots__
        }
    )
    for name in ("similarity", "recency", "confidence", "gate"):
        value = getattr(weights, name)
        if not (math.isfinite(value) and value >= 0):
            raise invalid(f"{field}weights.{name}", f"{value} is no weight; give a finite number, 0 or above")
    for name in ("lexical", "neighbours"):
        check_range(getattr(weights, name), 0.0, 1.0, f"{field}weights.{name}")
    if not timedelta(0) < weights.half_life <= MAX_HALF_LIFE:
        raise invalid(
            f"{field}weights.half_life",
            f"{weights.half_life} is out of range; give a positive duration of at most 10,000 years",
            "OUT_OF_RANGE",
        )
    return weights


def check_page(page_size: int, field: str = "page_size") -> int:
    if not 1 <= page_size <= 1000:
        raise invalid(field, f"{page_size} is out of range; give 1 to 1,000", "OUT_OF_RANGE")
    return page_size

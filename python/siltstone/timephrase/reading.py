"""From a query to a window: the languages one after another, then home to UTC."""

import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from siltstone.model import TimeWindow
from siltstone.timephrase import chinese_ranges, english_ranges, other_languages
from siltstone.timephrase.span import Span

_log = logging.getLogger(__name__)

# Words for time behind this many characters are not looked for: a query that long quotes something.
MAX_CHARACTERS = 2000

# The end of a sentence: not the point of "Dec. 31" or "3 p.m.".
_SENTENCE_END = re.compile(r"[。！？?!\n]+\s*|(?<=[^\W\d_]{3})\.+\s+(?=[A-ZÀ-Þ¿\"'“])")

_Reader = Callable[[str, datetime, tzinfo], Iterator[tuple[Span, int, int]]]
_READERS: tuple[_Reader, ...] = (chinese_ranges.found_in, english_ranges.found_in, other_languages.found_in)


@dataclass(frozen=True, slots=True)
class Found:
    """Words for time in a query and what they mean.

    Args:
        window: half-open, aware, in UTC; None is open on that side. Start and end are equal for an instant
            ("now"), in which nothing lies.
        text: the words, as they stand in the query.
        start, end: their place in it, in characters; end is excluded.
    """

    window: TimeWindow
    text: str
    start: int
    end: int


def find_window(query: str, now: datetime, time_zone: str = "UTC") -> Found | None:
    """Read the words for time in a query about memories.

    Of a message of several sentences only those that ask are read, or the last one: the rest tells how things
    are ("my back aches today"). Where several times are said, the first that has begun wins: memories are of
    the past. For the same reason a bare weekday, month or holiday is the latest one. Weeks start on Monday. A
    range ends where the moment named last begins.

    Args:
        query: any text.
        now: aware.
        time_zone: IANA name; the caller's days and weeks.

    Returns:
        None where the query has no words for time. Never raises over the query: what is no date is no date.
    """
    zone = ZoneInfo(time_zone)
    local = now.astimezone(zone).replace(tzinfo=None)
    text = query[:MAX_CHARACTERS]
    try:
        return _best(text, local, zone)
    except Exception:
        # A fault here must not fail the search; the query itself stays out of the log.
        _log.exception("words for time could not be read; the search goes on without a window")
        return None


def _best(text: str, now: datetime, zone: tzinfo) -> Found | None:
    asking = _asking(text)
    for read in _READERS:
        best: tuple[int, Span, int, int] | None = None
        for first, last in asking:
            for span, start, end in read(text[first:last], now, zone):
                rank = _rank(span, now)
                if best is None or rank < best[0]:
                    best = rank, span, first + start, first + end
                if rank == 0:
                    break
        if best:
            _, span, start, end = best
            window = TimeWindow(start=_home(span.start, zone), end=_home(span.end, zone))
            return Found(window, text[start:end], start, end)
    return None


def _asking(text: str) -> list[tuple[int, int]]:
    """Where the sentences stand that are read."""
    sentences, start = [], 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        if text[start:end].strip():
            sentences.append((start, end))
        start = end
    asking = [(a, b) for a, b in sentences if text[a:b].rstrip().endswith(("?", "？"))]
    return asking or sentences[-1:]


def _rank(span: Span, now: datetime) -> int:
    """What has begun before what is to come, and both before an instant."""
    if span.start is not None and span.start == span.end:
        return 2
    return 0 if span.start is None or span.start <= now else 1


def _home(moment: datetime | None, zone: tzinfo) -> datetime | None:
    if moment is None:
        return None
    try:
        return moment.replace(tzinfo=zone).astimezone(UTC)
    except OverflowError:
        return moment.replace(tzinfo=UTC)  # at the edge of the calendar

"""Dates and times in digits, which read the same in every language."""

import re
from datetime import datetime, tzinfo

from siltstone.timephrase.span import Span, add, day_of

_END = r"(?![A-Za-z0-9_]|[.:/]\d)"
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?\s?(Z|[+-]\d\d:?\d\d)?)(?![\w:])",
    re.IGNORECASE,
)
_YEAR_FIRST = re.compile(
    rf"(\d{{4}})(?P<s>[-/. ])(\d{{1,2}})(?P=s)(\d{{1,2}})(?:st|nd|rd|th)?(?!(?P=s)\d){_END}"
)
_TOGETHER = re.compile(rf"((?:19|20)\d\d)(\d\d)(\d\d)(?!-\d){_END}")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})(?P<s>[-/. ])(\d{{1,2}})(?P=s)(\d{{4}}|(?<=/)\d\d)(?!(?P=s)\d){_END}")


def exact_moment(text: str, at: int, zone: tzinfo) -> tuple[Span, int] | None:
    """A date with a time as ISO 8601 writes it, a minute or second long, brought to `zone` by its offset."""
    match = _ISO.match(text, at)
    if match is None:
        return None
    year, month, day, hour, minute = (int(match[i]) for i in range(1, 6))
    start = datetime(year, month, day, hour, minute, int(match[6] or 0))
    if match[7]:
        aware = datetime.fromisoformat(start.isoformat() + match[7].upper())
        start = aware.astimezone(zone).replace(tzinfo=None)
    unit = "second" if match[6] else "minute"
    return Span(start, add(start, 1, unit), unit), match.end()


def numeric_date(text: str, at: int) -> tuple[Span, int] | None:
    """2016-10-16, 2016/10/16, 20161016, 10/31/1974, 31.10.1974.

    Where both numbers could be the month, the first one is. Two digits of the year follow slashes only.
    """
    if match := _YEAR_FIRST.match(text, at) or _TOGETHER.match(text, at):
        numbers = [int(group) for group in match.groups() if group and group.isdigit()]
        return _day(numbers[0], numbers[1], numbers[2], match.end())
    if match := _YEAR_LAST.match(text, at):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        if len(match[4]) == 2:
            year += 2000 if year < 40 else 1900
        if first > 12:
            first, second = second, first
        return _day(year, first, second, match.end())
    return None


def _day(year: int, month: int, day: int, end: int) -> tuple[Span, int] | None:
    try:
        return day_of(year, month, day), end
    except (ValueError, OverflowError):
        return None

"""Stretches of local time, and the arithmetic of the calendar on them."""

import calendar
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

DAY = timedelta(days=1)
_FIXED = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": DAY,
    "week": timedelta(days=7),
    "fortnight": timedelta(days=14),
}
_MONTHS = {"month": 1, "quarter": 3, "half": 6, "year": 12, "decade": 120, "century": 1200}
SHORT_UNITS = frozenset({"second", "minute", "hour"})


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open stretch of the caller's local time.

    Args:
        start, end: naive; None is open on that side. Equal: an instant.
        grain: the unit it was named in ("day", "month", …), "part" for a part of a day, "" for a range.
        in_year: the same stretch of another year, where no year was named.
    """

    start: datetime | None
    end: datetime | None
    grain: str = ""
    in_year: "Callable[[int], Span] | None" = None

    @property
    def first(self) -> datetime:
        """The start, or the end where the start is open."""
        bound = self.end if self.start is None else self.start
        assert bound is not None
        return bound


def add(moment: datetime, count: float, unit: str) -> datetime:
    """Move by units; a day that the month lacks becomes its last one.

    Raises:
        OverflowError, ValueError: outside the years 1 to 9999.
    """
    if unit in _FIXED:
        return moment + _FIXED[unit] * count
    months = moment.year * 12 + moment.month - 1 + round(count * _MONTHS[unit])
    year, month = divmod(months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError(f"the year {year} is out of range")
    last = calendar.monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def floor(moment: datetime, unit: str) -> datetime:
    """The start of the unit that a moment lies in. Weeks start on Monday."""
    if unit == "second":
        return moment.replace(microsecond=0)
    if unit == "minute":
        return moment.replace(second=0, microsecond=0)
    if unit == "hour":
        return moment.replace(minute=0, second=0, microsecond=0)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "day":
        return day
    if unit in ("week", "fortnight"):
        return day - DAY * day.weekday()
    months = _MONTHS[unit]
    year, month = divmod(((day.year * 12 + day.month - 1) // months) * months, 12)
    return day.replace(year=max(year, 1), month=month + 1, day=1)


def unit_at(moment: datetime, unit: str, shift: int = 0) -> Span:
    """The whole unit around a moment, or the one `shift` units later."""
    start = add(floor(moment, unit), shift, unit)
    return Span(start, add(start, 1, unit), unit)


def whole_units(now: datetime, count: int, unit: str) -> Span:
    """The `count` whole units before the current one; after it when negative."""
    start = floor(now, unit)
    if count < 0:
        start = add(start, 1, unit)
    ends = sorted((add(start, -count, unit), start))
    return Span(ends[0], ends[1])


def up_to_now(now: datetime, count: float, unit: str) -> Span:
    """The last `count` units: hours end now, longer ones with the day."""
    if unit in SHORT_UNITS:
        return Span(add(now, -count, unit), now)
    today = floor(now, "day")
    return Span(add(today, -count, unit), today + DAY)


def moment_ago(now: datetime, count: float, unit: str) -> Span:
    """What "count units ago" names: that day; that hour; the minutes and seconds since.

    People round what is minutes ago, so those reach up to now.
    """
    if unit in SHORT_UNITS:
        start = add(now, -count, unit)
        return Span(start, min(add(start, 1, "hour"), now) if unit == "hour" else now, unit)
    return unit_at(add(now, -count, unit), "day")


def vaguely_ago(now: datetime, unit: str) -> Span:
    """What "a few units ago" names: from seven of them ago up to the last one."""
    if unit in SHORT_UNITS:
        return Span(add(now, -7, unit), now)
    return Span(add(floor(now, "day"), -7, unit), add(floor(now, "day"), -1, unit) + DAY)


def day_of(year: int, month: int, day: int) -> Span:
    return unit_at(datetime(year, month, day), "day")


def month_of(year: int, month: int) -> Span:
    return unit_at(datetime(year, month, 1), "month")


def year_of(year: int) -> Span:
    return unit_at(datetime(year, 1, 1), "year")


def yearly(now: datetime, in_year: Callable[[int], Span]) -> Span:
    """What comes every year, without its year: the latest that has begun.

    A day that some years lack (29 February) is that of the latest year that has it.
    """
    for year in range(now.year, max(now.year - 9, 0), -1):
        try:
            span = in_year(year)
        except ValueError:
            continue
        if span.first <= now:
            return Span(span.start, span.end, span.grain, in_year)
    raise ValueError("no such day in the years before now")


def weekday_in_week(moment: datetime, weekday: int, weeks: int = 0) -> Span:
    """The day of the week (Monday is 0) in the week around a moment, `weeks` later."""
    return unit_at(floor(moment, "week") + DAY * (7 * weeks + weekday), "day")


def last_weekday(now: datetime, weekday: int) -> Span:
    """The latest such day before today."""
    today = floor(now, "day")
    return unit_at(today - DAY * ((today.weekday() - weekday - 1) % 7 + 1), "day")


def nth_weekday(span: Span, weekday: int, number: int) -> Span:
    """The first (1), second … or last (-1) such day of a span.

    Raises:
        ValueError: it has no such day.
    """
    assert span.start is not None
    assert span.end is not None
    if number > 0:
        day = span.start + DAY * ((weekday - span.start.weekday()) % 7 + 7 * (number - 1))
    else:
        last = span.end - DAY
        day = last - DAY * ((last.weekday() - weekday) % 7)
    if not span.start <= day < span.end:
        raise ValueError("the span has fewer such days")
    return unit_at(day, "day")


def part_of(span: Span, part: str) -> Span:
    """The beginning, middle or end of a span, cut as people cut it.

    A year is cut at May and September, a month at the 11th and 21st, a week after Wednesday and before
    Friday, everything else into thirds. Source: the conventions of Recognizers-Text and Duckling.
    """
    start, end = span.start, span.end
    if start is None or end is None:
        raise ValueError("an open range has no middle")
    if span.grain == "year":
        cuts = (start.replace(month=5), start.replace(month=9))
    elif span.grain == "month":
        cuts = (start.replace(day=11), start.replace(day=21))
    elif span.grain == "week":
        cuts = (start + 3 * DAY, start + 4 * DAY)
    else:
        cuts = (start + (end - start) / 3, start + (end - start) / 3 * 2)
    ends = {"beginning": (start, cuts[0]), "middle": cuts, "end": (cuts[1], end)}[part]
    return Span(*ends)


def half_of(span: Span, half: int) -> Span:
    """The first (1) or second half. A year's is six months, a month's starts on the 16th."""
    start, end = span.start, span.end
    if start is None or end is None:
        raise ValueError("an open range has no halves")
    if span.grain == "month":
        middle = start.replace(day=16)
    elif span.grain == "year":
        middle = add(start, 6, "month")
    else:
        middle = start + (end - start) / 2
    return Span(start, middle) if half == 1 else Span(middle, end)


def clock(day: Span, hour: int, minute: int = 0, second: int | None = None, unit: str = "hour") -> Span:
    """A time of a day; it lasts as long as what it was named in."""
    if day.start is None:
        raise ValueError("an open range has no time of day")
    start = floor(day.start, "day") + timedelta(hours=hour, minutes=minute, seconds=second or 0)
    return Span(start, add(start, 1, unit), unit)

"""Times and parts of a day in English."""

import re

from siltstone.timephrase.span import Span, add, clock, floor

PART_HOURS = {
    "morning": (0, 12),
    "afternoon": (12, 18),
    "evening": (18, 24),
    "night": (18, 24),
    "early morning": (0, 9),
    "late morning": (9, 12),
    "early afternoon": (12, 15),
    "late afternoon": (15, 18),
    "early evening": (18, 21),
    "late evening": (21, 24),
    "early night": (18, 21),
    "late night": (21, 24),
}


def hours_of(match: re.Match[str]) -> tuple[int, int]:
    part = match["part"].lower()
    return PART_HOURS[f"{match['degree'].lower()} {part}" if match["degree"] else part]


def part_of_day(day: Span, hours: tuple[int, int]) -> Span:
    start = floor(day.first, "day")
    return Span(add(start, hours[0], "hour"), add(start, hours[1], "hour"), "part")


def time_of(day: Span, match: re.Match[str], hours: tuple[int, int] | None) -> Span | None:
    if match["named"]:
        return clock(day, 12 if match["named"].lower() == "noon" else 0)
    return time_at(day, match["hour"], match["minute"], match["half"], hours, match["second"])


def time_at(
    day: Span,
    hour: str | None,
    minute: str | None,
    half: str | None,
    hours: tuple[int, int] | None,
    second: str | None = None,
) -> Span | None:
    """A time of day. Without am and pm the part of the day tells, else one to six are in the afternoon."""
    if hour is None:
        return None
    number = int(hour)
    half = (half or "").lower()
    if half.startswith(("a", "p")):
        if not 1 <= number <= 12:
            return None
        number = number % 12 + (12 if half.startswith("p") else 0)
    elif hours is not None:
        number += 12 if number < 12 <= hours[0] else 0
    elif minute is None and 1 <= number <= 6:
        number += 12
    if number > 24 or int(minute or 0) > 59 or int(second or 0) > 59:
        return None
    unit = "second" if second else "minute" if minute else "hour"
    return clock(day, number, int(minute or 0), int(second or 0), unit)

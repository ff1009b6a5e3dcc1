"""English words around moments: from–to, since, before, until."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo

from siltstone.timephrase.english import English
from siltstone.timephrase.english_calendar import Parsed, day_number
from siltstone.timephrase.english_patterns import compiled
from siltstone.timephrase.english_words import MONTH, NUMBER, ORDINAL, UNIT, month_of_name, number_of, unit_of
from siltstone.timephrase.span import Span, add, day_of, floor, moment_ago, year_of, yearly

# A query without any of these has no time in it: most are done here.
ANCHOR = compiled(
    r"\d|\b(?:ago|back|yesterday|today|tonight|tomorrow|now|moment|present|this\s+time|date|ytd|"
    r"seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|wks?|weekends?|fortnights?|months?|quarters?|years?|"
    r"yrs?|decades?|century|centuries|morning|afternoon|evening|night|noon|midnight|eve|"
    r"spring|summer|autumn|fall|winter|easter|christmas|xmas|halloween|thanksgiving|ramadan|eid|bakr|feast|festival|"
    r"juneteenth|mayo|gras|pentecost|hundred|thousand|(?:mon|tues|wednes|thurs|fri|satur|sun)day|"
    r"(?:mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun)|"
    rf"{MONTH})(?:['’]?s)?(?!\w)"
)
_WORD = re.compile(r"(?<![\w$#@.:/\\-])[\w'’]|(?<=[=~(\s])(?<![\w$#@.:/\\-] )\d")
_NOT_BEFORE = compiled(
    r"(?:every|each|any|per|most|other|vs\.?|versions?|release|build|commit|revision|rev|v|error|code|id|port|line|step|issue|ticket|no\.?|[#$€£¥])\s+$"
)
# Of a date that does not exist no part is a date: "30 Feb 2019" is not February 2019.
_ABSURD = compiled(rf"(?:\d+\w*|{ORDINAL}|{MONTH}|the|of|[\s,/.-])+")
_FROM = compiled(r"(?P<word>from|between|in|during)\s+(?:the\s+)?")
_AND = compiled(r"\s*,?\s*\b(?:to|and|until|till|through|thru)\b\s+(?:the\s+)?|\s*[-–—~]+\s*")
_TO = compiled(r"\s*,?\s*\b(?:to|until|till|through|thru)\b\s+(?:the\s+)?|\s*[-–—~]+\s*")
_SINCE = compiled(
    r"(?:ever\s+)?since\s+(?:the\s+)?|(?:starting|beginning|as\s+of)\s+(?:from\s+|on\s+|in\s+|with\s+)?"
)
_AFTER = compiled(r"(?:after|later\s+than|past)\s+(?:the\s+)?")
_BEFORE = compiled(
    r"(?:(?:some ?times?\s+)?before|(?:prior|up)\s+to|earlier\s+than|(?:up\s+)?until|till|by"
    r"|not?\s+later\s+than)\s+(?:around\s+)?(?:the\s+)?"
)
_ON_OR = compiled(r"(?:on|in|at)\s+or\s+(?P<way>after|before)\s+(?:the\s+)?")
_IN = compiled(
    r"(?:in|on|over|during|within|throughout|of|for|at|around|about|circa)\s+(?:the\s+)?(?:month\s+of\s+)?"
)
_LATER = compiled(r"\s+(?:and|or)\s+(?:later|after|afterwards?|onwards?|since)(?!\s+\w)|\s+onwards?\b")
_EARLIER = compiled(r"\s+(?:and|or)\s+(?:earlier|before)(?!\s+\w)")
_LASTING = compiled(
    rf"(?P<count>{NUMBER})\s+(?P<unit>{UNIT})\s+(?:starting|beginning|from)\s+(?:on\s+|from\s+)?(?:the\s+)?"
)
_DAY = rf"(?:{ORDINAL}|\d{{1,2}}(?!\d))"
_TO_DAY = r"\s*(?:(?:and|to|until|till|through)\b|-|–)\s*(?:the\s+)?"
_THEIR_YEAR = r"(?:\s*,?\s*(?:of\s+|in\s+)?(?P<year>\d{4}))?(?!\w|[.:/-]\d)"
_DAYS_OF_MONTH = compiled(
    rf"(?:from\s+|between\s+)?(?:the\s+)?(?P<first>{_DAY}){_TO_DAY}(?P<second>{_DAY})\s+(?:of\s+)?(?P<month>{MONTH})"
    rf"{_THEIR_YEAR}"
)
_MONTH_DAYS = compiled(
    rf"(?:from\s+|between\s+)?(?P<month>{MONTH})\s*(?P<first>{_DAY}){_TO_DAY}(?P<second>{_DAY}){_THEIR_YEAR}(?!\s*(?:{MONTH}|[ap]\.?m))"
)
_TO_DATE = compiled(r"to\s+date(?=\s*(?:[?.!,;]|$))")
_UP_TO_HERE = compiled(r"(?:to\s+)?date(?=\s*(?:[?.!,;]|$))")
_TWO_YEARS = compiled(
    r"(?:between\s+)?((?:19|20)\d\d)\s*(?:to|through|until|till|-|–|~|\s-\s)\s*((?:19|20)\d\d)(?![\w%]|[-/.:]\d)"
)
_WHOLE_DURATION = compiled(rf"\s*(?:{NUMBER}\s*(?:{UNIT}|h|hrs?)\s*(?:and\s+|,\s*)?)+\s*")
_ONE_DURATION = compiled(rf"(?P<count>{NUMBER})\s*(?P<unit>{UNIT})")
_END_OF = compiled(r"(?:the\s+)?(?:end|late)\b")


def found_in(text: str, now: datetime, zone: tzinfo) -> Iterator[tuple[Span, int, int]]:
    """What a query says of time, from left to right: span, first and last position of its words."""
    if ANCHOR.search(text) is None:
        return
    if whole := _whole(text, now, zone):
        yield whole
        return
    english = English(text, now, zone)
    done = 0
    for match in _WORD.finditer(text):
        at = match.start()
        if at < done or _NOT_BEFORE.search(text, max(0, at - 10), at):
            continue
        try:
            parsed = _range(english, at)
        except (ValueError, OverflowError):
            if absurd := _ABSURD.match(text, at):
                done = absurd.end()
            continue
        if parsed is not None:
            done = parsed[1]
            yield parsed[0], at, done
        elif instant := english.instant(at):
            done = instant[1]
            yield instant[0], at, done


def _whole(text: str, now: datetime, zone: tzinfo) -> tuple[Span, int, int] | None:
    """A query that is nothing but a month, a year or a duration means just that."""
    stripped = text.strip(" \t\n?!.=")
    start = text.find(stripped)
    try:
        if _WHOLE_DURATION.fullmatch(stripped):
            return _long_ago(stripped, now), start, start + len(stripped)
        english = English(stripped, now, zone)
        parsed = english.moment(0, strong=True) or english.time_today()
    except (ValueError, OverflowError):
        return None
    if parsed is None or parsed[1] < len(stripped):
        return None
    return parsed[0], start, start + len(stripped)


def _long_ago(text: str, now: datetime) -> Span:
    """So long ago, for "1 year 2 months"."""
    moment, unit = now, ""
    for match in _ONE_DURATION.finditer(text):
        count, unit = number_of(match["count"]), unit_of(match["unit"])
        moment = add(moment, -count, unit)
    if unit in ("second", "minute", "hour"):
        return moment_ago(now, (now - moment) / timedelta(hours=1), "hour")
    return Span(floor(moment, "day"), add(floor(moment, "day"), 1, "day"), "day")


def _range(english: English, at: int) -> Parsed | None:
    text, now = english.text, english.now
    for pattern in (_DAYS_OF_MONTH, _MONTH_DAYS):
        if match := pattern.match(text, at):
            return _days(match, now)
    if match := _TWO_YEARS.match(text, at):
        return _valid(Span(year_of(int(match[1])).start, year_of(int(match[2])).start), match.end())
    if parsed := english.times_before(at):
        return parsed
    if match := _LASTING.match(text, at):
        if (parsed := english.moment(match.end(), strong=True)) and parsed[0].start:
            return Span(
                parsed[0].start, add(parsed[0].start, number_of(match["count"]), unit_of(match["unit"]))
            ), parsed[1]
        return None
    if match := _TO_DATE.match(text, at):
        return Span(None, english.today), match.end()
    if match := _SINCE.match(text, at):
        parsed = english.moment(match.end(), strong=True)
        return (Span(parsed[0].start, None), parsed[1]) if parsed and parsed[0].start else None
    if match := _AFTER.match(text, at):
        parsed = english.moment(match.end(), strong=True)
        if parsed is None or parsed[0].end is None:
            return None
        # After an hour is after its start: "after 3 pm".
        of_clock = parsed[0].grain in ("hour", "minute", "second")
        return Span(parsed[0].start if of_clock else parsed[0].end, None), parsed[1]
    if match := _ON_OR.match(text, at):
        return _on_or(english, match)
    if match := _BEFORE.match(text, at):
        return _until(english, match)
    if match := _FROM.match(text, at):
        first = english.moment(match.end(), strong=True) or english.instant(match.end())
        if first is None:
            return None
        joined = _joined(english, first, match.end(), _AND if match["word"].lower() == "between" else _TO)
        if joined or match["word"].lower() == "between":
            return joined
        return _open(english, first)
    if (match := _IN.match(text, at)) and (parsed := english.moment(match.end(), strong=True)):
        return _joined(english, parsed, match.end(), _TO) or _open(english, parsed)
    if parsed := english.moment(at):
        return _joined(english, parsed, at, _TO) or _open(english, parsed)
    return None


def _open(english: English, parsed: Parsed) -> Parsed | None:
    """The words behind a moment can open it: "March 3 and later"."""
    span, end = parsed
    if match := _LATER.match(english.text, end):
        return Span(span.start, None), match.end()
    if match := _EARLIER.match(english.text, end):
        return Span(None, span.end), match.end()
    return _valid(span, end)


def _until(english: English, match: re.Match[str]) -> Parsed | None:
    parsed = english.moment(match.end(), strong=True)
    if parsed is None or parsed[0].start is None:
        return None
    # "By the end of the month" is up to that end; "before March" up to its start.
    bound = parsed[0].end if _END_OF.match(english.text, match.end()) else parsed[0].start
    return Span(None, bound), parsed[1]


def _on_or(english: English, match: re.Match[str]) -> Parsed | None:
    """What is named belongs to it: "on or before March 3"."""
    parsed = english.moment(match.end(), strong=True)
    if parsed is None:
        return None
    span = parsed[0]
    return (Span(span.start, None) if match["way"].lower() == "after" else Span(None, span.end)), parsed[1]


def _joined(english: English, first: Parsed, at: int, joint: re.Pattern[str]) -> Parsed | None:
    """The range from one moment to the start of another."""
    text = english.text
    match = joint.match(text, first[1])
    if match is None:
        return None
    to = _UP_TO_HERE.match(text, match.end())
    second: Parsed | None = (Span(english.today, english.today, "day"), to.end()) if to else None
    second = second or english.moment(match.end(), strong=True) or english.instant(match.end())
    if second is None:
        return None
    a, b = _agreed(first[0], second[0])
    start = a.end if _END_OF.match(text, at) else a.start
    end = b.end if _END_OF.match(text, match.end()) else b.start
    return _valid(Span(start, end), second[1]) if start and end else None


def _agreed(first: Span, second: Span) -> tuple[Span, Span]:
    """One of two moments takes its year, or its week, from the other."""
    if first.start is None or second.start is None:
        return first, second
    if second.in_year:
        year = first.start.year
        later = second.in_year(year)
        return first, later if later.first >= first.start else second.in_year(year + 1)
    if first.in_year:
        year = second.start.year
        same = first.in_year(year)
        return (same if same.first <= second.start else first.in_year(year - 1)), second
    if first.grain == "weekday" and first.start > second.start:
        return Span(add(first.start, -1, "week"), first.end), second
    return first, second


def _days(match: re.Match[str], now: datetime) -> Parsed | None:
    """The month and its year belong to both days: "between 3 and 12 of September"."""
    month = month_of_name(match["month"])
    first, second = day_number(match["first"]), day_number(match["second"])
    if match["year"]:
        start = day_of(int(match["year"]), month, first)
    else:
        start = yearly(now, lambda year: day_of(year, month, first))
    return _valid(Span(start.start, day_of(start.first.year, month, second).start), match.end())


def _valid(span: Span, end: int) -> Parsed | None:
    backwards = span.start is not None and span.end is not None and span.start >= span.end
    return None if backwards else (span, end)

"""English words for one moment: a day, a month, a part of a day, "three days ago"."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from siltstone.timephrase import english_patterns as patterns
from siltstone.timephrase.english_calendar import EnglishCalendar, Parsed, which_way
from siltstone.timephrase.english_clock import PART_HOURS, hours_of, part_of_day, time_at, time_of
from siltstone.timephrase.english_words import (
    FULL_WEEKDAY,
    month_of_name,
    number_of,
    ordinal_of,
    unit_of,
    weekday_of,
)
from siltstone.timephrase.numeric import exact_moment, numeric_date
from siltstone.timephrase.span import (
    DAY,
    SHORT_UNITS,
    Span,
    add,
    floor,
    half_of,
    last_weekday,
    moment_ago,
    month_of,
    nth_weekday,
    part_of,
    unit_at,
    up_to_now,
    vaguely_ago,
    weekday_in_week,
    whole_units,
    year_of,
)

_MAX_DEPTH = 4  # "the morning of the first Monday of last month"; endless nesting is no time
_DAYS = {"day before yesterday": -2, "yesterday": -1, "today": 0, "current date": 0, "tomorrow": 1}
_PARTS = {
    "beginning": "beginning",
    "start": "beginning",
    "early": "beginning",
    "middle": "middle",
    "mid": "middle",
    "end": "end",
    "late": "end",
}


class English(EnglishCalendar):
    """Reads moments in one query."""

    _depth = 0

    def moment(self, at: int, strong: bool = False) -> Parsed | None:
        """The moment whose words start at a position.

        Args:
            strong: what stands before speaks of time ("since", "in"): a bare year or "May" is one too.
        """
        if self._depth == _MAX_DEPTH:
            return None
        self._depth += 1
        try:
            for pattern, read in _RULES:
                if (match := pattern.match(self.text, at)) and (parsed := read(self, match)):
                    return self._with_time(*parsed)
            if strong and (parsed := self._strong(at)):
                return self._with_time(*parsed)
            return None
        finally:
            self._depth -= 1

    def instant(self, at: int) -> Parsed | None:
        """An instant, "now", in which nothing lies."""
        match = patterns.NOW.match(self.text, at)
        return (Span(self.now, self.now), match.end()) if match else None

    def _strong(self, at: int) -> Parsed | None:
        if match := patterns.YEAR_MONTH.match(self.text, at):
            return month_of(int(match["year"]), int(match["month"])), match.end()
        if match := patterns.SOME_YEAR.match(self.text, at):
            year = int(number_of(match["year"]))
            if match["named"] or 1900 <= year <= 2100:
                return year_of(year), match.end()
        match = patterns.STRONG_MONTH.match(self.text, at)
        if match and not patterns.NOT_A_MONTH.match(self.text, match.end()):
            return self._month(month_of_name(match[0])), match.end()
        if match := patterns.STRONG_QUARTER.match(self.text, at):
            return self._quarter(int(match[1])), match.end()
        return self._month_slash_day(at) if "/" in self.text[at : at + 3] else None

    def time_today(self) -> Parsed | None:
        """A query that is nothing but "at 4:23": the latest such time."""
        match = patterns.TIME_AFTER.match(self.text)
        if match is None or not (match["minute"] or match["half"] or match["named"]):
            return None
        for day in (self.today, self.today - DAY):
            time = time_of(unit_at(day, "day"), match, hours_of(match) if match["part"] else None)
            if time and time.first <= self.now:
                return time, match.end()
        return None

    # What may follow a day.

    def _with_time(self, span: Span, end: int) -> Parsed:
        """A day with the part of it, the time or the stretch of time that is said behind it."""
        if span.grain not in ("day", "weekday", "part") or span.start is None:
            return span, end
        hours = None
        if (
            span.grain != "part"
            and (match := patterns.PART_AFTER.match(self.text, end))
            and not match[0].endswith("s")
        ):
            hours = hours_of(match)
            span, end = part_of_day(span, hours), match.end()
        elif span.grain == "part":
            hours = (span.first.hour, 24)
        if parsed := self._times_behind(span, end, hours):
            return parsed
        match = patterns.TIME_AFTER.match(self.text, end)
        if match and (match["at"] or match["minute"] or match["half"] or match["named"]):
            time = time_of(span, match, hours or (hours_of(match) if match["part"] else None))
            return (time, match.end()) if time else (span, end)
        if match := patterns.LIMIT_AFTER.match(self.text, end):
            at = patterns.TIME_AFTER.match(self.text, match.end())
            if at and (time := time_of(span, at, hours or (hours_of(at) if at["part"] else None))):
                after = match["way"].lower() in ("after", "since")
                return (Span(time.start, None) if after else Span(None, time.start)), at.end()
        return span, end

    def _times_behind(self, day: Span, at: int, hours: tuple[int, int] | None) -> Parsed | None:
        match = patterns.TIMES_BEHIND.match(self.text, at)
        return self._stretch(day, match, hours) if match else None

    def times_before(self, at: int) -> Parsed | None:
        """Reads "between 7 and 9 last night", "from 5 to 6pm of April 22"."""
        match = patterns.TIMES_BEFORE.match(self.text, at)
        if match is None or (parsed := self.moment(match.end())) is None:
            return None
        day, end = parsed
        if day.grain not in ("day", "weekday", "part") or day.start is None:
            return None
        stretch = self._stretch(day, match, (day.start.hour, 24) if day.grain == "part" else None)
        return (stretch[0], end) if stretch else None

    def _stretch(self, day: Span, match: re.Match[str], hours: tuple[int, int] | None) -> Parsed | None:
        late = hours
        if late is None and re.match(r"p", match["half2"] or "", re.IGNORECASE):
            late = (12, 24)
        first = time_at(day, match["hour1"], match["minute1"], match["half1"], late)
        second = time_at(day, match["hour2"], match["minute2"], match["half2"], hours)
        if first is None or second is None or first.first >= second.first:
            return None
        return Span(first.start, second.start), match.end()

    # The readers of the rules, in the order of _RULES.

    def _numeric(self, match: re.Match[str]) -> Parsed | None:
        return exact_moment(self.text, match.start(), self.zone) or numeric_date(self.text, match.start())

    def _ago(self, match: re.Match[str]) -> Parsed | None:
        parts = list(patterns.DURATION.finditer(match["long"]))
        ago = self._so_long_ago(parts)
        bound = (match["bound"] or "").lower()
        if bound in ("more", "over"):
            ago = Span(None, ago.start)
        elif bound:
            ago = Span(ago.start, self.now)
        return ago, match.end()

    def _so_long_ago(self, parts: list[re.Match[str]]) -> Span:
        last = parts[-1]
        unit = unit_of(last["unit"])
        if len(parts) == 1 and re.search(r"few|several", last["count"], re.IGNORECASE):
            return vaguely_ago(self.now, unit)
        moment = self.now
        for part in parts[:-1]:
            moment = add(moment, -number_of(part["count"]), unit_of(part["unit"]))
        count = number_of(last["count"]) + (0.5 if last["half"] or last["more"] else 0)
        return moment_ago(moment, count, unit)

    def _work_days_ago(self, match: re.Match[str]) -> Parsed | None:
        return unit_at(self._work_days(int(number_of(match["count"]))).first, "day"), match.end()

    def _minus(self, match: re.Match[str]) -> Parsed | None:
        return moment_ago(self.now, number_of(match["count"]), unit_of(match["unit"])), match.end()

    def _weekdays_ago(self, match: re.Match[str]) -> Parsed | None:
        day = last_weekday(self.now, weekday_of(match["day"]))
        return unit_at(day.first - DAY * 7 * (int(number_of(match["count"])) - 1), "day"), match.end()

    def _from(self, match: re.Match[str]) -> Parsed | None:
        """Reads "two days before yesterday", "more than two weeks before today"."""
        parsed = self.moment(match.end(), strong=True) or self.instant(match.end())
        if parsed is None or parsed[0].start is None:
            return None
        unit, said = unit_of(match["unit"]), match["count"].lower()
        before = match["way"].lower() == "before"
        if said in ("", "the") and unit not in SHORT_UNITS and unit != "day":
            return self._next_to(parsed, unit, before)  # the whole week before a day
        count = (number_of(said) if said not in ("", "the") else 1) * (-1 if before else 1)
        there = add(parsed[0].start, count, unit)
        if match["bound"]:
            if count > 0:
                return None
            more = match["bound"].lower() == "more"
            return (Span(None, there) if more else Span(there, parsed[0].start)), parsed[1]
        return unit_at(there, unit if unit in SHORT_UNITS else "day"), parsed[1]

    def _next_to(self, parsed: Parsed, unit: str, before: bool) -> Parsed | None:
        span, end = parsed
        if before and span.start:
            return Span(add(span.start, -1, unit), span.start), end
        return (Span(span.end, add(span.end, 1, unit)), end) if span.end else None

    def _earlier(self, match: re.Match[str]) -> Parsed | None:
        unit = match["unit"].lower()
        if unit == "today":
            return Span(self.today, self.now), match.end()
        return Span(floor(self.now, unit), self.today), match.end()

    def _to_date(self, match: re.Match[str]) -> Parsed | None:
        unit = (match["unit"] or {"y": "year", "q": "quarter", "m": "month"}[match["letter"].lower()]).lower()
        return Span(floor(self.now, unit), self.today), match.end()

    def _day_word(self, match: re.Match[str]) -> Parsed | None:
        word = " ".join(match["day"].lower().split())
        return unit_at(self.today + DAY * _DAYS.get(word, 2), "day"), match.end()

    def _night(self, match: re.Match[str]) -> Parsed | None:
        which = match["which"].lower().strip()
        if which == "tonight":
            return part_of_day(unit_at(self.today, "day"), PART_HOURS["evening"]), match.end()
        part = patterns.NAMED_PART.match(self.text, match.end())
        if part is None:
            return None
        shift = {"this": 0, "tomorrow": 1}.get(which, -1)
        return part_of_day(unit_at(self.today + DAY * shift, "day"), hours_of(part)), part.end()

    def _late_night(self, match: re.Match[str]) -> Parsed | None:
        """Reads "late last night": the degree stands first."""
        night = patterns.NIGHT.match(self.text, match.end())
        if night is None:
            return None
        which = night["which"].lower().strip()
        part = None if which == "tonight" else patterns.NAMED_PART.match(self.text, night.end())
        name = part["part"].lower() if part else "night"
        shift = {"this": 0, "tomorrow": 1, "tonight": 0}.get(which, -1)
        hours = PART_HOURS[f"{match['degree'].lower()} {name}"]
        return part_of_day(
            unit_at(self.today + DAY * shift, "day"), hours
        ), part.end() if part else night.end()

    def _part_of_day(self, match: re.Match[str]) -> Parsed | None:
        parsed = self.moment(match.end())
        if parsed is None or parsed[0].grain not in ("day", "weekday"):
            return None
        return part_of_day(parsed[0], hours_of(match)), parsed[1]

    def _weekday_of_week(self, match: re.Match[str]) -> Parsed | None:
        weeks = which_way(match["which"] or match["before"])
        return weekday_in_week(self.now, weekday_of(match["day"] or match["after"]), weeks), match.end()

    def _weekday(self, match: re.Match[str]) -> Parsed | None:
        weekday = weekday_of(match["short"] or match["full"] or match["dated"])
        if parsed := self._date_of_weekday(weekday, match.end()):
            return parsed
        if match["dated"]:
            return None
        way = which_way(match["which"]) if match["which"] else -1
        day = last_weekday(self.now, weekday) if way < 0 else weekday_in_week(self.now, weekday, way)
        return replace(day, grain="weekday"), match.end()

    def _date_of_weekday(self, weekday: int, at: int) -> Parsed | None:
        """The date behind a weekday says which: "Friday (Jun-15)", "Tuesday the 4th"."""
        gap = patterns.DATE_OF_WEEKDAY.match(self.text, at)
        if gap is None:
            return None
        parsed = self.moment(gap.end())
        if parsed and parsed[0].grain in ("day", "hour", "minute", "second", "part", ""):
            if self.text[: parsed[1]].lower().endswith(("ago", "back")):  # "Tuesday two weeks ago"
                return weekday_in_week(parsed[0].first, weekday), parsed[1]
            return parsed
        if parsed := self._month_slash_day(gap.end()):
            return parsed
        if match := patterns.DAY_NUMBER.match(self.text, gap.end()):
            day = self.today
            for _ in range(2000):
                if day.day == int(match["day"]) and day.weekday() == weekday:
                    return unit_at(day, "day"), match.end()
                day -= DAY
        return None

    def _day_of(self, match: re.Match[str]) -> Parsed | None:
        parsed = self.moment(match.end())
        if parsed is None or parsed[0].start is None:
            return None
        return unit_at(parsed[0].start.replace(day=ordinal_of(match["day"])), "day"), parsed[1]

    def _nth_of(self, match: re.Match[str]) -> Parsed | None:
        """Reads "first Monday of last month", "the last week of March", "3rd week of 2018"."""
        parsed = self._span_after(match.end())
        if parsed is None or parsed[0].start is None or parsed[0].end is None:
            return None
        span, end = parsed
        assert span.start is not None
        assert span.end is not None
        number = -1 if match["number"].lower() == "last" else ordinal_of(match["number"])
        what = match["what"].lower()
        if re.fullmatch(FULL_WEEKDAY, what):
            return nth_weekday(span, weekday_of(what), number), end
        if what == "weekend":
            saturday = nth_weekday(span, 5, number).first
            return Span(saturday, saturday + 2 * DAY, "weekend"), end
        unit = unit_of(what)
        if unit == "week":
            # The first week of a year or month is the one with its first Thursday (ISO 8601).
            return unit_at(nth_weekday(span, 3, number).first, "week"), end
        start = span.start if number > 0 else span.end
        found = unit_at(start, unit, number - 1 if number > 0 else -1)
        inside = found.first >= span.start and found.end is not None and found.end <= span.end
        return (found, end) if inside else None

    def _span_after(self, at: int) -> Parsed | None:
        """A moment, or a bare unit that means the current one: "the end of the month"."""
        the = patterns.compiled(r"(?:the\s+)?").match(self.text, at)
        at = the.end() if the else at
        if parsed := self.moment(at, strong=True):
            return parsed
        match = patterns.PLAIN_UNIT.match(self.text, at)
        return (unit_at(self.now, match["unit"].lower()), match.end()) if match else None

    def _week_of(self, match: re.Match[str]) -> Parsed | None:
        parsed = self.moment(match.end(), strong=True)
        return (unit_at(parsed[0].first, "week"), parsed[1]) if parsed else None

    def _week_number(self, match: re.Match[str]) -> Parsed | None:
        return unit_at(
            datetime.fromisocalendar(int(match["year"]), int(match["week"]), 1), "week"
        ), match.end()

    def _quarter_of_some_year(self, match: re.Match[str]) -> Parsed | None:
        parsed = self.moment(match.end())
        if parsed is None or parsed[0].start is None:
            return None
        return unit_at(add(parsed[0].start, 3 * int(match["quarter"]) - 3, "month"), "quarter"), parsed[1]

    def _part_of_span(self, match: re.Match[str]) -> Parsed | None:
        if match["of"]:
            parsed = self._span_after(match.end())
        else:
            parsed = self.moment(match.end(), strong=True)
            if parsed and parsed[0].grain not in (
                "month",
                "year",
                "week",
                "decade",
                "century",
                "season",
                "quarter",
            ):
                return None
        if parsed is None or parsed[0].grain in ("hour", "minute", "second", ""):
            return None
        return part_of(parsed[0], _PARTS[(match["of"] or match["adjective"]).lower()]), parsed[1]

    def _half_of(self, match: re.Match[str]) -> Parsed | None:
        parsed = self._span_after(match.end())
        if parsed is None or parsed[0].start is None or parsed[0].end is None:
            return None
        return half_of(
            parsed[0], 1 if match["h"] == "1" or (match["half"] or "").lower() == "first" else 2
        ), parsed[1]

    def _some_unit(self, match: re.Match[str]) -> Parsed | None:
        way = -1 if match["then"] else which_way(match["which"])
        said = (match["then"] or match["which"]).lower()
        the = patterns.THE.search(self.text, max(0, match.start() - 5), match.start() + 4)
        word = match["unit"].lower()
        if word.startswith("weekend"):
            saturday = weekday_in_week(self.now, 5, way).first
            weekends = int(number_of(match["count"] or match["first"] or "1"))
            start = saturday - 7 * DAY * (weekends - 1) if way < 0 else saturday
            return Span(start, saturday + 2 * DAY, "weekend"), match.end()
        unit = unit_of(word)
        counted = match["count"] or match["first"]
        if counted is None:
            if unit in ("second", "minute") and the:
                return None  # "at the last minute" is no time
            if word.endswith("s") and unit != "century":
                return None  # "these days", "past years"
            if unit in SHORT_UNITS and way < 0:
                return up_to_now(self.now, 1, unit), match.end()
            return unit_at(self.now, unit, way), match.end()
        count = number_of(counted)
        if way == 0 or not count:
            return None
        if match["work"] and match["work"].lower().strip() != "calendar":
            return self._work_days(int(count) * -way), match.end()
        if way > 0:
            ahead = Span(self.now, add(self.now, count, unit))
            return (ahead if unit in SHORT_UNITS else whole_units(self.now, -int(count), unit)), match.end()
        # "Last two weeks" counts whole weeks back from this one, "past" and "the last" run up to now.
        slides = unit in SHORT_UNITS or (
            ("past" in said or the) and unit not in ("quarter", "decade", "century")
        )
        if slides or count != int(count):
            return up_to_now(self.now, count, unit), match.end()
        return whole_units(self.now, int(count), unit), match.end()

    def _the_weekend(self, match: re.Match[str]) -> Parsed | None:
        saturday = last_weekday(self.now + DAY, 5).first
        return Span(saturday, saturday + 2 * DAY, "weekend"), match.end()

    def _work_days(self, count: int) -> Span:
        """So many days from Monday to Friday before today; after it when negative."""
        day, left, step = self.today, min(abs(count), 1000), -DAY if count > 0 else DAY
        while left:
            day += step
            left -= day.weekday() < 5
        return Span(day, self.today) if count > 0 else Span(self.today + DAY, day + DAY)

    def _time_first(self, match: re.Match[str]) -> Parsed | None:
        """Reads "8am yesterday", "9 tomorrow morning"."""
        parsed = self.moment(match.end())
        if parsed is None or parsed[0].grain not in ("day", "weekday", "part"):
            return None
        span, end = parsed
        if not (match["half"] or match["minute"] or match["named"] or span.grain == "part"):
            return None
        hours = (span.first.hour, 24) if span.grain == "part" else None
        time = time_of(span, match, hours)
        return (time, end) if time else None


_Reader = Callable[[English, re.Match[str]], Parsed | None]
_RULES: list[tuple[re.Pattern[str], _Reader]] = [
    (patterns.compiled(r"(?=\d)"), English._numeric),
    (patterns.AGO, English._ago),
    (patterns.MINUS, English._minus),
    (patterns.WORK_DAYS_AGO, English._work_days_ago),
    (patterns.WEEKDAYS_AGO, English._weekdays_ago),
    (patterns.DAY_WORD, English._day_word),
    (patterns.FROM, English._from),
    (patterns.EARLIER, English._earlier),
    (patterns.TO_DATE, English._to_date),
    (
        patterns.compiled(r"(?P<degree>early|late)\s+(?=tonight|this|last|yesterday|tomorrow)"),
        English._late_night,
    ),
    (patterns.NIGHT, English._night),
    (patterns.PART_OF, English._part_of_day),
    (patterns.WEEKDAY_OF_WEEK, English._weekday_of_week),
    (patterns.DAY_OF, English._day_of),
    (patterns.NTH_OF, English._nth_of),
    (patterns.WEEK_OF, English._week_of),
    (patterns.WEEK_NUMBER, English._week_number),
    (patterns.QUARTER_OF_SOME_YEAR, English._quarter_of_some_year),
    (patterns.THE_WEEKEND, English._the_weekend),
    (patterns.HALF_OF, English._half_of),
    (patterns.PART_OF_SPAN, English._part_of_span),
    (patterns.ANY_HOLIDAY, English._holiday),
    (patterns.SOME_WEEKDAY, English._weekday),
    (patterns.YEAR_MONTH_DAY, English._year_month_day),
    (patterns.EXPLICIT_MONTH_DAY, English._month_day),
    (patterns.DAY_MONTH, English._day_month),
    (patterns.MONTH_YEAR, English._month_year),
    (patterns.QUARTER, English._quarter_of),
    (patterns.CENTURY, English._century),
    (patterns.DECADE, English._decade),
    (patterns.SOME_UNIT, English._some_unit),
    (patterns.SOME_MONTH, English._some_month),
    (patterns.SEASON, English._season),
    (patterns.SOME_PLAIN_MONTH, English._plain_month),
    (patterns.TIME_BEFORE, English._time_first),
]

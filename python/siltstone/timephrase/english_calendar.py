"""What the English calendar names: months and their days, quarters, seasons, holidays, decades."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, tzinfo

from siltstone.timephrase import english_patterns as patterns
from siltstone.timephrase import holidays
from siltstone.timephrase.english_words import (
    month_of_name,
    number_of,
    ordinal_of,
)
from siltstone.timephrase.span import (
    Span,
    day_of,
    floor,
    month_of,
    unit_at,
    yearly,
)

Parsed = tuple[Span, int]  # the span, and where its words end


def which_way(text: str) -> int:
    """-1, 0 or 1 for last, this and next."""
    word = " ".join(text.lower().split())
    if re.fullmatch(patterns.BACK, word):
        return -1
    return 0 if re.fullmatch(patterns.HERE, word) else 1


class EnglishCalendar:
    """Readers of one query that need no other moment.

    Args:
        text: the query.
        now: the caller's local time, naive.
        zone: where that is; ISO timestamps with an offset are brought there.
    """

    def __init__(self, text: str, now: datetime, zone: tzinfo) -> None:
        self.text, self.now, self.zone = text, now, zone
        self.today = floor(now, "day")

    def _month_slash_day(self, at: int) -> Parsed | None:
        match = patterns.MONTH_SLASH_DAY.match(self.text, at)
        if match is None:
            return None
        month, day = int(match["month"]), int(match["day"])
        if month > 12:
            month, day = day, month
        if not 1 <= month <= 12 or not 1 <= day <= 31:
            return None
        return yearly(self.now, lambda year: day_of(year, month, day)), match.end()

    def _year_month_day(self, match: re.Match[str]) -> Parsed | None:
        year, month = int(match["year"]), month_of_name(match["month"])
        span = day_of(year, month, int(match["day"])) if match["day"] else month_of(year, month)
        return span, match.end()

    def _month_day(self, match: re.Match[str]) -> Parsed | None:
        month, day = month_of_name(match["month"]), day_number(match["day"])
        if match["short"]:
            return day_of(self._year(match["short"]), month, day), match.end()
        return self._dated(match, lambda year: day_of(year, month, day))

    def _day_month(self, match: re.Match[str]) -> Parsed | None:
        month, day = month_of_name(match["month"]), day_number(match["day"])
        joined, year = match["joined"], match["year"]
        if not (match["of"] or joined or year or not match["day"].isdigit()):
            if patterns.NOT_A_MONTH.match(self.text, match.end("month")):
                return None
            if match["month"].lower() == "may" and not re.match(
                r"\s*(?:\W|$)", self.text[match.end("month") :]
            ):
                return None  # "these 5 may fail"
        if joined:
            return day_of(int(joined), month, day), match.end()
        return self._dated(match, lambda year: day_of(year, month, day))

    def _month_year(self, match: re.Match[str]) -> Parsed | None:
        month = month_of_name(match["month"])
        if match["joined"]:
            return month_of(int(match["joined"]), month), match.end()
        return self._dated(match, lambda year: month_of(year, month))

    def _some_month(self, match: re.Match[str]) -> Parsed | None:
        if patterns.NOT_A_MONTH.match(self.text, match.end()):
            return None
        way, month = which_way(match["which"]), month_of_name(match["month"])
        if way > 0:
            year = self.now.year + (month <= self.now.month)
        elif way < 0:
            year = self.now.year - (month >= self.now.month)
        else:
            year = self.now.year
        return month_of(year, month), match.end()

    def _month(self, month: int) -> Span:
        return yearly(self.now, lambda year: month_of(year, month))

    def _plain_month(self, match: re.Match[str]) -> Parsed | None:
        return self._year_behind(self._month(month_of_name(match[0])), match.end())

    def _quarter(self, number: int) -> Span:
        return yearly(self.now, lambda year: unit_at(datetime(year, number * 3 - 2, 1), "quarter"))

    def _quarter_of(self, match: re.Match[str]) -> Parsed | None:
        if word := match["word"]:
            if word.lower() == "last" and not match["year"]:
                return None  # the quarter before this one, as "last month" is
            number = 4 if word.lower() == "last" else ordinal_of(word)
            if not match["year"]:
                return self._year_behind(self._quarter(number), match.end())
            year = self._year(match["year"])
        else:
            number, year = int(match["q1"] or match["q2"]), self._year(match["before"] or match["after"])
        return unit_at(datetime(year, number * 3 - 2, 1), "quarter"), match.end()

    def _century(self, match: re.Match[str]) -> Parsed | None:
        return unit_at(datetime((int(match["number"]) - 1) * 100 or 1, 1, 1), "century"), match.end()

    def _decade(self, match: re.Match[str]) -> Parsed | None:
        if match["full"]:
            year = int(match["full"])
        else:
            year = self.now.year // 100 * 100 + int(match["short"])
            year -= 100 if year > self.now.year else 0
        return unit_at(datetime(year, 1, 1), "decade"), match.end()

    def _season(self, match: re.Match[str]) -> Parsed | None:
        season = match["season"].lower().replace("fall", "autumn")
        in_year = holidays.SEASONS[season]
        if match["year"]:
            return in_year(self._year(match["year"])), match.end()
        if match["of"]:
            parsed = self._year_behind(yearly(self.now, in_year), match.end("season"))
            return parsed if parsed[1] > match.end("season") else None
        return self._which_year(match, in_year) if match["which"] else None

    def _holiday(self, match: re.Match[str]) -> Parsed | None:
        for pattern, in_year in patterns.HOLIDAYS:
            if named := pattern.match(self.text, match.start()):
                if named["which"]:
                    return self._which_year(named, in_year)
                return self._year_behind(yearly(self.now, in_year), named.end())
        return None

    def _year(self, text: str) -> int:
        """Two digits mean the latest year that ends so and is not far ahead."""
        digits = text.lstrip("'’")
        if len(digits) != 2:
            return int(number_of(text))
        year = self.now.year // 100 * 100 + int(digits)
        return year - 100 if year > self.now.year + 10 else year

    def _dated(self, match: re.Match[str], in_year: Callable[[int], Span]) -> Parsed | None:
        if match["year"]:
            return in_year(self._year(match["year"])), match.end()
        return self._year_behind(yearly(self.now, in_year), match.end())

    def _year_behind(self, span: Span, end: int) -> Parsed:
        """The year said behind what comes every year: "Easter 2010", "tax day last year"."""
        match = patterns.ITS_YEAR.match(self.text, end)
        if match is None or span.in_year is None:
            return span, end
        if match["year"]:
            year = int(number_of(match["year"]))
            if not 1900 <= year <= 2100:
                return span, end
        else:
            year = self.now.year + which_way(match["which"])
        return span.in_year(year), match.end()

    def _which_year(self, match: re.Match[str], in_year: Callable[[int], Span]) -> Parsed:
        way = which_way(match["which"])
        if way == 0:
            return in_year(self.now.year), match.end()
        latest = yearly(self.now, in_year)
        if way < 0:
            # The one that is still going on is "this", not "last".
            if latest.end is not None and latest.end > self.now:
                latest = in_year(latest.first.year - 1)
            return replace(latest, in_year=None), match.end()
        return in_year(latest.first.year + 1), match.end()


def day_number(text: str) -> int:
    return int(text) if text.isdigit() else ordinal_of(text)

"""Chinese words for one moment: 上周三, 去年国庆, 三天前, 2016年一月十日下午两点."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, tzinfo

from siltstone.timephrase import holidays
from siltstone.timephrase.chinese_words import NUMBER, NUMERAL, REIGNS, SMALL, UNIT, number_of, unit_of
from siltstone.timephrase.numeric import exact_moment, numeric_date
from siltstone.timephrase.span import (
    DAY,
    Span,
    add,
    clock,
    day_of,
    floor,
    half_of,
    last_weekday,
    moment_ago,
    month_of,
    part_of,
    unit_at,
    up_to_now,
    vaguely_ago,
    weekday_in_week,
    whole_units,
    year_of,
    yearly,
)

Parsed = tuple[Span, int]  # the span, and where its words end

_YEAR_WORDS = {
    "大前年": -3,
    "前年": -2,
    "去年": -1,
    "上年": -1,
    "今年": 0,
    "本年": 0,
    "这一年": 0,
    "明年": 1,
    "后年": 2,
}
_YEAR = (
    r"(?:(?P<said>大前年|前年|去年|上年(?!纪)|今年|本年度?|这一年|明年|后年)"
    rf"|(?P<year>\d{{4}}|[零一二三四五六七八九]{{4}}|[一二两]千[零{NUMERAL}]*|0\d|[零七八九][零一二三四五六七八九]|\d\d(?=年\s?\d{{1,2}}月))\s?年"
    rf"|(?P<reign>{'|'.join(REIGNS)})(?P<reigned>元|\d{{1,3}}|[{NUMERAL}]+)年)"
)
_MONTH_WORDS = (
    r"(?:(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月份?"
    rf"|(?P<lunar_month>正月|腊月|农历{SMALL}月|阴历{SMALL}月))"
)
_DAY_WORDS = (
    rf"(?P<day>{SMALL})\s?(?:日(?!本)|号(?!楼|线|机|码|店|院|员))|初(?P<first>[一二三四五六七八九十])"
    r"|(?P<bare>[二三]?十[一二三四五六七八九]?)(?!\w?[月年个天分])"
)
_DATE = re.compile(rf"(?:{_YEAR}\s?的?)?\s?{_MONTH_WORDS}\s?(?:{_DAY_WORDS})?")
_DAY_OF_SOME_MONTH = re.compile(rf"(?P<which>上上|上|本|这|当|下)一?个?月的?\s?(?P<day>{SMALL})\s?[日号]")
_BARE_DAY = re.compile(rf"(?<![\d{NUMERAL}第])(?P<day>{SMALL})日(?![本常均报志子程])")
_BARE_YEAR = re.compile(_YEAR)
_DAYS = {
    "大前天": -3,
    "大前日": -3,
    "前天": -2,
    "前日": -2,
    "昨天": -1,
    "昨日": -1,
    "昨儿": -1,
    "今天": 0,
    "今日": 0,
    "今儿": 0,
    "明天": 1,
    "明日": 1,
    "后天": 2,
    "大后天": 3,
}
_DAY = re.compile(rf"(?:{'|'.join(sorted(_DAYS, key=len, reverse=True))})(?!头条|性|免疫)")
_DAY_AND_PART = re.compile(r"(?P<day>[今昨前明当])(?P<part>早|晚|夜)上?(?!期|辈|会|点)")
_WHICH = {"上上": -2, "上": -1, "本": 0, "这": 0, "今": 0, "当": 0, "下下": 2, "下": 1}
_WHICH_WORDS = r"(?P<which>上上|(?<![以之晚早马向])上|本|这|今|下下|(?<![以之])下)一?个?"
_WEEKDAYS = "一二三四五六日"
_WEEKDAY = re.compile(
    rf"(?:{_WHICH_WORDS}(?:周|星期|礼拜)|(?<![每一二两三四五六七八九十几\d个])(?:周|星期|礼拜))"
    r"(?P<day>[一二三四五六日天末1-7])(?![次天个年月遍回篇例种\d])"
)
_SOME_UNIT = re.compile(
    rf"{_WHICH_WORDS}(?P<unit>周(?![一-龥]?围|岁|期|边|末|年)|星期|礼拜|月(?!球|亮|台)|季度|年(?!纪|级|龄)|世纪|年代|半年|半月)"
)
_UNIT_WORDS = {
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "季度": "quarter",
    "年": "year",
} | {
    "世纪": "century",
    "年代": "decade",
    "半年": "half",
}
_COUNTED = re.compile(
    rf"(?P<way>过去的?|最近的?|近|这|此前|(?<![提之以目])前|(?<![以之晚早马向])上)(?P<count>{NUMBER})(?P<unit>{UNIT})(?:之?[内里间]|以?来|期间)?"
)
_AGO = re.compile(
    rf"(?<![\d.第{NUMERAL}])(?P<count>{NUMBER})(?P<more>个半)?(?P<unit>{UNIT})(?P<half>半)?(?P<way>之前|以前|前(?![端后台面缀者提半几十]))"
)
_LONG_SINCE = re.compile(
    rf"(?<![\d.第{NUMERAL}])(?P<count>{NUMBER})(?P<more>个半)?(?P<unit>{UNIT})(?:以来|来(?![自源])|之?内(?![容部存网核]))"
)
_HALF = re.compile(r"(?P<half>上|下|前|后)半(?P<unit>年|月|周)")
_QUARTER = re.compile(r"(?:第?(?P<number>[一二三四1-4])季度|[Qq](?P<q>[1-4])(?!\d))")
_EDGE = re.compile(r"(?P<unit>月|年)?的?(?P<edge>初|中旬?|底|末|上旬|下旬)(?![国文期间等步级心部次学])")
_EDGES = {
    "初": "beginning",
    "上旬": "beginning",
    "中": "middle",
    "中旬": "middle",
    "底": "end",
    "末": "end",
    "下旬": "end",
}
_BARE_EDGE = re.compile(r"(?<![\d\w])(?P<unit>年|月)(?P<edge>初|底|末)")
_SEASON = re.compile(rf"(?:{_YEAR})?的?(?P<season>[春夏秋冬])[天季]")
_SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_CENTURY = re.compile(rf"(?P<century>{SMALL}|上个?)世纪(?:(?P<decade>[1-9]0|[一二三四五六七八九]十)年代)?")
_DECADE = re.compile(r"(?<!\d)(?P<decade>(?:1[89]|20)\d0|[1-9]0|[二三四五六七八九]十)年代")
_HOLIDAYS = [(re.compile(name), day) for name, day in holidays.CHINESE.items()]
_HOLIDAY = re.compile(
    rf"(?:{_YEAR}的?|(?P<last>上一?个?))?(?P<name>(?<![{NUMERAL}])(?:{'|'.join(holidays.CHINESE)})(?![{NUMERAL}]))(?P<long>假期|长假|黄金周|放假|期间)?"
)
_JUST_NOW = re.compile(r"刚才")
_NOW = re.compile(r"现在|目前|当前|此刻|此时")

_PARTS = {
    "凌晨": (0, 6),
    "清晨": (4, 12),
    "早晨": (4, 12),
    "早上": (4, 12),
    "一早": (4, 12),
    "早": (4, 12),
    "上午": (4, 12),
    "中午": (11, 14),
    "下午": (12, 18),
    "傍晚": (16, 20),
    "晚上": (18, 24),
    "夜里": (18, 24),
    "夜晚": (18, 24),
    "夜间": (18, 24),
    "晚": (18, 24),
    "夜": (18, 24),
}
_PART_WORDS = "|".join(sorted(_PARTS, key=len, reverse=True))
_PART_BEHIND = re.compile(rf"\s?的?(?P<part>{_PART_WORDS})(?!期|于|餐|饭|会)")
_CLOCK = re.compile(
    rf"\s?的?(?:(?P<part>{_PART_WORDS})\s?)?(?:(?P<hour>{SMALL})[点时](?!间|候|常)(?:钟|整)?(?:(?P<half>半)|(?P<quarter>[一三])刻|(?P<minute>{SMALL})分?)?"
    r"|(?P<digits>\d{1,2}):(?P<past>\d\d)(?::(?P<second>\d\d))?)"
)
_ONE = re.compile(r"一点(?![半钟整一二三四五十\d])")  # "a little", unless more says that it is a time


class Chinese:
    """Reads moments in one query.

    Args:
        text: the query, simplified.
        now: the caller's local time, naive.
        zone: where that is.
    """

    def __init__(self, text: str, now: datetime, zone: tzinfo) -> None:
        self.text, self.now, self.zone = text, now, zone
        self.today = floor(now, "day")

    def moment(self, at: int) -> Parsed | None:
        """The moment whose words start at a position."""
        for pattern, read in _RULES:
            if (match := pattern.match(self.text, at)) and (parsed := read(self, match)):
                return self._with_time(*parsed)
        return None

    def instant(self, at: int) -> Parsed | None:
        """An instant, 现在, in which nothing lies."""
        match = _NOW.match(self.text, at)
        return (Span(self.now, self.now), match.end()) if match else None

    def clock_at(self, day: Span, at: int) -> Parsed | None:
        """A time of a day that has been named."""
        match = _CLOCK.match(self.text, at)
        return (time, match.end()) if match and (time := _time(day, match)) else None

    def _with_time(self, span: Span, end: int) -> Parsed:
        """A day with the part of it or the time that is said behind it."""
        if span.grain == "day":
            if parsed := self.clock_at(span, end):
                return parsed
            if match := _PART_BEHIND.match(self.text, end):
                return _part(span, match["part"]), match.end()
        elif span.grain == "part" and span.start is not None:
            match = _CLOCK.match(self.text, end)
            if match and (time := _time(span, match, afternoon=span.start.hour >= 12)):
                return time, match.end()
        return span, end

    # The readers of the rules, in the order of _RULES.

    def _numeric(self, match: re.Match[str]) -> Parsed | None:
        return exact_moment(self.text, match.start(), self.zone) or numeric_date(self.text, match.start())

    def _year(self, match: re.Match[str]) -> int | None:
        if match["said"]:
            return self.now.year + _YEAR_WORDS[match["said"].removesuffix("度")]
        if match["reign"]:
            return (
                REIGNS[match["reign"]]
                - 1
                + (1 if match["reigned"] == "元" else int(number_of(match["reigned"])))
            )
        if match["year"]:
            year = int(number_of(match["year"]))
            if year < 100:
                year += self.now.year // 100 * 100
                year -= 100 if year > self.now.year + 10 else 0
            return year
        return None

    def _date(self, match: re.Match[str]) -> Parsed | None:
        day = match["day"] or match["first"] or match["bare"]
        number = int(number_of(day)) if day else None
        if lunar := match["lunar_month"]:
            month = {"正月": 1, "腊月": 12}.get(lunar) or int(number_of(lunar[2:-1]))
            in_year: Callable[[int], Span] = (
                holidays.lunar(month, number) if number else holidays.lunar_month(month)
            )
        else:
            month = int(number_of(match["month"]))
            if number:
                in_year = lambda year: day_of(year, month, number)  # noqa: E731
            else:
                in_year = lambda year: month_of(year, month)  # noqa: E731
        year = self._year(match)
        span = yearly(self.now, in_year) if year is None else in_year(year)
        return self._edge(span, match.end()) if number is None else (span, match.end())

    def _edge(self, span: Span, end: int) -> Parsed:
        """初, 中, 底 behind a month or year; a half or a quarter behind a year."""
        if span.grain == "year":
            for read in (self._half_behind, self._quarter_behind):
                if parsed := read(span, end):
                    return parsed
        match = _EDGE.match(self.text, end)
        of_its_own = match and {"年": "year", "月": "month", None: span.grain}[match["unit"]] == span.grain
        if match and of_its_own and not (span.grain == "year" and "旬" in match["edge"]):
            return replace(part_of(span, _EDGES[match["edge"]]), grain="edge"), match.end()
        return span, end

    def _half_behind(self, year: Span, end: int) -> Parsed | None:
        match = _HALF.match(self.text, end)
        if match is None or match["unit"] != "年":
            return None
        return half_of(year, 1 if match["half"] in "上前" else 2), match.end()

    def _quarter_behind(self, year: Span, end: int) -> Parsed | None:
        match = re.compile(r"的?").match(self.text, end)
        match = _QUARTER.match(self.text, match.end() if match else end)
        if match is None:
            return None
        number = int(number_of(match["number"] or match["q"]))
        return unit_at(add(year.first, 3 * number - 3, "month"), "quarter"), match.end()

    def _bare_year(self, match: re.Match[str]) -> Parsed | None:
        year = self._year(match)
        return self._edge(year_of(year), match.end()) if year else None

    def _day_of_some_month(self, match: re.Match[str]) -> Parsed | None:
        month = unit_at(self.now, "month", _WHICH[match["which"]])
        return unit_at(month.first.replace(day=int(number_of(match["day"]))), "day"), match.end()

    def _bare_day(self, match: re.Match[str]) -> Parsed | None:
        """The latest such day of a month."""
        number = int(number_of(match["day"]))
        for back in range(12):
            month = unit_at(self.now, "month", -back).first
            try:
                day = unit_at(month.replace(day=number), "day")
            except ValueError:
                continue
            if day.first <= self.now:
                return day, match.end()
        return None

    def _day(self, match: re.Match[str]) -> Parsed | None:
        return unit_at(self.today + DAY * _DAYS[match[0]], "day"), match.end()

    def _day_and_part(self, match: re.Match[str]) -> Parsed | None:
        if match["day"] == "当":
            return None
        shift = {"今": 0, "昨": -1, "前": -2, "明": 1}[match["day"]]
        return _part(unit_at(self.today + DAY * shift, "day"), match["part"]), match.end()

    def _weekday(self, match: re.Match[str]) -> Parsed | None:
        which, day = match["which"], match["day"]
        if day == "末":
            return self._weekend(which), match.end()
        weekday = int(day) - 1 if day.isdigit() else _WEEKDAYS.index(day.replace("天", "日"))
        if which is None:
            return replace(last_weekday(self.now, weekday), grain="day"), match.end()
        return weekday_in_week(self.now, weekday, _WHICH[which]), match.end()

    def _weekend(self, which: str | None) -> Span:
        saturday = weekday_in_week(self.now, 5, _WHICH[which] if which else 0).first
        if which is None and saturday > self.now:
            saturday -= 7 * DAY
        return Span(saturday, saturday + 2 * DAY, "weekend")

    def _some_unit(self, match: re.Match[str]) -> Parsed | None:
        which, word = match["which"], match["unit"]
        if which == "今" and word not in ("周", "星期", "礼拜"):
            return None
        if word == "半月" or (word == "半年" and "个" not in match[0]):
            return None  # 上半年 is the first half, not the last one
        unit = _UNIT_WORDS[word]
        return self._edge(unit_at(self.now, unit, _WHICH[which]), match.end())

    def _half(self, match: re.Match[str]) -> Parsed | None:
        unit = {"年": "year", "月": "month", "周": "week"}[match["unit"]]
        return half_of(unit_at(self.now, unit), 1 if match["half"] in "上前" else 2), match.end()

    def _counted(self, match: re.Match[str]) -> Parsed | None:
        count, unit = number_of(match["count"]), unit_of(match["unit"])
        if not count:
            return None
        # 上 and 前 count whole units back from the current one, 过去 and 最近 run up to now.
        if match["way"] in ("上", "前") and count == int(count):
            return whole_units(self.now, int(count), unit), match.end()
        if match["way"] == "这" and count == 1:
            return None  # 这一天 points at something told before
        if unit == "month" and count == 0.5:
            count, unit = 15, "day"
        return up_to_now(self.now, count, unit), match.end()

    def _ago(self, match: re.Match[str]) -> Parsed | None:
        count, unit = number_of(match["count"]), unit_of(match["unit"])
        if unit == "year" and re.fullmatch(
            rf"\d{{4}}|[{NUMERAL[:-3]}]{{4}}|0\d|[零][{NUMERAL}]", match["count"]
        ):
            return None  # 2015年前 is before the year
        if match["count"] == "几":
            return vaguely_ago(self.now, unit), match.end()
        if match["half"] or match["more"]:
            count += 0.5
        if unit == "month" and count == 0.5:
            count, unit = 15, "day"
        if match["way"] == "之前" and count == int(count):
            return whole_units(self.now, int(count), unit), match.end()
        return moment_ago(self.now, count, unit), match.end()

    def _long_since(self, match: re.Match[str]) -> Parsed | None:
        count = number_of(match["count"]) + (0.5 if match["more"] else 0)
        return up_to_now(self.now, count, unit_of(match["unit"])), match.end()

    def _quarter(self, match: re.Match[str]) -> Parsed | None:
        number = int(number_of(match["number"] or match["q"]))
        return yearly(
            self.now, lambda year: unit_at(datetime(year, number * 3 - 2, 1), "quarter")
        ), match.end()

    def _bare_edge(self, match: re.Match[str]) -> Parsed | None:
        unit = "year" if match["unit"] == "年" else "month"
        part = part_of(unit_at(self.now, unit), _EDGES[match["edge"]])
        if part.first > self.now:
            part = part_of(unit_at(self.now, unit, -1), _EDGES[match["edge"]])
        return part, match.end()

    def _season(self, match: re.Match[str]) -> Parsed | None:
        in_year = holidays.SEASONS[_SEASONS[match["season"]]]
        year = self._year(match)
        return (in_year(year), match.end()) if year else None

    def _century(self, match: re.Match[str]) -> Parsed | None:
        if match["century"].startswith("上"):
            start = self.now.year // 100 * 100 - 100
        else:
            start = int(number_of(match["century"])) * 100 - 100
        if match["decade"]:
            return unit_at(datetime(start + int(number_of(match["decade"])), 1, 1), "decade"), match.end()
        return unit_at(datetime(start or 1, 1, 1), "century"), match.end()

    def _decade(self, match: re.Match[str]) -> Parsed | None:
        year = int(number_of(match["decade"]))
        if year < 100:
            year += self.now.year // 100 * 100
            year -= 100 if year > self.now.year else 0
        return unit_at(datetime(year, 1, 1), "decade"), match.end()

    def _holiday(self, match: re.Match[str]) -> Parsed | None:
        in_year = next(day for pattern, day in _HOLIDAYS if pattern.fullmatch(match["name"]))
        year = self._year(match)
        if year is None:
            day = yearly(self.now, in_year)
            if match["last"] and day.end is not None and day.end > self.now:
                day = in_year(day.first.year - 1)
        else:
            day = in_year(year)
        if match["long"]:
            return Span(day.start, day.first + DAY * holidays.CHINESE_HOLIDAY_DAYS), match.end()
        return day, match.end()

    def _just_now(self, match: re.Match[str]) -> Parsed | None:
        return up_to_now(self.now, 1, "hour"), match.end()


def _part(day: Span, part: str) -> Span:
    first, last = _PARTS[part]
    return Span(add(day.first, first, "hour"), add(day.first, last, "hour"), "part")


def _time(day: Span, match: re.Match[str], afternoon: bool = False) -> Span | None:
    """A time of day; behind 下午 and 晚上 the hours count from noon."""
    if _ONE.search(match[0] + match.string[match.end() : match.end() + 1]) and not (
        match["part"] or afternoon
    ):
        return None
    hour = int(number_of(match["hour"] or match["digits"]))
    minute = match["minute"] or match["past"]
    minutes = 30 if match["half"] else 15 * int(number_of(match["quarter"])) if match["quarter"] else None
    if minutes is None and minute:
        minutes = int(number_of(minute))
    if match["part"]:
        afternoon = _PARTS[match["part"]][1] > 12 and not (match["part"] == "中午" and hour == 11)
    if afternoon and hour < 12:
        hour += 12
    second = int(match["second"] or 0)
    if hour > 24 or (minutes or 0) > 59 or second > 59:
        return None
    unit = "second" if match["second"] else "minute" if minutes is not None else "hour"
    return clock(day, hour, minutes or 0, second, unit)


_Reader = Callable[[Chinese, re.Match[str]], Parsed | None]
_RULES: list[tuple[re.Pattern[str], _Reader]] = [
    (re.compile(r"(?<![\w.])(?=\d)"), Chinese._numeric),
    (_AGO, Chinese._ago),
    (_LONG_SINCE, Chinese._long_since),
    (_HOLIDAY, Chinese._holiday),
    (_SEASON, Chinese._season),
    (_CENTURY, Chinese._century),
    (_DECADE, Chinese._decade),
    (_DATE, Chinese._date),
    (_DAY_OF_SOME_MONTH, Chinese._day_of_some_month),
    (_BARE_YEAR, Chinese._bare_year),
    (_WEEKDAY, Chinese._weekday),
    (_HALF, Chinese._half),
    (_COUNTED, Chinese._counted),
    (_SOME_UNIT, Chinese._some_unit),
    (_QUARTER, Chinese._quarter),
    (_DAY, Chinese._day),
    (_DAY_AND_PART, Chinese._day_and_part),
    (_BARE_DAY, Chinese._bare_day),
    (_BARE_EDGE, Chinese._bare_edge),
    (_JUST_NOW, Chinese._just_now),
]

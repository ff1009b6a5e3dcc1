"""Chinese words around moments: 从…到…, 以来, 之前, 之后, …之间."""

import re
from collections.abc import Iterator
from datetime import datetime, tzinfo

from siltstone.timephrase.chinese import Chinese, Parsed
from siltstone.timephrase.chinese_words import NUMERAL, SMALL, number_of, simplified
from siltstone.timephrase.span import DAY, Span, add, day_of, month_of, unit_at, year_of

ANCHOR = re.compile(
    r"[年月日天周号秒节夕]|\d[\d:/.-]|星期|礼拜|小时|钟头|分钟|季度|世纪|[昨今前明][早晚夜]|刚才|"
    r"清明|端午|中秋|元旦|国庆|圣诞|除夕|元宵|五一|六一|双1|双十|平安夜|[Qq][1-4]"
)
_CHINESE = re.compile(r"[一-龥]")
_FROM = re.compile(r"(?:从|自从?|由|在)\s?")
_TO = re.compile(r"\s?(?:到|至|直到)\s?|\s?[-–—~～]+\s?")
_AND = re.compile(r"\s?(?:和|与|跟|同)\s?")
_BETWEEN = re.compile(r"\s?(?:之间|间(?!隔|接)|期间)")
_TODAY = re.compile(r"\s?(?:至今|到现在|到目前|到今天为止|迄今)")
_SINCE = re.compile(r"(?:以来|起(?![来点因床]|诉)|开始|[及或]之后|[及或]以后|[及或]其后)")
_AFTER = re.compile(r"(?:之后|以后|后(?![来面天台端续期缀者果勤半]))")
_BEFORE = re.compile(r"(?:之前|以前|[及或]之前|[及或]以前|为止|前(?![端后台面缀者提半几十]))")
_UNTIL = re.compile(r"(?:截至|截止到?|直到|在?早于)\s?")
_LATER_THAN = re.compile(r"(?:晚于|不早于)\s?")
_FIRST_YEAR = re.compile(r"(?<!\d)(?P<year>(?:1[89]|20)\d\d)(?=\s?(?:[-–—~～]+|到|至)\s?\d{4}\s?年)")
_SECOND_DAY = re.compile(rf"(?P<day>{SMALL})\s?[日号]")
_SECOND_MONTH = re.compile(rf"(?P<month>{SMALL})月(?!{SMALL}[日号])")
_SECOND_WEEKDAY = re.compile(
    r"(?:周|星期|礼拜)?(?P<day>[一二三四五六日天])(?![次天个年月点\w]|$)|(?:周|星期|礼拜)(?P<named>[一二三四五六日天])"
)
# Of a date that does not exist no part is a date: 2019年2月29日 is not 29 February.
_ABSURD = re.compile(rf"[\d年月日号初{NUMERAL}\s./-]+")
_BEFORE_IS_A_SET = re.compile(r"[每各][个一]?$")


def found_in(text: str, now: datetime, zone: tzinfo) -> Iterator[tuple[Span, int, int]]:
    """What a query says of time, from left to right: span, first and last position of its words."""
    text = simplified(text)
    if _CHINESE.search(text) is None or ANCHOR.search(text) is None:
        return
    chinese = Chinese(text, now, zone)
    at = 0
    while at < len(text):
        try:
            parsed = None if _BEFORE_IS_A_SET.search(text, max(0, at - 2), at) else _range(chinese, at)
        except (ValueError, OverflowError):
            absurd = _ABSURD.match(text, at)
            at = max(absurd.end() if absurd else 0, at + 1)
            continue
        if parsed is None:
            at += 1
        else:
            yield parsed[0], at, parsed[1]
            at = max(parsed[1], at + 1)


def _range(chinese: Chinese, at: int) -> Parsed | None:
    text = chinese.text
    if match := _UNTIL.match(text, at):
        parsed = chinese.moment(match.end())
        return (Span(None, parsed[0].start), parsed[1]) if parsed and parsed[0].start else None
    if match := _LATER_THAN.match(text, at):
        parsed = chinese.moment(match.end())
        return (Span(parsed[0].end, None), parsed[1]) if parsed and parsed[0].end else None
    start = at
    if match := _FROM.match(text, at):
        start = match.end()
    first = _moment(chinese, start)
    if first is None:
        return None
    return _joined(chinese, first) or _opened(chinese, first)


def _moment(chinese: Chinese, at: int) -> Parsed | None:
    """A moment; a year without 年 too where the second one of a range has it."""
    if match := _FIRST_YEAR.match(chinese.text, at):
        return year_of(int(match["year"])), match.end()
    return chinese.moment(at)


def _opened(chinese: Chinese, parsed: Parsed) -> Parsed | None:
    """What the words behind a moment make of it."""
    span, end = parsed
    text = chinese.text
    if match := _TODAY.match(text, end) or _SINCE.match(text, end):
        return Span(span.start, None), match.end()
    if (match := _AFTER.match(text, end)) and span.end:
        return Span(span.end, None), match.end()
    if (match := _BEFORE.match(text, end)) and span.start:
        return Span(None, span.start), match.end()
    return span, end


def _joined(chinese: Chinese, first: Parsed) -> Parsed | None:
    """The range from one moment to the start of another."""
    text = chinese.text
    between = _AND.match(text, first[1])
    match = between or _TO.match(text, first[1])
    if match is None:
        return None
    second = _second(chinese, first[0], match.end())
    if second is None or first[0].start is None or second[0].start is None:
        return None
    end = second[1]
    closing = _BETWEEN.match(text, end)
    if between and closing is None:
        return None
    start, stop = first[0].start, second[0].start
    if first[0].in_year and start > stop:
        start = first[0].in_year(stop.year - 1).first
    if start >= stop:
        return None
    return Span(start, stop), closing.end() if closing else end


def _second(chinese: Chinese, first: Span, at: int) -> Parsed | None:
    """The second moment of a range; it has its year, month or week from the first where it names none."""
    text = chinese.text
    if first.start is None:
        return None
    if first.grain == "day":
        if (match := _SECOND_DAY.match(text, at)) and int(number_of(match["day"])) <= 31:
            day = day_of(first.start.year, first.start.month, int(number_of(match["day"])))
            return (
                day if day.first > first.start else unit_at(add(day.first, 1, "month"), "day")
            ), match.end()
        if match := _SECOND_WEEKDAY.match(text, at):
            weekday = "一二三四五六日".index((match["day"] or match["named"]).replace("天", "日"))
            return unit_at(first.start + DAY * ((weekday - first.start.weekday()) % 7), "day"), match.end()
    if first.grain == "month" and (match := _SECOND_MONTH.match(text, at)):
        number = int(number_of(match["month"]))
        if 1 <= number <= 12:
            year = first.start.year + (number <= first.start.month)
            return month_of(year, number), match.end()
    if first.grain in ("hour", "minute", "part") and (
        parsed := chinese.clock_at(unit_at(first.start, "day"), at)
    ):
        time, end = parsed
        if time.first < first.start and first.start.hour >= 12:
            time = Span(add(time.first, 12, "hour"), None, time.grain)
        return time, end
    second = chinese.moment(at) or chinese.instant(at)
    if second and second[0].in_year and second[0].first < first.start:
        year = first.start.year
        later = second[0].in_year(year)
        return (later if later.first > first.start else second[0].in_year(year + 1)), second[1]
    return second

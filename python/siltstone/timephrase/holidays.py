"""Days that come every year and have a name: fixed, on the nth weekday, or by another calendar."""

from collections.abc import Callable
from datetime import date, datetime, timedelta

from hijridate import Hijri
from lunar_python import Lunar, LunarMonth

from siltstone.timephrase.span import DAY, Span, day_of, nth_weekday, unit_at

InYear = Callable[[int], Span]


def fixed(month: int, day: int) -> InYear:
    return lambda year: day_of(year, month, day)


def nth(month: int, weekday: int, number: int, after: int = 0) -> InYear:
    """The nth weekday of a month (-1: the last), `after` days later."""

    def in_year(year: int) -> Span:
        day = nth_weekday(unit_at(datetime(year, month, 1), "month"), weekday, number)
        return unit_at(day.first + DAY * after, "day")

    return in_year


def easter(after: int = 0) -> InYear:
    """Western Easter, `after` days later. Source: Meeus, Astronomical Algorithms, chapter 8."""

    def in_year(year: int) -> Span:
        a, b, c = year % 19, year // 100, year % 100
        d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
        e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
        month, day = divmod(d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114, 31)
        return unit_at(datetime(year, month, day + 1) + DAY * after, "day")

    return in_year


def islamic(month: int, day: int, days: int = 1) -> InYear:
    """A day of the Islamic calendar (Umm al-Qura), the first that falls into the year.

    Raises:
        ValueError: outside 1924 to 2077, where the calendar is not known.
    """

    def in_year(year: int) -> Span:
        for hijri in range(int((year - 622) * 33 / 32) - 1, int((year - 622) * 33 / 32) + 3):
            try:
                start = Hijri(hijri, month, day).to_gregorian()
            except OverflowError as error:
                raise ValueError(str(error)) from None
            if start.year == year:
                first = datetime(start.year, start.month, start.day)
                return Span(first, first + DAY * days, "day")
        raise ValueError("the day does not fall into the year")

    return in_year


def lunar(month: int, day: int, before: int = 0) -> InYear:
    """A day of the Chinese calendar in the lunar year that starts in the year; day 0 is the month's last.

    Raises:
        ValueError: the month has no such day.
    """

    def in_year(year: int) -> Span:
        length = LunarMonth.fromYm(year, month).getDayCount()
        if day > length:
            raise ValueError("the lunar month has no such day")
        solar = Lunar.fromYmd(year, month, day or length).getSolar()
        return unit_at(datetime(solar.getYear(), solar.getMonth(), solar.getDay()) - DAY * before, "day")

    return in_year


def lunar_month(month: int) -> InYear:
    """A month of the Chinese calendar."""

    def in_year(year: int) -> Span:
        start = lunar(month, 1)(year).first
        return Span(start, start + DAY * LunarMonth.fromYm(year, month).getDayCount(), "month")

    return in_year


def qingming(year: int) -> Span:
    """Tomb-Sweeping Day by the solar term. Source: the formula of the term for 1900 to 2099."""
    constant = 5.59 if year < 2000 else 4.81
    short = year % 100
    return day_of(year, 4, int(short * 0.2422 + constant) - short // 4)


def stretch(start: tuple[int, int], end: tuple[int, int]) -> InYear:
    """From one date to another (excluded), into the next year where that is earlier."""

    def in_year(year: int) -> Span:
        first = datetime(year, *start)
        return Span(first, datetime(year + (end < start), *end), "season")

    return in_year


# Seasons of the northern half, by the usual days of the equinoxes and solstices.
SEASONS: dict[str, InYear] = {
    "spring": stretch((3, 20), (6, 21)),
    "summer": stretch((6, 21), (9, 23)),
    "autumn": stretch((9, 23), (12, 21)),
    "winter": stretch((12, 21), (3, 20)),
}

# Regular expression → day. Feasts whose rules differ between countries go by the United States.
ENGLISH: dict[str, InYear] = {
    r"new year['’]?s? eve": fixed(12, 31),
    r"new year['’]?s?(?: day)?": fixed(1, 1),
    r"(?:mlk|martin luther king(?: jr\.?)?['’]?s?|civil rights) day": nth(1, 0, 3),
    r"groundhogs? day": fixed(2, 2),
    r"valentine['’]?s?(?: day)?": fixed(2, 14),
    r"president['’]?s['’]? day": nth(2, 0, 3),
    r"st\.? patrick['’]?s? day": fixed(3, 17),
    r"april fools?['’]?(?: day)?": fixed(4, 1),
    r"earth day": fixed(4, 22),
    r"(?:orthodox )?good friday": easter(-2),
    r"easter monday": easter(1),
    r"easter(?: sunday| day)?": easter(),
    r"ascension(?: day)?": easter(39),
    r"pentecost|whit ?sunday": easter(49),
    r"mardi gras|shrove tuesday": easter(-47),
    r"ash wednesday": easter(-46),
    r"palm sunday": easter(-7),
    r"super tuesday": lambda year: _primaries(year),
    r"(?:tsunami|(?:mega )?giga) tuesday": lambda year: _primaries(year if year == 2008 else 0),
    r"tax day": lambda year: _tax_day(year),
    r"administrative professionals?['’]?s? day": nth(4, 5, -1, after=-3),
    r"star wars day": fixed(5, 4),
    r"cinco de mayo": fixed(5, 5),
    r"mother['’]?s['’]? day": nth(5, 6, 2),
    r"memorial day": nth(5, 0, -1),
    r"juneteenth": fixed(6, 19),
    r"father['’]?s['’]? day": nth(6, 6, 3),
    r"independence day|(?:the )?fourth of july(?=\s*(?:\W|$|of|in|last))": fixed(7, 4),
    r"labou?r day": nth(9, 0, 1),
    r"columbus day|indigenous peoples['’]? day": nth(10, 0, 2),
    r"boss['’]?s?['’]? day": fixed(10, 16),
    r"hallowe['’]?en(?: day)?": fixed(10, 31),
    r"(?:veterans?|remembrance|armistice)['’]? day": fixed(11, 11),
    r"thanksgiving(?: day)?": nth(11, 3, 4),
    r"black friday": nth(11, 3, 4, after=1),
    r"cyber monday": nth(11, 3, 4, after=4),
    r"(?:christmas|xmas) eve": fixed(12, 24),
    r"(?:christmas|xmas)(?: day)?": fixed(12, 25),
    r"boxing day": fixed(12, 26),
    r"(?:chinese|lunar) new year(?:['’]?s? day)?|spring festival": lunar(1, 1),
    r"lantern festival": lunar(1, 15),
    r"dragon boat festival": lunar(5, 5),
    r"mid-?autumn festival": lunar(8, 15),
    r"ramadan": islamic(9, 1, days=30),
    r"eid(?: |-)(?:al|ul)(?: |-)fitr": islamic(10, 1),
    r"eid(?: |-)(?:al|ul)(?: |-)adha|sacrifice feast|bakr[ -]?id": islamic(12, 10),
}

# In simplified characters. A holiday of several days is named by its first.
CHINESE: dict[str, InYear] = {
    "除夕|大年三十|年三十": lunar(1, 1, before=1),
    "春节|大年初一|农历新年": lunar(1, 1),
    "元宵节?": lunar(1, 15),
    "清明节?": qingming,
    "端午节?": lunar(5, 5),
    "七夕节?": lunar(7, 7),
    "中元节": lunar(7, 15),
    "中秋节?": lunar(8, 15),
    "重阳节": lunar(9, 9),
    "腊八节": lunar(12, 8),
    "元旦节?": fixed(1, 1),
    "情人节": fixed(2, 14),
    "(?:三八)?(?:国际)?妇女节|三八节": fixed(3, 8),
    "植树节": fixed(3, 12),
    "愚人节": fixed(4, 1),
    "(?:五一)?(?:国际)?劳动节|五一节?": fixed(5, 1),
    "五四青年节|青年节": fixed(5, 4),
    "母亲节": nth(5, 6, 2),
    "(?:六一)?(?:国际)?儿童节|六一节?": fixed(6, 1),
    "父亲节": nth(6, 6, 3),
    "建党节": fixed(7, 1),
    "(?:八一)?建军节": fixed(8, 1),
    "教师节": fixed(9, 10),
    "(?:十一)?国庆节?": fixed(10, 1),
    "万圣节": fixed(10, 31),
    "双十一|双11": fixed(11, 11),
    "感恩节": nth(11, 3, 4),
    "双十二|双12": fixed(12, 12),
    "平安夜": fixed(12, 24),
    "圣诞节?": fixed(12, 25),
    "复活节": easter(),
}
CHINESE_HOLIDAY_DAYS = 7  # of 春节假期, 国庆黄金周


# The day on which most states of the United States vote before an election.
_SUPER_TUESDAYS = {
    1984: (3, 13),
    1988: (3, 8),
    1992: (3, 10),
    1996: (3, 12),
    2000: (3, 7),
    2004: (3, 2),
    2008: (2, 5),
    2012: (3, 6),
    2016: (3, 1),
    2020: (3, 3),
    2024: (3, 5),
}


def _primaries(year: int) -> Span:
    if year not in _SUPER_TUESDAYS:
        raise ValueError("no primaries are known in the year")
    return day_of(year, *_SUPER_TUESDAYS[year])


def _tax_day(year: int) -> Span:
    """15 April, moved past the weekend and past Emancipation Day as it is kept (16 April or next to it)."""
    emancipation = date(year, 4, 16)
    emancipation += timedelta(days={5: -1, 6: 1}.get(emancipation.weekday(), 0))
    day = date(year, 4, 15)
    while day.weekday() >= 5 or day == emancipation:
        day += timedelta(days=1)
    return day_of(year, day.month, day.day)

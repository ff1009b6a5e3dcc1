"""The regular expressions behind `English`, one for each way to say a moment."""

import re

from siltstone.timephrase import holidays
from siltstone.timephrase.english_words import (
    FULL_WEEKDAY,
    MONTH,
    NUMBER,
    ORDINAL,
    PLAIN_MONTH,
    SHORT_UNIT,
    UNIT,
    WEEKDAY,
    YEAR,
)


def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


BACK = r"(?:last|previous|prior|past|this\s+past|these\s+past)"
HERE = r"(?:this|current|the\s+same|same|these)"
AHEAD = r"(?:next|coming|following|upcoming)"
_WHICH = rf"(?P<which>{BACK}|{HERE}|{AHEAD})"
_UNIT_OR_LETTER = rf"(?:{UNIT}|{SHORT_UNIT})"
_TWO_DIGITS = r"['’]\d\d|(?<=of )\d\d"
_OF_YEAR = rf"(?:\s*,?\s*(?:of\s+|in\s+)?(?P<year>{YEAR}|{_TWO_DIGITS}))"
_CLOCK = (
    r"(?:(?P<hour>\d{1,2})(?:(?::|\.(?=\d\d\s*[ap]))(?P<minute>\d\d)(?::(?P<second>\d\d))?)?"
    r"\s*(?P<half>[ap]\.?\s?m\.?(?!\w)|[ap](?!\w)|o['’]?clock)?(?![\w:%]|\.\d)|(?P<named>noon|midnight)\b)"
)
_PART = r"(?:(?P<degree>early|late)\s+)?(?:in\s+the\s+)?(?P<part>morning|afternoon|evening|night)s?\b"
_NOUN_AFTER_NUMBER = (
    r"(?!\s*(?:%|(?:ms|milliseconds?|sec|seconds?|minutes?|hours?|days?|tokens?|characters?|chars|words|lines|"
    r"rows|bytes|[kmg]i?b|px|pixels|users|items|files|requests|records|times|steps|points|people|dollars|"
    r"usd|eur|meters?|km|iterations|epochs|samples)\b))"
)
# "In may" is a month, "it may be" is not; "in march" is, "the march of dimes" is not.
NOT_A_MONTH = compiled(
    r"(?<=may)\s+(?:be|have|not|or|well|also|the|i|we|you|he|she|it|they|need|want|get|cause|result|contain)\b"
    r"|(?<=march)\s+(?:of\s+(?![’'\d])|on\b|for\b|madness\b|against\b|into\b)"
)

EXPLICIT_MONTH_DAY = compiled(
    rf"(?P<month>{MONTH})\s*[/-]?\s*(?:the\s+)?(?P<day>{ORDINAL}|\d{{1,2}}(?![\w%]|[.:/]\d))"
    rf"(?:{_OF_YEAR}|(?<=[a-z][a-z][a-z])\s+(?P<short>\d\d)(?![\w:.%]))?"
)
DAY_MONTH = compiled(
    rf"(?:the\s+)?(?P<day>{ORDINAL}|\d{{1,2}}(?=[\s/-]))(?P<of>(?:\s+day)?\s+of)?\s*[/-]?\s*(?P<month>{MONTH})"
    rf"(?:{_OF_YEAR}|[/-](?P<joined>\d{{4}}))?(?!\w)"
)
YEAR_MONTH_DAY = compiled(
    rf"(?P<year>\d{{4}})[\s/-](?P<month>{MONTH})(?:[\s/-](?P<day>\d{{1,2}})(?:st|nd|rd|th)?)?(?!\w|:)"
)
MONTH_YEAR = compiled(
    rf"(?:the\s+month\s+of\s+)?(?P<month>{MONTH})(?:{_OF_YEAR}|[/-](?P<joined>\d{{4}}))(?!\w|[/-]\d)"
)
YEAR_MONTH = re.compile(r"(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\w-])")
SOME_MONTH = compiled(rf"{_WHICH}\s+(?P<month>{MONTH})")
SOME_PLAIN_MONTH = compiled(PLAIN_MONTH)
STRONG_MONTH = compiled(MONTH)
SOME_WEEKDAY = compiled(
    rf"(?:(?:{_WHICH}|(?P<on>on))\s+(?P<short>{WEEKDAY})|(?P<full>{FULL_WEEKDAY})|(?P<dated>{WEEKDAY}(?=\W+\w*\d)))"
)
WEEKDAY_OF_WEEK = compiled(
    rf"(?P<day>{FULL_WEEKDAY}|{WEEKDAY})(?:,|\s+(?:of|from|in))?\s+(?:the\s+)?{_WHICH}\s+week\b"
    rf"|{_WHICH.replace('which', 'before')}\s+week(?:['’]s)?\s*[-–,]?\s*(?:on\s+)?"
    rf"(?P<after>{FULL_WEEKDAY}|{WEEKDAY})"
)
DATE_OF_WEEKDAY = compiled(r"[\s,(–-]+(?:on\s+)?(?:the\s+)?")
DAY_NUMBER = compiled(r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?!\w|[:/.-]\d|\s*[ap]\.?m)")
MONTH_SLASH_DAY = compiled(r"(?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?![\w]|[-/.:]\d)")
DAY_WORD = compiled(
    r"(?:the\s+)?(?P<day>day\s+before\s+yesterday|day\s+after\s+tomorrow|yesterday|today|current\s+date|tomorrow)\b"
)
NIGHT = compiled(rf"(?P<which>tonight|(?:this|last|yesterday|tomorrow)\s+(?={_PART}))")
NAMED_PART = compiled(_PART)
PART_OF = compiled(rf"(?:the\s+)?{_PART}\s+of\s+(?:the\s+)?")
_DURATION = rf"{NUMBER}(?:\s+and\s+a\s+half)?\s*{_UNIT_OR_LETTER}(?:\s+and\s+a\s+half)?"
DURATION = compiled(
    rf"(?P<count>{NUMBER})(?P<half>\s+and\s+a\s+half)?\s*(?P<unit>{_UNIT_OR_LETTER})(?P<more>\s+and\s+a\s+half)?"
)
AGO = compiled(
    r"(?:(?P<bound>more|less|over|under)\s+(?:than\s+)?)?"
    rf"(?P<long>{_DURATION}(?:(?:\s*,)?\s+(?:and\s+)?{_DURATION})*)\s+(?:ago|back|earlier|prior(?!\s+to))\b"
)
WORK_DAYS_AGO = compiled(rf"(?P<count>{NUMBER})\s+(?:business|working)\s+days?\s+(?:ago|back)\b")
MINUS = compiled(rf"now\s*-\s*(?P<count>{NUMBER})\s*(?P<unit>{_UNIT_OR_LETTER})")
WEEKDAYS_AGO = compiled(
    rf"(?P<count>{NUMBER})\s+(?P<day>(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\s+(?:ago|back)\b"
)
FROM = compiled(
    rf"(?:(?P<bound>more|less)\s+than\s+)?(?P<count>{NUMBER}|the(?=\s)|(?=day\s))\s*(?P<unit>{_UNIT_OR_LETTER})"
    r"\s+(?P<way>before|after|from)\s+(?:the\s+)?"
)
SOME_UNIT = compiled(
    rf"(?:the\s+)?(?:{_WHICH}\s+(?:(?P<count>{NUMBER})\s+)?|(?P<first>{NUMBER})\s+(?P<then>last|past|previous)\s+(?=\w+s\b))"
    rf"(?P<work>business\s+|working\s+|calendar\s+)?(?P<unit>{UNIT}|weekends?\b)"
)
WEEK_NUMBER = compiled(r"(?:the\s+)?week\s+(?P<week>\d{1,2})\s*,?\s*(?:of\s+|in\s+)?(?P<year>\d{4})\b")
THE = compiled(r"\bthe\s+$|(?<!\w)the\s")
THE_WEEKEND = compiled(r"the\s+weekend\b")
WEEK_OF = compiled(r"(?:the\s+)?week\s+(?:of|(?:starting|commencing|beginning)(?:\s+on)?)\s+(?:the\s+)?")
NTH_OF = compiled(
    rf"(?:the\s+)?(?P<number>{ORDINAL}|last)\s+(?P<what>{FULL_WEEKDAY}|{UNIT}|weekend\b)\s+(?:of|in)\s+"
)
DAY_OF = compiled(rf"(?:the\s+)?(?P<day>{ORDINAL})\s+of\s+(?=(?:the\s+)?(?:{BACK}|{HERE}|{AHEAD})\s+month\b)")
PART_OF_SPAN = compiled(
    r"(?:at\s+|in\s+|around\s+)?(?:the\s+)?(?:(?P<of>beginning|start|middle|end)\s+of(?:\s+around)?\s+(?:the\s+)?"
    r"|(?P<adjective>early|mid|late)(?:\s+in)?[\s-]+)"
)
HALF_OF = compiled(
    r"(?:the\s+)?(?:(?P<half>first|second|latter|last)\s+half\s+of\s+(?:the\s+)?|h(?P<h>[12])\s+(?=\d{4}\b))"
)
PLAIN_UNIT = compiled(r"(?P<unit>week|month|quarter|year|decade|century)\b")
EARLIER = compiled(r"earlier\s+(?:in\s+the\s+|this\s+|in\s+)?(?P<unit>today|week|month|quarter|year)\b")
TO_DATE = compiled(r"(?P<unit>year|quarter|month|week)[\s-]to[\s-]date\b|(?P<letter>[yqm])td\b")
QUARTER = compiled(
    r"(?P<before>\d{4})[\s-]?q(?P<q1>[1-4])\b|q(?P<q2>[1-4])[\s,-]*(?:of\s+|in\s+)?['’]?(?P<after>\d{4}|\d\d)(?!\w)"
    rf"|(?:the\s+)?(?P<word>first|second|third|fourth|1st|2nd|3rd|4th|last)\s+quarter\b{_OF_YEAR}?"
)
STRONG_QUARTER = compiled(r"q([1-4])\b")
QUARTER_OF_SOME_YEAR = compiled(rf"q(?P<quarter>[1-4])\s+(?:of\s+)?(?=(?:{BACK}|{HERE})\s+year\b)")
CENTURY = compiled(r"(?:the\s+)?(?P<number>\d{1,2})(?:st|nd|rd|th)\s+century\b")
DECADE = compiled(r"(?:the\s+)?(?P<full>(?:1[0-9]|20)\d0)['’]?s\b|the\s+['’]?(?P<short>[2-9]0)['’]?s\b")
SOME_YEAR = compiled(
    rf"(?:the\s+)?(?P<named>(?:calendar\s+)?year\s+(?:of\s+)?)?(?P<year>{YEAR}){_NOUN_AFTER_NUMBER}(?!\w)"
)
SEASON = compiled(
    rf"(?:(?:{_WHICH}\s+)?(?P<season>spring|summer|autumn|fall|winter)(?:{_OF_YEAR}|(?P<of>\s+of\s+(?=last|this))|\b))"
)
HOLIDAYS = [
    (compiled(rf"(?:{_WHICH}\s+)?(?:the\s+)?(?:{name})(?!\w)"), day) for name, day in holidays.ENGLISH.items()
]
ANY_HOLIDAY = compiled(
    rf"(?:{_WHICH}\s+)?(?:the\s+)?(?:{'|'.join(f'(?:{n})' for n in holidays.ENGLISH)})(?!\w)"
)
ITS_YEAR = compiled(rf"\s*,?\s*(?:of\s+|in\s+)?(?:(?P<year>{YEAR})|(?P<which>{BACK}|{HERE})\s+year\b)")
TIME_BEFORE = compiled(rf"(?:at\s+|around\s+|about\s+)*(?:{_CLOCK})\s*,?\s+(?:on\s+|of\s+)?(?:the\s+)?")
TIME_AFTER = compiled(
    rf"\s*,?\s*(?P<at>at\s+|around\s+|about\s+|@\s*)*(?:{_CLOCK})(?:\s+in\s+the\s+{_PART})?"
)
PART_AFTER = compiled(rf"\s*,?\s*(?:in\s+the\s+|at\s+)?(?:{_PART})")
LIMIT_AFTER = compiled(r"\s+(?P<way>by|before|until|no\s+later\s+than|after|since)(?=\s)")
NOW = compiled(
    r"(?:(?:right|just)\s+)?now\b|at\s+(?:the\s+moment|present|the\s+present(?:\s+time)?|this\s+(?:time|moment))\b"
)


def _numbered(pattern: str, number: int) -> str:
    return re.sub(r"\(\?P<(\w+)>", rf"(?P<\g<1>{number}>", pattern)


_TIMES = rf"{_numbered(_CLOCK, 1)}\s*(?:and|to|until|till|-|–)\s*{_numbered(_CLOCK, 2)}"
TIMES_BEHIND = compiled(rf"\s*,?\s*(?:at\s+)?(?:between\s+|from\s+)?(?=\d{{1,2}}\D){_TIMES}")
TIMES_BEFORE = compiled(rf"(?:between|from)\s+{_TIMES}\s+(?:on\s+|of\s+|in\s+)?(?:the\s+)?")

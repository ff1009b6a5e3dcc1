"""English words for numbers, units, days and months, as pieces of regular expressions and as values."""

import re

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)

# Unit → what it may be written as. Single letters only stand right behind a digit ("2y ago").
_UNITS = {
    "second": "seconds?|secs?",
    "minute": "minutes?|mins?",
    "hour": "hours?|hrs?",
    "day": "days?",
    "week": "weeks?|wks?",
    "fortnight": "fortnights?",
    "month": "months?|mos?",
    "quarter": "quarters?|qtrs?",
    "year": "years?|yrs?",
    "decade": "decades?",
    "century": "century|centuries",
}
UNIT = rf"(?:{'|'.join(_UNITS.values())})(?![\w-])"
SHORT_UNIT = r"(?:(?<=\d)(?:s|m|h|d|w|y))\b"
_LETTERS = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week", "y": "year"}

WEEKDAY = (
    r"(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:s|nesday)?|thu(?:r?s?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
    r"(?![\w'’])(?:\.(?=\s?\w))?"
)
FULL_WEEKDAY = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)(?:['’]s)?(?![\w'’])"
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|"
    r"aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z'’])\.?"
)
# Months that are nothing but months: they may stand alone.
PLAIN_MONTH = r"(?:january|february|july|september|october|november|december)(?:['’]s)?(?![\w'’])"

_ONES = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS = {word: value for value, word in enumerate(_ONES)} | {
    word: 20 + 10 * i for i, word in enumerate(_TENS)
}
_NUMBER_WORD = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fifth": 5,
    "eighth": 8,
    "ninth": 9,
    "twelfth": 12,
    "twentieth": 20,
    "thirtieth": 30,
} | {f"{word}th": value for word, value in _NUMBERS.items() if 4 <= value < 20}
_ORDINAL_WORD = "|".join(sorted(_ORDINALS, key=len, reverse=True))

NUMBER = (
    rf"(?:\d{{1,5}}(?:\.\d+)?|(?:{_NUMBER_WORD})(?:[\s-](?:{_NUMBER_WORD}))?(?![\w])"
    r"|a\s+couple(?:\s+of)?|couple(?:\s+of)?|a\s+few|few|several|half(?:\s+an?)?(?=\s)|an?(?=\s))"
)
ORDINAL = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|(?:twenty|thirty)[\s-](?:{_ORDINAL_WORD})|{_ORDINAL_WORD})(?!\w)"
_YEAR_WORD = rf"(?:{_NUMBER_WORD}|hundred|thousand)"
YEAR = (
    rf"(?:\d{{4}}(?![\w]|[.,:/-]\d)"
    rf"|(?:(?:{_NUMBER_WORD})\s+hundred|(?:one|two)\s+thousand)(?:\s+(?:and\s+)?{_YEAR_WORD}){{0,3}}(?!\w))"
)


def number_of(text: str) -> float:
    """The value of what NUMBER or YEAR matched. "A few" and "several" are three."""
    text = text.lower().strip()
    if re.fullmatch(r"[\d.]+", text):
        return float(text)
    if text.startswith("half"):
        return 0.5
    if "couple" in text:
        return 2
    if text.endswith("few") or text == "several":
        return 3
    if text in ("a", "an"):
        return 1
    total = 0
    for word in re.split(r"[\s-]+", text):
        if word == "hundred":
            total *= 100
        elif word == "thousand":
            total *= 1000
        elif word != "and":
            total += _NUMBERS[word]
    return total


def ordinal_of(text: str) -> int:
    text = text.lower()
    if text[0].isdigit():
        return int(re.match(r"\d+", text)[0])  # type: ignore[index]
    words = re.split(r"[\s-]+", text)
    return _ORDINALS[words[-1]] + (_NUMBERS[words[0]] if len(words) == 2 else 0)


def unit_of(text: str) -> str:
    text = text.lower()
    if text in _LETTERS:
        return _LETTERS[text]
    return next(unit for unit, pattern in _UNITS.items() if re.fullmatch(pattern, text))


def weekday_of(text: str) -> int:
    return next(i for i, name in enumerate(WEEKDAYS) if name.startswith(text.lower()[:3]))


def month_of_name(text: str) -> int:
    return next(i for i, name in enumerate(MONTHS, 1) if name.startswith(text.lower()[:3]))

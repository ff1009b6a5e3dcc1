"""Words for time in further languages: days, weeks, months, years, "three days ago" and dates.

The words are dateparser's (BSD-3-Clause), what they mean is decided here: its own search takes too much for a
time, and knows points where a search needs stretches.
"""

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cache
from typing import Any

from siltstone.timephrase.english_words import MONTHS, WEEKDAYS
from siltstone.timephrase.span import Span, day_of, last_weekday, moment_ago, month_of, unit_at, yearly

LANGUAGES = ("es", "fr", "de", "pt", "it", "nl", "ja", "ko", "ru", "uk", "pl", "cs", "sv", "tr", "vi", "id")

_WHOLE_UNITS = frozenset({"day", "week", "month", "year"})
_UNITS = _WHOLE_UNITS | {"second", "minute", "hour"}
# Weekdays that first mean something else: surroundings, a market, ordinal numbers.
_AMBIGUOUS = frozenset({"среда", "середа", "pazar", "segunda", "terça", "quarta", "quinta", "sexta"})

# What the reader of Chinese knows, and knows when it means something else (今日头条).
_CHINESE_TOO = frozenset({"今日", "昨日", "明日", "今年", "去年"})

_AGO = re.compile(r"(?P<count>\d+|\\1) (?P<unit>\w+) ago")
_AHEAD = re.compile(r"in (?P<count>\d+) (?P<unit>\w+)")
_DATA_NUMBER = r"(\d++[.,]?\d*+)"  # as dateparser writes a number
_NUMBER = r"(\d{1,5}(?:[.,]\d+)?)"
_OF = r"(?:\s+d[eio]l?)?\s+"
_BEHIND_NUMBER = re.compile(r"\d+(?:[.,]\d+)?\.?\s*(?:d[eio]l?\s+)?")
_WORD = re.compile(r"\d+|[^\W\d_]+")
_UNSPACED = re.compile(r"[぀-ヿ一-鿿가-힯]")  # a phrase may begin at each character


@dataclass(frozen=True, slots=True)
class _Phrase:
    """Some words and what they mean.

    Args:
        kind: "unit": the unit `number` away; "ago"; "weekday": the day `number`; "day" or "month": of month
            `number`.
    """

    pattern: str
    kind: str
    number: int = 0
    unit: str = ""


def found_in(text: str, now: datetime, zone: tzinfo) -> Iterator[tuple[Span, int, int]]:
    """What a query says of time, from left to right: span, first and last position of its words."""
    phrases = _phrases()
    done = 0
    for word in _WORD.finditer(text):
        starts = range(word.start(), word.end()) if _UNSPACED.search(word[0]) else (word.start(),)
        for at in starts:
            if at < done:
                continue
            for phrase in phrases.get(_beginning(text, at), ()):
                if match := _compiled(phrase.pattern).match(text, at):
                    if span := _span(phrase, match, now):
                        yield span, at, match.end()
                    done = match.end()  # of an absurd date too: no part of it is a date
                    break


def _span(phrase: _Phrase, match: re.Match[str], now: datetime) -> Span | None:
    number = phrase.number
    try:
        if phrase.kind == "unit":
            return unit_at(now, phrase.unit, number)
        if phrase.kind == "ago":
            return moment_ago(now, float(match[1].replace(",", ".")), phrase.unit)
        if phrase.kind == "weekday":
            return last_weekday(now, number)
        if phrase.kind == "month":
            return month_of(int(match["year"]), number)
        day = int(match["day"])
        if match["year"]:
            return day_of(int(match["year"]), number, day)
        return yearly(now, lambda year: day_of(year, number, day))
    except (ValueError, OverflowError):
        return None  # an absurd date is no date


@cache
def _phrases() -> dict[str, list[_Phrase]]:
    """All phrases, longest first, by how they begin."""
    made: dict[str, list[_Phrase]] = {}
    for language in LANGUAGES:
        info = importlib.import_module(f"dateparser.data.date_translation_data.{language}").info
        for words, phrase in (*_units(info), *_ago(info), *_weekdays(info), *_dates(info)):
            made.setdefault(_beginning(words), []).append(phrase)
    for phrases in made.values():
        phrases.sort(key=lambda phrase: len(phrase.pattern), reverse=True)
    return made


def _beginning(text: str, at: int = 0) -> str:
    """The word (in a script without spaces the character) that a phrase begins with, behind its number."""
    if text[at].isdigit():
        match = _BEHIND_NUMBER.match(text, at)
        at = match.end() if match else at
        return "0" + (_beginning(text, at) if at < len(text) and not text[at].isdigit() else "")
    if _UNSPACED.match(text, at):
        return text[at]
    word = _WORD.match(text, at)
    return word[0].lower() if word else ""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Most phrases are never met; a pattern is made when its first word is.
    end = "" if _UNSPACED.search(pattern) else r"(?![^\W_])"
    return re.compile(re.sub(r"(?:\\?\s)+", r"\\s+", pattern) + end, re.IGNORECASE)


def _long_enough(words: str, letters: int) -> bool:
    """Shorter ones are found by chance."""
    return len(re.sub(r"[\W\d_]", "", words)) >= (2 if _UNSPACED.search(words) else letters)


def _units(info: dict[str, Any]) -> Iterator[tuple[str, _Phrase]]:
    for meaning, phrases in info.get("relative-type", {}).items():
        ago = _AGO.fullmatch(meaning)
        match = ago or _AHEAD.fullmatch(meaning)
        if match is None or match["unit"] not in _WHOLE_UNITS:
            continue
        shift = int(match["count"]) * (-1 if ago else 1)
        for words in phrases:
            if _long_enough(words, 3) and words not in _CHINESE_TOO:
                yield words, _Phrase(re.escape(words), "unit", shift, match["unit"])


def _ago(info: dict[str, Any]) -> Iterator[tuple[str, _Phrase]]:
    for meaning, patterns in info.get("relative-type-regex", {}).items():
        match = _AGO.fullmatch(meaning)
        if match is None or match["unit"] not in _UNITS:
            continue
        for pattern in patterns:
            words = pattern.replace(_DATA_NUMBER, "0")
            if pattern.count(_DATA_NUMBER) == 1 and "(" not in words and _long_enough(words, 4):
                yield words, _Phrase(pattern.replace(_DATA_NUMBER, _NUMBER), "ago", unit=match["unit"])
        if patterns and patterns[0].startswith(_DATA_NUMBER):
            yield from _other_forms(info, match["unit"])


def _other_forms(info: dict[str, Any], unit: str) -> Iterator[tuple[str, _Phrase]]:
    """Forms of a unit that its list of words has and the patterns lack: "3 dni temu"."""
    for form in info.get(unit, ()):
        for ago in info.get("ago", ()):
            words = f"0 {form} {ago}"
            if not _UNSPACED.search(words) and len(form) > 1 and len(ago) > 2:
                yield words, _Phrase(rf"{_NUMBER}\s*{re.escape(form)}\s+{re.escape(ago)}", "ago", unit=unit)


def _weekdays(info: dict[str, Any]) -> Iterator[tuple[str, _Phrase]]:
    for number, name in enumerate(WEEKDAYS):
        for words in info.get(name, ()):
            if _long_enough(words, 4) and words.lower() not in _AMBIGUOUS:
                yield words, _Phrase(re.escape(words), "weekday", number)


def _dates(info: dict[str, Any]) -> Iterator[tuple[str, _Phrase]]:
    for number, name in enumerate(MONTHS, 1):
        for words in info.get(name, ()):
            if _UNSPACED.search(words) or not _long_enough(words, 3):
                continue
            month = re.escape(words)
            day = rf"(?P<day>\d{{1,2}})\.?{_OF}{month}\.?(?:{_OF}(?P<year>\d{{4}}))?"
            yield "0 " + words, _Phrase(day, "day", number)
            if _long_enough(words, 5):  # "Mars 2020" is no month
                yield words, _Phrase(rf"{month}{_OF}(?P<year>\d{{4}})", "month", number)

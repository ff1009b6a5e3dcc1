from datetime import UTC, datetime, timedelta

import pytest

from .conftest import Read

WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


@pytest.mark.parametrize("weekday", range(7))
@pytest.mark.parametrize("today", range(7))
@pytest.mark.parametrize("words", ["last {}", "{}", "on {}", "what broke last {}?", "this past {}"])
def test_a_weekday_is_the_latest_one_before_today(read: Read, weekday: int, today: int, words: str) -> None:
    now = datetime(2026, 11, 30, 9, tzinfo=UTC) + timedelta(days=today)
    day = now - timedelta(days=1)
    while day.weekday() != weekday:
        day -= timedelta(days=1)
    window = read(words.format(WEEKDAYS[weekday]), now)
    assert window == (f"{day:%Y-%m-%d}", f"{day + timedelta(days=1):%Y-%m-%d}")


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("yesterday", "2026-12-01", "2026-12-02"),
        ("the day before yesterday", "2026-11-30", "2026-12-01"),
        ("this week", "2026-11-30", "2026-12-07"),
        ("last week", "2026-11-23", "2026-11-30"),
        ("last month", "2026-11-01", "2026-12-01"),
        ("last quarter", "2026-07-01", "2026-10-01"),
        ("what went wrong last year?", "2025-01-01", "2026-01-01"),
        ("Monday of last week", "2026-11-23", "2026-11-24"),
        ("over the weekend", "2026-11-28", "2026-11-30"),
        ("last weekend", "2026-11-28", "2026-11-30"),
        ("in the past 7 days", "2026-11-25", "2026-12-03"),
        ("in the last 7 days", "2026-11-25", "2026-12-03"),
        ("last two weeks", "2026-11-16", "2026-11-30"),
        ("the last 24 hours", "2026-12-01 15:00", "2026-12-02 15:00"),
        ("three days ago", "2026-11-29", "2026-11-30"),
        ("an hour and a half ago", "2026-12-02 13:30", "2026-12-02 14:30"),
        ("2 years and 3 months ago", "2024-09-02", "2024-09-03"),
        ("two business days ago", "2026-11-30", "2026-12-01"),
        ("Tuesday two weeks ago", "2026-11-17", "2026-11-18"),
        ("the day before yesterday at 8am", "2026-11-30 08:00", "2026-11-30 09:00"),
        ("the last 2 weekends", "2026-11-21", "2026-11-30"),
        ("20 minutes ago", "2026-12-02 14:40", "2026-12-02 15:00"),
        ("an hour ago", "2026-12-02 14:00", "2026-12-02 15:00"),
        ("more than 2 weeks ago", "", "2026-11-18"),
        ("two days before yesterday", "2026-11-29", "2026-11-30"),
        ("earlier this year", "2026-01-01", "2026-12-02"),
        ("yesterday morning", "2026-12-01", "2026-12-01 12:00"),
        ("last night", "2026-12-01 18:00", "2026-12-02"),
        ("yesterday at 3pm", "2026-12-01 15:00", "2026-12-01 16:00"),
        ("between 7 and 9 last night", "2026-12-01 19:00", "2026-12-01 21:00"),
        ("at 8:30 yesterday", "2026-12-01 08:30", "2026-12-01 08:31"),
    ],
)  # fmt: skip
def test_what_is_said_from_now(read: Read, query: str, start: str, end: str) -> None:
    assert read(query) == (start, end)


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("in March", "2026-03-01", "2026-04-01"),
        ("in December", "2026-12-01", "2027-01-01"),
        ("March 2024", "2024-03-01", "2024-04-01"),
        ("April of '87", "1987-04-01", "1987-05-01"),
        ("on March 3rd", "2026-03-03", "2026-03-04"),
        ("the 4th of July, 1995", "1995-07-04", "1995-07-05"),
        ("on Dec 31", "2025-12-31", "2026-01-01"),
        ("February 29", "2024-02-29", "2024-03-01"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("2024-05-01", "2024-05-01", "2024-05-02"),
        ("5/1/2024", "2024-05-01", "2024-05-02"),
        ("31.10.2024", "2024-10-31", "2024-11-01"),
        ("2025-Q3", "2025-07-01", "2025-10-01"),
        ("the third quarter of 2025", "2025-07-01", "2025-10-01"),
        ("early March", "2026-03-01", "2026-03-11"),
        ("end of last month", "2026-11-21", "2026-12-01"),
        ("first half of 2025", "2025-01-01", "2025-07-01"),
        ("first Monday of last month", "2026-11-02", "2026-11-03"),
        ("the first week of 2015", "2014-12-29", "2015-01-05"),
        ("the week of March 3", "2026-03-02", "2026-03-09"),
        ("week 21 of 2016", "2016-05-23", "2016-05-30"),
        ("Q1 of last year", "2025-01-01", "2025-04-01"),
        ("in 2025-06", "2025-06-01", "2025-07-01"),
        ("the 1990s", "1990-01-01", "2000-01-01"),
        ("last summer", "2026-06-21", "2026-09-23"),
        ("Christmas", "2025-12-25", "2025-12-26"),
        ("Easter 2010", "2010-04-04", "2010-04-05"),
        ("Thanksgiving last year", "2025-11-27", "2025-11-28"),
        ("tax day 2012", "2012-04-17", "2012-04-18"),
        ("Chinese New Year 2024", "2024-02-10", "2024-02-11"),
        ("Eid al-Adha 1980", "1980-10-19", "1980-10-20"),
    ],
)  # fmt: skip
def test_what_the_calendar_names_is_the_latest(read: Read, query: str, start: str, end: str) -> None:
    assert read(query) == (start, end)


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("since March", "2026-03-01", ""),
        ("since last Friday", "2026-11-27", ""),
        ("after Feb 2018", "2018-03-01", ""),
        ("before 2020", "", "2020-01-01"),
        ("on or after May 2025", "2025-05-01", ""),
        ("on or before March 3", "", "2026-03-04"),
        ("the week before August 3", "2026-07-27", "2026-08-03"),
        ("the day after Christmas", "2025-12-26", "2025-12-27"),
        ("until yesterday", "", "2026-12-01"),
        ("by the end of last month", "", "2026-12-01"),
        ("between March 3 and March 9", "2026-03-03", "2026-03-09"),
        ("March 3-9, 2025", "2025-03-03", "2025-03-09"),
        ("from April to June in 2017", "2017-04-01", "2017-06-01"),
        ("from December 20 to February 3", "2025-12-20", "2026-02-03"),
        ("from Monday to Wednesday", "2026-11-23", "2026-11-25"),
        ("from March 3 till now", "2026-03-03", "2026-12-02 15:00"),
        ("2014 to 2018", "2014-01-01", "2018-01-01"),
        ("2 weeks starting May 20th", "2026-05-20", "2026-06-03"),
        ("March 2024 and later", "2024-03-01", ""),
    ],
)  # fmt: skip
def test_ranges_end_where_what_is_named_last_begins(read: Read, query: str, start: str, end: str) -> None:
    assert read(query) == (start, end)


@pytest.mark.parametrize(
    "query",
    [
        "march of dimes",
        "I march on",
        "May I ask what failed",
        "it may be a bug",
        "this may or may not work",
        "give me a second",
        "the second attempt",
        "at the last minute",
        "a last-minute change",
        "every Monday",
        "Tuesdays at 9am",
        "once a day",
        "for 3 days",
        "timeout of 30 seconds",
        "the 5 second rule",
        "fall back to spring boot",
        "sat down under the sun",
        "decode mar files",
        "0.0.0.0 and 192.168.1.1",
        "upgrade from 3.11 to 3.12",
        "version 2024.10.1",
        "error 2013 on port 1999",
        "HTTP 404",
        "build 20240101",
        "2000 tokens in 2000 ms",
        "1/2 of them, 24/7",
        "from 1 to 10",
        "keep it up-to-date",
        "how do I date a document",
        "feb 30 2019",
        "2015-1-32",
        "the year 99999",
        "99999 years ago",
    ],
)
def test_nothing_is_read_as_time_that_is_none(read: Read, query: str) -> None:
    assert read(query) is None


def test_the_past_wins_over_what_is_to_come(read: Read) -> None:
    assert read("the plan for next month that we made last week") == ("2026-11-23", "2026-11-30")
    assert read("the plan for next month") == ("2027-01-01", "2027-02-01")
    assert read("what do we know now of yesterday") == ("2026-12-01", "2026-12-02")


def test_now_is_an_instant(read: Read) -> None:
    assert read("where does it listen now") == ("2026-12-02 15:00", "2026-12-02 15:00")


def test_an_iso_timestamp_is_exact(read: Read) -> None:
    assert read("2024-05-01T10:00:05Z connection refused") == ("2024-05-01 10:00:05", "2024-05-01 10:00:06")
    assert read("2024-05-01T10:00:00+08:00") == ("2024-05-01 02:00", "2024-05-01 02:00:01")

import time
from datetime import UTC, datetime, timezone
from datetime import timedelta as delta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from siltstone.timephrase import chinese_ranges, english_ranges, find_window, other_languages

from .conftest import NOW, Read

READERS = [chinese_ranges.found_in, english_ranges.found_in, other_languages.found_in]
WORDS = """
last next this past previous from to between and since before after until the of in on at ago every first
second 1 2 3 12 31 99 2024 99999 0 march may monday sun week day month year quarter half morning night noon
am pm ' , - . : / yesterday today now christmas easter q3 century early end beginning couple few more than
twenty 2024-02-30 10:75 hace días vor Tagen 日前 назад
上 上上 下 去年 今年 前 前天 昨 周 三 十 百 月 日 号 年 点 半 到 从 和 之间 以来 之前 后
最近 几 个 国庆 春节 晚上 康熙 元年 农历 初 底
""".split()  # noqa: SIM905


def test_the_words_and_their_place_are_returned() -> None:
    found = find_window("😀 what failed last week?", NOW)
    assert found is not None
    assert (found.text, found.start, found.end) == ("last week", 14, 23)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("Hi. My back aches today. What did we plan last week?", "last week"),
        ("What did we plan last week? I have time today.", "last week"),
        ("Hi. My back aches today. Which exercise was it?", None),
        ("The proxy broke today. Show the changes of last week.", "of last week"),
        ("今天天气真好。上周部署了什么？", "上周"),
        ("今天天气真好。我想问的是：服务的端口是什么？", None),
        ("Anything on Dec. 31 at 3 p.m.?", "on Dec. 31 at 3 p.m."),
    ],
)
def test_of_a_message_only_the_sentences_that_ask_are_read(message: str, words: str | None) -> None:
    found = find_window(message, NOW)
    assert (found and found.text) == words


def test_the_zone_of_the_caller_makes_the_days(read: Read) -> None:
    late = datetime(2026, 6, 3, 20, tzinfo=UTC)  # the 4th in Shanghai, the 3rd in Los Angeles
    assert read("yesterday", late, "Asia/Shanghai") == ("2026-06-02 16:00", "2026-06-03 16:00")
    assert read("昨天", late, "America/Los_Angeles") == ("2026-06-02 07:00", "2026-06-03 07:00")


def test_now_may_come_in_any_zone(read: Read) -> None:
    now = datetime(2026, 6, 3, 1, tzinfo=timezone(delta(hours=8)))  # the 2nd in UTC
    assert read("today", now) == ("2026-06-02", "2026-06-03")


def test_a_day_on_which_clocks_change_is_as_long_as_it_is(read: Read) -> None:
    now = datetime(2026, 3, 30, 12, tzinfo=UTC)
    assert read("yesterday", now, "Europe/Berlin") == ("2026-03-28 23:00", "2026-03-29 22:00")


def test_an_unknown_zone_is_the_callers_fault() -> None:
    with pytest.raises(KeyError):
        find_window("yesterday", NOW, "Mars/Olympus")


@pytest.mark.parametrize("year", [1, 2, 9998, 9999])
@pytest.mark.parametrize(
    "query", ["last week", "去年国庆", "next century", "5 years ago", "last summer", "上周三", "ayer"]
)
def test_the_edges_of_the_calendar_are_harmless(year: int, query: str) -> None:
    for zone in ("Asia/Shanghai", "America/Los_Angeles"):
        find_window(query, datetime(year, 6, 1, tzinfo=UTC), zone)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=4), max_size=14), st.sampled_from(["", " "]))
def test_no_text_makes_a_reader_fail(words: list[str], gap: str) -> None:
    # Below find_window, which catches what it must: here a fault is to be seen.
    text = gap.join(words)
    for read in READERS:
        for span, start, end in read(text, NOW.replace(tzinfo=None), UTC):
            assert 0 <= start < end <= len(text)
            assert span.start is None or span.end is None or span.start <= span.end
            assert span.start is not None or span.end is not None


@pytest.mark.parametrize(
    "unit",
    [
        "1",
        "a few ",
        "the week of ",
        "more than 3 days before ",
        "first monday of ",
        "从",
        "第一二三四",
        "3 4, ",
        "a",
    ],
)
def test_long_queries_are_read_in_bounded_time(unit: str) -> None:
    query = unit * (100_000 // len(unit))
    find_window("yesterday", NOW)  # the tables are made at the first use
    started = time.process_time()
    find_window(query, NOW)
    assert time.process_time() - started < 1.0

from datetime import UTC, datetime, timedelta

import pytest
from siltstone.local import Local
from siltstone.model import TimeWindow

NOW = datetime(2026, 6, 3, 12, tzinfo=UTC)  # a Wednesday


def write(mem: Local, content: str, when: datetime) -> str:
    return mem.write(content, event_time=when).memory.id


@pytest.mark.parametrize(
    "query", ["proxy changes last Wednesday", "上周三 proxy changes", "proxy changes el miércoles"]
)
def test_hits_of_the_time_said_come_first_and_the_window_is_returned(mem: Local, query: str) -> None:
    write(mem, "proxy changes, proxy changes: all of the proxy", NOW)
    inside = write(mem, "a small note on the proxy", datetime(2026, 5, 27, 9, tzinfo=UTC))
    result = mem.search(query, now=NOW)
    day = datetime(2026, 5, 27, tzinfo=UTC)
    assert result.time_window == TimeWindow(start=day, end=day + timedelta(days=1))
    assert [hit.in_window for hit in result.hits] == [True, False]
    assert result.hits[0].memory.id == inside
    assert not result.nothing_in_window


def test_the_ends_of_the_window_are_half_open(mem: Local) -> None:
    day = datetime(2026, 6, 2, tzinfo=UTC)
    first = write(mem, "start of the day", day)
    last = write(mem, "end of the day", day + timedelta(days=1, microseconds=-1))
    after = write(mem, "the next day", day + timedelta(days=1))
    inside = {h.memory.id: h.in_window for h in mem.search("the day, yesterday", now=NOW).hits}
    assert inside == {first: True, last: True, after: False}


def test_nothing_inside_is_said_and_the_rest_is_still_found(mem: Local) -> None:
    write(mem, "proxy note", NOW)
    result = mem.search("proxy note 去年国庆", now=NOW)
    assert result.nothing_in_window
    assert len(result.hits) == 1
    assert mem.search("proxy note 去年国庆", filter={"tags_any": ["none"]}, now=NOW).nothing_in_window


def test_a_namespace_that_holds_nothing_says_so_too(mem: Local) -> None:
    result = mem.search("yesterday", now=NOW)
    assert result.hits == []
    assert result.nothing_in_window
    assert result.time_window is not None


def test_the_callers_zone_decides_which_day_it_is(mem: Local) -> None:
    late = datetime(2026, 6, 3, 20, tzinfo=UTC)  # the next day in Shanghai
    window = mem.search("昨天", now=late, time_zone="Asia/Shanghai").time_window
    assert window == TimeWindow(
        start=datetime(2026, 6, 2, 16, tzinfo=UTC), end=datetime(2026, 6, 3, 16, tzinfo=UTC)
    )


def test_a_query_without_time_has_no_window(mem: Local) -> None:
    write(mem, "march of dimes", NOW)
    result = mem.search("march of dimes", now=NOW)
    assert result.time_window is None
    assert not result.nothing_in_window
    assert not result.hits[0].in_window
    assert mem.search(now=NOW).time_window is None


def test_now_holds_nothing_and_does_not_complain(mem: Local) -> None:
    write(mem, "the proxy listens on 8080", NOW - timedelta(days=3))
    result = mem.search("where does the proxy listen now", now=NOW)
    assert result.time_window == TimeWindow(start=NOW, end=NOW)
    assert not result.nothing_in_window
    assert len(result.hits) == 1


def test_each_search_of_a_batch_has_its_own_window(mem: Local) -> None:
    requests = [{"query": "yesterday", "now": NOW}, {"query": "proxy", "now": NOW}]
    windows = [result.time_window for result in mem.search_many(requests)]
    assert windows[0] == TimeWindow(
        start=datetime(2026, 6, 2, tzinfo=UTC), end=datetime(2026, 6, 3, tzinfo=UTC)
    )
    assert windows[1] is None

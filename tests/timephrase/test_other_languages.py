import pytest

from .conftest import Read

YESTERDAY = ("2026-12-01", "2026-12-02")
LAST_WEEK = ("2026-11-23", "2026-11-30")
THREE_DAYS_AGO = ("2026-11-29", "2026-11-30")


@pytest.mark.parametrize(
    ("yesterday", "last_week", "three_days_ago"),
    [
        ("¿qué hice ayer?", "la semana pasada", "hace 3 días"),
        ("qu'est-ce que j'ai fait hier", "la semaine dernière", "il y a 3 jours"),
        ("was habe ich gestern gemacht", "was lief letzte Woche schief", "vor 3 Tagen"),
        ("o que fiz ontem", "semana passada", "há 3 dias"),
        ("cosa ho fatto ieri", "la settimana scorsa", "3 giorni fa"),
        ("gisteren", "vorige week", "3 dagen geleden"),
        ("昨日何をした", "先週の会議", "3日前"),
        ("어제 뭐 했지", "지난주", "3일 전"),
        ("что я делал вчера", "на прошлой неделе", "3 дня назад"),
        ("co robiłem wczoraj", "w zeszłym tygodniu", "3 dni temu"),
        ("dün ne yaptım", "geçen hafta", "3 gün önce"),
        ("hôm qua", "tuần trước", "3 ngày trước"),
        ("kemarin", "minggu lalu", "3 hari yang lalu"),
    ],
)
def test_days_and_weeks_are_known_in_further_languages(
    read: Read, yesterday: str, last_week: str, three_days_ago: str
) -> None:
    assert read(yesterday) == YESTERDAY
    assert read(last_week) == LAST_WEEK
    assert read(three_days_ago) == THREE_DAYS_AGO


@pytest.mark.parametrize(
    "query", ["15 de marzo de 2024", "15 mars 2024", "15. März 2024", "15 marzo 2024", "15 марта 2024"]
)
def test_dates_are_known_in_further_languages(read: Read, query: str) -> None:
    assert read(query) == ("2024-03-15", "2024-03-16")


def test_weekdays_and_months_are_known_in_further_languages(read: Read) -> None:
    assert read("letzten Mittwoch") == ("2026-11-25", "2026-11-26")
    assert read("marzo de 2024") == ("2024-03-01", "2024-04-01")


@pytest.mark.parametrize(
    "query",
    [
        "mission to mars 2020",
        "hard disk error",
        "la casa de papel",
        "среда разработки",
        "30 de febrero de 2024",
    ],
)
def test_nothing_is_read_as_time_that_is_none(read: Read, query: str) -> None:
    assert read(query) is None

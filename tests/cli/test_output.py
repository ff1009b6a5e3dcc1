import json
import re
import string
from pathlib import Path

import pytest
import siltstone.cli
from hypothesis import given
from hypothesis import strategies as st
from siltstone.cli.output import as_json, clip, one_line, pairs, table, visible, width
from siltstone.cli.texts import TEXTS, Texts, language


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("记忆", 4), ("ａ", 2), ("é", 1), ("e\u0301", 1), ("😀", 2), ("한국", 4), ("", 0)],
)
def test_width_counts_columns(text: str, columns: int) -> None:
    assert width(text) == columns


def test_tables_align_chinese_and_put_numbers_to_the_right() -> None:
    shown = table(["名称", "n", "x"], [["团队/甲", 3, "末"], ["b", 12, "end"], ["混合mix", 5, "😀"]])
    lines = shown.splitlines()
    assert lines == [
        "名称      n  x",
        "团队/甲   3  末",
        "b        12  end",
        "混合mix   5  😀",
    ]
    last = zip(lines, ["x", "末", "end", "😀"], strict=True)
    assert {width(line[: line.index(cell)]) for line, cell in last} == {13}


def test_a_table_without_rows_has_its_heads() -> None:
    assert table(["a", "b"], []) == "a  b"


def test_clip_never_exceeds_its_columns() -> None:
    assert clip("记忆系统", 8) == "记忆系统"
    assert clip("记忆系统", 7) == "记忆系…"
    assert clip("记忆系统", 6) == "记忆…"
    assert clip("plain", 3) == "pl…"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jcls", "\\x1b[2Jcls"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\rb", "a\\x0db"),
        ("\x9b31m", "\\x9b31m"),
        ("a\x00b\x7f", "a\\x00b\\x7f"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("one\ntwo\tthree", "one\ntwo\tthree"),
        ("👩\u200d💻 记忆，", "👩\u200d💻 记忆，"),
    ],
)
def test_control_characters_are_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_nothing_shown_can_steer_a_terminal(text: str) -> None:
    for shown in (visible(text), one_line(text), table(["h"], [[text]]), pairs([("name", text)])):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert "\n" not in one_line(text)


@given(st.text(), st.integers(2, 20))
def test_clipped_text_fits(text: str, columns: int) -> None:
    assert width(clip(one_line(text), columns)) <= columns


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_is_verbatim(text: str) -> None:
    assert json.loads(as_json({"content": text})) == {"content": text}


def test_json_keeps_chinese_readable_and_refuses_what_json_cannot_hold() -> None:
    assert as_json({"a": "记忆😀"}) == '{"a": "记忆😀"}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"a": float("nan")})


def test_empty_fields_are_left_out_and_long_text_is_indented() -> None:
    assert (
        pairs([("名称", "甲"), ("empty", ""), ("n", 0), ("text", "a\nb")])
        == "名称  甲\nn     0\ntext\n  a\n  b"
    )


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("key", TEXTS)
def test_both_languages_say_the_same_things(key: str) -> None:
    english, chinese = TEXTS[key]
    assert placeholders(english) == placeholders(chinese)
    assert re.search(r"[\u4e00-\u9fff]", chinese) or chinese in ("#", "id", "Python")


def test_every_text_is_used_and_every_used_text_exists() -> None:
    files = Path(siltstone.cli.__path__[0]).glob("*.py")
    used = "".join(path.read_text(encoding="utf-8") for path in files if path.name != "texts.py")
    built = ("h_", "mark_", "d_")  # put together from a prefix and a name
    for key in TEXTS:
        prefix = any(key.startswith(p) and re.search(rf"""["']{p}["'] \+ """, used) for p in built)
        assert f'"{key}"' in used or f"'{key}'" in used or prefix, f"{key} is used nowhere"
    for key in re.findall(r'(?:\btext|context\.say)\(\s*"([a-z_]+)"', used):
        assert key in TEXTS or key.endswith("_"), f"{key} has no text"


@pytest.mark.parametrize(
    ("setting", "environ", "lang"),
    [
        ("", {}, "en"),
        ("", {"LANG": "zh_CN.UTF-8"}, "zh"),
        ("", {"LANG": "zh_TW.UTF-8", "LC_ALL": "en_GB.UTF-8"}, "en"),
        ("", {"LC_ALL": "", "LANG": "zh_CN"}, "zh"),
        ("en", {"LANG": "zh_CN.UTF-8"}, "en"),
        ("zh", {}, "zh"),
        ("", {"LANG": "fr_FR"}, "en"),
    ],
)
def test_the_language_is_the_settings_or_the_locales(
    setting: str, environ: dict[str, str], lang: str
) -> None:
    assert language(setting, environ) == lang
    assert Texts(lang)("stopping") == TEXTS["stopping"][lang == "zh"]

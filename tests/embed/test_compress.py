import pytest
from hypothesis import given
from hypothesis import strategies as st
from siltstone.compress import LEFT_OUT, MIN_BYTES, compress
from siltstone.errors import InvalidArgumentError

ENGLISH = (
    "The deploy failed on Friday. "
    + "We looked around for a while. It was a long evening. Nobody knew more. " * 20
    + "The cause was MySQL 8.0.34 refusing TLS 1.1 on db-3. "
    + "There was coffee. " * 20
    + "\n\nA second topic began. Some more talk followed. " * 5
    + "In the end we rolled back."
)
CHINESE = (
    "周五的部署失败了。"
    + "大家看了很久。没有人知道原因。" * 30
    + "原因是 db-3 上的 MySQL 8.0.34 拒绝 TLS 1.1。"
    + "后来喝了咖啡。" * 30
    + "最后我们回滚了。"
)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_beginning_end_and_facts_are_kept_verbatim_and_in_order(text: str) -> None:
    short = compress(text, 400)
    assert len(short.encode()) <= 400
    kept = [part for part in short.split(LEFT_OUT) if part]
    assert short.startswith(text[:9])
    assert short.endswith(text[-8:])
    assert "MySQL 8.0.34" in short
    at = 0
    for part in kept:
        found = text.find(part.rstrip("\n"), at)
        assert found >= at, part
        at = found + len(part.rstrip("\n"))


def test_what_fits_is_returned_as_it_is() -> None:
    assert compress(ENGLISH, len(ENGLISH.encode())) == ENGLISH
    assert compress("", MIN_BYTES) == ""


def test_sentences_that_a_lesson_names_are_kept() -> None:
    talk = "".join(f"We talked about {a}{b}. " for a in "abcdefgh" for b in "abcdefgh")
    text = f"Start. {talk}The watchdog was asleep. {talk}End."
    assert "watchdog" not in compress(text + " Port 80.", 120)
    assert "The watchdog was asleep." in compress(text, 120, keep=["", "The watchdog was asleep"])
    assert "The watchdog was asleep." in compress(
        text, 120, keep=["cause: The watchdog was asleep. Wake it."]
    )


def test_repeated_sentences_are_kept_once() -> None:
    text = "".join(f"retry {i % 3} failed\n" for i in range(1000))
    short = compress(text, 300)
    assert [short.count(f"retry {i} failed") for i in range(3)] == [1, 1, 1]


def test_one_endless_sentence_is_cut_at_a_character_and_marked() -> None:
    short = compress("汉" * 1000, 100)
    assert len(short.encode()) <= 100
    assert short.startswith("汉" * 20)
    assert short.endswith(LEFT_OUT)


@given(
    st.text(alphabet=st.sampled_from("ab1.。!? \n汉字—é😀/_"), max_size=300),
    st.integers(MIN_BYTES, 200),
    st.lists(st.text(max_size=10), max_size=3),
)
def test_the_result_fits_is_the_same_again_and_says_when_something_is_missing(
    text: str, most: int, keep: list[str]
) -> None:
    short = compress(text, most, keep=keep)
    assert len(short.encode()) <= most
    assert short == compress(text, most, keep=keep)
    assert short == text or LEFT_OUT in short or set(short.split()) == set(text.split())
    pieces = short.replace(LEFT_OUT, "\0").split("\0")
    assert all(piece.strip("\n") in text for piece in pieces)


@pytest.mark.parametrize("unit", ["word ", "x", "a1.", "\n", "汉字。", "e.g. ", "Foo/bar_9 "])
@pytest.mark.timeout(60)  # quadratic, it would take hours
def test_megabytes_take_moments(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    assert len(compress(text, 1 << 18).encode()) <= 1 << 18


def test_too_little_space_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="max_bytes: 15"):
        compress("x" * 100, 15)

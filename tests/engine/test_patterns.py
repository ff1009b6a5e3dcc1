"""What a pattern of namespaces opens, and what is no pattern."""

import pytest
import siltstone
from siltstone.engine.patterns import Patterns


@pytest.mark.parametrize(
    ("pattern", "opens", "leaves"),
    [
        ("team/*", ["team/a", "team/甲"], ["team", "team/a/b", "teams/a", "Team/a", "x/team/a"]),
        ("team/**", ["team/a", "team/a/b"], ["team", "teamx/a", "x/team/a"]),
        ("**", ["a", "a/b/c", "public", "团队/甲"], []),
        ("*", ["a", "default"], ["a/b"]),
        ("team/agent-*", ["team/agent-1", "team/agent-"], ["team/agent", "team/agent-1/x"]),
        ("*/shared", ["a/shared", "团队/shared"], ["shared", "a/b/shared"]),
        ("team", ["team"], ["team/a", "teams"]),
        ("团队/*", ["团队/甲"], ["團隊/甲", "团队"]),
        # What looks alike is another name: composed and decomposed é, Latin and Cyrillic a.
        ("caf\u00e9/*", ["caf\u00e9/x"], ["cafe\u0301/x"]),
        ("team/a", ["team/a"], ["team/\u0430", "team/A"]),
        ("a.b/*", ["a.b/x"], ["axb/x"]),
    ],
)
def test_a_pattern_opens_what_it_says_and_nothing_else(
    pattern: str, opens: list[str], leaves: list[str]
) -> None:
    patterns = Patterns.of([pattern])
    assert [name for name in opens if not patterns.match(name)] == []
    assert [name for name in leaves if patterns.match(name)] == []


@pytest.mark.parametrize(
    "text", ["", "/", "a//b", "a/", "**/a", "a/**/b", "a*b", "a**", "***", "*a", "a b", "../**", "x" * 257]
)
def test_what_is_no_pattern_is_refused_by_the_name_of_its_field(text: str) -> None:
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        Patterns.of(["ok", text])
    assert caught.value.field == "namespaces[1]"


def test_no_pattern_at_all_and_too_many_are_refused() -> None:
    for texts in ([], ["a"] * 101):
        with pytest.raises(siltstone.InvalidArgumentError):
            Patterns.of(texts)


@pytest.mark.timeout(20)
def test_no_pattern_takes_time_beyond_the_length_of_the_name() -> None:
    patterns = Patterns.of(["/".join(["a*"] * 80)] * 100)
    assert not patterns.match("/".join(["a" * 2] * 79 + ["b"]))  # what backtracks would take years

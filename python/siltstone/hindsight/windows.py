"""Trying patterns only near the words without which they cannot match.

Logs are long, and most of their lines speak of nothing that a pattern is after. Finding a plain word costs a
hundredth of what trying a pattern costs, so the words are looked for first.
"""

from collections.abc import Iterable

_BEFORE, _AFTER = 400, 4_400  # characters around a word that patterns may look at
_HOP = 200  # words closer than this share a window anyway


def lowered(text: str) -> str:
    """The text in lower case, character by character, so that positions in it are those of the text."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower()[0] for c in text)


def windows(low: str, words: Iterable[str], *, lines: bool = True) -> list[tuple[int, int]]:
    """Where around one of `words` to look, disjoint and in order.

    Args:
        low: a text in lower case, as are the words.
        lines: whether a window ends with the line its word stands in.
    """
    present = [word for word in words if word in low]
    if not present:
        return []
    found: list[tuple[int, int]] = []
    for word in present:
        at = low.find(word)
        while at >= 0:
            start, stop = max(0, at - _BEFORE), min(len(low), at + _AFTER)
            if lines:
                start = max(start, low.rfind("\n", start, at) + 1)
                end = low.find("\n", at, stop)
                stop = stop if end < 0 else end
            found.append((start, stop))
            at = low.find(word, min(at + _HOP, max(stop, at + 1)) if lines else at + _HOP)
    return merged(found)


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same ground covered by disjoint spans in order."""
    joined: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    return joined

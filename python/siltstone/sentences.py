"""Where sentences and paragraphs end, in any language."""

import re
from collections.abc import Iterator

# Western marks end a sentence only before white space ("8.0" does not); a run of them is tried once, from
# its first mark, which keeps a megabyte of dots linear. The others end one wherever they stand.
_END = re.compile(
    r"""
    (?: (?<![.!?])(?P<west>[.!?]++)["'”’»)\]]*+(?=\s)
      | [。！？…｡．؟۔।॥።။។]++["'”’»」』）)】\]]*+
      | [\r\n\x85\u2028\u2029]
    )\s*+
    """,
    re.VERBOSE,
)
_PARAGRAPH_END = re.compile(r"\n[^\S\n]*+\n\s*+|\u2029\s*+")

# What a single dot may follow without ending a sentence: abbreviations, initials, the number of a list item.
_NO_END = re.compile(
    r"(?:^|[\s(\[\"'“‘])(?:e\.g|i\.e|a\.m|p\.m|[Mm]rs?|Ms|[Dd]rs?|[Pp]rof|St|vs|cf|[Aa]pprox|[Nn]os?|[Ff]ig|[Ee]q"
    r"|[Vv]er|[Vv]ol|pp?|al|resp|incl|(?:[A-Z]\.)*[A-Z])$|(?:^|\n)[ \t]*\d{1,3}$"
)
_LOOK_BACK = 16


def sentences(text: str) -> Iterator[str]:
    """The sentences of `text` in order, each with its closing marks and the white space after it.

    Joined they are `text`, verbatim. A line end ends a sentence too. Linear in the length.
    """
    start = 0
    for match in _END.finditer(text):
        at = match.start()
        if match["west"] == "." and _NO_END.search(text[max(0, at - _LOOK_BACK) : at]):
            continue
        yield text[start : match.end()]
        start = match.end()
    if start < len(text):
        yield text[start:]


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of `text` in order, each with the blank lines after it; joined they are `text`."""
    start = 0
    for match in _PARAGRAPH_END.finditer(text):
        yield text[start : match.end()]
        start = match.end()
    if start < len(text):
        yield text[start:]

"""The first level of retrieval: a memory in one line."""

import re

from siltstone.errors import InvalidArgumentError
from siltstone.sentences import sentences

_CUT = "…"
_WORD_END = re.compile(r"(?<=\S)(?=\s)|(?<=[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef])(?=\S)")
# As much of the content as is looked at, in characters a token: more than any language needs.
_CHARACTERS_A_TOKEN = 32


def summarize(content: str, max_tokens: int = 64) -> str:
    """The first sentences of `content` that fit into `max_tokens` (≥ 1) o200k tokens, white space collapsed.

    A first sentence that is too long is cut at a word, or inside one where there is none, and ends in "…".
    Only blank content gives "". Raises InvalidArgumentError for `max_tokens` below 1.
    """
    from siltstone import rust_core

    if max_tokens < 1:
        raise InvalidArgumentError(f"max_tokens: {max_tokens} is below 1", field="max_tokens")
    stripped = content.strip()
    head = stripped[: max_tokens * _CHARACTERS_A_TOKEN]
    summary, end = "", 0
    for sentence in sentences(head):
        end += len(sentence)
        longer = " ".join(head[:end].split())
        # The last sentence of the head may be only its beginning.
        cut_off = end == len(head) < len(stripped)
        if cut_off or rust_core.count_tokens(longer) > max_tokens:
            return summary or shorten(longer, max_tokens)
        summary = longer
    return summary


def shorten(text: str, max_tokens: int) -> str:
    """`text`, or as much of it as fits into `max_tokens` (≥ 1) o200k tokens, cut at a word, or inside one
    where there is none near, and ending in "…"."""
    from siltstone import rust_core

    if rust_core.count_tokens(text) <= max_tokens:
        return text
    for budget in range(max_tokens - 1, 0, -1):
        kept = rust_core.truncate_tokens(text, budget)
        # One character more shows whether the cut is at the end of a word; a far one would give away half.
        ends = [match.start() for match in _WORD_END.finditer(text[: len(kept) + 1])]
        if ends and ends[-1] > len(kept) // 2:
            kept = kept[: ends[-1]]
        shortened = kept.rstrip() + _CUT
        if rust_core.count_tokens(shortened) <= max_tokens:
            return shortened
    return _CUT

"""The first level of retrieval: a memory in one line."""

from siltstone.errors import InvalidArgumentError
from siltstone.sentences import sentences

_CUT = "…"
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
            return summary or _shorten(longer, max_tokens)
        summary = longer
    return summary


def _shorten(text: str, max_tokens: int) -> str:
    from siltstone import rust_core

    for budget in range(max_tokens - 1, 0, -1):
        kept = rust_core.truncate_tokens(text, budget)
        if kept != text:
            word_end = kept.rfind(" ")
            # A cut between words is kept; a far word end would give away half of the summary.
            if not text[len(kept)].isspace() and word_end > len(kept) // 2:
                kept = kept[:word_end]
        shortened = kept.rstrip() + _CUT
        if rust_core.count_tokens(shortened) <= max_tokens:
            return shortened
    return _CUT

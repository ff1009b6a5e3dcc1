"""What an embedding model does not see: a guard before two texts are taken for the same.

A model maps every character it does not know (rare Chinese ones in names among them) to one and the same
token, and normalises others away: 李𠮷 and 李𠮶 get equal vectors. Numbers and negations are the core's to
compare; this compares the characters themselves.
"""

import unicodedata

_BLIND = 1.0 - 1e-5  # above this cosine the model saw no difference at all
_LAST_COMMON = "\uffff"  # models know few characters beyond the basic plane
_PASSED_OVER = frozenset("ZPC")  # first letters of categories: separators, punctuation, controls


def unseen_difference(a: str, b: str, cosine: float) -> bool:
    """Whether two texts with near vectors differ in what the model cannot tell apart.

    Args:
        cosine: of their vectors.
    """
    if _rare(a) != _rare(b):
        return True
    return cosine > _BLIND and _visible(a) != _visible(b)


def _rare(text: str) -> str:
    return "" if text.isascii() else "".join(c for c in text if c > _LAST_COMMON)


def _visible(text: str) -> str:
    """The text without blanks, punctuation and controls, composed; of nothing else, the text itself."""
    composed = unicodedata.normalize("NFC", text).casefold()  # what a capital says, the core compares
    letters = "".join(
        c
        for c in composed
        if unicodedata.category(c)[0] not in _PASSED_OVER or unicodedata.category(c) == "Co"
    )
    return letters or composed

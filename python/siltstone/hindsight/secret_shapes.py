"""Secrets that are known by their own shape, whatever stands around them: keys, PEM, card numbers."""

import re
from collections.abc import Iterator

_LONGEST_PEM = 20_000  # characters; a key of RSA 16384 has 13,000

_SHAPES = [
    # what is looked for first in the text as it is, and the shape, as those have it who issue the keys
    (
        ("sk-", "sk_", "rk_", "pk_", "whsec_"),
        r"\b(?:sk-[A-Za-z0-9_-]{8,}|(?:sk|rk|pk)_(?:live|test)[_ -]?[A-Za-z0-9]+"
        r"|(?:sk|rk|pk|whsec)_[A-Za-z0-9]{12,})",
    ),
    (("gh", "glpat-"), r"\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{8,}"),
    (("AKIA", "ASIA", "LTAI", "AKID"), r"\b(?:AKIA|ASIA)[0-9A-Z]{12,}|\b(?:LTAI|AKID)[A-Za-z0-9]{12,}"),
    (("AIza", "ya29."), r"\bAIza[\w-]{20,}|\bya29\.[\w-]{10,}"),
    (("xox", "xapp-"), r"\bxox[abeprs]-[\w-]{8,}|\bxapp-\d-[\w-]{8,}"),
    (
        ("hf_", "npm_", "pypi-", "dop_v1_", "shpat_"),
        r"\bhf_[A-Za-z0-9]{16,}|\bnpm_[A-Za-z0-9]{20,}|\bpypi-[\w-]{16,}|\bdop_v1_\w{16,}|\bshpat_\w{16,}",
    ),
    (
        ("SG.", "sq0", "AGE-SECRET"),
        r"\bSG\.[\w-]{10,}\.[\w-]{10,}|\bsq0\w{3}-[\w-]{20,}|\bAGE-SECRET-KEY-1[0-9A-Z]{20,}",
    ),
    (("eyJ",), r"\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*"),
    ((":AA",), r"(?<=:)AA[\w-]{30,}"),
]
_KEYS = [(starts, re.compile(shape)) for starts, shape in _SHAPES]
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PUTTY = re.compile(r"^Private-Lines: \d+\s+((?:[A-Za-z0-9+/=]{1,80}\s*){1,400})", re.MULTILINE)
_CARD = re.compile(r"(?<![\w.-])[3-6]\d{3}(?:[ -]?\d){9,15}(?![\w-])")
_DIGITS = re.compile(r"\d{4}")


def shaped_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where something of the shape of a secret stands. They may overlap. Linear in the text's length."""
    for starts, shape in _KEYS:
        if any(start in text for start in starts):
            for match in shape.finditer(text):
                yield match.span()
    if "-----BEGIN" in text:
        yield from _private_keys(text)
    if "Private-Lines:" in text:
        for match in _PUTTY.finditer(text):
            yield match.span(1)
    if _DIGITS.search(text):
        for match in _CARD.finditer(text):
            if _luhn(match.group()):
                yield match.span()


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """What stands between the marks of a private key (RFC 7468); where the end is missing, up to the next one
    or a length."""
    match = _PEM.search(text)
    while match:
        start = match.end()
        following = _PEM.search(text, start)
        limit = min(following.start() if following else len(text), start + _LONGEST_PEM)
        end = text.find("-----END", start, limit)
        stop = limit if end < 0 else end
        if stop > start:
            yield start, stop
        match = following


def _luhn(number: str) -> bool:
    """The check digit of card numbers (ISO/IEC 7812-1)."""
    digits = [int(character) for character in reversed(number) if character.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[1::2]]
    return 13 <= len(digits) <= 19 and (sum(digits[::2]) + sum(doubled)) % 10 == 0

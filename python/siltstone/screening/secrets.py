"""Secrets in a text: tokens by the shapes their issuers gave them (detect-secrets), and what the words around
it call a secret (`siltstone.hindsight.secrets`)."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache

from siltstone.hindsight.secrets import is_placeholder, secret_spans
from siltstone.screening.findings import Finding, apart
from siltstone.screening.personal import is_card

_SECRET = "secret"
# Left to `secret_spans`, which has the key behind the header and the password in the address.
_NOT_TAKEN = {"Private Key", "Basic Auth Credentials"}
# A word, maybe of two parts: in running text "basic amenities" is no credential.
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:[-/'’.][^\W\d_]+)*[.!?,:]*")
_MIXED = re.compile(r"[a-z][A-Z]")
# What stands before a value that was told as one, so that a plain word counts too.
_TOLD = re.compile(r"(?:[=：]|是|为|[\"'`“‘「『]|--?[\w-]+)\s*$")
# Every token of an issuer has a run of characters as long as this, with a digit in it; most texts have none.
_RUN = re.compile(r"[A-Za-z0-9_+/=-]{11,}")
_REST = re.compile(r"[A-Za-z0-9_+/=-]*")
_SCHEME = re.compile(r"(?:bearer|basic|digest|token)\s+", re.IGNORECASE)


def secrets(text: str) -> list[Finding]:
    """The secrets in a text, in order and apart."""
    return apart(_spans(text))


def _spans(text: str) -> Iterator[tuple[int, int, str]]:
    if any(_has_digit(run.group()) for run in _RUN.finditer(text)):
        for kind, pattern in _issued():
            for match in pattern.finditer(text):
                start, end = match.span(match.lastindex or 0)
                if _has_digit(text[start:end]):  # names in capitals may begin as a token does
                    # A detector may know fewer characters than the token has.
                    rest = _REST.match(text, end)
                    yield start, rest.end() if rest else end, kind
    for start, end in secret_spans(text):
        if _is_value(text, start, end) and not is_card(text[start:end]):
            yield start, end, _SECRET


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


def _is_value(text: str, start: int, end: int) -> bool:
    value = text[start:end]
    if is_placeholder(_SCHEME.sub("", value, count=1)):
        return False
    if _PLAIN_WORD.fullmatch(value) and not _MIXED.search(value):
        return _TOLD.search(text, max(0, start - 40), start) is not None
    return True


@cache
def _issued() -> list[tuple[str, re.Pattern[str]]]:
    """The patterns of all detectors of detect-secrets that know a secret by its shape. Its others, by entropy
    and by keyword, take hundreds of ordinary words for secrets: see docs/decisions/0036."""
    from detect_secrets import plugins
    from detect_secrets.plugins.base import RegexBasedDetector

    for module in pkgutil.iter_modules(plugins.__path__):
        importlib.import_module(f"{plugins.__name__}.{module.name}")
    return [
        (detector.secret_type, pattern)
        for detector in RegexBasedDetector.__subclasses__()
        if detector.secret_type not in _NOT_TAKEN and "IP" not in detector.secret_type
        for pattern in detector().denylist
    ]

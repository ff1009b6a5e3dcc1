"""Personal data in a text: phone numbers, numbers of identity, cards and accounts with a check digit, e-mail
addresses. Numbers are believed when their check digits, or a country's numbering plan, say so."""

import re
from collections.abc import Callable, Iterator
from itertools import islice

import phonenumbers
from stdnum import iban, luhn
from stdnum.cn import ric
from stdnum.us import ssn

from siltstone.screening.findings import Finding, apart

_PHONE = "phone number"
# Countries whose numbers are found without +country, and how strictly they must be written.
_HOME = (("CN", phonenumbers.Leniency.VALID), ("US", phonenumbers.Leniency.STRICT_GROUPING))
_LEAST_PHONE = 9  # digits
_PHONE_LIKE = re.compile(r"\+?\(?\d(?:[ \-.()/]{0,2}\d){8,16}")
_IP_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_IN_A_NUMBER = re.compile(r"[A-Z0-9][-_#]\Z")  # INV-2024-000123
_DATED = re.compile(r"(?:19|20)\d\d-[01]\d-")  # 2024-05-0032
_CHECKED_PHONES = 1000
_NOT_WITHIN = r"(?<![0-9A-Za-z_.+@-])"
_ENDS = r"(?![0-9A-Za-z_@-])(?!\.\d)"
_CITIZEN = re.compile(rf"{_NOT_WITHIN}\d{{17}}[\dXx]{_ENDS}")
_SSN = re.compile(rf"{_NOT_WITHIN}\d{{3}}-\d{{2}}-\d{{4}}{_ENDS}")
_CARD = re.compile(rf"{_NOT_WITHIN}[3-6]\d{{3}}(?:[ -]?\d){{9,15}}{_ENDS}")
_IBAN = re.compile(rf"{_NOT_WITHIN}[A-Z]{{2}}\d{{2}}(?: ?[A-Z0-9]{{4}}){{2,7}}(?: ?[A-Z0-9]{{1,4}})?{_ENDS}")
_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])"
)
# Addresses of tools, not of people, and those that standards keep for examples (RFC 2606).
_NOBODY = re.compile(
    r"^(?:git|noreply|no-reply|root|user|postgres)@|@(?:.*\.)?(?:example(?:\.\w+)?|localhost|invalid|test)$"
    r"|@.*\.(?:service|target|js|ts|py|png|jpg|css|json)$",
    re.IGNORECASE,
)


def is_card(number: str) -> bool:
    """Whether this is a payment card's number: 13 to 19 digits, maybe in groups, with their check digit
    (ISO/IEC 7812-1)."""
    digits = re.sub(r"[ -]", "", number)
    return digits.isascii() and digits.isdigit() and 13 <= len(digits) <= 19 and luhn.is_valid(digits)


_CHECKED: list[tuple[re.Pattern[str], Callable[[str], bool], str]] = [
    (_CITIZEN, ric.is_valid, "ID number"),
    (_SSN, ssn.is_valid, "ID number"),
    (_CARD, is_card, "card number"),
    (_IBAN, iban.is_valid, "account number"),
]


def personal_data(text: str) -> list[Finding]:
    """The personal data in a text, in order and apart."""
    return apart(_spans(text))


def _spans(text: str) -> Iterator[tuple[int, int, str]]:
    if "@" in text:
        for match in _EMAIL.finditer(text):
            if not _NOBODY.search(match.group()):
                yield *match.span(), "e-mail address"
    if not _PHONE_LIKE.search(text):
        return
    for pattern, is_valid, kind in _CHECKED:
        for match in pattern.finditer(text):
            if is_valid(match.group()):
                yield *match.span(), kind
    yield from _phones(text)


def _phones(text: str) -> Iterator[tuple[int, int, str]]:
    # Each candidate costs a quarter of a millisecond: beyond so many, a number is believed unchecked.
    unchecked = [match.span() for match in islice(_PHONE_LIKE.finditer(text), _CHECKED_PHONES, None)]
    checked = text[: unchecked[0][0]] if unchecked else text
    for region, leniency in _HOME:
        for found in phonenumbers.PhoneNumberMatcher(checked, region, leniency=leniency):
            # Shorter ones are toll-free numbers at best, and ranges such as 1600-1800 most often.
            digits = sum(character.isdigit() for character in found.raw_string)
            if (
                digits >= _LEAST_PHONE
                and not _IP_ADDRESS.fullmatch(found.raw_string)
                and not _DATED.match(found.raw_string)
                and not _IN_A_NUMBER.search(text, max(0, found.start - 2), found.start)
            ):
                yield found.start, found.end, _PHONE
    yield from ((start, end, _PHONE) for start, end in unchecked)

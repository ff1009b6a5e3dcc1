"""Page tokens: opaque to callers; inside, the last item of the page before, and which list it is of."""

import base64
import binascii
from collections.abc import Sequence
from hashlib import blake2b

from siltstone.engine.validate import invalid, shown

_VERSION = b"2"
_SCOPE_BYTES = 8


def encode_token(last: str, scope: Sequence[str]) -> str:
    """Args:
    last: id or name of the page's last item.
    scope: what makes up the list: the call's name and the arguments that choose its items.
    """
    return base64.urlsafe_b64encode(_VERSION + _digest(scope) + last.encode()).decode().rstrip("=")


def decode_token(token: str, scope: Sequence[str]) -> str:
    """The item to go on after; "" for the first page.

    Raises:
        InvalidArgumentError: the token is none, or of a list with another scope, whose items it would skip.
    """
    if not token:
        return ""
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        version, digest, last = raw[:1], raw[1 : 1 + _SCOPE_BYTES], raw[1 + _SCOPE_BYTES :].decode()
    except (binascii.Error, ValueError):
        version, digest, last = b"", b"", ""
    if version != _VERSION or not last:
        raise invalid(
            "page_token", f"{shown(token)} is none; pass next_page_token as it was given, or nothing"
        )
    if digest != _digest(scope):
        raise invalid(
            "page_token",
            "is of another list; pass it with the arguments of the call that gave it, or leave it out",
        )
    return last


def _digest(scope: Sequence[str]) -> bytes:
    return blake2b("\0".join(scope).encode(), digest_size=_SCOPE_BYTES).digest()

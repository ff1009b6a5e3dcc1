"""Page tokens: opaque to callers, the last id of the page before inside."""

import base64
import binascii

from siltstone.engine.validate import check_id, invalid


def encode_token(last_id: str) -> str:
    return base64.urlsafe_b64encode(f"1:{last_id}".encode()).decode().rstrip("=")


def decode_token(token: str) -> str:
    """The id to go on after; "" for the first page."""
    if not token:
        return ""
    try:
        version, _, id = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode().partition(":")
        if version == "1":
            return check_id(id, "page_token")
    except (binascii.Error, ValueError):
        pass
    raise invalid("page_token", f"{token!r} is none; pass next_page_token as it was given, or nothing")

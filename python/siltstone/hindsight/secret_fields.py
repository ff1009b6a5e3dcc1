"""Secrets typed into a page by the number that it gave a field: what the page says of the field decides."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from siltstone.hindsight.secret_values import is_placeholder
from siltstone.hindsight.secrets import described, describes_secret, is_secret_field, typed_values
from siltstone.hindsight.windows import lowered, windows
from siltstone.model import Step

_LISTED = [
    # [3]<input type=password>, 3: <input …>, the whole tag
    re.compile(r"\b(?P<id>\w{1,20})[\]):.]{0,2}\s{0,3}(?P<field><(?:input|textarea)\b[^<>\r\n]{0,400})"),
    # - textbox "Password" [ref=e12]
    re.compile(r"(?P<field>\btextbox\b[^\[\]\r\n]{0,120})\[ref=(?P<id>\w{1,20})\]"),
    # uid=1_4 textbox "Password"
    re.compile(r"\buid=(?P<id>\w{1,20}) (?P<field>textbox\b[^\r\n]{0,160})"),
]
_TAG = re.compile(r"<(?:input|textarea)\b[^<>\r\n]{0,400}")
_SECRET_TAG = re.compile(
    r"type=\\?[\"']?password|autocomplete=\\?[\"']?(?:current-password|new-password|one-time-code)"
)
_TARGETS = ("index", "ref", "uid", "element_id", "element_index", "id", "target", "element")
_KEY = re.compile(
    r"(?:enter|return|tab|escape|esc|space|backspace|delete|arrow\w+|f\d+|\w+\+.+|.{0,2})\Z", re.I
)


def typed_secrets(steps: Sequence[Step]) -> Iterator[str]:
    """What was typed into a field that its page, before or in answer, lists as one for a secret.

    Args:
        steps: of one run, in order.
    """
    page: dict[str, bool] = {}
    focused = False  # whether the step before went to a field for a secret
    for step in steps:
        page = _listed(step.text) or page
        answer = _listed(step.result)
        focus = False
        for action in _actions(step.arguments):
            target = next((str(action[name]) for name in _TARGETS if name in action), "")
            known = answer.get(target, page.get(target)) if target else None
            typed = [value for value in typed_values(action) if value != target and not _KEY.match(value)]
            into = known if known is not None else _only_secret(step.result)
            if into or (focused and not target and not described(action)):
                yield from (value.strip() for value in typed if not is_placeholder(value))
            focus = focus or (not typed and (known is True or is_secret_field(action)))
        focused = focus
        page = answer or page


def _actions(arguments: Any) -> Iterator[dict[str, Any]]:
    if isinstance(arguments, dict):
        yield arguments
        for inner in arguments.values():
            yield from _actions(inner)
    elif isinstance(arguments, list):
        for inner in arguments:
            yield from _actions(inner)


def _listed(text: str) -> dict[str, bool]:
    """The fields a page lists, by their numbers, and whether they are for a secret."""
    low = lowered(text)
    found: dict[str, bool] = {}
    for start, stop in windows(low, ("<input", "<textarea", "textbox")):
        for pattern in _LISTED:
            for match in pattern.finditer(low, start, stop):
                first, last = match.span("id")
                found[text[first:last]] = _is_secret(match["field"])
    return found


def _only_secret(text: str) -> bool:
    """Whether all that a result says of fields is that they are for a secret."""
    if "<" not in text:
        return False
    low = lowered(text)
    tags = [
        tag for start, stop in windows(low, ("<input", "<textarea")) for tag in _TAG.findall(low, start, stop)
    ]
    return bool(tags) and all(_is_secret(tag) for tag in tags)


def _is_secret(field: str) -> bool:
    return _SECRET_TAG.search(field) is not None or describes_secret(field)

"""What a secret looks like: by the name it goes by, by the field it is typed into, by its own shape.

`secret_spans` is the one to ask about a text.
"""

import re
from collections.abc import Iterator
from typing import Any

from siltstone.hindsight.secret_places import placed_spans
from siltstone.hindsight.secret_shapes import shaped_spans
from siltstone.hindsight.secret_values import is_placeholder, looks_secret
from siltstone.hindsight.secret_words import CHINESE, WORDS, worded_spans
from siltstone.hindsight.windows import lowered, merged

_KEY = re.compile(
    rf"(?:^|[_\-. ])(?:{WORDS}|pw|pass|authorization|auth|cookie|otp|cvv|cvc|pin|jwt|creds?)s?$|"
    rf"(?:{CHINESE})$",
    re.IGNORECASE,
)
# Names of what may be a secret: only a value that looks like one counts.
_MAYBE = re.compile(r"(?:^|[_\-. ])(?:session[_\- ]?id|sessionid|sid)$|\w[_\-]key$", re.IGNORECASE)
_COUNTS = re.compile(
    r"(?:max|min|num|total|used|count|input|output|completion|prompt)"
    r"[_\-. ]?tokens?$",
    re.I,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# A field into which a secret is typed, from what describes it: a label, a selector, its type.
_FIELD = re.compile(
    rf"{WORDS}|\b(?:pw|pass|otp|cvv|cvc|pin|x-auth|(?:proxy-)?authorization|(?:set-)?cookie)\b|{CHINESE}",
    re.IGNORECASE,
)
_DESCRIBES = (
    *("element", "label", "name", "selector", "xpath", "css", "locator", "placeholder", "field", "target"),
    *("id", "type", "aria-label", "ariaLabel", "ref", "title", "key", "header", "字段", "元素", "输入框"),
)
_TYPED = ("text", "value", "input", "keys", "characters", "input_text", "content", "内容", "文本", "值")
_LONGEST_TYPED = 400


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Where secrets stand in a text, by the words around them or by their shape; English and Chinese.

    A pure function, linear in the length of the text.

    Args:
        text: any text; it is looked at as it is and never changed.

    Returns:
        (start, stop) of each, in characters, disjoint and in order; empty where there is none.
    """
    return merged(told_secrets(text))


def told_secrets(text: str) -> Iterator[tuple[int, int]]:
    """As `secret_spans`, but one inside another is told, too: each may stand elsewhere by itself."""
    if not text:
        return
    low = lowered(text)
    yield from worded_spans(text, low)
    yield from placed_spans(text, low)
    yield from shaped_spans(text)


def is_secret_name(name: str) -> bool:
    """Whether an argument of this name holds a secret: ``password``, ``api_key``, ``accessToken``, 密码."""
    plain = _CAMEL.sub("_", name)
    return _KEY.search(plain) is not None and _COUNTS.search(plain) is None


def is_secret_field(arguments: dict[str, Any]) -> bool:
    """Whether what an action types goes into a secret's field, by how the field is described."""
    return any(describes_secret(text) for text in described(arguments))


def described(arguments: dict[str, Any]) -> list[str]:
    """The texts by which an action says where it types."""
    return [text for name in _DESCRIBES if isinstance(text := arguments.get(name), str)]


def describes_secret(text: str) -> bool:
    """Whether a label, a selector or a piece of HTML is that of a field for a secret."""
    return _FIELD.search(_CAMEL.sub("_", text[:400])) is not None


def typed_values(arguments: dict[str, Any]) -> Iterator[str]:
    """What an action types, wherever it types it."""
    for name in _TYPED:
        value = arguments.get(name)
        if isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST_TYPED:
            yield value


def named_secrets(value: Any, secret: bool = False) -> Iterator[str]:
    """The secrets among arguments: by their own name, or typed into a field that is described as one."""
    if isinstance(value, dict):
        typed = is_secret_field(value)
        for name, inner in value.items():
            into_field = typed and name in _TYPED and len(str(inner)) <= _LONGEST_TYPED
            if not (secret or into_field) and isinstance(inner, str) and _maybe(str(name), inner):
                yield inner.strip()
            yield from named_secrets(inner, secret or into_field or is_secret_name(str(name)))
    elif isinstance(value, list):
        # a header as a pair: ["Authorization", "Token x"]
        pair = len(value) == 2 and all(isinstance(part, str) for part in value) and is_secret_name(value[0])
        for inner in value[1:] if pair else value:
            yield from named_secrets(inner, secret or pair)
    elif secret and not isinstance(value, bool) and value is not None and not is_placeholder(str(value)):
        yield str(value).strip()


def _maybe(name: str, value: str) -> bool:
    plain = _CAMEL.sub("_", name)
    return (
        len(value) >= 8 and _MAYBE.search(plain) is not None and looks_secret(value) and not value.isdigit()
    )


__all__ = [
    "is_placeholder",
    "is_secret_field",
    "is_secret_name",
    "named_secrets",
    "secret_spans",
    "told_secrets",
]

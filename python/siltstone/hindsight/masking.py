"""Secrets of a trajectory: what must never get from a log into a lesson."""

import re
from collections.abc import Iterator
from typing import Any

from siltstone.model import Trajectory

MASK = "***"
_NAMES = r"pass(?:word|wd|phrase)|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential"
_KEY = re.compile(
    rf"(?:^|[_\-. ])(?:{_NAMES}|authorization|auth|cookie|otp|cvv|cvc|pin)s?$|密码|口令|令牌|密钥",
    re.IGNORECASE,
)
_COUNTS = re.compile(r"(?:max|min|num|total|used|count|input|output|completion|prompt)[_\-. ]?tokens?$", re.I)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_INLINE = [
    re.compile(rf"(?:{_NAMES})[\"'\\]*[ \t]*[:=][ \t]*[\"'\\]*([^\s\"'\\,;&)}}]{{3,}})", re.IGNORECASE),
    re.compile(rf"--?(?:{_NAMES})[= ][\"']?([^\s\"']{{3,}})", re.IGNORECASE),
    re.compile(r"\bpassword\s+is\s+[\"'`]?((?=[^\s\"'`]*[\d!@#$%^&*])[^\s\"'`]{3,})", re.IGNORECASE),
    re.compile(r"\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{8,})", re.IGNORECASE),
    re.compile(r"\bmysql\w*\b[^\n|]{0,200}?\s-p([^\s\"']{2,})"),
    re.compile(r"://[^/\s:@]{0,100}:([^@\s/]{1,200})@"),
    re.compile(r"(?:密码|口令|令牌|密钥)\s*(?:是|为|：|:|=)\s*[「“\"'`]?([^\s，。；,;」”\"'`]{3,})"),
    re.compile(
        r"\b(sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{16,}|glpat-[\w-]{8,}|AKIA[0-9A-Z]{12,}"
        r"|xox[abpr]-[\w-]{8,}|eyJ[\w-]{10,}\.[\w-]+\.[\w-]+)"
    ),
]
_MAX_SCANNED = 200_000


def is_secret_name(name: str) -> bool:
    """Whether an argument of this name holds a secret: ``password``, ``api_key``, ``accessToken``, 密码."""
    plain = _CAMEL.sub("_", name)
    return _KEY.search(plain) is not None and _COUNTS.search(plain) is None


class Masker:
    """Knows the secrets of one trajectory and keeps them out of what is shown."""

    def __init__(self, trajectory: Trajectory) -> None:
        values: set[str] = set()
        texts = [trajectory.goal]
        for step in trajectory.steps:
            values.update(_named_secrets(step.arguments))
            texts += [step.text, step.result, *_strings(step.arguments)]
        for text in texts:
            for pattern in _INLINE:
                values.update(m.group(1) for m in pattern.finditer(text[:_MAX_SCANNED]) if len(m[1]) >= 6)
        values.discard(MASK)
        # The longest first: a secret may contain another.
        self._values = [
            re.compile(re.escape(value) if len(value) >= 6 else rf"(?<!\w){re.escape(value)}(?!\w)")
            for value in sorted(values, key=lambda value: (-len(value), value))
        ]

    def mask(self, text: str, part: str | None = None) -> str:
        """`text`, or its prefix `part`, with every secret replaced by ``***``."""
        end = len(text) if part is None else len(part)
        shown, position = "", 0
        for start, stop in self._spans(text):
            if start >= end:
                break
            shown += text[position:start] + MASK
            position = stop
        return shown + text[position:end]

    def safe_part(self, text: str, part: str | None = None) -> str:
        """The longest verbatim piece of `text`, or of its prefix `part`, without a secret; "" if none."""
        end = len(text) if part is None else len(part)
        spans = [(start, min(stop, end)) for start, stop in self._spans(text) if start < end]
        if not spans:
            return text[:end]
        starts = [0, *(stop for _, stop in spans)]
        stops = [*(start for start, _ in spans), end]
        best = max((text[a:b].strip() for a, b in zip(starts, stops, strict=True)), key=len)
        return best if len(best) >= 3 else ""

    def _spans(self, text: str) -> list[tuple[int, int]]:
        spans = [m.span(1) for pattern in _INLINE for m in pattern.finditer(text)]
        spans += [m.span() for pattern in self._values for m in pattern.finditer(text)]
        merged: list[tuple[int, int]] = []
        for start, stop in sorted(spans):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            else:
                merged.append((start, stop))
        return merged


def _named_secrets(value: Any, secret: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _named_secrets(inner, secret or is_secret_name(str(name)))
    elif isinstance(value, list):
        for inner in value:
            yield from _named_secrets(inner, secret)
    elif secret and not isinstance(value, bool) and value is not None and str(value).strip():
        yield str(value).strip()


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)

"""Keeps the secrets of a trajectory out of everything that is made of it."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from siltstone.hindsight.secret_fields import typed_secrets
from siltstone.hindsight.secret_values import looks_secret
from siltstone.hindsight.secrets import (
    is_placeholder,
    is_secret_name,
    named_secrets,
    secret_spans,
    told_secrets,
)
from siltstone.hindsight.watching import Check, unwatched
from siltstone.model import ExtractedLesson, Trajectory

MASK = "***"
_MAX_SCANNED = 200_000  # characters at either end of a text; nothing is quoted from further inside
_LEAST = 3  # shorter values are masked where they stand, not wherever the same letters do
_LEAST_PLAIN = 6  # of letters alone, told in a text: a shorter one may be any word
_MOST_KNOWN = 2_000  # characters of a text whose secrets are remembered
_PART = 6  # characters of a cut-off secret that give it away
_WORD = "0-9A-Za-z_"
_PAIRS = re.compile(r"=\"?([^;&\s\"]{8,})")
_BREAKS = re.compile(r"\\n|[\r\n]+|(?<=[.!?;。！？；])\s*")


class Masker:
    """Knows the secrets of one trajectory and keeps them out of what is shown."""

    def __init__(self, trajectory: Trajectory, check: Check = unwatched) -> None:
        """`check` is asked for each text, now and later; what it raises ends the work."""
        self._check = check
        values = {value for value in typed_secrets(trajectory.steps) if len(value) >= _LEAST}
        texts = [trajectory.goal]
        for step in trajectory.steps:
            values.update(value for value in named_secrets(step.arguments) if len(value) >= _LEAST)
            texts += [step.text, step.result, *strings(step.arguments)]
        for text in dict.fromkeys(texts):
            check()
            for end in (
                (text,) if len(text) <= 2 * _MAX_SCANNED else (text[:_MAX_SCANNED], text[-_MAX_SCANNED:])
            ):
                for start, stop in told_secrets(end):
                    values.update(_told(end[start:stop].strip()))
        # The longest first: a secret may contain another.
        forms = {form for value in values for form in _forms(value)}
        self._values = sorted(forms, key=lambda value: (-len(value), value))
        self._words = {value: _as_word(value) for value in self._values if len(value) < _PART}
        # A piece is looked at for its text, then for its quote.
        self._known: dict[str, list[tuple[int, int]]] = {}

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

    def clean(self, extracted: ExtractedLesson) -> ExtractedLesson:
        """A lesson with every text of it masked; what is only known from a tool's name or a tag, too."""
        lesson = extracted.lesson
        evidence = [replace(e, quote=self.safe_part(e.quote)) for e in lesson.evidence]
        return replace(
            extracted,
            lesson=replace(
                lesson,
                problem=self.mask(lesson.problem),
                root_cause=self.mask(lesson.root_cause),
                solution=self.mask(lesson.solution),
                evidence=[e for e in evidence if e.quote],
            ),
            task_type=self.mask(extracted.task_type),
            tools_used=[self.mask(tool) for tool in extracted.tools_used],
            tags=[tag for tag in extracted.tags if self.mask(tag) == tag],
        )

    def _spans(self, text: str) -> list[tuple[int, int]]:
        if text in self._known:
            return self._known[text]
        self._check()
        spans = secret_spans(text)
        for value in self._values:
            spans += self._where(value, text)
        merged: list[tuple[int, int]] = []
        for start, stop in sorted(spans):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            else:
                merged.append((start, stop))
        if len(text) <= _MOST_KNOWN:
            self._known[text] = merged
        return merged

    def _where(self, value: str, text: str) -> Iterator[tuple[int, int]]:
        word = self._words.get(value)
        if word is not None:
            if value in text:
                yield from (match.span() for match in word.finditer(text))
            return
        start = text.find(value)
        while start >= 0:
            yield start, start + len(value)
            start = text.find(value, start + len(value))
        # A text may have been cut in the middle of a secret.
        if len(text) >= _PART and len(value) > _PART:
            if text[-_PART:] in value:
                for size in range(min(len(value), len(text)), _PART - 1, -1):
                    if text.endswith(value[:size]):
                        yield len(text) - size, len(text)
                        break
            if text[:_PART] in value:
                for size in range(min(len(value), len(text)), _PART - 1, -1):
                    if text.startswith(value[-size:]):
                        yield 0, size
                        break


def _told(value: str) -> Iterator[str]:
    """What of a secret found in a text is looked for elsewhere; of cookies, the values by themselves, too."""
    size = len(value.encode())
    if size >= _LEAST_PLAIN or (size > _LEAST and not value.isalpha()):
        if not is_secret_name(value) or looks_secret(value):
            yield value
        yield from _PAIRS.findall(value)


def _forms(value: str) -> set[str]:
    """The spellings in which a secret shows up: as it is, its lines and sentences, in JSON, in a URL."""
    parts = {value, *(part.strip() for part in _BREAKS.split(value))}
    parts = {part for part in parts if part == value or len(part) >= _PART}
    written = {json.dumps(part, ensure_ascii=False)[1:-1] for part in parts}
    encoded = {quote(part, safe="") for part in parts if part.isascii()}
    return {part for part in parts | written | encoded if part and not is_placeholder(part)}


def _as_word(value: str) -> re.Pattern[str]:
    """A short secret by itself; the characters beside it may be of a script without spaces."""
    before = rf"(?<![{_WORD}])" if re.match(rf"[{_WORD}]", value) else ""
    after = rf"(?![{_WORD}])" if re.search(rf"[{_WORD}]\Z", value) else ""
    return re.compile(before + re.escape(value) + after)


def strings(value: Any) -> Iterator[str]:
    """The texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


__all__ = ["MASK", "Masker", "is_secret_name", "strings"]

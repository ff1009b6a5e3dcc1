"""Patterns of namespaces, such as `team/*`: what a token opens.

A namespace is a path. In a pattern, `*` stands for one part of it and ends a part that it completes
(`agent-*`); `**` stands for everything below, and may only be the last part. So `team/*` opens `team/a`, not
`team` and not `team/a/b`; `team/**` opens both `team/a` and `team/a/b`; `**` opens everything. Names are
compared as they are written, code point by code point: what only looks alike is another name. Matching takes
time in proportion to the name, whatever the pattern.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from siltstone.engine.validate import MAX_NAMESPACE_BYTES, check_namespace, invalid, shown

MAX_PATTERNS = 100


@dataclass(frozen=True, slots=True)
class Patterns:
    """A set of patterns, checked.

    Attributes:
        whole: whether they open everything, the store itself with it.
    """

    texts: tuple[str, ...]
    whole: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "whole", "**" in self.texts)

    @classmethod
    def of(cls, texts: Sequence[str], name: str = "namespaces") -> "Patterns":
        """InvalidArgumentError, naming the field `name`, for what is no pattern, and for none at all."""
        if not texts:
            raise invalid(name, "is empty; give at least one pattern, such as 'team/*', or '**' for all")
        if len(texts) > MAX_PATTERNS:
            raise invalid(name, f"has {len(texts)} patterns; at most {MAX_PATTERNS} are allowed")
        for i, text in enumerate(texts):
            _check(text, f"{name}[{i}]")
        return cls(tuple(dict.fromkeys(texts)))

    def match(self, namespace: str) -> bool:
        return self.whole or any(_matches(text.split("/"), namespace.split("/")) for text in self.texts)


EVERYTHING = Patterns(("**",))


def _check(text: str, field: str) -> None:
    parts = text.split("/")
    plain = parts[:-1] if parts[-1] == "**" else parts
    if len(text.encode()) > MAX_NAMESPACE_BYTES or any("*" in part[:-1] for part in plain):
        raise invalid(
            field,
            f"{shown(text)} is no pattern; write a namespace in which * ends a part, such as 'team/*', or ** "
            "is the last part",
            "INVALID_PATTERN",
        )
    if plain:
        check_namespace("/".join(part.removesuffix("*") + "x" * part.endswith("*") for part in plain), field)


def _matches(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    if pattern[-1] == "**":
        return len(parts) >= len(pattern) and all(map(_matches_part, pattern[:-1], parts))
    return len(parts) == len(pattern) and all(map(_matches_part, pattern, parts))


def _matches_part(pattern: str, part: str) -> bool:
    if pattern.endswith("*"):
        return part.startswith(pattern[:-1])
    return part == pattern

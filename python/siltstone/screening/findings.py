"""A place in a text, what stands there, and the text without it."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What stands at ``text[start:end]``; `kind` names it for a reader: "GitHub token", "phone number"."""

    start: int
    end: int
    kind: str


def apart(spans: Iterable[tuple[int, int, str]]) -> list[Finding]:
    """Findings from (start, end, kind), in order. Where some overlap, one covers all and has the kind of the
    first, of the longest where several begin together."""
    found: list[Finding] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if found and start < found[-1].end:
            if end > found[-1].end:
                found[-1] = Finding(found[-1].start, end, found[-1].kind)
        else:
            found.append(Finding(start, end, kind))
    return found


def mask(text: str, found: Iterable[Finding]) -> str:
    """The text with ``[masked phone number]`` in the place of each finding; what is masked is not found
    again."""
    parts, at = [], 0
    for finding in found:
        parts += [text[at : finding.start], f"[masked {finding.kind}]"]
        at = finding.end
    return "".join([*parts, text[at:]])

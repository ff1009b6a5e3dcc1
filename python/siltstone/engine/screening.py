"""The server's policy on what texts hold: secrets and personal data are refused, masked, flagged or let be,
and text that reads like orders to a model is flagged. It acts before anything is hashed, embedded, kept."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from siltstone import rust_core
from siltstone.config import Settings
from siltstone.engine.validate import SUMMARY_TOKENS, invalid
from siltstone.hindsight.instructions import TAG as INSTRUCTIONS
from siltstone.hindsight.instructions import instruction_like
from siltstone.hindsight.secrets import named_secrets
from siltstone.model import Lesson, Memory, MemoryDraft
from siltstone.screening import Finding, mask, personal_data, secrets

SECRET = "secret"
PERSONAL_DATA = "personal-data"

TEXTS = ("content", "summary", "lesson", "tags", "attributes")  # fields of a draft and of a memory
_REASONS = {"secrets": "SECRET_FOUND", "personal_data": "PERSONAL_DATA_FOUND"}

Change = Callable[[str, str], str]  # (place, text) → text


@dataclass(frozen=True, slots=True)
class Policy:
    """What is done with secrets and with personal data: refuse, mask, flag or allow."""

    secrets: str
    personal_data: str

    @classmethod
    def of(cls, settings: Settings) -> "Policy":
        return cls(settings.secrets, settings.personal_data)

    def without_refusal(self) -> "Policy":
        """For texts whose writer cannot mend them: what would be refused is masked."""
        return Policy(*("mask" if p == "refuse" else p for p in (self.secrets, self.personal_data)))

    def screened_draft(self, draft: MemoryDraft, field: str) -> tuple[MemoryDraft, list[str]]:
        """The draft as it may be kept, and what `screened` says was masked."""
        given = {name: getattr(draft, name) for name in TEXTS}
        kept, masked = self.screened(given, f"{field}.")
        return replace(draft, **kept), masked

    def screened(self, fields: Mapping[str, Any], prefix: str = "") -> tuple[dict[str, Any], list[str]]:
        """Fields of a memory as they may be kept; and what was masked, as "content: phone number".

        Args:
            fields: name → value; those without texts come back as they are.
            prefix: what errors set before the name of a field.

        Raises:
            InvalidArgumentError: (SECRET_FOUND, PERSONAL_DATA_FOUND) the policy is to refuse. It names the
                place and the kind, never the value.
        """
        masked: dict[str, None] = {}

        def change(place: str, text: str) -> str:
            for setting, policy in (("secrets", self.secrets), ("personal_data", self.personal_data)):
                if policy in ("refuse", "mask") and (found := _find(setting, place, text)):
                    if policy == "refuse":
                        _refuse(prefix + place, setting, found[0])
                    masked.update((f"{place}: {finding.kind}", None) for finding in found)
                    text = mask(text, found)
            return text

        kept = {name: _changed(name, value, change) for name, value in fields.items()}
        if kept.get("summary") and kept["summary"] != fields["summary"]:
            kept["summary"] = rust_core.truncate_tokens(kept["summary"], SUMMARY_TOKENS)
        return kept, list(masked)

    def flags_of(self, memory: Memory) -> list[str]:
        """The marks of a memory by its texts: what a reader should know before using them."""
        texts = list(_texts_of(memory))
        flags = [INSTRUCTIONS] if any(instruction_like(text) for _, text in texts) else []
        for setting, policy, flag in (
            ("secrets", self.secrets, SECRET),
            ("personal_data", self.personal_data, PERSONAL_DATA),
        ):
            if policy == "flag" and any(_find(setting, place, text) for place, text in texts):
                flags.append(flag)
        return flags


def _find(setting: str, place: str, text: str) -> list[Finding]:
    if setting == "personal_data":
        return personal_data(text)
    name = place.removeprefix("attributes.")
    if name != place and any(named_secrets({name: text})):
        return [Finding(0, len(text), "secret")]
    return secrets(text)


def _refuse(field: str, setting: str, found: Finding) -> NoReturn:
    raise invalid(
        field,
        f"a {found.kind} stands at character {found.start}, and this server keeps none ({setting} = refuse); "
        "take it out",
        _REASONS[setting],
    )


def _changed(name: str, value: Any, change: Change) -> Any:
    """The value of a field with each of its texts changed."""
    if name not in TEXTS:
        return value
    if isinstance(value, str):
        return change(name, value)
    if isinstance(value, list):
        return [change(f"{name}[{i}]", text) for i, text in enumerate(value)]
    if isinstance(value, dict):
        return {k: change(f"{name}.{k}", v) if isinstance(v, str) else v for k, v in value.items()}
    if isinstance(value, Lesson):
        parts = {n: change(f"lesson.{n}", getattr(value, n)) for n in ("problem", "root_cause", "solution")}
        quotes = [
            replace(evidence, quote=change(f"lesson.evidence[{i}].quote", evidence.quote))
            for i, evidence in enumerate(value.evidence)
        ]
        return replace(value, **parts, evidence=quotes)
    return value


def _texts_of(memory: Memory) -> Iterator[tuple[str, str]]:
    seen: dict[tuple[str, str], None] = {}

    def note(place: str, text: str) -> str:
        seen[place if place.startswith("attributes.") else "", text] = None  # a quote often stands twice
        return text

    for name in TEXTS:
        _changed(name, getattr(memory, name), note)
    yield from seen

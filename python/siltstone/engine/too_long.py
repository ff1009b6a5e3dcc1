"""Drafts whose content is above the cap and may be made shorter."""

from dataclasses import replace

from siltstone.compress import compress
from siltstone.config import Settings
from siltstone.model import MemoryDraft, OnTooLong


def fit_content(draft: MemoryDraft, settings: Settings) -> tuple[MemoryDraft, int]:
    """The draft with a content that fits, and the bytes of the original; 0 where it is verbatim."""
    size = len(draft.content.encode())
    if draft.on_too_long is not OnTooLong.COMPRESS or size <= settings.max_content_bytes:
        return draft, 0
    keep = []
    if draft.lesson is not None:
        keep = [draft.lesson.problem, draft.lesson.root_cause, draft.lesson.solution]
        keep += [evidence.quote for evidence in draft.lesson.evidence]
    return replace(draft, content=compress(draft.content, settings.max_content_bytes, keep=keep)), size

"""Sentences of a text as verbatim slices, and fields of a lesson made of them."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from siltstone.hindsight.instructions import instruction_like
from siltstone.hindsight.masking import Masker
from siltstone.model import LessonEvidence

CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[^\s\u3000-\u303f\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]+")
_SENTENCE = re.compile(
    r"[^\n。！？；]+?(?:[.!?]+[\"')\]*`]*(?=\s|$)|[。！？；]+[”』」）]*|(?=\n)"
    r"|$)"  # ends: Latin, CJK, line, text
)
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|St|Jr|No|approx|[A-Z])|^\s*\d+)\.$")
_BULLET = re.compile(r"^(?:\s|[-*•>#]+\s+|\*\*(?=\S)|\d+[.)]\s+|\d+、)+")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LINK = re.compile(r"\[([^\[\]]+)\]\(https?://[^\s()]*\)")
_EMPHASIS = re.compile(r"(?<!\*)\*\*(?!\*)")
_MARKER = re.compile(r"###\w+###")
_CLAUSE_END = re.compile(r"[,;:](?=\s)|[，；：、]")
_SPACE = re.compile(r"\s+(?=\S)")
_CHARACTERS_PER_WORD = 12
_MAX_TEXT = 40_000
_MAX_EVIDENCE = 12


def is_chinese(text: str) -> bool:
    """Whether a text reads as Chinese: more Han characters than words in other scripts."""
    return len(CJK.findall(text)) > len(_WORD.findall(text))


def word_count(text: str) -> float:
    """Words as a reader counts them; a Han character is 0.6 of a word."""
    return len(_WORD.findall(text)) + 0.6 * len(CJK.findall(text))


def window(text: str) -> str:
    """The text itself, or the two ends of a huge one on either side of a line break."""
    if len(text) <= _MAX_TEXT:
        return text
    return text[: _MAX_TEXT // 2] + "\n" + text[-_MAX_TEXT // 2 :]


def sentences(text: str) -> list[str]:
    """The sentences of a text, each a verbatim slice of one line, without bullets and code blocks."""
    found: list[str] = []
    for line in _MARKER.sub("\n", _FENCE.sub("\n", window(text))).split("\n"):
        start = 0
        for match in _SENTENCE.finditer(line):
            piece = line[start : match.end()]
            if _ABBREVIATION.search(piece) and match.end() < len(line):
                continue
            start = match.end()
            bullet = _BULLET.match(piece)
            piece = piece[bullet.end() if bullet else 0 :].strip()
            if word_count(piece) > 0 and any(character.isalnum() for character in piece):
                found.append(piece)
    return found


def cut(text: str, words: float) -> str:
    """The longest prefix within a budget of words, ending at a clause or word."""
    limit = int(words * _CHARACTERS_PER_WORD)
    if len(text) <= limit and word_count(text) <= words:
        return text
    for ends in (_CLAUSE_END, _SPACE):
        best = ""
        for match in ends.finditer(text[: limit + 1]):
            prefix = text[: match.start()]
            if word_count(prefix) > words:
                break
            best = prefix
        if word_count(best) > words / 2:
            return best.rstrip()
    prefix = text[: min(limit, int(words / 0.6))]
    while prefix and word_count(prefix) > words:
        prefix = prefix[:-1]
    return prefix.rstrip()


@dataclass(slots=True)
class Piece:
    """Words for a field. Where `quotes` is None the words themselves are the quote, from `step`."""

    text: str
    step: int | None = None
    quotes: list[tuple[int, str]] | None = None


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", _EMPHASIS.sub("", _LINK.sub(r"\1", text))).strip()


def _same(a: str, b: str) -> bool:
    a, b = a.strip(" .。:：").casefold(), b.strip(" .。:：").casefold()
    return a in b or b in a


def compose(
    name: str,
    pieces: Iterable[Piece],
    words: int,
    masker: Masker,
    *,
    joiner: str = " ",
    refused: Callable[[str], bool] = instruction_like,
) -> tuple[str, list[LessonEvidence]]:
    """Join pieces to a field of at most about `words` words, with its evidence; secrets are masked.

    A piece that repeats an earlier one adds nothing, nor does one that is `refused`, as giving orders. A
    quote that holds a secret is shortened to its longest part without one, so that evidence stays verbatim
    and gives nothing away.
    """
    shown: list[str] = []
    evidence: list[LessonEvidence] = []
    left = float(words)
    for piece in pieces:
        if left < 3:
            break
        raw = cut(piece.text, left)
        text = _plain(masker.mask(piece.text, raw))
        if not text or (text != raw and not text.strip("* ")):
            continue
        # A lesson is read by agents: orders that a log holds must not reach them by this way.
        if refused(text):
            continue
        if any(_same(text, earlier) for earlier in shown):
            continue
        shown.append(text)
        left -= word_count(text)
        quotes = [(step, masker.safe_part(quote)) for step, quote in piece.quotes or []]
        if piece.quotes is None and piece.step is not None:
            quotes = [(piece.step, masker.safe_part(piece.text, raw))]
        for step, safe in quotes:
            entry = LessonEvidence(field=name, step=step, quote=safe)
            if not safe or entry in evidence or refused(safe):
                continue
            if len(evidence) < _MAX_EVIDENCE:
                evidence.append(entry)
    return _join(shown, joiner), evidence


def _join(texts: Sequence[str], joiner: str) -> str:
    joined = ""
    for text in texts:
        if not joined:
            joined = text
        elif joiner == " " and (joined[-1] in "。！？；，：" or CJK.match(joined[-1])):
            joined += ("" if joined[-1] in "。！？；，：" else "；") + text
        elif joiner == " " and joined[-1] not in ".!?;:,…":
            joined += ". " + text if text[0].isupper() else "; " + text
        else:
            joined += joiner + text
    return joined

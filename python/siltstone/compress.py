"""Making a text shorter by leaving sentences out: nothing is reworded, so nothing is invented."""

import re
from collections.abc import Sequence

from siltstone.errors import InvalidArgumentError
from siltstone.sentences import paragraphs, sentences

MIN_BYTES = 16
LEFT_OUT = "[…]\n"  # stands where sentences were left out
_GAP_BYTES = 1 + len(LEFT_OUT.encode())  # a line end before it, where there is none
_ENDS = 8  # an eighth of the space for how it begins, and one for how it ends

# What a sentence says exactly: numbers, versions, addresses, paths, identifiers, codes.
_TOKEN = re.compile(r"[A-Za-z0-9_./:@\\-]+|\d+|[零一二三四五六七八九十百千万两]{2,}")
_EXACT = re.compile(r"[^A-Za-z.:-]|[a-z][A-Z]|[A-Z]{2}")


def compress(text: str, max_bytes: int, *, keep: Sequence[str] = ()) -> str:
    """Sentences of `text`, verbatim and in their order, that take at most `max_bytes` (≥ 16) of UTF-8.

    Taken first, each kind as far as there is space: how the text begins and how it ends; sentences that
    contain one of `keep`, or are in one; sentences with facts (numbers, versions, paths, identifiers) that no
    sentence taken before has; the first of each paragraph; the others. Repeated ones are left out. A gap is
    marked by "[…]" on a line of its own. A text that fits is returned as it is. The same text gives the same
    result, and the time is linear in its length, times the number of `keep`.
    """
    if max_bytes < MIN_BYTES:
        raise InvalidArgumentError(f"max_bytes: {max_bytes} is below {MIN_BYTES}", field="max_bytes")
    if len(text.encode()) <= max_bytes:
        return text
    parts, leads = _parts(text)
    # Each gap is paid for by the sentence behind it, so that what is taken always fits.
    sizes = [len(part.encode()) + _GAP_BYTES for part in parts]
    space = max_bytes - _GAP_BYTES
    taken = [False] * len(parts)
    seen: set[str] = set()

    def take(candidates: Sequence[int], most: int) -> None:
        nonlocal space
        limit = space - most
        for i in candidates:
            said = " ".join(parts[i].split())
            if not taken[i] and said not in seen and space - sizes[i] >= max(0, limit):
                taken[i] = True
                seen.add(said)
                space -= sizes[i]

    everything = range(len(parts))
    share = max_bytes // _ENDS
    take(_leading(sizes, share), share)
    take([len(parts) - 1 - i for i in _leading(sizes[::-1], share)], share)
    wanted = [words for words in (k.strip() for k in keep) if words]
    take([i for i in everything if _meets(parts[i].strip(), wanted)], space)
    take(_with_new_facts(parts, taken), space)
    take([i for i in everything if leads[i]], space)
    take(everything, space)
    if not any(taken):  # one sentence longer than all the space
        start = _cut(text, space)
        return start + _mark(start)
    return _joined(parts, taken)


def _parts(text: str) -> tuple[list[str], list[bool]]:
    """The sentences, and whether each is the first of its paragraph."""
    parts: list[str] = []
    leads: list[bool] = []
    for paragraph in paragraphs(text):
        for number, sentence in enumerate(sentences(paragraph)):
            parts.append(sentence)
            leads.append(number == 0)
    return parts, leads


def _leading(sizes: Sequence[int], share: int) -> list[int]:
    """The first sentences that fit into the share."""
    used, count = 0, 0
    while count < len(sizes) and used + sizes[count] <= share:
        used += sizes[count]
        count += 1
    return list(range(count))


def _meets(sentence: str, wanted: Sequence[str]) -> bool:
    return any(words in sentence or (sentence and sentence in words) for words in wanted)


def _with_new_facts(parts: Sequence[str], taken: Sequence[bool]) -> list[int]:
    known = {fact for part, there in zip(parts, taken, strict=True) if there for fact in _facts(part)}
    found = []
    for i, part in enumerate(parts):
        facts = _facts(part)
        if not taken[i] and not facts <= known:
            known |= facts
            found.append(i)
    return found


def _facts(sentence: str) -> set[str]:
    tokens = (token.strip(".:-") for token in _TOKEN.findall(sentence))
    return {token for token in tokens if _EXACT.search(token)}


def _joined(parts: Sequence[str], taken: Sequence[bool]) -> str:
    out, gap = [""], False
    for part, there in zip(parts, taken, strict=True):
        if there:
            out += [_mark(out[-1]), part] if gap else [part]
        gap = not there
    return "".join([*out, _mark(out[-1])] if gap else out)


def _mark(before: str) -> str:
    return LEFT_OUT if before.endswith("\n") or not before else "\n" + LEFT_OUT


def _cut(text: str, max_bytes: int) -> str:
    return text.encode()[:max_bytes].decode(errors="ignore")

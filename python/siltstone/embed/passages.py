"""Cutting long content into passages that a model takes whole."""

import re
from collections.abc import Callable, Iterator

from siltstone.embed.texts import check_unicode
from siltstone.errors import InvalidArgumentError
from siltstone.model import Lesson
from siltstone.sentences import paragraphs, sentences

MIN_TOKENS = 4  # one character is at most four tokens
# Long runs of blanks or dashes are one token: without a bound on characters a passage could be of any length.
MAX_CHARACTERS_A_TOKEN = 16

_WORD = re.compile(r"\s*+\S++|\s++")  # the blank before a word belongs to its token
_BLOCK = re.compile(r".{1,16}", re.DOTALL)


def split_passages(content: str, max_tokens: int) -> list[str]:
    """Cut `content` into passages of at most `max_tokens` o200k tokens (≥ 4).

    Nor has a passage more than 16 · `max_tokens` characters. Cuts fall at paragraph ends where possible,
    else at sentence ends, words, characters, in this order; each passage takes as many whole pieces as fit.
    Joined, the passages are the content, verbatim. Only empty content gives none. Linear in its length.

    Raises InvalidArgumentError for `max_tokens` below 4 and for a lone surrogate.
    """
    from siltstone import rust_core

    if max_tokens < MIN_TOKENS:
        raise InvalidArgumentError(
            f"max_tokens: {max_tokens} is below {MIN_TOKENS}, the tokens one character may need",
            field="max_tokens",
        )
    check_unicode(content, "content")
    count = rust_core.count_tokens
    pieces = list(_pieces(content, max_tokens, count, 0)) if content else []
    passages: list[str] = []
    start = 0
    while start < len(pieces):
        end, tokens, characters = start, 0, 0
        while end < len(pieces):
            tokens += pieces[end][1]
            characters += len(pieces[end][0])
            if tokens > max_tokens or characters > max_tokens * MAX_CHARACTERS_A_TOKEN:
                break
            end += 1
        passage = "".join(text for text, _ in pieces[start:end])
        # Pieces joined have hardly ever more tokens than apart, but nothing in the tokenizer forbids it.
        while end - start > 1 and count(passage) > max_tokens:
            end -= 1
            passage = "".join(text for text, _ in pieces[start:end])
        passages.append(passage)
        start = end
    return passages


def embedded_texts(content: str, lesson: Lesson | None, max_tokens: int) -> list[str]:
    """What is embedded of a memory: its content in passages, then the problem of its lesson by itself.

    Who asks tells a problem. In one text with cause and solution it is less near to the question than the
    problem of a run that failed and has neither.
    """
    texts = split_passages(content, max_tokens)
    problem = lesson.problem.strip() if lesson else ""
    return [*texts, *split_passages(problem, max_tokens)[:1]] if problem != content.strip() else texts


def _pieces(text: str, max_tokens: int, count: Callable[[str], int], level: int) -> Iterator[tuple[str, int]]:
    """`text` in pieces that fit, with their tokens, cut no finer than needed."""
    tokens = count(text)
    if tokens <= max_tokens and len(text) <= max_tokens * MAX_CHARACTERS_A_TOKEN:
        yield text, tokens
    else:
        for part in _LEVELS[level](text):
            yield from _pieces(part, max_tokens, count, level + 1)


def _words(text: str) -> Iterator[str]:
    return (match[0] for match in _WORD.finditer(text))


def _blocks(text: str) -> Iterator[str]:
    return (match[0] for match in _BLOCK.finditer(text))


_LEVELS: tuple[Callable[[str], Iterator[str]], ...] = (paragraphs, sentences, _words, _blocks, iter)

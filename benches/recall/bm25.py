"""BM25 alone, by a library of its own: words stemmed for English, pairs of characters for Chinese."""

import re
from collections import defaultdict

import bm25s
import Stemmer
from sets import Item, Question

WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]+")
STEMMER = Stemmer.Stemmer("english")


def rank(items: list[Item], questions: list[Question], depth: int) -> dict[str, list[str]]:
    """Question id → item ids, best first. A question's filter on `seq` holds here too."""
    by_space: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_space[item.space].append(item)
    indexes = {}
    for space, members in by_space.items():
        indexes[space] = bm25s.BM25(k1=1.2, b=0.75)
        indexes[space].index([_terms(item.text) for item in members], show_progress=False)
    ranked = {}
    for question in questions:
        members = by_space[question.space]
        scores = indexes[question.space].get_scores(_terms(question.text))
        order = sorted(range(len(members)), key=lambda i: -scores[i])
        allowed = (members[i].id for i in order if _allowed(members[i], question) and scores[i] > 0)
        ranked[question.id] = [id for id, _ in zip(allowed, range(depth), strict=False)]
    return ranked


def _allowed(item: Item, question: Question) -> bool:
    if question.filter is None:
        return True
    return bool(item.attributes["seq"] < question.filter["attributes"]["seq"]["lt"])


def _terms(text: str) -> list[str]:
    terms = []
    for word in WORD.findall(text.lower()):
        if word[0] < "\u3400":
            terms.append(STEMMER.stemWord(word))
        else:
            terms += [word[i : i + 2] for i in range(len(word) - 1)] or [word]
    return terms

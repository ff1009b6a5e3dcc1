"""Whether a new memory takes an older one's place, contradicts it, or neither.

Deciding by text alone must be right when it hides: it does so only where words of replacement
(`siltstone.engine.replacing`) name what the older memory says, about the same thing, and nothing speaks
against. Whatever is less sure is a conflict, which hides nothing; and most is neither.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from siltstone import rust_core
from siltstone.engine.replacing import Sign, find_signs
from siltstone.model import Hit, Lesson, Memory, Verification
from siltstone.sentences import sentences

MAX_JUDGED = 4_000  # characters; a text above is a document, and no answer to a problem
MOST_SIGNS = 12  # that a text is judged by; one with more is a story
LONGEST_HIDDEN = 4  # sentences: what says more than that loses more than what was replaced

_WORD = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9_./:@+#-]*[A-Za-z0-9+#])?|[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)
_STOP_WORDS = """
a about after again all also an and any anymore are as at be because been before being both but by can
could did do does doing done don each for from get gets got had has have he her his how i if in into is it
its just let longer make makes me more most must my need needs no nor not now of off on once only or other
our out over own please rather same set shall she should so some still such than that the their them then
there these they this those through to too under until up use used uses using very was way we were what
when where which while who why will with without would you your instead never always solved fix fixed
solve works work actually caused cause called call run take takes s t kept come comes say says like likes
liked prefer prefers"""
_STOP = frozenset(_STOP_WORDS.split())
_SUFFIXES = ("ations", "ation", "ingly", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "e", "y")
_PARTICLES = frozenset("的了着过吗呢吧啊嘛和与跟及或而但就都也还再又很把被给这那是不没别请")
_AUXILIARIES = _PARTICLES | frozenset("在有用要会能可以时到从个对上下中里为")
_DENIES = re.compile(
    r"\b(?:not|never|avoid|without|don't|doesn't|no)\b|n't\b|不|勿|别|禁止|避免|没有", re.IGNORECASE
)
_FORBIDS = re.compile(
    r"^\s*(?:please )?(?:do not|don't|never|avoid)\b|不要|请勿|切勿|勿|禁止|避免", re.IGNORECASE
)
_DIGITS = re.compile(r"\d[\d.,:]*")
_SCOPE = re.compile(
    r"^\s*(?:on|in|for|with|under|since|from|inside) (?P<scope>[^,;:\n]{1,60}),", re.IGNORECASE
)
_SCOPE_HAN = re.compile(r"^\s*(?:在|对于?)(?P<scope>[^,;:\n]{1,20})(?:上|里|中|下|时)?,")
_CLAUSE_END = re.compile(r"[,;:。!?\n]|\.\s")
_CONTRADICTING = ("numbers", "units", "dates", "negation", "opposites")

# Cosine, of the way from that of unrelated texts to that of equal ones, from which two memories can be about
# the same at all. The hand-written cases lie above .37 in every model; near is not enough, far is.
NEAR = 0.3
_SHOWN = 6  # words in a reason
# Shares of words, set on the hand-written cases of tests/engine/conflict_cases.py.
_NAMED = 0.6  # of what is given up, that the older memory must say
_ABOUT = 0.4  # of the older memory's other words, that the newer must share
_SAME = 0.5  # the same, where the words do not name what is given up
_SAME_PROBLEM = 0.7
_OTHER_PROBLEM = 0.3
_SAME_KNOB = 0.6  # of a solution's words, for two solutions to be about the same thing


class Relation(Enum):
    SUPERSEDES = "superseded"
    CONFLICTS = "conflicts_with"


@dataclass(frozen=True, slots=True)
class Judgement:
    relation: Relation
    reason: str


@dataclass(frozen=True, slots=True)
class Claim:
    """What a new memory says that an older one may have to give way to."""

    memory: Memory
    text: str
    terms: frozenset[str]
    signs: Sequence[
        tuple[Sign, frozenset[str], frozenset[str]]
    ]  # with the terms of what is given up and chosen

    @classmethod
    def of(cls, memory: Memory) -> "Claim | None":
        """None for a memory that can neither replace nor contradict by its text."""
        text = _text(memory)
        if len(text) > MAX_JUDGED:
            return None
        signs = find_signs(text)[:MOST_SIGNS]
        lesson = memory.lesson
        if not signs and not (lesson is not None and lesson.problem and lesson.solution):
            return None
        return cls(memory, text, terms(text), [(s, terms(s.given_up), terms(s.chosen)) for s in signs])


def judge(claim: Claim, old: Memory) -> Judgement | None:
    """What the new memory is to an older one that is near in meaning; None: nothing."""
    new = claim.memory
    text = _text(old)
    if len(text) > MAX_JUDGED or old.verification is Verification.REFUTED or _elsewhere(new, old):
        return None
    if _siblings(new, old):
        return None
    same_problem = _problems(new.lesson, old.lesson)
    if same_problem is not None and same_problem < _OTHER_PROBLEM:
        return None
    same = same_problem is not None and same_problem >= _SAME_PROBLEM
    statements = [_Statement(part) for part in _parts(text)] if claim.signs else []
    judgements = (_weigh(claim, *sign, part, same) for part in statements for sign in claim.signs)
    found = max(filter(None, judgements), key=lambda j: j.relation is Relation.SUPERSEDES, default=None)
    if found is None:
        return _contradiction(new.lesson, old.lesson) if same else None
    if found.relation is Relation.SUPERSEDES and _must_stay(new, old, text):
        return Judgement(Relation.CONFLICTS, found.reason)
    return found


class _Statement:
    """What an older memory says, as far as it is looked at in one piece."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.said = terms(text)

    @cached_property
    def replaced(self) -> frozenset[str]:
        """What it gives up itself. Slow to find, and seldom asked for."""
        return frozenset().union(*(terms(sign.given_up) for sign in find_signs(self.text)[:MOST_SIGNS]))


def _parts(text: str) -> list[str]:
    """A short text whole, or each sentence of a longer one."""
    found = [sentence for sentence in sentences(text) if sentence.strip()]
    return found if len(found) > LONGEST_HIDDEN else [text]


def _weigh(
    claim: Claim,
    sign: Sign,
    given_up: frozenset[str],
    chosen: frozenset[str],
    statement: _Statement,
    same_problem: bool,
) -> Judgement | None:
    """What words of replacement do to a statement of an older memory."""
    text, said = statement.text, statement.said
    if sign.value:
        return _new_value(claim, sign, text)
    given_up -= chosen
    named = bool(given_up)
    if sign.given_up and not named:
        return None
    if named and (
        len(given_up & said) < max(1.0, _NAMED * len(given_up)) or not _names(sign.given_up) <= said
    ):
        return None
    if _already_says(statement, given_up, chosen - given_up, claim.terms):
        return None
    shared = (claim.terms & said) - given_up
    rest = said - given_up
    share = len(shared) / len(rest) if rest else 1.0
    if named:
        whole = len(given_up & said) >= _NAMED * len(said)
        sure = same_problem or whole or (share >= _ABOUT and bool(shared))
    else:
        sure = same_problem or (share >= _SAME and len(shared) >= 2)
    if not sure or _of_another_kind(claim.text, text, given_up):
        return None
    reason = f'"{sign.name}", about the same: {_shown(text, shared | given_up)}'
    scoped = _narrower(sign.sentence, said)
    return Judgement(Relation.CONFLICTS if scoped else Relation.SUPERSEDES, reason)


def _new_value(claim: Claim, sign: Sign, text: str) -> Judgement | None:
    """The thing of the older memory has another value now. Hidden only where it says nothing else."""
    subject = terms(sign.given_up)
    values = set(_DIGITS.findall(sign.chosen))
    said = terms(_DIGITS.sub("", text))
    if not subject or (len(subject) < 2 and len(claim.terms & said) < 3 and subject != said):
        return None
    for sentence in sentences(text):
        numbers = set(_DIGITS.findall(sentence))
        if subject <= terms(sentence) and numbers and not values & numbers:
            alone = sentence.strip() == text.strip() and len(terms(text)) <= 2 * len(subject) + 4
            relation = Relation.SUPERSEDES if alone else Relation.CONFLICTS
            return Judgement(relation, f'"{sign.name}" another value: {_shown(sentence, subject)}')
    return None


def _names(text: str) -> frozenset[str]:
    """The words of a phrase that are names by their form: capitals, digits, signs."""
    return frozenset(term for word in text.split() if re.search(r"[A-Z0-9_]", word) for term in terms(word))


def _already_says(
    statement: _Statement, given_up: frozenset[str], chosen: frozenset[str], about: frozenset[str]
) -> bool:
    """Whether the older memory is on the new one's side: it denies or forbids what is given up, replaces it
    itself, or says what is chosen."""
    if chosen and len(chosen & statement.said) >= max(1.0, _NAMED * len(chosen)):
        return True
    if given_up & statement.replaced:
        return True
    for clause in _CLAUSE_END.split(statement.text):
        forbidden = _FORBIDS.search(clause)
        if forbidden and terms(clause[forbidden.end() :]) & (given_up or about):
            return True
        denial = _DENIES.search(clause)
        if denial and given_up & terms(_reach(clause[denial.end() :])):
            return True
    return False


def _reach(after: str) -> str:
    """The part of a clause that a denial before it can mean."""
    return after[:4] if after[:1] > "\u3000" else " ".join(after.split()[:4])


def _narrower(sentence: str, said: frozenset[str]) -> bool:
    """Whether the sentence speaks of a place or case that the older memory does not: "On Windows, …"."""
    match = _SCOPE.match(sentence) or _SCOPE_HAN.match(sentence)
    scope = terms(match["scope"]) if match else frozenset()
    return bool(scope) and not scope & said


def _of_another_kind(new: str, old: str, given_up: frozenset[str]) -> bool:
    """Whether what both speak of first is told apart by the word before it: unit tests, integration tests."""
    a, b = _units(new), _units(old)
    first = {unit: at for at, unit in reversed(list(enumerate(a)))}
    for at, unit in enumerate(b):
        if unit in first and unit not in given_up:
            before, there = b[at - 1] if at else "", a[first[unit] - 1] if first[unit] else ""
            return bool(before and there) and before != there and before not in first and there not in b
    return False


def _units(text: str) -> list[str]:
    """The words of a text in order; "" between them where a sentence or clause ends. Chinese in the pairs
    that do not overlap within a run."""
    units: list[str] = []
    for clause in _CLAUSE_END.split(text):
        for match in _WORD.finditer(clause.casefold()):
            word = match[0]
            if word.isascii():
                units.append(_stem(word) if word not in _STOP else "")
            else:
                units += [word[i : i + 2] for i in range(0, len(word) - 1, 2)]
        units.append("")
    return units


def _must_stay(new: Memory, old: Memory, text: str) -> bool:
    if old.verification is Verification.CONFIRMED:
        return True
    if new.event_time and old.event_time and new.event_time < old.event_time:
        return True  # written later, but about an earlier time
    return len(_parts(text)) > 1


def _contradiction(new: Lesson | None, old: Lesson | None) -> Judgement | None:
    """Two lessons of one problem whose solutions set the same thing otherwise."""
    if new is None or old is None or not new.solution or not old.solution:
        return None
    if min(_overlap(terms(new.solution), terms(old.solution))) < _SAME_KNOB:
        return None
    difference = rust_core.facts_differ(old.solution, new.solution)
    if difference is None or not difference.startswith(_CONTRADICTING):
        return None
    kind = difference.split(":")[0]
    return Judgement(Relation.CONFLICTS, f"the same problem, another solution ({kind})")


def _problems(new: Lesson | None, old: Lesson | None) -> float | None:
    """How much of each other's words the problems share, 0..1; None where one is not given."""
    if new is None or old is None or not new.problem or not old.problem:
        return None
    return min(_overlap(terms(new.problem), terms(old.problem)))


def _overlap(a: frozenset[str], b: frozenset[str]) -> tuple[float, float]:
    if not a or not b:
        return 0.0, 0.0
    shared = len(a & b)
    return shared / len(a), shared / len(b)


def _elsewhere(new: Memory, old: Memory) -> bool:
    """Whether an attribute of both says that they are about different circumstances."""
    return any(old.attributes[key] != new.attributes[key] for key in old.attributes.keys() & new.attributes)


def _siblings(new: Memory, old: Memory) -> bool:
    """Whether both come from one run: its lessons are meant to stand together."""
    ours, theirs = new.source, old.source
    return bool(ours and theirs and ours.trajectory and ours.trajectory == theirs.trajectory)


def _text(memory: Memory) -> str:
    lesson = memory.lesson
    parts = [memory.content]
    if lesson is not None:
        parts += [part for part in (lesson.problem, lesson.solution) if part and part not in memory.content]
    return unicodedata.normalize("NFKC", "\n".join(parts)).replace("\u2019", "'")


def terms(text: str) -> frozenset[str]:
    """The words of a text that say what it is about: stems without function words, pairs of Chinese
    characters."""
    found: set[str] = set()
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text).casefold()):
        word = match[0]
        if not word.isascii():
            pairs = (word[i : i + 2] for i in range(len(word) - 1))
            found.update(p for p in pairs if not (_PARTICLES.intersection(p) or _AUXILIARIES.issuperset(p)))
        elif word not in _STOP and (stem := _stem(word)) not in _STOP:
            found.add(stem)
    return frozenset(found)


def _shown(text: str, wanted: frozenset[str]) -> str:
    """Some of the words of a text that are among `wanted`, as they are written there."""
    words: dict[str, None] = {}
    for match in _WORD.finditer(text):
        word = match[0] if match[0].isascii() else ""
        if terms(word) & wanted:
            words[word] = None
        run = "" if word else match[0]
        held = [run[i : i + 2] in wanted for i in range(len(run) - 1)] + [False]
        start = 0
        for at, inside in enumerate(held):
            if not inside:
                if at > start:
                    words[run[start : at + 1]] = None
                start = at + 1
    return ", ".join(list(words)[:_SHOWN])


def _stem(word: str) -> str:
    if not word.isalpha():
        return word
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) > 2:
            word = word[: -len(suffix)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def newer_first(hits: list[Hit]) -> list[Hit]:
    """Hits in their order, but one that contradicts older ones above it stands before them. Those in the time
    window stay before those outside."""
    ordered = list(hits)
    for hit in hits:
        if not hit.memory.conflicts_with:
            continue
        at = ordered.index(hit)
        rivals = [
            i
            for i, other in enumerate(ordered[:at])
            if other.memory.id in hit.memory.conflicts_with
            and other.in_window == hit.in_window
            and _when(other.memory) < _when(hit.memory)
        ]
        if rivals:
            ordered.insert(rivals[0], ordered.pop(at))
    return ordered


def _when(memory: Memory) -> tuple[float, str]:
    """When it happened; ids of memories of one moment ascend in the order of writing."""
    return (memory.event_time.timestamp() if memory.event_time else 0.0), memory.id

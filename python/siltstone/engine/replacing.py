"""Words that say that something takes another's place: "use B instead of A", 不再用 A, 改用 B.

Such words are searched sentence by sentence. They alone change nothing: what is given up must be what an
earlier memory says about the same thing (`siltstone.engine.conflicts`). Bare denials ("not", "never", 不) are
no such words, a complementary note is full of them.
"""

import re
import unicodedata
from dataclasses import dataclass

from siltstone.sentences import sentences

# How far a named thing reaches: to the end of its clause.
_EN = r"(?P<{}>[^,;:!?()\n]{{1,90}}?)(?=[,;:!?()\n]|\.(?:\s|$)|\s(?:and|but|because|since|when|if|which|for|to|in|on)\s|$)"
_OLD, _NEW = _EN.format("old"), _EN.format("new")
_BEFORE = r"(?P<old>[^,;:!?()\n]{1,90}?)"
_ZH_OLD = r"(?P<old>[^,。;:!?\n]{1,40})"
_ZH_NEW = r"(?P<new>[^,。;:!?\n]{1,40})"
_VERB = r"(?:us(?:e|es|ing)|prefer|choose|run(?:ning)?|call(?:ing)?|set(?:ting)?|pick|take|try|go with|format|install|write)"
_BE = r"(?:is|are|was|were|has been|have been|had been|got|gets)"
_EARLIER = (
    r"(?:the |that |this |my |our |your )?(?:previous|earlier|former|old|above|first|original|prior)\s(?:\w+\s){0,2}?"
    r"(?:advice|answer|fix|solution|note|claim|assumption|approach|workaround|lesson|memory|statement|diagnosis)"
)

# (what the sign is called in reasons, pattern); the first that fits a place in a sentence counts
_ENGLISH: list[tuple[str, str]] = [
    ("instead of", rf"\binstead of {_OLD}"),
    ("rather than", rf"\b{_VERB}\b[^.;\n]{{0,120}}?\brather than {_OLD}"),
    ("switched from", rf"\b(?:switched|moved|migrated|changed|went|converted)\s(?:\w+\s)?from {_OLD} (?:in)?to {_NEW}"),
    ("replaced by", rf"{_BEFORE}\s{_BE}\s(?:now\s|since\s)?(?:replaced|superseded) (?:by|with) {_NEW}"),
    ("replaced", rf"\b(?:we|i|they|team|has|have)\s(?:\w+\s)?replaced {_OLD} (?:by|with) {_NEW}"),
    ("replaces", rf"(?P<new>[^,;:!?()\n]{{1,90}}?)\s(?:replaces|supersedes) {_OLD}"),
    ("in favor of", rf"\b(?:dropped|abandoned|gave up|retired) {_OLD} in favou?r of {_NEW}"),
    ("no longer", rf"{_BEFORE}\s(?:{_BE}\s|does\s|do\s|should\s|can\s|must\s|will\s)?no longer\b(?P<rest>[^,;:!?()\n]{{0,90}})"),
    ("any more", r"\b(?:do not|don't|does not|doesn't|should not|shouldn't|must not|never) (?P<old>[^,;:!?()\n]{1,90}?) any ?(?:more|longer)\b"),
    ("any more", r"(?P<old>[^,;:!?()\n]{1,90}?)\s(?:does not|do not|did not|doesn't|don't|didn't) (?:help|work|apply|hold|suffice|exist) any ?(?:more|longer)\b"),
    ("turned out not", rf"\bturn(?:s|ed) out,?(?: that)? {_BEFORE} (?:is|was|are|were) not\b"),
    ("stopped", r"\b(?:stop|stopped|quit|gave up|ceased) (?P<old>\w+ing\b[^,;:!?()\n]{0,90}?)(?=[,;:!?()\n]|\.(?:\s|$)|$)"),
    ("turned out wrong", rf"(?:\bthat )?{_BEFORE}\s(?:has |have )?(?:turned|proved|proven)(?: out)? (?:to be )?(?:wrong|false|incorrect|mistaken|untrue|harmful|useless|a mistake)\b"),
    ("was wrong", rf"\b{_EARLIER}\b(?P<rest>[^.;:\n]{{0,90}}?)\s{_BE}\s(?:wrong|false|incorrect|mistaken|a mistake|outdated|invalid)\b"),
    ("deprecated", rf"{_BEFORE}\s{_BE}\s(?:now\s)?(?:deprecated|obsolete|outdated|discontinued|retired)\b"),
    ("actually not", rf"\bactually\b[^.;\n]{{0,120}}?\bnot {_OLD}"),
    ("instead", rf"\b{_VERB} (?P<new>[^,;:!?()\n]{{1,60}}?),? instead\b(?! of)"),
    ("instead", rf"\binstead,? {_VERB} {_NEW}"),
    ("instead", r"\b\w+ (?P<new>[^,;:!?()\n]{1,60}?) instead\s*(?:[.;!\n]|$)"),
    ("correction", r"^\s*(?:correction|erratum)\s*:"),
]  # fmt: skip
_CHINESE: list[tuple[str, str]] = [
    ("从…改为", rf"(?:已经?)?从{_ZH_OLD}?(?:改|换|切换|迁移|迁|转)(?:为|成|到|用){_ZH_NEW}"),
    ("取代", r"(?P<old>[^,。;:!?\n]{1,40}?)(?:已经?|现在|后来)*被(?P<new>[^,。;:!?\n]{1,40}?)(?:所)?(?:取代|替代|替换|代替)"),
    ("取代", rf"(?P<new>[^,。;:!?\n]{{1,40}}?)(?:已经?)?(?:取代|替代|代替|替换)了?{_ZH_OLD}"),
    ("不再", r"(?P<before>[^,。;:!?\n]{0,40}?)(?:不再|再也不)(?:使用|用|需要|推荐|支持|适用)?(?P<old>[^,。;:!?\n]{0,40})"),
    ("不要再", rf"(?:不要再|别再|勿再|不应再|不该再)(?:使用|用)?{_ZH_OLD}"),
    ("已废弃", r"(?P<old>[^,。;:!?\n]{1,40}?)(?:已经?|现在|现已)被?(?:废弃|弃用|作废|淘汰|停用|过时|失效|下线)"),
    ("其实…才对", rf"其实(?:并?不是|并非)(?:因为|由于|由|用)?{_ZH_OLD}"),
    ("不是…而是", rf"(?:并不是|并非|不是)(?:因为|由于|由|用)?{_ZH_OLD},?\s*而是"),
    ("而不是", rf"(?:而不是|而非){_ZH_OLD}"),
    ("之前…不对", r"(?:之前|原来|以前|上次|先前|原先|当初)(?P<rest>[^,。;:!?\n]{0,30}?)(?:说法|方案|做法|结论|办法|方法|建议|答案|判断|解释|记录)(?:是|有|都|被证明)*(?:错|不对|有误|有问题|无效|行不通|不可行|不管用)"),
    ("改用", rf"改用{_ZH_NEW}"),
    ("更正", r"^\s*(?:更正|勘误)\s*:"),
]  # fmt: skip
# A word without which the pattern of that name cannot fit: what stands before it is slow to search for.
_HINTS = {
    "instead of": "instead of",
    "rather than": "rather than",
    "switched from": r"\bfrom\b",
    "replaced by": "replaced|superseded",
    "replaced": "replaced",
    "replaces": "replaces|supersedes",
    "in favor of": "in favou?r",
    "no longer": "no longer",
    "any more": "any ?(?:more|longer)",
    "turned out not": r"\bturn",
    "stopped": "stop|quit|gave up|ceased",
    "turned out wrong": r"\b(?:turned|prove[dn])",
    "was wrong": "wrong|false|incorrect|mistake|outdated|invalid",
    "deprecated": "deprecated|obsolete|outdated|discontinued|retired",
    "actually not": "actually",
    "instead": "instead",
    "correction": "correction|erratum",
    "从…改为": "从",
    "取代": "取代|替代|替换|代替",
    "不再": "不再|再也不",
    "不要再": "不要再|别再|勿再|不应再|不该再",
    "已废弃": "废弃|弃用|作废|淘汰|停用|过时|失效|下线",
    "其实…才对": "其实",
    "不是…而是": "而是",
    "而不是": "而不是|而非",
    "之前…不对": "之前|原来|以前|上次|先前|原先|当初",
    "改用": "改用",
    "更正": "更正|勘误",
}
_PATTERNS = [
    (name, re.compile(_HINTS[name], re.IGNORECASE), re.compile(pattern, re.IGNORECASE))
    for name, pattern in _ENGLISH + _CHINESE
]
_LONGEST_SENTENCE = 600  # characters; above, it is a list or a log
_NEXT_CLAUSE = re.compile(r"\s(?:and|but|because|since|so|to|for)\s")
_QUESTION = re.compile(
    r"^\s*(?:what|why|how|who|when|where|which|can|could|should|do|does|did|is|are|was|were|will|would)\b.*\?\s*$"
    r"|[吗么呢]\s*\??\s*$|为什么|怎么|是否|能不能|可不可以",
    re.IGNORECASE | re.DOTALL,
)
_CHANGED = r"(?:adjusted|increased|raised|reduced|lowered|extended|rescheduled|moved|changed|updated|cut|shortened|postponed|set)"
# What has changed to another value, in the past or the passive: "raise it to 5" is advice and no news.
_VALUES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?P<old>[^,;:!?()\n]{{2,60}}?)\s(?:is|are|was|were|has been|have been|had been|got)\s(?:now\s)?{_CHANGED}\s(?:from [^,;:!?()\n]{{1,30}} )?to (?P<new>[^,;:!?\n]{{1,40}})",
        rf"\b(?:we|i|they|i've|we've|they've|team|has|have)\s(?:just\s)?{_CHANGED} (?P<old>[^,;:!?()\n]{{2,60}}?) (?:from [^,;:!?()\n]{{1,30}} )?to (?P<new>[^,;:!?\n]{{1,40}})",
        r"(?P<old>[^,。;:!?\n把将]{2,30}?)(?:已经|已|现在|后来|又)*(?:被)?(?:调整|提高|降低|增加|减少|延期|推迟|提前|延长|缩短|更新|改|调)(?:为|到|至|成)了?(?P<new>[^,。;:!?\n]{1,30})",
    )
]  # fmt: skip
_VALUE_HINT = re.compile(
    rf"{_CHANGED}\b.*\bto\b.*\d|[改整高低加少期迟前长短新调][为到至成].*\d", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Sign:
    """Words of replacement in one sentence."""

    name: str  # as in reasons: "instead of", 改用
    given_up: str  # what loses its place; "" where the words do not name it
    chosen: str  # what takes it; "" where unnamed
    sentence: str
    value: bool = False  # what is given up is not the thing itself but the value it had


def find_signs(text: str) -> list[Sign]:
    """The words of replacement in a text, in order."""
    folded = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    signs = []
    for sentence in sentences(folded):
        if len(sentence) > _LONGEST_SENTENCE or _QUESTION.search(sentence):
            continue
        for name, hint, pattern in _PATTERNS:
            for match in pattern.finditer(sentence) if hint.search(sentence) else ():
                signs.append(_sign(name, match, sentence))
        for pattern in _VALUES if _VALUE_HINT.search(sentence) else ():
            for match in pattern.finditer(sentence):
                if any(c.isdigit() for c in match["new"]):
                    signs.append(Sign("changed to", match["old"], match["new"], sentence, value=True))
    return signs


def _sign(name: str, match: re.Match[str], sentence: str) -> Sign:
    groups = {key: (value or "").strip() for key, value in match.groupdict().items()}
    given_up, chosen = groups.get("old", ""), groups.get("new", "")
    if name == "no longer":
        # "X no longer works" gives up X; "the team no longer uses X" what follows.
        rest = _NEXT_CLAUSE.split(groups["rest"])[0]
        given_up = rest if len(rest.split()) > 1 else groups["old"]
    elif name == "stopped":
        given_up = _NEXT_CLAUSE.split(given_up)[0]
    elif name == "不再" and not given_up:
        given_up = groups["before"]
    elif name in ("was wrong", "之前…不对"):
        given_up = ""
    return Sign(name, given_up, chosen, sentence)

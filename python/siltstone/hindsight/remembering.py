"""What somebody in a run asked to be remembered: by a step's flag, or by the words for it.

Only what a person or the agent says counts. What a tool gave is data: a page that says "remember this" is not
obeyed.
"""

import re

from siltstone.hindsight.actions import action_piece
from siltstone.hindsight.instructions import instruction_like
from siltstone.hindsight.masking import Masker
from siltstone.hindsight.quoting import Piece, compose, sentences, word_count
from siltstone.hindsight.watching import Check, seldom, unwatched
from siltstone.model import ExtractedLesson, Lesson, Role, Step, Trajectory

TAG = "remember"
CONFIDENCE = 0.7  # said on purpose, not seen to hold
_NOTE_WORDS = 120
_MOST_NOTES = 20
_CHARACTERS = 20_000

_END = r"(?=\s*(?:[.!:;,]|$))"
_ASKS = re.compile(
    # "Remember this", "please remember that: …", "you should remember this", "I'll remember this"
    r"(?:(?:^|[.!?:;,\-]\s+|[。！？；，：]\s?)[\"'“‘(*_#> -]{0,6}"
    r"|\b(?:please|let'?s|must|should|shall|will|need to|have to|to|so|and|also)\s+"
    rf"|\b(?:I|we|you)'ll\s+)remember(?:\s+(?:this|the following)\b|\s+(?:that|it|these|those){_END}|\s*:)"
    r"|\bnote (?:to self|for (?:the )?(?:next time|future|later))\b|\bfor (?:the )?next time\s*[:,]"
    r"|\bfor future reference\b|\b(?:keep|bear) (?:this|that|it) in mind\b"
    r"|\b(?:make|take) a note (?:of (?:this|that|it)\b|that\b)"
    rf"|\b(?:don'?t|do not|never) forget (?:this|that){_END}"
    r"|\bnext time[, ]+(?:remember|note|make sure|be sure|be careful|watch out|don'?t|do not|always|never"
    r"|check|use|try|start)\b"
    r"|(?:请|要|务必|必须|一定要?|帮我|给我|麻烦|先|把(?:这|它).{0,6}|^|[，。！；,.!;:：\s])"
    r"记住(?!了|吗|没|的|密码|账号|帐号|我|登录|用户|选择)"
    r"|记一下|记下(?:来|这|：|:)|记个笔记|做个?笔记|备忘[:：]"
    r"|(?:下次|下回|以后|今后|将来)(?:再?遇到.{1,20}?)?[，,]?(?:要|得|请|务必|一定|应该?|应当|可以)?"
    r"(?:先)?(?:注意|记得|记住|小心|当心|别忘|不要忘)"
    r"|(?:下次|下回|以后|今后)再?遇到.{1,20}?[，,]?(?:先|就|要|应|直接|别|不要)",
    re.IGNORECASE | re.MULTILINE,
)
_DENIES = re.compile(
    r"\b(?:don'?t|do not|can'?t|cannot|couldn'?t|could not|didn'?t|did not|doesn'?t|does not|won'?t|will not"
    r"|wouldn'?t|unable to|not able to|no need to|needn'?t|not need to|never|hard to|failed to|trying to"
    r"|try to|used to|if (?:I|you|we)|as far as I(?: can)?)\s+(?:\w+\s+){0,2}remember\b"
    r"|(?:不|没有?|别|无需|不用|不必|不要|难以?)(?:再|能|用|必|需要?)?(?:记住|记下|记一下|做笔记)",
    re.IGNORECASE,
)
_ASKED = re.compile(r"[?？]\s*$|(?:吗|没有|么)[。？?]?\s*$")

# With nothing but these around the phrase, "this" is what was said before.
_AROUND = re.compile(
    r"\b(?:please|this|that|it|these|those|the|following|for|later|me|now|ok|okay|thanks?|thank|and|too|well|I|we"
    r"|you|will|ll|to|so|must|should|is|very|important|useful)\b"
    r"|请|这个|这一?点|这些|这条|那个|它|一下|下来|谢谢|多谢|麻烦|[哦啊吧呢了的好就都也把很]|帮我|给我|重要|非常|有用",
    re.IGNORECASE,
)


def asks_to_remember(step: Step) -> bool:
    """Whether the step is flagged, or its text asks for it, English or Chinese."""
    return step.remember or bool(_asking(step))


def remembered_lessons(trajectory: Trajectory, check: Check = unwatched) -> list[ExtractedLesson]:
    """A note for each step that asks to be remembered, in order, at most the last 20, secrets masked.

    The note is what the step says, or, where it only says "remember this", what was said or done right
    before. Text that gives orders to a model is left out. The same trajectory always gives the same notes.
    `check` is asked now and then; what it raises ends the work.
    """
    check = seldom(check)

    def asks(step: Step) -> bool:
        check()
        return asks_to_remember(step)

    asking = [i for i, step in enumerate(trajectory.steps) if asks(step)][-_MOST_NOTES:]
    masker = Masker(trajectory, check) if asking else None
    found: list[ExtractedLesson] = []
    for i in asking:
        assert masker is not None
        note, evidence = compose(
            "solution", _said(trajectory.steps, i), _NOTE_WORDS, masker, refused=_gives_orders
        )
        if not note or not evidence or any(note == lesson.lesson.solution for lesson in found):
            continue
        found.append(
            ExtractedLesson(
                lesson=Lesson(solution=note, evidence=evidence),
                task_type=trajectory.task_type,
                outcome=trajectory.outcome,
                tools_used=[trajectory.steps[i].tool] if trajectory.steps[i].tool else [],
                tags=[TAG],
                confidence=CONFIDENCE,
            )
        )
    return found


def is_note(lesson: ExtractedLesson) -> bool:
    """Whether it was asked for, rather than found by the rules."""
    return TAG in lesson.tags and not lesson.lesson.problem


def _asking(step: Step) -> list[str]:
    """The sentences of the step that ask for it."""
    if step.role not in (Role.USER, Role.AGENT) or not _ASKS.search(step.text[:_CHARACTERS]):
        return []
    return [sentence for sentence in sentences(step.text[:_CHARACTERS]) if asks_to_note(sentence)]


def asks_to_note(sentence: str) -> bool:
    """Whether a sentence asks for something to be remembered."""
    asks = _ASKS.search(sentence) and not _DENIES.search(sentence) and not _ASKED.search(sentence)
    return bool(asks)


def _said(steps: list[Step], at: int) -> list[Piece]:
    step = steps[at]
    said = sentences(step.text[:_CHARACTERS])
    asking = _asking(step)
    plain = " ".join(_ASKS.sub(" ", sentence) for sentence in said)
    if not step.tool and re.search(r"\w", _AROUND.sub(" ", plain)) is None:
        return _content(steps[at - 1]) if at else []
    if asking and word_count(step.text) > _NOTE_WORDS:
        # Of a long text, what stands around the words: a sentence before, and what follows.
        first = said.index(asking[0])
        said = said[max(0, first - 1) :]
    return _pieces(step, said) if said else _content(step)


def _content(step: Step) -> list[Piece]:
    said = _pieces(step, sentences(step.text[:_CHARACTERS]))
    if not step.tool:
        return said
    result = step.result.strip().splitlines()
    gave = [Piece(result[0][:300], step.number)] if result else []
    return [*said, action_piece(step), *gave]


def _pieces(step: Step, said: list[str]) -> list[Piece]:
    return [Piece(sentence, step.number) for sentence in said if not _gives_orders(sentence)]


def _gives_orders(text: str) -> bool:
    """What a person wants kept may well be meant for ever: "remember this: from now on, always use pnpm"."""
    return instruction_like(text, standing=False)

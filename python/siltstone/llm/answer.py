"""What a model said, held against the log: a claim that the log does not prove is dropped."""

import re
from dataclasses import dataclass, field
from json import JSONDecoder
from typing import Any

from jsonschema import Draft202012Validator

from siltstone.errors import InvalidArgumentError
from siltstone.hindsight.building import CAUSE_WORDS, FAILED, PROBLEM_WORDS, SOLUTION_WORDS, STATED, VERIFIED
from siltstone.hindsight.instructions import TAG, instruction_like
from siltstone.hindsight.masking import MASK
from siltstone.hindsight.quoting import CJK, word_count
from siltstone.hindsight.run import Run, content_words, is_success
from siltstone.hindsight.untrusted import check_value, read_json
from siltstone.model import ExtractedLesson, Lesson, LessonEvidence, Outcome, Step

_MOST_LESSONS = 8
_MOST_QUOTES = 6  # of one field
_MAX_QUOTE = 500  # characters
_SHORTEST_QUOTE = 8
_SHORTEST_CHINESE = 4
_FROM_GOAL = 0.7  # share of a problem's words that stand in the goal
_SLACK = 1.5  # a model counts words badly
_WORDS = {"problem": PROBLEM_WORDS, "root_cause": CAUSE_WORDS, "solution": SOLUTION_WORDS}
_LABEL = re.compile(r"[\w][\w .+-]{0,39}")
# Words that are right or wrong to the letter: with a digit, or a path, flag or identifier.
_EXACT = re.compile(
    r"[A-Za-z0-9_.-]*\d[A-Za-z0-9_.-]*|(?<![A-Za-z0-9/])[~.]{0,2}/[A-Za-z0-9_./-]+|[A-Za-z0-9]+_[A-Za-z0-9_]+"
)

_CLAIM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "evidence": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"step": {"type": "integer"}, "quote": {"type": "string"}},
                "required": ["step", "quote"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["text", "evidence"],
    "additionalProperties": False,
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "lessons": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "problem": _CLAIM,
                    "root_cause": _CLAIM,
                    "solution": _CLAIM,
                    "task_type": {"type": "string"},
                    "outcome": {"type": "string", "enum": [outcome.value for outcome in Outcome]},
                    "confidence": {"type": "number"},
                },
                "required": ["problem", "root_cause", "solution", "task_type", "outcome", "confidence"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["lessons"],
    "additionalProperties": False,
}
_VALIDATOR = Draft202012Validator(SCHEMA)


@dataclass(slots=True)
class Checked:
    """The lessons that hold, and what was wrong with the rest."""

    lessons: list[ExtractedLesson] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)  # for the model; they repeat its words
    reason: str = ""  # for everybody else, where no lesson holds


def check_answer(text: str, run: Run) -> Checked:
    """The lessons in a model's answer that the run proves.

    A claim is kept when each of its quotes stands verbatim (blanks aside) in a step that exists, when every
    exact word in it (number, version, path, identifier) stands in the log, and when it gives no orders. A
    lesson is kept when its problem is, and its cause or its solution, or where the run failed.
    """
    try:
        value = _parsed(text)
    except ValueError as error:
        return Checked(faults=[f"not JSON: {error}"], reason="its answer is not JSON")
    wrong = next(iter(_VALIDATOR.iter_errors(value)), None)
    if wrong is not None:
        place = "/".join(str(part) for part in wrong.absolute_path) or "the answer"
        return Checked(
            faults=[f"{place}: breaks the schema ({wrong.validator})"],
            reason="its answer is not of the schema",
        )
    if not value["lessons"]:
        return Checked(faults=["no lessons"], reason="it found no lesson")
    checked = Checked(reason="no claim of its answer is proven by the log")
    log = _Log(run)
    for index, given in enumerate(value["lessons"][:_MOST_LESSONS]):
        found = _lesson(given, f"lessons[{index}]", log, checked.faults)
        if found is not None and all(found.lesson != kept.lesson for kept in checked.lessons):
            checked.lessons.append(found)
    return checked


def _parsed(text: str) -> Any:
    """The JSON object in an answer, with or without a fence or words around it."""
    start = text.find("{")
    if start < 0:
        raise ValueError("holds no object")
    try:
        _, end = JSONDecoder().raw_decode(text, start)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    value = read_json(text[start:end])
    try:
        check_value(value, "the answer")
    except InvalidArgumentError as error:
        raise ValueError(str(error)) from None
    return value


class _Log:
    """The texts of a run that a claim may stand on."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.steps = {step.number: step for step in run.steps}
        self._folded = "\n".join([run.trajectory.goal, *(t for s in run.steps for t in _texts(s))]).casefold()
        self._shown: dict[int, list[str]] = {}

    def holds(self, word: str) -> bool:
        return word.strip(".-").casefold() in self._folded

    def quote_in(self, number: int, quote: str) -> str:
        """The quote as it stands in the step, its longest part without a mask; "" where it does not."""
        wanted = quote.strip()[:_MAX_QUOTE]
        if number not in self.steps or not wanted:
            return ""
        pattern = re.compile(r"\s+".join(re.escape(word) for word in wanted.split()))
        for text in self._texts_of(number):
            match = pattern.search(text)
            if match and (_long_enough(match[0]) or match[0] == text.strip()):
                longest = max(match[0].split(MASK), key=len).strip()
                return self.run.masker.safe_part(longest) if longest else ""
        return ""

    def _texts_of(self, number: int) -> list[str]:
        """The texts of a step, and as the model saw those that hold secrets."""
        if number not in self._shown:
            texts = _texts(self.steps[number])
            hidden = [self.run.masker.mask(text) for text in texts]
            self._shown[number] = [*texts, *(text for text in hidden if text not in texts)]
        return self._shown[number]


def _lesson(given: dict[str, Any], where: str, log: _Log, faults: list[str]) -> ExtractedLesson | None:
    lesson = Lesson()
    for name in ("problem", "root_cause", "solution"):
        text, evidence = _claim(given[name], name, f"{where}.{name}", log, faults)
        setattr(lesson, name, text)
        lesson.evidence += evidence
    run = log.run
    known = run.trajectory.outcome is not Outcome.UNKNOWN
    outcome = run.trajectory.outcome if known else Outcome(given["outcome"])
    if not lesson.problem or not (lesson.root_cause or lesson.solution or outcome is Outcome.FAILURE):
        faults.append(f"{where}: nothing is left of it")
        return None
    # A model's own certainty is worth little: it may lower what was seen, never raise it.
    seen = VERIFIED if known and is_success(outcome) else FAILED if outcome is Outcome.FAILURE else STATED
    cited = [log.steps[number] for number in sorted({entry.step for entry in lesson.evidence})]
    tags = run.tags(cited, " ".join([lesson.problem, lesson.root_cause, lesson.solution]))
    if any(step.number in run.flagged for step in cited):
        tags.append(TAG)
    label = given["task_type"].strip()
    return ExtractedLesson(
        lesson=lesson,
        task_type=run.trajectory.task_type or (label if _LABEL.fullmatch(label) else ""),
        outcome=outcome,
        tools_used=list(run.tools_used),
        tags=tags,
        confidence=min(seen, max(0.0, float(given["confidence"]))),
    )


def _claim(
    given: dict[str, Any], name: str, where: str, log: _Log, faults: list[str]
) -> tuple[str, list[LessonEvidence]]:
    """The text of a field and its evidence; ("", []) when it does not hold, with the reason in `faults`."""
    text = " ".join(log.run.masker.mask(given["text"]).split())
    if not text:
        return "", []
    evidence: list[LessonEvidence] = []
    fault = ""
    missing = [word for word in _EXACT.findall(text) if len(word) > 1 and not log.holds(word)]
    if word_count(text) > _WORDS[name] * _SLACK:
        fault = f"longer than {_WORDS[name]} words"
    elif instruction_like(text):
        fault = "repeats orders that the log holds"
    elif missing:
        fault = f"{', '.join(missing[:3])}: stands nowhere in the log"
    for entry in given["evidence"][:_MOST_QUOTES]:
        if entry["step"] not in log.steps:
            fault = fault or f"there is no step {entry['step']}"
            continue
        quote = log.quote_in(entry["step"], entry["quote"])
        if not quote or instruction_like(quote):
            fault = fault or f"a quote does not stand in step {entry['step']} to the letter"
            continue
        found = LessonEvidence(field=name, step=int(entry["step"]), quote=quote)
        if found not in evidence:
            evidence.append(found)
    if not evidence and not (name == "problem" and _told_by_goal(text, log.run)):
        fault = fault or "has no evidence"
    if fault:
        faults.append(f"{where}: {fault}")
        return "", []
    return text, evidence


def _told_by_goal(text: str, run: Run) -> bool:
    words = content_words(text)
    return bool(words) and len(words & content_words(run.trajectory.goal)) >= _FROM_GOAL * len(words)


def _long_enough(quote: str) -> bool:
    return len(quote) >= _SHORTEST_QUOTE or len(CJK.findall(quote)) >= _SHORTEST_CHINESE


def _texts(step: Step) -> list[str]:
    return [step.text, step.result, *_leaves(step.arguments)]


def _leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [str(value)] if str(value).strip() else []

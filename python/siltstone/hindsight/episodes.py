"""What a stretch of actions in a browser achieved, in words: opened, logged in, submitted, failed."""

import json
from dataclasses import dataclass

from siltstone.hindsight.browser import Action, Verb
from siltstone.hindsight.failure import error_line
from siltstone.hindsight.masking import strings
from siltstone.hindsight.quoting import cut, sentences
from siltstone.hindsight.run import Run
from siltstone.model import Step

_MOST_FIELDS = 6
_MOST_CLICKS = 5
_MOST_NOTES = 3
_VALUE_WORDS = 8
_NOTE_WORDS = 16

Pair = tuple[Step, Action]
Quotes = list[tuple[int, str]]

_ENGLISH = {
    "opened": "opened {0}",
    "back": "went back",
    "login": "logged in as {0}",
    "login_nobody": "logged in",
    "login_try": "tried to log in as {0}",
    "login_try_nobody": "tried to log in",
    "submitted": "submitted the form: {0}",
    "filled": "filled in {0}",
    "secret": "entered a secret",
    "clicked": "clicked {0}",
    "clicked_some": "clicked {0} elements",
    "clicked_one": "clicked an element",
    "looked": "looked at the page",
    "pressed": "pressed {0}",
    "failed": "failed at {0}",
    "failed_after": "failed after {0}",
    "retried": "tried {0} times",
    "and": "; ",
    "list": ", ",
    "quoted": "“{0}”",
    "error": ": {0}",
    "aside": " ({0})",
}
_CHINESE = {
    "opened": "打开了 {0}",
    "back": "返回了上一页",
    "login": "以 {0} 登录",
    "login_nobody": "登录",
    "login_try": "尝试以 {0} 登录",
    "login_try_nobody": "尝试登录",
    "submitted": "提交了表单：{0}",
    "filled": "填写了 {0}",
    "secret": "输入了密钥",
    "clicked": "点击了 {0}",
    "clicked_some": "点击了 {0} 个元素",
    "clicked_one": "点击了一个元素",
    "looked": "查看了页面",
    "pressed": "按了 {0}",
    "failed": "失败于 {0}",
    "failed_after": "失败，在 {0} 之后",
    "retried": "尝试 {0} 次",
    "and": "；",
    "list": "、",
    "quoted": "“{0}”",
    "error": "：{0}",
    "aside": "（{0}）",
}


@dataclass(slots=True)
class Failure:
    """The action that failed last and was not made good."""

    step: Step
    after: bool  # it worked, and what came next failed without leaving a step
    told: list[Step]  # the steps that tell of the failure
    error: str = ""


def describe(run: Run, pairs: list[Pair]) -> tuple[str, Quotes, Failure | None]:
    """What these actions achieved, the words that prove it, and how they failed (None: they did not)."""
    words = _CHINESE if run.chinese else _ENGLISH
    quotes: Quotes = []
    failure = _failing(run, pairs)
    until = failure.step.number if failure else pairs[-1][0].number + 1
    done = [pair for pair in pairs if pair[0].number < until]
    acted = [pair for pair in done if pair[1].verb is not Verb.NOTE]
    # An action that was tried before and failed again is told once, with the failure.
    told = [pair for pair in acted if failure is None or not _same(pair[0], failure.step)]
    parts = _opened(told, words, quotes)
    parts += _typed(run, told, failure is None, words, quotes)
    parts += _clicked(run, told, done, words, quotes)
    if not parts and not failure:
        parts = [words["looked"]]
    if failure is not None:
        parts.append(_failure(pairs, failure, words, quotes))
    if not quotes:
        quotes = [(step.number, text) for step, _ in pairs for text in _leaf(run, step)][:1]
    steps = {step.number: step for step, _ in pairs}
    return words["and"].join(parts), [q for q in quotes if verbatim(steps[q[0]], q[1])], failure


def _same(a: Step, b: Step) -> bool:
    return (a.tool, a.arguments) == (b.tool, b.arguments)


def _failing(run: Run, pairs: list[Pair]) -> Failure | None:
    failed = [index for index, (step, _) in enumerate(pairs) if _is_failure(run, step)]
    if not failed:
        return None
    last, action = pairs[failed[-1]]
    if action.verb is not Verb.NOTE:
        again = (step for step, _ in pairs[failed[-1] + 1 :] if _same(step, last))
        return None if any(not run.failed(step) for step in again) else Failure(last, False, [last])
    # A verdict is about the actions since the last good one.
    verdicts = [i for i, (s, a) in enumerate(pairs) if a.verb is Verb.NOTE and i not in failed]
    since = max((i for i in verdicts if i < failed[-1]), default=-1) + 1
    told = [pairs[i][0] for i in failed if i >= since]
    judged = [pair for pair in pairs[since : failed[-1]] if pair[1].verb is not Verb.NOTE]
    chosen = [pair for pair in judged if pair[1].verb is not Verb.LOOK] or judged
    if chosen:
        return Failure(chosen[-1][0], False, told)
    before = [step for step, a in pairs[: failed[-1]] if a.verb is not Verb.NOTE]
    return Failure(before[-1] if before else last, bool(before), told)


def _is_failure(run: Run, step: Step) -> bool:
    if run.failed(step):
        return True
    status = step.arguments.get("status")
    return "reason" in step.arguments and isinstance(status, str) and status.casefold().startswith("fail")


def _opened(pairs: list[Pair], words: dict[str, str], quotes: Quotes) -> list[str]:
    parts = []
    for step, action in pairs:
        if action.verb is Verb.OPEN and action.value:
            parts.append(words["opened"].format(cut(action.value, 12)))
            quotes.append((step.number, cut(action.value, 12)))
        elif action.verb is Verb.BACK and words["back"] not in parts:
            parts.append(words["back"])
    return parts


def _typed(run: Run, pairs: list[Pair], worked: bool, words: dict[str, str], quotes: Quotes) -> list[str]:
    """Fields that were filled, and whether as a log-in or a form that was sent."""
    fields: dict[str, str] = {}
    secret = False
    after = False  # something was clicked or pressed after the last field
    submitted = False
    for step, action in pairs:
        if action.verb in (Verb.TYPE, Verb.SELECT):
            after = submitted = False
            shown = run.masker.mask(action.value) if action.value else ""
            secret = secret or action.secret or "***" in shown
            if shown and "***" not in shown:
                value = cut(shown, _VALUE_WORDS)
                fields[action.label or "#" + _place(step)] = value
                quotes.append((step.number, value))
        elif action.verb in (Verb.CLICK, Verb.PRESS):
            after = True
        submitted = submitted or action.submits
    if not fields and not secret:
        return []
    shown = words["list"].join(
        [(f"{name} = " if not name.startswith("#") else "") + f"“{value}”" for name, value in fields.items()][
            :_MOST_FIELDS
        ]
    )
    if secret and len(fields) <= 2:
        user = next(iter(fields.values()), "")
        name = "login" if worked and (submitted or after) else "login_try"
        return [words[name].format(user) if user else words[name + "_nobody"]]
    parts = [words["submitted" if worked and submitted else "filled"].format(shown)] if shown else []
    return parts + ([words["secret"]] if secret else [])


def _clicked(
    run: Run, told: list[Pair], done: list[Pair], words: dict[str, str], quotes: Quotes
) -> list[str]:
    """What was clicked by its name; where the log gives no names, what the agent says about it."""
    clicks = [pair for pair in told if pair[1].verb is Verb.CLICK]
    last_field = max((s.number for s, a in told if a.verb in (Verb.TYPE, Verb.SELECT)), default=0)
    labels: dict[str, int] = {}
    for step, action in clicks:
        sent = action.submits and step.number > last_field > 0
        if action.label and not sent:
            labels.setdefault(action.label, step.number)
    for label, number in list(labels.items())[:_MOST_CLICKS]:
        quotes.append((number, label))
    parts = []
    if labels:
        shown = [words["quoted"].format(label) for label in list(labels)[:_MOST_CLICKS]]
        parts.append(words["clicked"].format(words["list"].join(shown)))
    unnamed = len({_place(step) for step, action in clicks if not action.label})
    notes = _notes(done)
    if unnamed and notes:
        for number, note in notes:
            quotes.append((number, note))
            parts.append(run.masker.mask(note))
    elif unnamed:
        parts.append(words["clicked_some"].format(unnamed) if unnamed > 1 else words["clicked_one"])
    keys = [action.value for _, action in told if action.verb is Verb.PRESS and not action.submits]
    if keys and not parts and not last_field:
        parts.append(words["pressed"].format(words["list"].join(dict.fromkeys(keys[:_MOST_CLICKS]))))
    return parts


def _notes(pairs: list[Pair]) -> list[tuple[int, str]]:
    """What the agent says that its actions did, the last first said last."""
    found: dict[str, int] = {}
    for step, action in pairs:
        text = action.note or step.text
        said = sentences(text)
        if said:
            note = cut(said[0] if action.verb is Verb.NOTE else said[-1], _NOTE_WORDS)
            found.setdefault(note, step.number)
    return [(number, note) for note, number in list(found.items())[-_MOST_NOTES:]]


def _failure(pairs: list[Pair], failure: Failure, words: dict[str, str], quotes: Quotes) -> str:
    action = next((action for other, action in pairs if other is failure.step), Action(Verb.NOTE))
    what = action.label or (action.value if action.verb is Verb.OPEN else "")
    shown = " ".join([failure.step.tool, *([words["quoted"].format(cut(what, 12))] if what else [])])
    text = words["failed_after" if failure.after else "failed"].format(shown.strip())
    tries = sum(_same(other, failure.step) for other, _ in pairs)
    if tries > 1 and not failure.after:
        text += words["aside"].format(words["retried"].format(tries))
    reasons: list[str] = []
    for step in failure.told:
        said = step.result or step.text or str(step.arguments.get("reason", ""))
        reason = (error_line(step.result) if step.result else "") or cut(next(iter(sentences(said)), ""), 24)
        if reason and reason not in reasons:
            reasons.append(reason)
            quotes.append((step.number, reason))
    failure.error = words["and"].join(reasons)
    return text + (words["error"].format(failure.error) if reasons else "")


def verbatim(step: Step, quote: str) -> bool:
    """Whether a quote stands in its step as it is; labels and values may have been put together."""
    if any(quote in text for text in (step.text, step.result, *strings(step.arguments))):
        return True
    return quote in json.dumps(step.arguments, ensure_ascii=False, default=str)


def _place(step: Step) -> str:
    """Where on the page an action was, to tell whether another was there, too."""
    kept = step.arguments.items()
    return str(sorted((name, value) for name, value in kept if name not in ("value", "text", "input_text")))


def _leaf(run: Run, step: Step) -> list[str]:
    """Some word of a call, where it has no better ones."""
    texts = [str(value) for value in step.arguments.values() if isinstance(value, str | int) and str(value)]
    return [cut(text, 12) for text in texts if run.masker.mask(text) == text]

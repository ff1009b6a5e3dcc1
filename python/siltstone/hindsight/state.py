"""Where a running task stands, read from its steps by rules: what was done, the last error, what is open.

Short and bounded however long the log is: every text is cut, every list ends. What a line says stands in the
step it names; secrets are masked. Lists grow at their end and lose their beginning in blocks, so that a
prompt made of them keeps its prefix from turn to turn.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from siltstone.hindsight.actions import (
    action_piece,
    alike,
    answer_piece,
    command_of,
    is_answer,
    is_thinking,
    signature,
)
from siltstone.hindsight.browser import action_of
from siltstone.hindsight.failure import error_line, is_reading, result_failed
from siltstone.hindsight.folding import fold
from siltstone.hindsight.masking import MASK
from siltstone.hindsight.quoting import cut, sentences
from siltstone.hindsight.run import Run, content_words
from siltstone.hindsight.secret_fields import typed_secrets
from siltstone.hindsight.secrets import named_secrets, secret_spans
from siltstone.hindsight.signals import cause_weight, is_courtesy, is_doubt, is_plan, is_question, is_request
from siltstone.model import DerivedState, Role, Step, Trajectory

MOST_DONE, DONE_BLOCK = 20, 10
MOST_FINDINGS, FINDINGS_BLOCK = 6, 3
MOST_OPEN = 4
_ACTION_WORDS = 10
_FOLDED_WORDS = 24
_FAILED = " — failed"
_SENTENCE_WORDS = 24
_TEXT = 4_000  # characters of a step's text and of its result's ends that the rules read
_RECENT = 3  # the last steps in which a plan still counts as open
_LEAST_TYPED = 3  # characters of what was typed that are looked for elsewhere
_SHARED = 2  # words that a denial or a cause shares with the hypothesis it settles

_HYPOTHESIS = re.compile(
    r"\b(?:I|we) (?:think|suspect|believe|guess|assume)\b|\bmy (?:guess|theory|hypothesis|suspicion)\b"
    r"|\bhypothesis\b\s*:|\b(?:maybe|perhaps|probably|possibly|presumably)\b"
    r"|\b(?:cause|reason|problem|issue|bug|error|it|this|that) (?:may|might|could) (?:well )?be\b"
    r"|\b(?:is|seems?|appears?) likely\b|\blikely (?:cause|reason|because|due)\b"
    r"|(?<!不)可能(?:就|还|也)?(?:是|因为|由于|在于|出在|没|被|需要)|怀疑|我(?:觉得|认为|猜|估计|推测)|也许"
    r"|大概(?:是|因为)|应该是|猜测|推测|估计是|会不会是|看起来(?:像|是)|似乎是?",
    re.IGNORECASE,
)
_SETTLED = re.compile(
    r"\b(?:not|isn't|wasn't|rules? out|ruled out|unlikely)\b"
    r"|\b(?:did|does)(?: not|n't) (?:help|work|change|fix)"
    r"|\bno (?:effect|change)\b|不是|并非|排除|没用|无效|不管用",
    re.IGNORECASE,
)
_FOUND = re.compile(
    r"\b(?:I|we)(?:'ve| have)? (?:found|confirmed|verified|discovered|noticed)\b|\bit turns out\b"
    r"|\b(?:the|my) (?:final )?answer is\b|\bconfirmed that\b"
    r"|发现(?:了|，|：|:)?|确认(?:了|，|：|:)|查明|得知|原来|结论(?:是|：|:)|答案(?:是|：|:)",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\bTODO\b|\bstill (?:need|have|has|to be|missing|open)\b|\b(?:remains?|left) to (?:be )?\w+"
    r"|\b(?:remaining|open|unresolved) (?:issue|problem|question|task|step|point)s?\b|\bnext(?: step)?[,:]"
    r"|还(?:需要?|要|没有?|差|得)|尚未|待(?:办|确认|解决|处理|验证)|剩下|未完成|接下来|下一步",
    re.IGNORECASE,
)


def derive_state(steps: Sequence[Step], *, before: int = 0) -> DerivedState:
    """The state that these steps leave, in the order of the log.

    Steps without a tool and without words that tell a cause, a doubt, a plan or a request leave no trace. The
    same steps always give the same state.

    Args:
        before: so many steps of the log are before them and are not looked at.
    """
    failures = {step.number: _failed(step) for step in steps if step.tool or step.result}
    state = DerivedState(
        findings=_findings(steps),
        open_points=_open_points(steps, failures),
        current_hypothesis=_hypothesis(steps),
    )
    done = _done(steps, failures)
    hidden = block_start(len(done), MOST_DONE, DONE_BLOCK)
    state.dropped = before + hidden
    state.steps_done = done[hidden:]
    for step in reversed(steps):
        if failures.get(step.number):
            state.last_error = _error(step)
            state.last_error_step = step.number
            break
    for value in {value for value in typed_secrets(steps) if len(value) >= _LEAST_TYPED}:
        # which field it went into, another step says
        state.steps_done = [line.replace(value, MASK) for line in state.steps_done]
        state.findings = [line.replace(value, MASK) for line in state.findings]
        state.open_points = [line.replace(value, MASK) for line in state.open_points]
        state.current_hypothesis = state.current_hypothesis.replace(value, MASK)
        state.last_error = state.last_error.replace(value, MASK)
    return state


def essential_goal(goal: str) -> str:
    """A goal without the prompt that a known kind of agent puts around it."""
    return Run(Trajectory(goal=goal)).goal or goal


def step_line(step: Step, words: int = _ACTION_WORDS) -> str:
    """One step in a line: the action, or else the words."""
    if step.tool:
        piece = answer_piece(step) if is_answer(step) else action_piece(step, words)
        return _masked(_flat(cut(piece.text, 2 * words)), step)
    return _masked(_flat(cut(_flat(step.text[:_TEXT]), words)), step)


def _failed(step: Step) -> bool:
    return step.is_error or result_failed(step.result, reading=is_reading(step.tool, command_of(step)))


def _done(steps: Sequence[Step], failures: dict[int, bool]) -> list[str]:
    """A line for each action, repeats in a row as one with their count; clicks and typing as what they
    achieved."""
    if any(action_of(step) for step in steps):
        return _folded(steps)
    shown: list[tuple[str, int]] = []
    for step in steps:
        if step.role is Role.USER and not step.tool:
            line = "" if is_courtesy(step.text[:_TEXT]) else step_line(step)
            line = f"user: {line}" if line else ""
        elif step.tool and not is_thinking(step):
            line = step_line(step) + (_FAILED if failures.get(step.number) else "")
        else:
            continue
        if shown and shown[-1][0] == line:
            shown[-1] = (line, shown[-1][1] + 1)
        elif line:
            shown.append((line, 1))
    return [line + _times(count) for line, count in shown]


def _folded(steps: Sequence[Step]) -> list[str]:
    short = [replace(step, text=step.text[:_TEXT], result=step.result[:_TEXT]) for step in steps]
    return [
        cut(_flat(step.text), _FOLDED_WORDS) + (_FAILED if step.failed else "") + _times(step.count)
        for step in fold(Trajectory(steps=short))
        if step.text.strip() and (step.tool or step.low_level or step.role is Role.USER)
    ]


def _times(count: int) -> str:
    return "" if count == 1 else f" (×{count})"


def _error(step: Step) -> str:
    line = error_line(step.result) or _flat(step.result[:_TEXT]) or _flat(step.text[:_TEXT])
    action = step_line(step) if step.tool else ""
    return " → ".join(part for part in (action, _masked(cut(_flat(line), 40), step)) if part)


def _findings(steps: Sequence[Step]) -> list[str]:
    """Causes that the agent stated and what it says it found, each once, and answers that were handed in."""
    found: dict[str, None] = {}
    for step in steps:
        if is_answer(step):
            found[step_line(step)] = None
        for sentence in _agent_sentences(step):
            if is_question(sentence) or is_plan(sentence) or is_doubt(sentence) or is_courtesy(sentence):
                continue
            if cause_weight(sentence) >= 3 or _FOUND.search(sentence):
                found[_masked(cut(sentence, _SENTENCE_WORDS), step)] = None
    lines = list(found)
    return lines[block_start(len(lines), MOST_FINDINGS, FINDINGS_BLOCK) :]


def _hypothesis(steps: Sequence[Step]) -> str:
    """What the agent last said it holds for likely, until it says that it is not so, or what else is."""
    held, words = "", set[str]()
    for step in steps:
        for sentence in _agent_sentences(step):
            if _HYPOTHESIS.search(sentence) and not is_courtesy(sentence) and not _is_request(sentence):
                held, words = _masked(cut(sentence, _SENTENCE_WORDS), step), content_words(sentence)
            elif _settles(sentence) and len(words & content_words(sentence)) >= _SHARED:
                held = ""
    return held


def _settles(sentence: str) -> bool:
    return _SETTLED.search(sentence) is not None or cause_weight(sentence) >= 3


def _is_request(sentence: str) -> bool:
    return is_question(sentence) and re.search(r"\byou\b|您|你", sentence, re.IGNORECASE) is not None


def _open_points(steps: Sequence[Step], failures: dict[int, bool]) -> list[str]:
    """What a person asked for after the agent's last word, actions that failed and never worked since, and
    what the agent said is still to do in its last words."""
    failing: dict[tuple[str, frozenset[str]], str] = {}
    asked: list[str] = []
    for step in steps:
        if step.tool and not is_thinking(step):
            key = (step.tool, signature(step))
            for known in [k for k in failing if k[0] == step.tool and alike(k[1], key[1])]:
                del failing[known]
            if failures.get(step.number):
                failing[key] = f"still failing: {step_line(step)}"
        if step.role is Role.USER:
            said = [sentence for sentence in sentences(step.text[:_TEXT]) if is_request(sentence)]
            asked = [_masked(cut(sentence, _SENTENCE_WORDS), step) for sentence in said[-2:]]
        elif step.role is Role.AGENT:
            asked = []
    planned: list[str] = []
    for step in [step for step in steps if step.role is Role.AGENT and step.text.strip()][-_RECENT:]:
        for sentence in _agent_sentences(step):
            if _OPEN.search(sentence) and not is_question(sentence) and not is_courtesy(sentence):
                planned.append(_masked(cut(sentence, _SENTENCE_WORDS), step))
    points = dict.fromkeys([*list(failing.values())[-2:], *planned[-2:], *asked])
    return list(points)[-MOST_OPEN:]


def _agent_sentences(step: Step) -> list[str]:
    if step.role is not Role.AGENT:
        return []
    said = sentences(step.text[:_TEXT])
    if is_thinking(step):
        said += [s for v in step.arguments.values() if isinstance(v, str) for s in sentences(v[:_TEXT])]
    return said


def block_start(count: int, most: int, block: int) -> int:
    """Where a list of at most `most` begins: it moves on by whole blocks."""
    return 0 if count <= most else -(-(count - most) // block) * block


def _masked(text: str, step: Step) -> str:
    for value in (*named_secrets(step.arguments), *typed_secrets([step])):
        if len(value) >= 3:
            text = text.replace(value, MASK)
    spans = sorted(secret_spans(text), reverse=True)
    for start, stop in spans:
        text = text[:start] + MASK + text[stop:]
    return text


def _flat(text: str) -> str:
    return " ".join(text.split())

"""Folding: clicks, keys and typing become what they achieved; loops and retries one step with a count."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from siltstone.hindsight.actions import action_piece, answer_piece, is_answer
from siltstone.hindsight.adapters.browser_use import NAME as BROWSER_USE
from siltstone.hindsight.browser import Action, Verb, action_of
from siltstone.hindsight.episodes import describe, verbatim
from siltstone.hindsight.failure import error_line
from siltstone.hindsight.quoting import Piece, cut
from siltstone.hindsight.run import Run, numbered
from siltstone.model import Role, Step, Trajectory

_LONGEST_LOOP = 4  # steps of a round
_WORDS = 30
_COARSE = {BROWSER_USE}


@dataclass(slots=True)
class FoldedStep:
    """What one or more steps of a log achieved.

    `text` says it in the run's language, without secrets. `quotes` are words of the original steps that prove
    it, verbatim. `count` is how often the same was tried.
    """

    text: str
    numbers: list[int]  # of the original steps, ascending from 1
    role: Role = Role.AGENT
    tool: str = ""  # of the last step
    failed: bool = False  # it ended in failure
    error: str = ""  # the line that names the last error
    count: int = 1
    quotes: list[tuple[int, str]] = field(default_factory=list)
    low_level: bool = False  # folded from actions in a browser


def fold(trajectory: Trajectory) -> list[FoldedStep]:
    """The steps of a trajectory as what they achieved, in order.

    Every original step is in exactly one folded step. Actions in a browser fold until a page is opened, a
    form is submitted, something fails or something else happens between them; a log that is coarse already
    keeps its steps. The same call several times in a row, and rounds of up to four calls, become one with
    their count. A failure is never folded away: the folded step that holds it says so, with its error.
    """
    return fold_run(Run(numbered(trajectory)))


def fold_run(run: Run) -> list[FoldedStep]:
    """`fold` for a run that is already at hand."""
    folded: list[tuple[str, FoldedStep]] = []
    episode: list[tuple[Step, Action]] = []
    coarse = run.trajectory.format in _COARSE
    browsing = any(action_of(step) for step in run.steps)
    for step in run.steps:
        run.check()
        action = None if coarse else action_of(step, browsing=browsing)
        if action is not None:
            episode.append((step, action))
            continue
        if (
            episode
            and step.role is Role.TOOL
            and not step.tool
            and not step.text.strip()
            and run.failed(step)
        ):
            # A report about the actions before it.
            episode.append((step, Action(Verb.NOTE)))
            continue
        folded += _episodes(run, episode)
        episode = []
        folded.append(_single(run, step))
    folded += _episodes(run, episode)
    return _without_loops(run, _without_repeats(run, folded))


def folded_pieces(run: Run) -> list[Piece]:
    """What was done in the browser, as pieces for a lesson, each with the words that prove it."""
    return [
        Piece(step.text, step.numbers[-1], step.quotes or None) for step in fold_run(run) if step.low_level
    ]


def _episodes(run: Run, actions: list[tuple[Step, Action]]) -> list[tuple[str, FoldedStep]]:
    """Cut a stretch of actions where a page is opened, a form submitted, or one failed for good."""
    episodes: list[list[tuple[Step, Action]]] = []
    current: list[tuple[Step, Action]] = []
    for index, (step, action) in enumerate(actions):
        if action.verb is Verb.OPEN and any(a.verb not in (Verb.LOOK, Verb.OPEN) for _, a in current):
            episodes.append(current)
            current = []
        current.append((step, action))
        following = actions[index + 1] if index + 1 < len(actions) else None
        typed = any(a.verb in (Verb.TYPE, Verb.SELECT) for _, a in current)
        if following is None or _belongs(step, following):
            continue
        if (action.submits and typed) or run.failed(step):
            episodes.append(current)
            current = []
    if current:
        episodes.append(current)
    return [(_key([s for s, _ in episode]), _episode(run, episode)) for episode in _joined(episodes)]


def _belongs(step: Step, following: tuple[Step, Action]) -> bool:
    """Whether what follows is still about this action: tried again, looked at, judged."""
    again, action = following
    same = (again.tool, again.arguments) == (step.tool, step.arguments)
    return same or action.verb in (Verb.NOTE, Verb.LOOK)


def _joined(episodes: list[list[tuple[Step, Action]]]) -> list[list[tuple[Step, Action]]]:
    """Looking at the page is part of what was done before it."""
    joined: list[list[tuple[Step, Action]]] = []
    for episode in episodes:
        if joined and all(action.verb in (Verb.LOOK, Verb.NOTE) for _, action in episode):
            joined[-1] += episode
        else:
            joined.append(episode)
    return joined


def _episode(run: Run, actions: list[tuple[Step, Action]]) -> FoldedStep:
    text, quotes, failure = describe(run, actions)
    return FoldedStep(
        text=run.masker.mask(text),
        numbers=[step.number for step, _ in actions],
        tool=next((step.tool for step, _ in reversed(actions) if step.tool), ""),
        failed=failure is not None,
        error=run.masker.mask(failure.error) if failure is not None else "",
        quotes=_safe(run, quotes),
        low_level=True,
    )


def _single(run: Run, step: Step) -> tuple[str, FoldedStep]:
    failed = run.failed(step)
    error = _error(step) if failed else ""
    if step.tool:
        piece = answer_piece(step) if is_answer(step) else action_piece(step, _WORDS)
        text, quotes = run.masker.mask(piece.text), list(piece.quotes or [])
    else:
        said = " ".join((step.text or step.result).split()) or ("没有动作" if run.chinese else "did nothing")
        text, quotes = run.masker.mask(said, cut(said, _WORDS)), []
    if error:
        text = f"{text}: {run.masker.mask(error)}" if step.tool else text
        quotes.append((step.number, error))
    folded = FoldedStep(
        text=text,
        numbers=[step.number],
        role=step.role,
        tool=step.tool,
        failed=failed,
        error=run.masker.mask(error),
        quotes=_safe(run, [q for q in quotes if verbatim(step, q[1])]),
    )
    return (_key([step]) if step.tool else f"said {step.role} {step.text}{step.result}"), folded


def _safe(run: Run, quotes: list[tuple[int, str]]) -> list[tuple[int, str]]:
    parts = ((number, run.masker.safe_part(quote)) for number, quote in quotes)
    return list(dict.fromkeys((number, part) for number, part in parts if part))


def _error(step: Step) -> str:
    line = error_line(step.result) or error_line(step.text)
    return line or cut(" ".join((step.result or step.text).split()), 20)


def _key(steps: Iterable[Step]) -> str:
    calls = [[step.tool, step.arguments] for step in steps if step.tool]
    return json.dumps(calls, sort_keys=True, ensure_ascii=False, default=str)


def _without_repeats(run: Run, folded: list[tuple[str, FoldedStep]]) -> list[tuple[str, FoldedStep]]:
    """The same several times in a row, as one."""
    kept: list[tuple[str, FoldedStep]] = []
    failures = 0
    for key, step in folded:
        if kept and kept[-1][0] == key:
            before = kept[-1][1]
            failures += before.failed if before.count == 1 else 0
            failures += step.failed
            again = replace(step, numbers=before.numbers + step.numbers, count=before.count + 1)
            again.error = step.error or (before.error if step.failed else "")
            kept[-1] = (key, again)
        else:
            _count(run, kept, failures)
            failures = 0
            kept.append((key, step))
    _count(run, kept, failures)
    return kept


def _count(run: Run, kept: list[tuple[str, FoldedStep]], failures: int) -> None:
    if not kept or kept[-1][1].count == 1:
        return
    step = kept[-1][1]
    if not failures:
        step.text += f"（{step.count} 次）" if run.chinese else f" ({step.count} times)"
    elif step.failed:
        step.text += f"（尝试 {step.count} 次）" if run.chinese else f" (tried {step.count} times)"
    else:
        worked = f"（尝试 {step.count} 次，最后成功）"
        step.text += worked if run.chinese else f" (tried {step.count} times, the last worked)"


def _without_loops(run: Run, folded: list[tuple[str, FoldedStep]]) -> list[FoldedStep]:
    """Rounds of two to four that repeat, as one."""
    keys = [key for key, _ in folded]
    kept: list[FoldedStep] = []
    at = 0
    while at < len(folded):
        size, rounds = _loop(keys, at)
        if rounds < 2:
            kept.append(folded[at][1])
            at += 1
            continue
        last = [step for _, step in folded[at + size * (rounds - 1) : at + size * rounds]]
        every = [step for _, step in folded[at : at + size * rounds]]
        failing = next((step for step in reversed(last) if step.failed), None)
        said = " → ".join(step.text for step in last)
        kept.append(
            FoldedStep(
                text=said + (f"（循环 {rounds} 次）" if run.chinese else f" (loop, {rounds} times)"),
                numbers=[number for step in every for number in step.numbers],
                tool=last[-1].tool,
                failed=failing is not None,
                error=failing.error if failing else "",
                count=rounds,
                quotes=[quote for step in last for quote in step.quotes],
                low_level=all(step.low_level for step in last),
            )
        )
        at += size * rounds
    return kept


def _loop(keys: list[str], at: int) -> tuple[int, int]:
    """Size and number of the rounds that begin here; a round calls something."""
    for size in range(2, _LONGEST_LOOP + 1):
        block = keys[at : at + size]
        rounds = 1
        while keys[at + size * rounds : at + size * (rounds + 1)] == block:
            rounds += 1
        if rounds > 1 and any(not key.startswith("said ") for key in block):
            return size, rounds
    return 1, 1

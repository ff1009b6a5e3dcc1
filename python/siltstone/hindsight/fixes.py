"""Error, diagnosis, change, success: the lessons of a run in which something was put right."""

from dataclasses import dataclass

from siltstone.hindsight.actions import (
    action_piece,
    alike,
    change_strength,
    command_of,
    is_browsing,
    is_exploring,
    retry_piece,
)
from siltstone.hindsight.building import STATED, VERIFIED, build
from siltstone.hindsight.failure import error_line
from siltstone.hindsight.quoting import Piece, word_count
from siltstone.hindsight.run import Run, content_words, is_success, program
from siltstone.hindsight.signals import (
    cause_weight,
    claims_success,
    fix_weight,
    is_doubt,
    is_plan,
    is_question,
)
from siltstone.hindsight.watching import Check, unwatched
from siltstone.model import ExtractedLesson, Outcome, Step

_RETRY_WITHIN = 6
_MOST_CANDIDATES = 300


@dataclass(slots=True)
class Fix:
    """A failing check, the changes made after it last failed, and the step that shows they helped."""

    failing: Step | None
    changes: list[Step]
    proof: Step | None
    first: int  # the span of steps it is about
    last: int
    again: bool = False  # the same check failed, then passed
    retry: bool = False  # the change is the same call, made in another way


def find_fixes(run: Run) -> list[Fix]:
    """All fixes of a run, oldest first; those that share a change are one."""
    found: list[Fix] = []
    seen: set[int] = set()
    for failing in run.actions:
        run.check()
        if failing.number in seen or not run.failed(failing) or not _is_check(failing):
            continue
        same = _same_check(run, failing)
        seen.update(step.number for step in same)
        fix = _after_retest(run, same) or _after_other_proof(run, same) or _after_retry(run, failing)
        if fix:
            found.append(fix)
    found = _merged(found)
    if not found:
        plain = _without_failure(run)
        found = [plain] if plain else []
    return found


def fix_lessons(run: Run, found: list[Fix], *, whole: bool = True) -> list[ExtractedLesson]:
    """A lesson for each fix. Without `whole` only errors that were seen to pass, none of them the goal's."""
    fixes = [fix for fix in found if whole or (fix.failing and fix.proof)]
    # The goal belongs to what was put right last: earlier fixes cleared the way to it.
    owner = max(fixes, key=lambda fix: (fix.again, fix.last), default=None) if whole else None
    lessons: list[ExtractedLesson] = []
    for number, fix in enumerate(fixes):
        following = fixes[number + 1].first if number + 1 < len(fixes) else run.last_number + 1
        until = max(following - 1, fix.last)
        if fix is owner:
            until = run.last_number
        lesson = _lesson(run, fix, until, with_goal=fix is owner)
        if lesson:
            lessons.append(lesson)
    return lessons


def cause_pieces(
    said: list[Piece],
    changes: list[Step],
    about: str,
    *,
    strict: bool = False,
    check: Check = unwatched,
) -> list[Piece]:
    """The sentence that states the cause of `about` most plainly; a doubt only at the change it led to."""
    best: tuple[float, int] | None = None
    changed = {step.number for step in changes}
    last = max(changed, default=0)
    wanted = content_words(about).union(*(content_words(action_piece(step).text) for step in changes))
    for index, piece in enumerate(said):
        check()
        weight: float = cause_weight(piece.text)
        if not weight or piece.step is None or (strict and weight < 3):
            continue
        at_change = piece.step in changed or piece.step + 1 in changed
        if is_doubt(piece.text) and not at_change:
            continue
        shared = len(wanted & content_words(piece.text))
        # A named cause stands by itself; others must be about these words, or right at the change.
        needed = 0 if weight == 3 else 2 - weight if at_change else 2
        if shared < needed or (needed and is_plan(piece.text)):
            continue
        weight += min(1.5, 0.5 * shared)
        weight += (1 if at_change else 0) + (0.5 if changed and piece.step > last else 0)
        weight -= 1.5 if is_doubt(piece.text) else 0
        if fix_weight(piece.text) == 3:
            weight -= 1
        if weight > 0 and (best is None or weight >= best[0]):
            best = (weight, index)
    if best is None:
        return []
    piece = said[best[1]]
    chosen = [piece]
    if word_count(piece.text) < 9 and best[1] + 1 < len(said) and said[best[1] + 1].step == piece.step:
        chosen.append(said[best[1] + 1])
    return chosen


def fix_pieces(
    said: list[Piece], changes: list[Step], most: int = 2, check: Check = unwatched
) -> list[Piece]:
    """The sentences that say what was changed, the plainest first."""
    wanted = {word for step in changes for word in content_words(action_piece(step).text)}
    last = max((step.number for step in changes), default=0)
    weighed: list[tuple[float, int, Piece]] = []
    for piece in said:
        check()
        weight: float = fix_weight(piece.text)
        if not weight or piece.step is None:
            continue
        shared = len(wanted & content_words(piece.text))
        if weight == 1 and not shared:
            continue
        weight += min(2.0, 0.5 * shared)
        weight += 1 if piece.step >= last else 0
        weight -= 2 if is_doubt(piece.text) else 0
        weighed.append((weight, piece.step, piece))
    weighed.sort(key=lambda entry: (-entry[0], -entry[1]))
    return [piece for weight, _, piece in weighed[:most] if weight >= 2 or weight == weighed[0][0]]


def _lesson(run: Run, fix: Fix, until: int, *, with_goal: bool) -> ExtractedLesson | None:
    problem: list[Piece] = run.goal_pieces(36) if with_goal else []
    if fix.failing:
        line = error_line(fix.failing.result)
        if not with_goal and fix.retry and line and not command_of(fix.failing):
            # The arguments of one call teach nothing about the next; what was refused does.
            problem.append(Piece(fix.failing.tool, None, []))
        elif not with_goal:
            problem.append(action_piece(fix.failing, 20))
        if line:
            problem.append(Piece(line, fix.failing.number))
    if not with_goal and fix.failing is not None and not error_line(fix.failing.result):
        return None
    span = [step for step in run.steps if fix.first <= step.number <= until]
    said = run.pieces_said(span)
    about = " ".join(piece.text for piece in problem)
    # What follows a slip of the pen explains the slip.
    slips = {step.number + 1 for step in span if step.tool and run.failed(step) and not _is_check(step)}
    explained = [piece for piece in said if piece.step not in slips]
    cause = cause_pieces(explained, fix.changes, about, strict=fix.retry, check=run.check)
    told = {piece.text for piece in cause}
    stated = [piece for piece in fix_pieces(said, fix.changes, check=run.check) if piece.text not in told]
    main = max((change_strength(step) for step in fix.changes), default=0)
    edits = [step for step in fix.changes if change_strength(step) == main][-3:]
    followed = [
        step for step in fix.changes if change_strength(step) < main and step.number > edits[-1].number
    ]
    if not stated:
        meant = [s for s in run.said(edits[0]) if not is_question(s) and s not in told]
        stated = [Piece(s, edits[0].number) for s in meant[-1:]]
    if fix.retry and fix.failing:
        stated, edits, followed = [], [], []
    applied = [retry_piece(fix.failing, fix.changes[0])] if fix.retry and fix.failing else []
    applied += [action_piece(step) for step in [*edits, *followed[-1:]]]
    verified = fix.proof is not None
    outcome = run.outcome
    if verified and not is_success(outcome):
        outcome = Outcome.SUCCESS
    return build(
        run,
        problem=problem,
        root_cause=cause,
        solution=[*stated[:2], *applied],
        steps=[step for step in (fix.failing, *fix.changes) if step],
        outcome=outcome,
        confidence=VERIFIED if verified or run.outcome is Outcome.SUCCESS else STATED,
        task_type="troubleshooting" if fix.failing or (cause and verified) else "",
    )


def _is_check(step: Step) -> bool:
    """A failing file edit is a slip of the pen, no symptom."""
    file_edit = change_strength(step) == 3 and (command_of(step) or "path" in " ".join(step.arguments))
    return not (file_edit or is_exploring(step) or is_browsing(step))


def _same_check(run: Run, failing: Step) -> list[Step]:
    wanted = run.signature(failing)
    same = [step for step in run.after(failing)[:_MOST_CANDIDATES] if alike(run.signature(step), wanted)]
    return [failing, *same]


def _after_retest(run: Run, same: list[Step]) -> Fix | None:
    if run.failed(same[-1]):
        return None
    last_failing = max(step.number for step in same if run.failed(step))
    proof = next(step for step in same if step.number > last_failing)
    changes = run.changes_between(last_failing, proof.number)
    if not changes:
        return None
    return Fix(same[0], changes, proof, same[0].number, proof.number, again=True)


def _after_other_proof(run: Run, same: list[Step]) -> Fix | None:
    last_failing = max(step.number for step in same if run.failed(step))
    if not run.failed(same[-1]):
        return None
    changes = run.changes_between(last_failing, run.last_number + 1)
    if not changes:
        return None
    for step in run.after(changes[0]):
        if run.proves(step):
            before = [change for change in changes if change.number < step.number]
            return Fix(same[0], before, step, same[0].number, step.number)
    if is_success(run.outcome) or says_solved(run):
        return Fix(same[0], changes, None, same[0].number, run.last_number)
    return None


def _after_retry(run: Run, failing: Step) -> Fix | None:
    """The same tool, called in another way, then worked."""
    later = run.after(failing)[:_RETRY_WITHIN]
    command = command_of(failing)
    for step in later:
        if step.tool != failing.tool or step.arguments == failing.arguments:
            continue
        # A shell runs anything: only the same kind of change, tried again, is the same call.
        if command and (not change_strength(failing) or _verb(command_of(step)) != _verb(command)):
            continue
        if not run.failed(step) and (command or change_strength(step)):
            return Fix(failing, [step], step, failing.number, step.number, retry=True)
    return None


def _verb(command: str) -> list[str]:
    words = command.split()
    return [program(command), *[word for word in words[1:] if not word.startswith("-")][:1]]


def _without_failure(run: Run) -> Fix | None:
    """The goal itself was the error: changes, and a run that ended well."""
    changes = [step for step in run.changes if change_strength(step) >= 2]
    if not changes or not (is_success(run.outcome) or says_solved(run)):
        return None
    checks = [
        step
        for step in run.actions
        if step.number > changes[-1].number and not change_strength(step) and not run.failed(step)
    ]
    proof = next((step for step in checks if run.proves(step)), None)
    return Fix(None, changes, proof, run.steps[0].number, run.last_number)


def says_solved(run: Run) -> bool:
    """Whether the agent's last word of substance claims success."""
    step = run.final_step
    return step is not None and any(claims_success(sentence) for sentence in run.said(step))


def _merged(fixes: list[Fix]) -> list[Fix]:
    merged: list[Fix] = []
    for fix in sorted(fixes, key=lambda fix: (not fix.again, fix.first)):
        numbers = {step.number for step in fix.changes}
        for other in merged:
            if numbers & {step.number for step in other.changes}:
                if fix.again and other.again and fix.last > other.last:
                    other.last = fix.last
                other.first = min(other.first, fix.first)
                break
        else:
            merged.append(fix)
    return sorted(merged, key=lambda fix: fix.first)

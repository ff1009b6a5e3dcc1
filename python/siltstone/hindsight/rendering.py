"""Lessons and runs as text: what is stored, embedded and shown."""

from siltstone.hindsight.folding import FoldedStep, fold_run
from siltstone.hindsight.quoting import cut, is_chinese
from siltstone.hindsight.run import Run, numbered
from siltstone.hindsight.watching import Check, unwatched
from siltstone.model import ExtractedLesson, Lesson, Outcome, Trajectory

_ENGLISH = ("Problem: ", "Unsolved: ", "Root cause: ", "Solution: ")
_CHINESE = ("问题：", "未解决：", "原因：", "解决：")
_OUTCOMES = {
    Outcome.SUCCESS: ("succeeded", "成功"),
    Outcome.FAILURE: ("failed", "失败"),
    Outcome.PARTIAL: ("partly succeeded", "部分成功"),
    Outcome.UNKNOWN: ("ended, outcome not known", "结束，结果未知"),
}


def lesson_text(extracted: ExtractedLesson) -> str:
    """The filled fields of a lesson, one a line, labelled in the lesson's own language."""
    lesson = extracted.lesson
    problem, unsolved, cause, solution = _CHINESE if _reads_chinese(lesson) else _ENGLISH
    failed = extracted.outcome is Outcome.FAILURE and not lesson.solution
    lines = [
        (unsolved if failed else problem) + lesson.problem if lesson.problem else "",
        cause + lesson.root_cause if lesson.root_cause else "",
        solution + lesson.solution if lesson.solution else "",
    ]
    return "\n".join(line for line in lines if line)


def summarize_run(trajectory: Trajectory, lessons: list[ExtractedLesson]) -> str:
    """A run in a few lines: the goal, how it ended with which tools, its lessons, and what was done.

    The most telling lesson comes first; what was done are the calls, folded, each with its steps. In the
    language of the goal; secrets are masked. Its length is not bounded by tokens: cut it from the end.
    """
    return summarize_folded(trajectory, lessons)[0]


def summarize_folded(
    trajectory: Trajectory, lessons: list[ExtractedLesson], check: Check = unwatched
) -> tuple[str, int]:
    """`summarize_run`, and how many steps the run has after folding."""
    run = Run(numbered(trajectory), check)
    folded = fold_run(run)
    chinese = run.chinese
    goal = run.masker.mask(cut(" ".join(run.goal.split()), 60))
    outcome = _OUTCOMES[trajectory.outcome][chinese]
    tools = ", ".join(run.masker.mask(tool) for tool in run.tools_used)
    steps = len(trajectory.steps)
    if chinese:
        ended = f"{outcome}；{steps} 步" + (f"；工具：{tools}" if tools else "")
        lines = [f"目标：{goal}" if goal else "", f"结果：{ended}"]
    else:
        ended = f"{outcome}; {steps} steps" + (f"; tools: {tools}" if tools else "")
        lines = [f"Goal: {goal}" if goal else "", f"Outcome: {ended}"]
    lines += [lesson_text(lesson) for lesson in lessons]
    done = [_done(step) for step in folded if step.tool]
    lines += ["步骤：" if chinese else "Steps:", *done] if done else []
    return "\n".join(line for line in lines if line), len(folded)


def _done(step: FoldedStep) -> str:
    first, last = step.numbers[0], step.numbers[-1]
    return f"{first}: {step.text}" if first == last else f"{first}-{last}: {step.text}"


def _reads_chinese(lesson: Lesson) -> bool:
    # The solution is often a command; the problem says in which language it was told.
    return is_chinese(lesson.problem) or is_chinese(lesson.root_cause + lesson.solution)

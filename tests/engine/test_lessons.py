"""How a later look at a task replaces what an earlier one said."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from siltstone.engine.lessons import replace_outdated
from siltstone.model import (
    Lesson,
    LessonEvidence,
    Memory,
    MemoryDraft,
    Source,
    Verification,
)


def lesson(problem: str, step: int, solution: str) -> Lesson:
    quotes = [LessonEvidence(field="problem", step=step, quote=f"error {step}")]
    return Lesson(problem=problem, solution=solution, evidence=quotes)


def memory(id: str, said: Lesson) -> Memory:
    return Memory(id=id, content=said.solution, lesson=said, source=Source(task_id="t", writer="hindsight"))


def draft(said: Lesson) -> MemoryDraft:
    return MemoryDraft(content=said.solution, lesson=said)


def test_the_same_problem_told_in_other_words_is_superseded() -> None:
    new = draft(lesson("the build fails on arm", 3, "pin numpy"))
    replace_outdated([new], [memory("old", lesson("the build fails", 3, "reinstall"))])
    assert new.supersedes == ["old"]


def test_another_problem_and_the_very_same_lesson_stay() -> None:
    new, same = draft(lesson("测试超时", 7, "加大时限")), draft(lesson("构建失败", 3, "固定 numpy 版本"))
    replace_outdated(
        [new, same],
        [
            memory("other", lesson("磁盘满了", 2, "清理日志")),
            memory("same", lesson("构建失败", 3, "固定 numpy 版本")),
        ],
    )
    assert (new.supersedes, same.supersedes) == ([], [])


def test_each_is_superseded_once_by_the_lesson_that_is_most_alike() -> None:
    drafts = [draft(lesson("build fails: A", 3, "x")), draft(lesson("build fails: B", 4, "y"))]
    replace_outdated(drafts, [memory("old", lesson("build fails: B", 4, "z"))])
    assert [d.supersedes for d in drafts] == [[], ["old"]]


@pytest.mark.parametrize(
    "kept",
    [
        {"verification": Verification.CONFIRMED},
        {"superseded_by": "x"},
        {"invalidate_time": datetime(2026, 1, 1, tzinfo=UTC)},
        {"source": Source(task_id="t", writer="a person")},
        {"source": None},
    ],
)
def test_what_is_no_open_word_of_hindsight_stays(kept: dict[str, object]) -> None:
    new = draft(lesson("the build fails", 3, "pin numpy"))
    old = replace(memory("old", lesson("the build fails", 3, "reinstall")), **kept)
    replace_outdated([new], [old])
    assert new.supersedes == []

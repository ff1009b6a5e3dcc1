"""Lessons and runs as text, sentences and digests."""

import copy

import pytest
from siltstone.hindsight import lesson_text, look_back, summarize_run, trajectory_digest
from siltstone.hindsight.quoting import cut, is_chinese, sentences, word_count
from siltstone.model import ExtractedLesson, Lesson, Outcome


def test_a_lesson_reads_in_its_own_language_with_only_its_filled_fields():
    english = ExtractedLesson(lesson=Lesson(problem="It is slow.", solution="Add an index."))
    chinese = ExtractedLesson(
        lesson=Lesson(problem="查询很慢。", root_cause="缺少索引。", solution="CREATE INDEX a ON b(c)")
    )
    assert lesson_text(english) == "Problem: It is slow.\nSolution: Add an index."
    assert lesson_text(chinese) == "问题：查询很慢。\n原因：缺少索引。\n解决：CREATE INDEX a ON b(c)"


def test_an_unsolved_problem_says_so():
    lesson = Lesson(problem="磁盘满了。")
    assert lesson_text(ExtractedLesson(lesson=lesson, outcome=Outcome.FAILURE)) == "未解决：磁盘满了。"
    lesson = Lesson(problem="The disk is full.")
    assert (
        lesson_text(ExtractedLesson(lesson=lesson, outcome=Outcome.FAILURE)) == "Unsolved: The disk is full."
    )


@pytest.mark.parametrize(
    ("goal", "first", "second"),
    [
        ("Count lines", "Goal: Count lines", "Outcome: succeeded; 1 steps; tools: run_command"),
        ("统计行数", "目标：统计行数", "结果：成功；1 步；工具：run_command"),
    ],
)
def test_a_summary_starts_with_goal_and_outcome_and_holds_the_lessons(run_of, goal, first, second):
    trajectory = run_of(goal, {"do": "wc -l a", "gives": "3 a"}, outcome=Outcome.SUCCESS)
    lessons = look_back(trajectory)
    lines = summarize_run(trajectory, lessons).splitlines()
    assert lines[:2] == [first, second]
    assert "\n".join(lines[2:-2]) == lesson_text(lessons[0])
    assert lines[-2:] == ["Steps:" if goal.isascii() else "步骤：", "1: run_command: wc -l a"]


def test_sentences_are_verbatim_slices_of_both_languages():
    text = (
        "- **Cause:** it binds to 127.0.0.1, e.g. locally. Fixed!\n```\ncode. here.\n```\n"
        "1. 改为 0.0.0.0；重启。好了吗？###STOP###"
    )
    found = sentences(text)
    assert found == [
        "Cause:** it binds to 127.0.0.1, e.g. locally.",
        "Fixed!",
        "改为 0.0.0.0；",
        "重启。",
        "好了吗？",
    ]
    assert all(sentence in text for sentence in found)


def test_a_cut_keeps_whole_clauses_within_the_budget():
    text = "first we look at the log, then we look at the port, and then we change the address"
    assert cut(text, 13) == "first we look at the log, then we look at the port"
    chinese = "先看日志，再看端口，最后修改监听地址并重新构建服务"
    assert cut(chinese, 6) == "先看日志，再看端口"
    assert word_count(cut("字" * 500, 60)) <= 60
    assert len(cut("x" * 100_000, 60)) <= 720


def test_chinese_is_told_from_english_with_code_in_it():
    assert is_chinese("把 docker compose 的 listen 地址改为 0.0.0.0 就好了")
    assert not is_chinese("Use the word 监听 for listen in the docs")


def test_equal_content_has_the_same_digest_and_any_change_another(run_of):
    trajectory = run_of("目标", {"text": "一", "tool": "t", "arguments": {"b": 1, "a": 2}, "gives": "r"})
    same = copy.deepcopy(trajectory)
    same.id, same.outcome, same.format = "other", Outcome.FAILURE, "other"
    same.steps[0].arguments = {"a": 2, "b": 1}
    assert trajectory_digest(same) == trajectory_digest(trajectory)
    for field, value in (("text", "二"), ("tool", "u"), ("result", "s"), ("arguments", {"a": 3})):
        other = copy.deepcopy(trajectory)
        setattr(other.steps[0], field, value)
        assert trajectory_digest(other) != trajectory_digest(trajectory)

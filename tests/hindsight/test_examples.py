"""The example logs and excerpts of published runs: right lessons, proven word by word, the same each time."""

import pytest
from siltstone.hindsight import EXTRACTOR, lesson_text, look_back, read_trajectory
from siltstone.model import Outcome

NAMES = ["docker-network.en.json", "docker-network.zh.json", "swe-agent.json", "tau-airline.json"]


@pytest.mark.parametrize("name", NAMES)
def test_each_example_yields_one_proven_lesson_and_the_same_twice(example, assert_proven, name):
    reading = read_trajectory(example(name))
    lessons = look_back(reading.trajectory)
    assert reading.skipped == []
    assert len(lessons) == 1
    assert lessons[0].outcome is Outcome.SUCCESS
    assert lessons[0].confidence == 0.8
    assert lessons[0].lesson.problem
    assert lessons[0].lesson.root_cause
    assert lessons[0].lesson.solution
    assert_proven(reading.trajectory, lessons)
    assert look_back(read_trajectory(example(name)).trajectory) == lessons


def test_the_network_case_is_told_by_its_problem_cause_and_fix(example):
    (found,) = look_back(read_trajectory(example("docker-network.en.json")).trajectory)
    assert "`api` by its service name" in found.lesson.problem
    assert "Failed to connect to api port 3000" in found.lesson.problem
    assert "listened on 127.0.0.1" in found.lesson.root_cause
    assert "0.0.0.0" in found.lesson.solution
    assert "docker compose up -d --build api" in found.lesson.solution
    assert "docker network create" not in lesson_text(found)
    assert found.tools_used == ["run_command", "read_file", "edit_file"]
    assert found.task_type == "troubleshooting"


def test_the_chinese_network_case_is_told_in_chinese(example):
    (found,) = look_back(read_trajectory(example("docker-network.zh.json")).trajectory)
    assert "用服务名 api 访问不通" in found.lesson.problem
    assert "只监听 127.0.0.1" in found.lesson.root_cause
    assert "把监听地址改为 0.0.0.0" in found.lesson.solution
    assert lesson_text(found).startswith("问题：")


def test_the_swe_agent_run_teaches_the_edit(example):
    (found,) = look_back(read_trajectory(example("swe-agent.json")).trajectory)
    assert "distance calculation may be off" in found.lesson.root_cause
    assert "distance = abs(elem - elem2)" in found.lesson.solution


def test_the_airline_run_teaches_the_rule_and_the_calls(example):
    (found,) = look_back(read_trajectory(example("tau-airline.json")).trajectory)
    assert "cannot be canceled for a refund" in found.lesson.root_cause
    assert "update_reservation_flights(reservation_id=XEHM4B, cabin=economy" in found.lesson.solution
    assert "cancel_reservation(reservation_id=XEHM4B)" in found.lesson.solution


def test_published_runs_yield_proven_lessons_with_their_own_tools(published, assert_proven):
    for row in published.values():
        trajectory = read_trajectory(row).trajectory
        lessons = look_back(trajectory)
        assert lessons, row["id"]
        assert_proven(trajectory, lessons)
        called = list(dict.fromkeys(step.tool for step in trajectory.steps if step.tool))
        assert all(found.tools_used == called for found in lessons)


def test_the_extractor_names_its_version():
    assert EXTRACTOR == "rules/1"

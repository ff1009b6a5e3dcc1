"""A memory with a lesson is found by the problem alone, however long its cause and solution are."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.embed.passages import embedded_texts
from siltstone.model import Lesson

PROBLEM = "容器之间用服务名访问不通"
CONTENT = f"问题：{PROBLEM}\n原因：服务只监听本机地址，别的容器连不上它\n解决：改为监听所有地址，然后重启服务"


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[siltstone.Api]:
    with siltstone.open(tmp_path, settings=Settings(embedding_model="hashing")) as mem:
        yield mem


def cosine(mem: siltstone.Api, query: str) -> float:
    return mem.search(query, include_public=False).hits[0].cosine


def test_its_problem_is_as_near_as_can_be_and_so_is_its_content(mem: siltstone.Api) -> None:
    memory = mem.write(CONTENT, lesson={"problem": PROBLEM}).memory
    assert cosine(mem, PROBLEM) == pytest.approx(1, abs=0.01)
    assert cosine(mem, CONTENT) == pytest.approx(1, abs=0.01)
    assert [hit.memory.id for hit in mem.search(PROBLEM).hits] == [memory.id]


def test_a_changed_problem_is_found_and_the_former_one_no_more(mem: siltstone.Api) -> None:
    memory = mem.write(CONTENT, lesson={"problem": PROBLEM}).memory
    mem.update(memory.id, lesson={"problem": "the nightly backup fails"})
    assert cosine(mem, "the nightly backup fails") == pytest.approx(1, abs=0.01)
    assert cosine(mem, PROBLEM) < 0.9
    mem.update(memory.id, content="something else entirely")
    assert cosine(mem, "the nightly backup fails") == pytest.approx(1, abs=0.01)


def test_two_answers_to_one_problem_are_two_memories(mem: siltstone.Api) -> None:
    first = mem.write("改为监听 0.0.0.0 之后恢复正常", lesson={"problem": PROBLEM})
    second = mem.write("restart the docker daemon and wait", lesson={"problem": PROBLEM})
    assert first.memory.id != second.memory.id
    assert second.action in ("CREATED", "CONFLICT")


def test_a_namespace_with_its_callers_vectors_keeps_them_when_the_lesson_changes(mem: siltstone.Api) -> None:
    memory = mem.write("x", namespace="own", vector=[1.0, 0.0], lesson={"problem": "a"}).memory
    mem.update(memory.id, lesson={"problem": "b"})
    (hit,) = mem.search(vector=[1.0, 0.0], namespace="own", include_public=False, view="FULL").hits
    assert hit.cosine == pytest.approx(1, abs=0.01)
    assert hit.memory.lesson is not None
    assert hit.memory.lesson.problem == "b"


def test_a_problem_that_is_the_content_is_embedded_once_and_a_long_one_in_part() -> None:
    assert embedded_texts("a b", None, 8) == ["a b"]
    assert embedded_texts("a b ", Lesson(problem="a b"), 8) == ["a b "]
    assert embedded_texts("a b", Lesson(), 8) == ["a b"]
    content, part = embedded_texts("a b", Lesson(problem="word " * 50), 8)
    assert content == "a b"
    assert 0 < len(part) < 100

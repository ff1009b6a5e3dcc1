"""Content above the cap: refused, or compressed where the writer says so; never cut silently."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.local import Local

TEXT = (
    "部署失败了。"
    + "".join(f"第 {i} 个人看了很久。" for i in range(100))
    + "It was MySQL 8.0.34. "
    + "".join(f"Person {i} had coffee. " for i in range(100))
    + "我们回滚了。"
)


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Local]:
    settings = Settings(embedding_model="hashing", max_content_bytes=600)
    with siltstone.open(tmp_path / "data", settings=settings) as opened:
        yield opened


def test_it_is_refused_unless_the_writer_says_otherwise(mem: Local) -> None:
    for arguments in ({}, {"on_too_long": "REFUSE"}):
        with pytest.raises(siltstone.InvalidArgumentError, match="max_content_bytes") as caught:
            mem.write(TEXT, **arguments)  # type: ignore[arg-type]
        assert caught.value.reason == "CONTENT_TOO_LARGE"
    assert mem.list() == []


def test_it_is_compressed_to_the_cap_and_the_memory_says_so(mem: Local) -> None:
    memory = mem.write(TEXT, on_too_long="COMPRESS").memory
    assert memory.original_bytes == len(TEXT.encode())
    [stored] = mem.get(memory.id)
    assert stored == memory
    assert len(stored.content.encode()) <= 600
    assert stored.content.startswith("部署失败了。")
    assert stored.content.endswith("我们回滚了。")
    assert "[…]" in stored.content
    assert mem.search("部署失败").hits[0].memory.original_bytes == memory.original_bytes


def test_what_fits_is_verbatim_whatever_the_writer_says(mem: Local) -> None:
    memory = mem.write("短的内容", on_too_long="COMPRESS").memory
    assert (memory.content, memory.original_bytes) == ("短的内容", 0)


def test_the_words_of_the_lesson_stay(mem: Local) -> None:
    lesson = {"problem": "p", "evidence": [{"field": "problem", "step": 1, "quote": "第 42 个人看了很久"}]}
    assert "第 42 个人" not in mem.write(TEXT, on_too_long="COMPRESS", on_duplicate="KEEP").memory.content
    memory = mem.write(TEXT, on_too_long="COMPRESS", on_duplicate="KEEP", lesson=lesson).memory
    assert "第 42 个人看了很久。" in memory.content


def test_the_same_again_is_merged_and_a_verbatim_text_after_it_is_not_called_compressed(mem: Local) -> None:
    first = mem.write(TEXT, on_too_long="COMPRESS")
    again = mem.write(TEXT, on_too_long="COMPRESS")
    assert (again.action, again.memory.id) == ("MERGED", first.memory.id)
    assert again.memory.original_bytes == len(TEXT.encode())
    assert mem.update(first.memory.id, content="now short").original_bytes == 0


def test_a_repeated_request_gets_the_first_answer(mem: Local) -> None:
    first = mem.write(TEXT, on_too_long="COMPRESS", request_id="r")
    assert mem.write(TEXT, on_too_long="COMPRESS", request_id="r") == first


def test_blank_content_is_refused_all_the_same(mem: Local) -> None:
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.write(" " * 1000, on_too_long="COMPRESS")
    assert caught.value.reason == "EMPTY_CONTENT"

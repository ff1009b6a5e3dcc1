"""A call whose deadline passes, or whose caller goes away, stops at its next step and has done nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.engine import Call
from siltstone.errors import UnavailableError
from siltstone.local import Local
from siltstone.model import MemoryDraft, SearchRequest
from siltstone.model.requests import BatchSearchMemoriesRequest, WriteMemoriesRequest


@pytest.fixture
def mem(tmp_path: Any) -> Iterator[Local]:
    with siltstone.open(tmp_path, settings=Settings(embedding_model="hashing")) as opened:
        yield opened


@dataclass
class Patience:
    """A caller that waits for so many looks at it."""

    looks: int
    asked: int = field(default=0)

    def __call__(self) -> bool:
        self.asked += 1
        return self.asked <= self.looks


def test_a_large_write_looks_up_from_every_draft(mem: Local) -> None:
    drafts = [MemoryDraft(content=f"第 {i} 条") for i in range(100)]
    patience = Patience(50)
    with pytest.raises(UnavailableError) as caught:
        mem.engine.write_memories(WriteMemoriesRequest(drafts=drafts), Call(waiting=patience))
    assert caught.value.reason == "CALLER_GONE"
    assert patience.asked == 51, "it went on working for nobody"
    assert mem.stats().memories == 0


def test_a_large_batch_of_searches_looks_up_after_every_one(mem: Local) -> None:
    mem.write("x")
    requests = [SearchRequest(query=f"问题 {i}") for i in range(100)]
    patience = Patience(50)
    with pytest.raises(UnavailableError):
        mem.engine.batch_search_memories(
            BatchSearchMemoriesRequest(requests=requests), Call(waiting=patience)
        )
    assert patience.asked == 51

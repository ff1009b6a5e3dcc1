"""A store with a bit of everything in it, and what it answers."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.data import to_data
from siltstone.local import Local

SETTINGS = Settings(embedding_model="hashing", hindsight_workers=0)
NOW = "2026-06-01T00:00:00Z"
QUERIES = ["为什么容器不能用服务名访问", "what must the api listen on", "cake", "note 17"]


def fill(mem: Local) -> list[str]:
    """Ids of memories of every kind."""
    old = mem.write("容器之间无法通过服务名访问，因为服务只监听 127.0.0.1", tags=["docker"], event_time=NOW)
    new = mem.write("监听 0.0.0.0，容器之间就能用服务名访问", supersedes=[old.memory.id], event_time=NOW)
    mem.update(new.memory.id, content="监听 0.0.0.0，容器之间就能互相访问", attributes={"mysql": "8.0"})
    cake = mem.write("Birthday cake with cherries 🎂", namespace="team/agent-a", event_time=NOW)
    mem.verify(cake.memory.id, "CONFIRM", reviewer="王五", note="试过了")
    mem.write("its vector is the caller's", namespace="own", vector=[1.0, 0.0, 0.0, 0.0], event_time=NOW)
    gone = mem.write("a note that is forgotten", event_time=NOW)
    mem.forget(ids=[gone.memory.id])
    some = [{"content": f"note {i}: 第 {i * 31} 条", "on_duplicate": "KEEP"} for i in range(60)]
    mem.write_many([{**draft, "event_time": NOW} for draft in some])
    task = mem.start_task("让 web 能访问 api")
    mem.append_steps(task.id, [{"tool": "bash", "arguments": {"command": "ls"}, "result": "ok"}])
    return [old.memory.id, new.memory.id, cake.memory.id, gone.memory.id]


def answers(mem: Local) -> dict[str, Any]:
    """What the store says, in a form that two stores can be compared by."""
    names = [namespace.name for namespace in mem.namespaces()]
    return {
        "searches": [
            to_data(mem.search(query, namespace=["default", "team/agent-a"], top_k=20, now=NOW, view="FULL"))
            for query in QUERIES
        ],
        "memories": {name: to_data(list(mem.list(name, page_size=1000))) for name in names},
        "traces": [to_data(mem.trace(m.id)) for name in names for m in mem.list(name, page_size=1000)],
        "tasks": to_data(list(mem.list_tasks())),
        "problems": mem.check().problems,
    }


@pytest.fixture
def open_at(tmp_path: Path) -> Iterator[Callable[..., Local]]:
    """Opens a data directory of the test by its name; closes what is open at the end."""
    opened: list[Local] = []

    def open_one(name: str = "data", settings: Settings = SETTINGS) -> Local:
        opened.append(siltstone.open(tmp_path / name, settings=settings))
        return opened[-1]

    yield open_one
    for mem in opened:
        mem.close()

"""A server that is killed, a client that remembers what it was told, and the comparison of the two."""

import json
import os
import queue
import random
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import siltstone

BOUND_S = 60.0
NAMESPACE = "torture"
TASKS = "tasks"
# What a call answers when the server went away under it: whether it was carried out is not known.
GONE = (siltstone.UnavailableError, siltstone.DeadlineExceededError)


class Servers:
    """Forks servers over one data directory; see `spawner.py`."""

    def __init__(self, data: Path, log: Path) -> None:
        self.data = data
        self.log = log
        self.lines: queue.Queue[dict[str, Any]] = queue.Queue()
        with log.open("wb") as file:
            self.spawner = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("spawner.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.spawner.stdout is not None
        for line in self.spawner.stdout:
            self.lines.put(json.loads(line))

    def fork(self, back_s: float = 0.0) -> int:
        """Start a server; its pid. It may not serve yet."""
        assert self.spawner.stdin is not None
        print(json.dumps({"data": str(self.data), "back_s": back_s}), file=self.spawner.stdin, flush=True)
        while True:
            line = self.lines.get(timeout=BOUND_S)
            if "forked" in line:
                return int(line["forked"])

    def address(self, pid: int) -> str:
        """Where the server serves, once it does."""
        while True:
            line = self.lines.get(timeout=BOUND_S)
            if line.get("pid") == pid:
                assert "error" not in line, f"{line['error']}\n{self.log.read_text()[-2000:]}"
                return str(line["address"])

    def kill(self, pid: int, how: signal.Signals = signal.SIGKILL) -> None:
        """Kill a server and wait until it is gone."""
        descriptor = os.pidfd_open(pid)
        try:
            os.kill(pid, how)
            assert select.select([descriptor], [], [], BOUND_S)[0], "the server does not end"
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """End the spawner, and with it the servers, which hold its pipe."""
        with self.spawner:
            self.spawner.kill()
            self.reader.join(BOUND_S)


@dataclass
class Known:
    """What one client was told."""

    live: dict[str, str] = field(default_factory=dict)  # id → content
    forgotten: dict[str, str] = field(default_factory=dict)  # the same, of what is not live
    erased: set[str] = field(default_factory=set)
    worked: set[tuple[str, str]] = field(default_factory=set)  # memory, the task it helped
    tasks: dict[str, int] = field(default_factory=dict)  # id → steps
    finished: set[str] = field(default_factory=set)


class Client:
    """Calls one thing after the other and keeps in mind what it was answered, and the call that was not."""

    def __init__(self, number: int, seed: int) -> None:
        self.number = number
        self.draw = random.Random(f"{seed}/{number}")
        self.known = Known()
        self.calls = 0
        self.unanswered: tuple[str, dict[str, Any]] | None = None

    def run(self, address: str, stop: threading.Event) -> None:
        """Call until told to stop or until the server goes."""
        with siltstone.Client(address, timeout=BOUND_S) as mem:
            try:
                while not stop.is_set():
                    self.step(mem)
            except GONE:
                return

    def step(self, mem: siltstone.Client) -> None:
        """The call that was not answered, with its own request id, or else a new one."""
        if self.unanswered is None:
            self.calls += 1
            name, given = self._choose()
            self.unanswered = name, {**given, "request_id": f"{self.number}-{self.calls}"}
        name, given = self.unanswered
        answer = getattr(mem, name)(**given)
        self.unanswered = None
        self._remember(name, given, answer)

    def _choose(self) -> tuple[str, dict[str, Any]]:
        live = list(self.known.live)
        running = [id for id in self.known.tasks if id not in self.known.finished]
        names = [
            "write",
            "write_many",
            "again",
            "update",
            "verify",
            "invalidate",
            "erase",
            "restore",
            "start",
            "steps",
            "finish",
        ]
        (what,) = self.draw.choices(names, [30, 5, 10, 10, 6, 6, 2, 3, 3, 8, 3])
        text = f"{self.number}-{self.calls}"
        if what in ("again", "update", "verify", "invalidate", "erase") and not live:
            what = "write"
        if what == "restore" and not self.known.forgotten:
            what = "write"
        if (what in ("steps", "finish") and not running) or (what == "verify" and not self.known.tasks):
            what = "start"
        if what == "start":
            return "start_task", {"goal": f"让 web 访问 svc{text}", "namespace": TASKS, "hindsight_every": 0}
        if what == "steps":
            return "append_steps", {"task_id": self.draw.choice(running), "steps": _steps(text)}
        if what == "finish":
            return "finish_task", {"task_id": self.draw.choice(running), "outcome": "SUCCESS"}
        if what == "write":
            size = self.draw.choice([1, 1, 1, 50, 2000])
            return "write", {
                "content": f"笔记 {text}: " + f"port {self.calls} " * size,
                "namespace": NAMESPACE,
            }
        if what == "write_many":
            drafts = [{"content": f"batch {text} number {i}"} for i in range(self.draw.randint(2, 9))]
            return "write_many", {"drafts": drafts, "namespace": NAMESPACE}
        if what == "restore":
            return "restore_memory", {"id": self.draw.choice(list(self.known.forgotten))}
        id = self.draw.choice(live)
        task = self.draw.choice(list(self.known.tasks) or [""])
        return {
            "again": ("write", {"content": self.known.live[id], "namespace": NAMESPACE}),
            "update": ("update", {"id": id, "content": f"改过 {text}"}),
            "verify": ("verify", {"id": id, "verdict": "WORKED", "task_id": task}),
            "invalidate": ("forget", {"ids": [id]}),
            "erase": ("forget", {"ids": [id], "mode": "ERASE"}),
        }[what]

    def _remember(self, name: str, given: dict[str, Any], answer: Any) -> None:
        known = self.known
        if name in ("write", "write_many"):
            drafts = given.get("drafts") or [given]
            receipts = answer if name == "write_many" else [answer]
            for draft, receipt in zip(drafts, receipts, strict=True):
                known.live[receipt.memory.id] = draft["content"]
        elif name == "update":
            known.live[given["id"]] = given["content"]
        elif name == "verify":
            known.worked.add((given["id"], given["task_id"]))
        elif name == "forget":
            assert answer.ids == given["ids"]
            for id in given["ids"]:
                content = known.live.pop(id)
                if given.get("mode") == "ERASE":
                    known.erased.add(id)
                else:
                    known.forgotten[id] = content
        elif name == "restore_memory":
            known.live[given["id"]] = known.forgotten.pop(given["id"])
        elif name == "start_task":
            known.tasks[answer.id] = 0
        elif name == "append_steps":
            known.tasks[given["task_id"]] += len(given["steps"])
        elif name == "finish_task":
            known.finished.add(given["task_id"])


def _steps(text: str) -> list[dict[str, Any]]:
    curl = {"tool": "run_command", "arguments": {"cmd": f"curl http://svc{text}"}}
    return [
        {**curl, "result": f"curl: (7) Failed to connect to svc{text}: Connection refused", "is_error": True},
        {"text": f"根本原因是 svc{text} 只监听 127.0.0.1。", "tool": "edit_file", "arguments": {"path": text}, "result": "ok"},
        {**curl, "result": "HTTP/1.1 200 OK"},
    ]  # fmt: skip


def harm_snapshots(data: Path, draw: random.Random) -> int:
    """Cut or flip bytes of some files of the index; how many."""
    harmed = 0
    for file in sorted(path for path in (data / "index").rglob("*") if path.is_file()):
        content = bytearray(file.read_bytes())
        if content and draw.random() < 0.5:
            harmed += 1
            if draw.random() < 0.5:
                del content[draw.randrange(len(content)) :]
            else:
                for _ in range(draw.randint(1, 8)):
                    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
            file.write_bytes(content)
    return harmed


def assert_told(mem: siltstone.Client, clients: list[Client]) -> None:
    """The service holds what the clients were told, once, and nothing else; and it is whole."""
    for client in clients:
        if client.unanswered is not None:
            client.step(mem)
    live = {id: content for client in clients for id, content in client.known.live.items()}
    if live:
        assert {memory.id: memory.content for memory in everything(mem, NAMESPACE)} == live
        assert len(set(live.values())) == len(live)
    for client in clients:
        known = client.known
        for id in list(known.forgotten)[-20:]:
            assert mem.get([id])[0].invalidate_time is not None
        for id in list(known.erased)[-20:]:
            try:
                mem.get([id])
            except siltstone.NotFoundError:
                continue
            raise AssertionError(f"{id} was erased and is there")
        for id, task in [pair for pair in known.worked if pair[0] in known.live][-20:]:
            pieces = [piece.verdict for piece in mem.get([id])[0].evidence if piece.task_id == task]
            assert pieces == ["WORKED"]
        for id, steps in known.tasks.items():
            assert mem.get_task(id).step_count == steps
        for id in client.draw.sample(sorted(known.live), min(3, len(known.live))):
            content = known.live[id]
            hits = mem.search(content[:200], namespace=NAMESPACE, top_k=5, include_public=False).hits
            found = {hit.memory.id: hit for hit in hits}
            assert id in found
            assert len(content) > 200 or found[id].cosine > 0.98, (
                "it was compared with another model's vector"
            )
    assert mem.check().problems == []


def everything(mem: siltstone.Client, namespace: str) -> list[siltstone.Memory]:
    memories, token = [], ""
    while True:
        page = mem.list(namespace, page_size=1000, page_token=token)
        memories += page
        if not (token := page.next_page_token):
            return memories


def wait_for_jobs(mem: siltstone.Client) -> None:
    """Until each job is done; none may fail."""
    deadline = time.monotonic() + BOUND_S
    while True:
        jobs, token = [], ""
        while True:
            page = mem.list_hindsight_jobs(page_size=1000, page_token=token)
            jobs += page
            if not (token := page.next_page_token):
                break
        assert [job.error for job in jobs if job.error] == []
        if all(job.state == "DONE" for job in jobs):
            return
        assert time.monotonic() < deadline, "jobs do not end"
        open_job = next(job for job in jobs if job.state != "DONE")
        mem.create_hindsight_job(open_job.task_id, wait=True)

"""`siltstone task` over a store of its own."""

import json
from pathlib import Path
from typing import Any

import pytest
from siltstone.cli import main

CHECK = {"tool": "bash", "arguments": {"command": "curl http://api:3000"}}
STEPS = [
    {**CHECK, "result": "curl: (7) 拒绝连接"},
    {"text": "原因是 api 只监听 127.0.0.1。", "tool": "bash", "arguments": {"command": "sed -i s/a/b/ app"}},
    {**CHECK, "result": "HTTP/1.1 200 OK"},
]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    monkeypatch.setenv("SILTSTONE_EMBEDDING_MODEL", "hashing")

    def run(*words: str) -> str:
        assert main([*words, "--data", "data"]) == 0
        return str(capsys.readouterr().out)

    return run


def test_finishing_with_wait_shows_the_lessons_and_so_does_the_job(run: Any, tmp_path: Path) -> None:
    task = json.loads(run("task", "start", "让 web 访问 api", "--json"))["id"]
    (tmp_path / "steps.jsonl").write_text("\n".join(map(json.dumps, STEPS)), encoding="utf-8")
    run("task", "append", task, "steps.jsonl")
    shown = run("task", "finish", task, "SUCCESS", "--wait")
    job = json.loads(run("job", "list", "--json"))["jobs"][0]["id"]
    for text in (shown, run("job", "get", job)):
        assert "CREATED" in text
        assert "原因是 api 只监听 127.0.0.1。" in text
        assert "“curl: (7) 拒绝连接”" in text


def test_finishing_without_wait_says_that_the_job_is_queued(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SILTSTONE_HINDSIGHT_WORKERS", "0")
    task = json.loads(run("task", "start", "x", "--json"))["id"]
    assert "QUEUED" in run("task", "finish", task, "SUCCESS")

"""Who found a lesson: the engine with a model's endpoint, without one, and when it is away."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import siltstone
from siltstone.config import SettingError, Settings

CHECK = {"tool": "bash", "arguments": {"command": "curl http://api:3000"}}
CHANGE = {"tool": "bash", "arguments": {"command": "sed -i s/127.0.0.1/0.0.0.0/ app"}}
RUN = {
    "goal": "让 web 能访问 api",
    "outcome": "SUCCESS",
    "steps": [
        {**CHECK, "result": "curl: (7) 拒绝连接"},
        {**CHANGE, "text": "原因是 api 只监听 127.0.0.1。"},
        {**CHECK, "result": "HTTP/1.1 200 OK"},
    ],
}
LESSON = {
    "problem": {"text": "web 访问 api 被拒绝连接", "evidence": [{"step": 1, "quote": "拒绝连接"}]},
    "root_cause": {
        "text": "api 只监听 127.0.0.1",
        "evidence": [{"step": 2, "quote": "api 只监听 127.0.0.1"}],
    },
    "solution": {"text": "改为监听 0.0.0.0", "evidence": [{"step": 2, "quote": "s/127.0.0.1/0.0.0.0/"}]},
    "task_type": "troubleshooting",
    "outcome": "SUCCESS",
    "confidence": 0.7,
}


@pytest.fixture
def endpoint() -> Iterator[str]:
    """An endpoint whose model finds LESSON in everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            text = json.dumps({"lessons": [LESSON]})
            body = json.dumps({"choices": [{"message": {"content": text}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join(10)


def opened(path: Path, **settings: object) -> siltstone.Api:
    return siltstone.open(path, settings=Settings(embedding_model="hashing", **settings))  # type: ignore[arg-type]


def test_a_models_lesson_is_kept_under_its_name_and_a_repeat_changes_nothing(
    endpoint: str, tmp_path: Path
) -> None:
    with opened(tmp_path, llm_base_url=endpoint, llm_model="tiny") as mem:
        assert mem.summarize_trajectory(RUN, dry_run=True).receipts == []
        first = mem.summarize_trajectory(RUN)
        again = mem.summarize_trajectory(RUN)
        (memory,) = mem.get([first.receipts[0].memory.id])
    assert (first.extractor, first.flags) == ("llm:tiny/1", [])
    assert memory.source is not None
    assert memory.source.extractor == "llm:tiny/1"
    assert (
        memory.content == "问题：web 访问 api 被拒绝连接\n原因：api 只监听 127.0.0.1\n解决：改为监听 0.0.0.0"
    )
    assert [receipt.action for receipt in again.receipts] == ["UNCHANGED"]


def test_a_finished_task_is_looked_back_on_by_the_model(endpoint: str, tmp_path: Path) -> None:
    with opened(tmp_path, llm_base_url=endpoint, llm_model="tiny") as mem:
        task = mem.start_task(RUN["goal"])
        mem.append_steps(task.id, RUN["steps"])
        job = mem.finish_task(task.id, "SUCCESS", wait=True)
    assert job.hindsight is not None
    assert job.hindsight.extractor == "llm:tiny/1"


def test_an_endpoint_that_is_away_leaves_the_rules_which_say_so(tmp_path: Path) -> None:
    away = {"llm_base_url": "http://127.0.0.1:9/v1", "llm_model": "tiny", "llm_timeout_s": 0.2}
    with opened(tmp_path, **away) as mem:
        hindsight = mem.summarize_trajectory(RUN)
    assert hindsight.extractor == "rules/1"
    assert hindsight.flags == ["by the rules, not by llm:tiny/1: the connection failed"]
    assert hindsight.receipts[0].action == "CREATED"


def test_half_a_setting_is_refused_before_the_directory_is_opened(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="llm_model"):
        opened(tmp_path / "data", llm_base_url="http://127.0.0.1:9/v1")
    opened(tmp_path / "data").close()


@pytest.mark.parametrize("budget", [1, 2, 3, 7, 20, 400])
def test_the_summary_keeps_its_budget_and_a_dry_run_writes_nothing(tmp_path: Path, budget: int) -> None:
    english = {"goal": "Let web reach api", "steps": RUN["steps"]}
    with opened(tmp_path) as mem:
        for run in (RUN, english):
            hindsight = mem.summarize_trajectory(run, max_tokens=budget, dry_run=True)
            assert 0 < hindsight.summary_tokens <= budget
            assert hindsight.summary
            assert "\ufffd" not in hindsight.summary
            assert hindsight.lessons
            assert hindsight.receipts == []
        assert mem.list("default") == []
        full = mem.summarize_trajectory(RUN, dry_run=True).summary
    assert full.startswith("目标：让 web 能访问 api\n结果：成功；3 步；工具：bash\n问题：")


def test_steps_are_counted_after_folding_and_those_of_a_given_trajectory_get_numbers(tmp_path: Path) -> None:
    clicks = [siltstone.Step(tool="browser_click", arguments={"element": f"按钮 {n}"}) for n in range(9)]
    remember = siltstone.Step(text="记住这个：提交按钮在右下角。")
    run = siltstone.Trajectory(goal="提交表单", steps=[*clicks, remember])
    with opened(tmp_path) as mem:
        hindsight = mem.summarize_trajectory(run, dry_run=True)
    assert hindsight.steps == 2
    assert {entry.step for entry in hindsight.lessons[0].lesson.evidence} == {10}

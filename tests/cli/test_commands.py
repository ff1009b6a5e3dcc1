import io
import json
import os
import sys
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest
from siltstone import model as m
from siltstone.cli import main
from siltstone.cli.parser import Parser
from siltstone.cli.program import build_parser
from siltstone.data import to_data
from siltstone.errors import (
    NotFoundError,
    SiltstoneError,
    UnavailableError,
)
from siltstone.model import requests as r
from siltstone.operations import OPERATIONS

from .conftest import CONTENT, ID, OTHER, FakeApi, answers, hit, memory

PAGED = {"next_page_token": ""}

# arguments → the RPC, and the one JSON object printed
CLIENT_COMMANDS: list[tuple[list[str], str, Any]] = [
    (["write", "内容"], "WriteMemories", answers()["WriteMemories"].receipts[0]),
    (["get", ID], "GetMemories", answers()["GetMemories"]),
    (["list"], "ListMemories", answers()["ListMemories"]),
    (["search", "为什么"], "SearchMemories", answers()["SearchMemories"]),
    (["update", ID, "--tag", "新"], "UpdateMemory", answers()["UpdateMemory"]),
    (["forget", ID], "ForgetMemories", answers()["ForgetMemories"]),
    (["forget", "--undo", ID], "RestoreMemory", {"memories": [answers()["RestoreMemory"]]}),
    (["trace", ID], "TraceMemory", answers()["TraceMemory"]),
    (["task", "start", "修复网络"], "StartTask", answers()["StartTask"]),
    (["task", "update", "task-1", "--finding", "端口"], "UpdateTask", answers()["UpdateTask"]),
    (["task", "append", "task-1", "--text", "看日志"], "AppendSteps", answers()["AppendSteps"]),
    (["task", "get", "task-1"], "GetTask", answers()["GetTask"]),
    (["task", "render", "task-1"], "RenderTask", answers()["RenderTask"]),
    (["task", "finish", "task-1", "success"], "FinishTask", answers()["FinishTask"]),
    (["task", "list"], "ListTasks", answers()["ListTasks"]),
    (["job", "list"], "ListHindsightJobs", {"jobs": answers()["ListHindsightJobs"].jobs, **PAGED}),
    (["job", "get", ID], "GetHindsightJob", answers()["GetHindsightJob"]),
    (["job", "create", "task-1"], "CreateHindsightJob", answers()["CreateHindsightJob"]),
    (["job", "cancel", ID], "CancelHindsightJob", answers()["CancelHindsightJob"]),
    (["hindsight", "log.json"], "StreamTrajectory", answers()["StreamTrajectory"]),
    (["namespaces"], "ListNamespaces", answers()["ListNamespaces"]),
    (["namespaces", "--delete", "团队/甲", "--yes"], "DeleteNamespace", {"memories": 3}),
    (["stats"], "GetStats", answers()["GetStats"]),
    (["check"], "CheckStore", answers()["CheckStore"]),
    (["verify", ID, "confirm", "--note", "复核通过"], "VerifyMemory", answers()["VerifyMemory"]),
    (["audit", "queue"], "ListAuditQueue", answers()["ListAuditQueue"]),
    (["audit", "log"], "ListAuditEvents", answers()["ListAuditEvents"]),
    (["compact"], "CompactStore", answers()["CompactStore"]),
    (["backup", "nightly"], "CreateBackup", answers()["CreateBackup"]),
    (["reembed", "usem3"], "ReembedMemories", answers()["ReembedMemories"]),
    (
        ["token", "create", "ci", "--for", "团队/*", "--role", "WRITER"],
        "CreateToken",
        answers()["CreateToken"],
    ),
    (["token", "list"], "ListTokens", answers()["ListTokens"]),
    (["token", "revoke", "t1"], "RevokeToken", {}),
]


def names(command: list[str]) -> str:
    return " ".join(command)


@pytest.fixture(autouse=True)
def log(tmp_path: Any) -> None:
    (tmp_path / "log.json").write_text("[]", encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "rpc", "answer"), CLIENT_COMMANDS, ids=lambda v: names(v) if isinstance(v, list) else ""
)
def test_json_prints_exactly_one_object_with_the_models_field_names(
    fake: FakeApi, capsys: Any, command: list[str], rpc: str, answer: Any
) -> None:
    assert main([*command, "--json"]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert json.loads(out) == to_data(answer)
    assert "\\u4e" not in out.lower(), "Chinese is printed as it is"
    assert err == ""
    assert [name for name, _ in fake.requests] == [rpc]


@pytest.mark.parametrize(
    ("command", "rpc", "answer"), CLIENT_COMMANDS, ids=lambda v: names(v) if isinstance(v, list) else ""
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_people_get_text_without_control_characters(
    fake: FakeApi, capsys: Any, command: list[str], rpc: str, answer: Any, lang: str
) -> None:
    assert main([*command, "--lang", lang]) == 0
    out, _ = capsys.readouterr()
    assert out.strip()
    assert not [c for c in out if ord(c) < 32 and c != "\n"], "stored text must not steer the terminal"


def test_every_implemented_unary_call_that_people_need_has_a_command(fake: FakeApi) -> None:
    reached = {rpc for _, rpc, _ in CLIENT_COMMANDS}
    assert reached >= {"WriteMemories", "SearchMemories", "StreamTrajectory", "FinishTask"}
    assert reached <= OPERATIONS.keys()


def test_a_refusal_is_an_object_on_stderr_under_json_and_a_line_otherwise(fake: FakeApi, capsys: Any) -> None:
    fake.failure = NotFoundError("id: 没有这个\x1b[2J", reason="MEMORY_NOT_FOUND", field="ids[0]")
    assert main(["get", ID, "--json"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert json.loads(err) == {
        "error": {
            "status": "NOT_FOUND",
            "reason": "MEMORY_NOT_FOUND",
            "field": "ids[0]",
            "message": "id: 没有这个\x1b[2J",
        }
    }
    assert main(["get", ID]) == 1
    assert capsys.readouterr().err == "siltstone: id: 没有这个\\x1b[2J\n"


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["serch"],
        ["search", "--top-k", "many"],
        ["search", "--top", "3", "q"],
        ["search", "--filter", "{", "q"],
        ["search", "--filter", "[]", "q"],
        ["search", "--filter", '{"tags_any": ["a"]}', "--tag", "b", "q"],
        ["search", "--confidence", "0.8", "q"],
        ["search", "--confidence", ">=0.8", "--confidence", ">=0.9", "q"],
        ["search", "--weight", "gate=steep", "q"],
        ["search", "--weight", "calibrate=maybe", "q"],
        ["write"],
        ["write", "a", "--attribute", "mysql"],
        ["write", "a", "--attribute", "mysql=1", "--attribute", "mysql=2"],
        ["write", "a", "--outcome", "WON"],
        ["update", ID],
        ["update", ID, "--request-id", "x"],
        ["forget"],
        ["forget", ID, "--tag", "a"],
        ["forget", "--undo", "--tag", "a"],
        ["forget", "--undo", "--dry-run", ID],
        ["namespaces", "--delete", "default"],
        ["stats", "--all", "--namespace", "a"],
        ["task"],
        ["task", "update", "t"],
        ["task", "append", "t"],
        ["task", "append", "t", "log.json", "--text", "x"],
        ["search", "q", "--address", "nowhere"],
        ["search", "q", "--lang", "fr"],
        ["search", "q", "--config", "missing.toml"],
        ["serve", "--workers", "0"],
        ["gateway", "--stdio", "--json"],
    ],
    ids=names,
)
def test_wrong_usage_exits_2_and_calls_nothing(fake: FakeApi, capsys: Any, command: list[str]) -> None:
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.strip()
    assert fake.requests == []
    assert main(["--json", *command]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["status"] == "INVALID_ARGUMENT"


def all_parsers(parser: Parser, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Parser]]:
    found = [(path, parser)]
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for name, child in action.choices.items():
                found += all_parsers(child, (*path, name))
    return found


PARSERS = all_parsers(build_parser())


@pytest.mark.parametrize("path", [path for path, _ in PARSERS], ids=" ".join)
def test_every_command_has_help(capsys: Any, path: tuple[str, ...]) -> None:
    assert main([*path, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: siltstone")
    assert "--json" in out


def test_the_commands_are_those_of_the_interface() -> None:
    commands = {path[0] for path, _ in PARSERS if path}
    assert " ".join(sorted(commands)) == (
        "audit backup bench check compact doctor export forget gateway get hindsight import job list mcp "
        "namespaces reembed restore search serve stats task token trace up update verify write"
    )
    below = {path[1] for path, _ in PARSERS if len(path) == 2}
    assert (
        " ".join(sorted(below))
        == "append cancel create finish get install list load log queue render revoke start update"
    )


@pytest.mark.parametrize("first", [True, False])
def test_global_flags_count_before_and_after_the_command(fake: FakeApi, capsys: Any, first: bool) -> None:
    flags = ["--json", "--namespace", "团队/甲"]
    assert main([*flags, "write", "a"] if first else ["write", "a", *flags]) == 0
    assert fake.request.namespace == "团队/甲"
    assert json.loads(capsys.readouterr().out)["action"] == "MERGED"


def test_write_passes_every_field(fake: FakeApi) -> None:
    command = (
        "write 内容 --summary 摘要 --memory-type procedural --task-type troubleshooting --outcome success "
        "--tag a --tag 标签 --tool bash --attribute mysql=8.0 --attribute replicas:=3 --confidence 0.5 "
        "--event-time 2026-05-01T08:00:00Z --ttl 30d --supersedes x --sequence s --position 2 "
        "--on-duplicate keep --on-too-long compress --request-id r1 --namespace n"
    )
    json_flags = ["--lesson", '{"problem": "问题"}', "--source", '{"writer": "w"}', "--vector", "[1, 0]"]
    assert main([*command.split(), *json_flags]) == 0
    request = fake.request
    (draft,) = request.drafts
    assert (request.namespace, request.request_id) == ("n", "r1")
    given = {f.name: getattr(draft, f.name) for f in fields(draft)}
    assert draft.attributes == {"mysql": "8.0", "replicas": 3.0}
    assert (draft.lesson.problem, draft.tags, draft.vector) == ("问题", ["a", "标签"], [1.0, 0.0])
    defaults = m.MemoryDraft(content="")
    same = [name for name, value in given.items() if value == getattr(defaults, name)]
    assert same == ["valid_until"], "each field but the one that excludes ttl was set"


def test_write_reads_standard_input_verbatim(fake: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO("第一行\r\n第二行\n".encode())))
    assert main(["write", "-"]) == 0
    assert fake.request.drafts[0].content == "第一行\r\n第二行\n"


def test_input_that_is_not_utf8_is_refused(
    fake: FakeApi, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a\xff")))
    assert main(["write", "-"]) == 1
    assert "not UTF-8 (byte 1)" in capsys.readouterr().err
    assert fake.requests == []


def test_search_passes_every_field(fake: FakeApi) -> None:
    command = (
        "search 查询 --namespace a --also b --no-public --top-k 3 --profile knowledge --weight gate=2 "
        "--weight half_life=7d --weight calibrate=false --now 2026-05-01T08:00:00Z --time-zone Asia/Shanghai "
        "--as-of 2026-04-01T00:00:00Z --view full --max-tokens 100 --min-score 0.1 --include-superseded "
        "--include-expired --include-refuted --task-id t --explain --diversity 0 --no-rerank"
    )
    assert main([*command.split(), "--vector", "[1]", "--filter", '{"not": {"tags_any": ["x"]}}']) == 0
    request = fake.request
    assert request.namespaces == ["a", "b"]
    assert (request.weights.gate, request.weights.calibrate, request.weights.half_life.days) == (
        2.0,
        False,
        7,
    )
    assert request.filter.not_.tags_any == ["x"]
    defaults = m.SearchRequest()
    same = [f.name for f in fields(request) if getattr(request, f.name) == getattr(defaults, f.name)]
    assert same == []


def test_filter_flags_make_the_filter(fake: FakeApi) -> None:
    flags = ["--tag", "网络", "--tag", "b", "--all-tags", "c", "--task-type", "t", "--tool", "bash"]
    flags += ["--outcome", "failure", "--verification", "confirmed", "--memory-type", "semantic", "--id", ID]
    flags += ["--attribute", "mysql>=8.0", "--attribute", "mysql<9", "--attribute", "n=:3"]
    flags += ["--event-time", ">=2026-05-01T00:00:00Z", "--confidence", ">= 0.8", "--confidence", "<1"]
    flags += ["--create-time", "<2027-01-01T00:00:00Z", "--update-time", ">2025-01-01T00:00:00+08:00"]
    flags += ["--filter", '{"any_of": [{"tags_any": ["z"]}]}']
    assert main(["list", *flags]) == 0
    made = to_data(fake.request.filter)
    assert {name: value for name, value in made.items() if value} == {
        "tags_any": ["网络", "b"],
        "tags_all": ["c"],
        "task_type": ["t"],
        "tools_used": ["bash"],
        "outcome": ["FAILURE"],
        "verification": ["CONFIRMED"],
        "memory_type": ["SEMANTIC"],
        "ids": [ID],
        "attributes": {"mysql": {"gte": "8.0", "lt": "9"}, "n": {"eq": 3.0}},
        "event_time": {"gte": "2026-05-01T00:00:00.000000Z"},
        "create_time": {"lt": "2027-01-01T00:00:00.000000Z"},
        "update_time": {"gt": "2024-12-31T16:00:00.000000Z"},
        "confidence": {"gte": 0.8, "lt": 1.0},
        "any_of": [to_data(m.Filter(tags_any=["z"]))],
    }


def test_a_wrong_key_in_a_filter_is_refused_with_its_path(fake: FakeApi, capsys: Any) -> None:
    assert main(["search", "q", "--filter", '{"tag": ["a"]}', "--json"]) == 1
    assert json.loads(capsys.readouterr().err)["error"]["field"] == "filter.tag"


def test_search_shows_rank_parts_marks_and_where_nothing_was_found(fake: FakeApi, capsys: Any) -> None:
    refuted = memory(id=OTHER, namespace="public", verification=m.Verification.REFUTED)
    explain = m.Explanation(plan="scan", allowed=2, candidates=2, embed_us=900, search_us=2100, read_us=30)
    fake.answers["SearchMemories"] = m.SearchResult(
        hits=[hit(), hit(memory=refuted, score=0.5)], explain=explain, truncated=True, tokens_used=40
    )
    assert main(["search", "q", "--explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["#", "score", "similarity", "recency"]
    assert lines[1].split() == [
        "1",
        "0.842",
        "0.910",
        "0.930",
        "0.700",
        "1.000",
        "0.880",
        "0.400",
        "0.000",
        ID,
    ]
    assert lines[2] == "   服务要监听 0.0.0.0"
    assert "[public] [REFUTED]" in lines[4]
    assert "\\x1b[31m😀" in "\n".join(lines), "with content, control characters are written out"
    assert lines[-2] == "Cut off at 40 tokens; raise --max-tokens to see more."
    assert lines[-1] == "plan scan; 2 allowed, 2 scored; embed 900 µs, search 2.1 ms, read 30 µs"

    fake.answers["SearchMemories"] = m.SearchResult()
    assert main(["search", "q", "--namespace", "团队/甲"]) == 0
    assert capsys.readouterr().out == "No memory matches in namespace 团队/甲, public.\n"


def test_hindsight_shows_lessons_with_evidence_receipts_and_the_next_command(
    fake: FakeApi, capsys: Any
) -> None:
    assert main(["hindsight", "log.json"]) == 0
    out = capsys.readouterr().out
    for expected in (
        "web 连不上 api",
        "改为监听 0.0.0.0",
        "step 4: “127.0.0.1:3000 LISTEN”",
        "MERGED",
        "复盘摘要",
    ):
        assert expected in out
    assert "Lines that could not be read (1):\n  line 17: not JSON" in out
    assert out.endswith("Next: siltstone search 'web 连不上 api'\n")


def test_hindsight_reads_standard_input(fake: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    log = '{"role": "user"}\n{"role": "assistant"}\n'
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(log.encode())))
    assert (
        main(["hindsight", "-", "--goal", "目标", "--outcome", "failure", "--max-tokens", "9", "--dry-run"])
        == 0
    )
    first, *parts = fake.request
    request = first.options
    assert b"".join(part.data for part in parts) == log.encode()
    assert (request.goal, request.outcome, request.max_tokens, request.dry_run) == (
        "目标",
        "FAILURE",
        9,
        True,
    )


def test_task_append_takes_json_jsonl_or_flags(fake: FakeApi, tmp_path: Any, capsys: Any) -> None:
    (tmp_path / "list.json").write_text('[{"text": "一"}, {"text": "二"}]', encoding="utf-8")
    (tmp_path / "lines.jsonl").write_text('{"text": "一"}\n\n{"text": "二"}\n', encoding="utf-8")
    (tmp_path / "bad.jsonl").write_text('{"text": "一"}\n{\n', encoding="utf-8")
    for name in ("list.json", "lines.jsonl"):
        assert main(["task", "append", "t", name]) == 0
        assert [step.text for step in fake.requests[-1][1].steps] == ["一", "二"]
    capsys.readouterr()
    assert main(["task", "append", "t", "bad.jsonl"]) == 2
    assert "line 2 is not JSON" in capsys.readouterr().err
    assert main(["task", "append", "t", "--tool", "bash", "--arguments", '{"n": 1}', "--error"]) == 0
    assert fake.requests[-1][1].steps == [m.Step(tool="bash", arguments={"n": 1}, is_error=True)]


def test_forget_by_filter_keeps_the_namespace_and_says_how_to_undo(fake: FakeApi, capsys: Any) -> None:
    assert main(["forget", "--tag", "旧", "--namespace", "n"]) == 0
    request = fake.request
    assert (request.namespace, request.filter.tags_any, request.ids) == ("n", ["旧"], [])
    assert f"Undo: siltstone --namespace n forget --undo {ID}" in capsys.readouterr().out


def test_check_exits_1_when_there_are_problems(fake: FakeApi, capsys: Any) -> None:
    fake.answers["CheckStore"] = m.CheckReport(problems=["namespace 3: 索引缺少 1 条"])
    assert main(["check"]) == 1
    assert "索引缺少" in capsys.readouterr().out


def test_import_and_export_name_what_they_did(
    fake: FakeApi, monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Any
) -> None:
    fake.answers["ExportMemories"] = [r.ExportChunk(data="一行\n".encode())]
    fake.answers["ImportMemories"] = r.ImportReport(imported=2, failed=1, failures=["line 17: 坏了"])
    assert main(["export", "out.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"path": "out.jsonl", "bytes": 7}
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == "一行\n"
    assert main(["import", "log.json"]) == 1, "lines that failed are a failure"
    assert "line 17: 坏了" in capsys.readouterr().out


def test_the_language_follows_flag_then_setting_then_locale(
    fake: FakeApi, monkeypatch: Any, capsys: Any
) -> None:
    fake.answers["SearchMemories"] = m.SearchResult()

    def said(*flags: str) -> str:
        assert main(["search", "q", "--no-public", *flags]) == 0
        return str(capsys.readouterr().out)

    assert said().startswith("No memory")
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert said() == "命名空间 default 中没有匹配的记忆。\n"
    monkeypatch.setenv("LC_ALL", "C")
    assert said().startswith("No memory")
    monkeypatch.setenv("SILTSTONE_LANG", "zh")
    assert said().startswith("命名空间")
    assert said("--lang", "en").startswith("No memory")


@pytest.mark.parametrize(("raised", "code"), [(KeyboardInterrupt(), 130), (BrokenPipeError(), 130)])
def test_ctrl_c_and_a_broken_pipe_are_quiet(
    fake: FakeApi, monkeypatch: Any, capfd: Any, raised: BaseException, code: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(fake, "_call", fail)
    saved = os.dup(1)
    try:
        assert main(["stats"]) == code
    finally:
        os.dup2(saved, 1)
        os.close(saved)
    assert capfd.readouterr().err == ""


def test_an_unreachable_server_exits_1(fake: FakeApi, capsys: Any) -> None:
    fake.failure = UnavailableError("no server at 127.0.0.1:1; start one: siltstone serve")
    assert main(["stats"]) == 1
    assert "siltstone serve" in capsys.readouterr().err


def test_a_fault_of_ours_exits_1_with_its_type(fake: FakeApi, monkeypatch: Any, capsys: Any) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(fake, "_call", fail)
    assert main(["stats", "--json"]) == 1
    error = json.loads(capsys.readouterr().err)["error"]
    assert (error["status"], error["message"]) == (SiltstoneError.status, "ZeroDivisionError: oops")


def test_content_reaches_json_verbatim(fake: FakeApi, capsys: Any) -> None:
    assert main(["get", ID, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["memories"][0]["content"] == CONTENT

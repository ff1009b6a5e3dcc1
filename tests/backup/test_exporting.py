"""Exports and imports: what goes out comes back, and what is bad is named by its line."""

import base64
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import siltstone
from siltstone.engine import Call
from siltstone.engine.export_format import MAX_LINE_BYTES
from siltstone.local import Local
from siltstone.model.requests import ExportMemoriesRequest, ImportReport

from .conftest import NOW, SETTINGS, answers, fill

Open = Callable[..., Local]
NANS = b"\0\0\xc0\x7f" * 384


@pytest.fixture
def source(open_at: Open) -> Local:
    mem = open_at("source")
    fill(mem)
    return mem


@pytest.fixture
def file(source: Local, tmp_path: Path) -> Path:
    """An export of a filled store."""
    source.export(tmp_path / "all.jsonl")
    return tmp_path / "all.jsonl"


def compared(mem: Local) -> dict[str, Any]:
    """What an export brings over, without what it does not."""
    return {name: value for name, value in answers(mem).items() if name != "tasks"}


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def write_rows(file: Path, changed: list[Any]) -> None:
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in changed), encoding="utf-8")


def index_of(changed: list[dict[str, Any]], text: str) -> int:
    return next(i for i, row in enumerate(changed) if text in row.get("memory", {}).get("content", ""))


def test_an_import_into_an_empty_store_gives_the_same_answers_and_the_same_export(
    open_at: Open, tmp_path: Path, source: Local, file: Path
) -> None:
    mem = open_at()
    report = mem.import_(file)
    assert (report.failed, report.failures, report.warnings, report.unchanged) == (0, [], [], 0)
    assert report.imported == sum("memory" in row for row in rows(file))
    assert report.embedded == 0
    mem.export(tmp_path / "again.jsonl")
    assert rows(tmp_path / "again.jsonl")[1:] == rows(file)[1:]
    assert compared(mem) == compared(source)
    assert "imported" in {event.action for event in mem.audit_log()}


def test_the_same_file_twice_changes_nothing(open_at: Open, file: Path) -> None:
    mem = open_at()
    first = mem.import_(file)
    before, seq = compared(mem), mem.stats().seq
    second = mem.import_(file)
    assert (second.imported, second.unchanged, second.failed) == (0, first.imported, 0)
    assert (compared(mem), mem.stats().seq) == (before, seq)


def test_the_past_comes_over_too(open_at: Open, file: Path) -> None:
    mem = open_at()
    mem.import_(file)
    [changed] = [m for m in mem.list(page_size=1000) if m.content.endswith("互相访问")]
    [former] = mem.trace(changed.id).revisions
    [then] = mem.get([changed.id], as_of=former.memory.update_time)
    assert then.content == "监听 0.0.0.0，容器之间就能用服务名访问"
    [hit] = mem.search("服务名访问", as_of=former.memory.update_time, top_k=1).hits
    assert hit.memory.summary == then.summary


def test_another_embedding_model_embeds_anew(open_at: Open, tmp_path: Path, file: Path) -> None:
    changed = rows(file)
    for row in changed:
        if row.get("memory", {}).get("embedding_model", "caller") != "caller":
            row["memory"]["embedding_model"] = "another-model/1"
            row["memory"]["embedding_dimension"] = 2
            row["vectors"] = "AACAPwAAgD8="
    write_rows(file, changed)
    mem = open_at()
    report = mem.import_(file)
    assert report.failed == 0
    assert report.embedded == report.imported - 1, "the caller's vector stays"
    assert mem.search("容器为什么不能互相访问", now=NOW).hits[0].memory.summary.startswith("监听")
    assert mem.check().problems == []


def test_a_bad_row_is_reported_with_its_line_and_the_rest_goes_on(open_at: Open, file: Path) -> None:
    lines = file.read_bytes().splitlines()
    whole = len(lines)
    bad = [
        b"{",
        b"[]",
        b'{"memory": 3}',
        b"\xff\xfe",
        '{"memory": {"content": "没有时间", "id": "01970000-0000-7000-8000-000000000001"}}'.encode(),
        b'{"memory": {"contents": "x"}}',
        b'{"revision": {"memory_id": "01970000-0000-7000-8000-000000000001"}}',
        b"[" * 100_000,
        lines[1].replace(b'"vectors":"', b'"vectors":"!'),
        re.sub(rb'"vectors":"[^"]*"', b'"vectors":"' + base64.b64encode(NANS) + b'"', lines[1]),
    ]
    end = json.loads(lines[-1])
    end["end"]["memories"] += len(bad)
    file.write_bytes(b"\n".join([*lines[:-1], *bad, json.dumps(end).encode()]) + b"\n")
    mem = open_at()
    report = mem.import_(file)
    assert report.failed == len(bad)
    for i, failure in enumerate(report.failures):
        assert failure.startswith(f"line {whole + i}: ")
    assert mem.check().problems == []
    assert report.imported == sum(b'{"memory"' in line for line in lines)


def test_a_row_that_is_here_in_another_state_stays_and_is_reported(open_at: Open, file: Path) -> None:
    mem = open_at()
    mem.import_(file)
    [cake] = mem.list("team/agent-a")
    mem.update(cake.id, content="另一块蛋糕")
    report = mem.import_(file)
    assert report.failed == 1
    assert cake.id in report.failures[0]
    assert mem.get([cake.id])[0].content == "另一块蛋糕"


def test_what_was_erased_here_does_not_come_back(open_at: Open, file: Path) -> None:
    mem = open_at()
    mem.import_(file)
    [cake] = mem.list("team/agent-a")
    mem.forget(ids=[cake.id], mode="ERASE")
    report = mem.import_(file)
    assert report.failed == 1
    assert "erased" in report.failures[0]
    assert list(mem.list("team/agent-a")) == []


def test_a_namespace_that_was_deleted_can_be_imported_again_at_once(open_at: Open, file: Path) -> None:
    mem = open_at()
    mem.import_(file)
    before = compared(mem)
    mem.delete_namespace("default")
    mem.delete_namespace("team/agent-a")
    report = mem.import_(file)
    assert report.failed == 0
    mem.compact()  # what was deleted is purged now
    assert compared(mem) == before


@pytest.mark.parametrize("cut", ["last line", "in a line", "half"])
def test_a_file_that_was_cut_off_is_told_from_a_whole_one(open_at: Open, file: Path, cut: str) -> None:
    data = file.read_bytes()
    end = data.rindex(b"\n", 0, len(data) - 1) + 1
    file.write_bytes(data[: {"last line": end, "in a line": end - 20, "half": len(data) // 2}[cut]])
    mem = open_at()
    report = mem.import_(file)
    assert report.failed >= 1
    assert "cut off" in report.failures[-1]
    assert report.imported > 0


def test_windows_line_ends_and_a_byte_order_mark_are_taken(open_at: Open, file: Path) -> None:
    lines = file.read_bytes().splitlines()
    file.write_bytes(b"\xef\xbb\xbf" + b"\r\n\r\n".join(lines) + b"\r\n")
    report = open_at().import_(file)
    assert (report.failed, report.warnings) == (0, [])
    assert report.imported == sum(b'{"memory"' in line for line in lines)


@pytest.mark.parametrize(
    "first", [b"", b"{}", b'{"siltstone_export": 2}', b'{"content": "x"}', "不是导出".encode()]
)
def test_what_is_no_export_of_a_known_version_is_refused_whole(
    open_at: Open, tmp_path: Path, first: bytes
) -> None:
    (tmp_path / "x").write_bytes(first)
    with pytest.raises(siltstone.FailedPreconditionError) as caught:
        open_at().import_(tmp_path / "x")
    assert caught.value.reason == "EXPORT_FORMAT"


def test_a_row_that_is_too_large_is_reported_and_costs_no_other(open_at: Open, file: Path) -> None:
    changed = rows(file)
    at = index_of(changed, "Birthday cake")
    changed[at]["memory"]["content"] = "大" * (50 << 18)
    write_rows(file, changed)
    longest = b'{"memory": "' + b"x" * (MAX_LINE_BYTES + 1) + b'"}\n'
    changed[-1]["end"]["memories"] += 1
    write_rows(file, changed)
    data = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*data[:-1], longest, data[-1]]))
    report = open_at().import_(file)
    assert report.failed == 2
    assert [failure.partition(":")[0] for failure in report.failures] == [
        f"line {at + 1}",
        f"line {len(data)}",
    ]
    assert "max_content_bytes" in report.failures[0]


def test_a_relation_to_a_memory_that_is_not_here_stays_and_is_told(open_at: Open, file: Path) -> None:
    changed = rows(file)
    gone = changed.pop(index_of(changed, "127.0.0.1"))["memory"]
    changed[-1]["end"]["memories"] -= 1
    changed = [row for row in changed if row.get("revision", {}).get("memory_id") != gone["id"]]
    changed[-1]["end"]["revisions"] = sum("revision" in row for row in changed)
    write_rows(file, changed)
    mem = open_at()
    report = mem.import_(file)
    assert report.failed == 0
    assert len(report.warnings) == 1
    assert f"supersedes: {gone['id']}" in report.warnings[0]


def test_an_export_is_of_the_moment_it_began_whatever_changes_meanwhile(open_at: Open) -> None:
    mem = open_at()
    for i in range(40):
        mem.write(f"第 {i} 条 " + "很长的内容" * 8000, on_duplicate="KEEP")
    before = {m.id: m for m in mem.list(page_size=1000)}
    first, *_, changed, erased = before
    parts: Iterator[Any] = iter(mem.engine.export_memories(ExportMemoriesRequest(), Call()))
    data = next(parts).data + next(parts).data
    mem.update(changed, content="后来的内容")
    mem.write("后来写的")
    mem.forget(ids=[erased], mode="ERASE")
    mem.forget(ids=[first])
    data += b"".join(part.data for part in parts)
    exported = {
        row["memory"]["id"]: row["memory"] for row in map(json.loads, data.splitlines()) if "memory" in row
    }
    assert exported.keys() == before.keys() - {erased}
    for id, row in exported.items():
        assert (row["content"], row["revision"]) == (before[id].content, 1)


def test_an_export_of_a_namespace_has_no_other_and_an_unknown_one_is_not_found(
    open_at: Open, tmp_path: Path, file: Path
) -> None:
    mem = open_at()
    mem.import_(file)
    seen: list[int] = []
    written = mem.export(tmp_path / "one", namespaces=["team/agent-a"], progress=seen.append)
    assert {r["memory"]["namespace"] for r in rows(tmp_path / "one") if "memory" in r} == {"team/agent-a"}
    assert seen[-1] == written == (tmp_path / "one").stat().st_size
    with pytest.raises(siltstone.NotFoundError):
        mem.export(tmp_path / "none", namespaces=["没有"])
    assert not (tmp_path / "none").exists()


def test_importing_and_exporting_take_the_role_of_an_admin(open_at: Open, tmp_path: Path, file: Path) -> None:
    agent = Local(open_at().engine, roles=["reader", "writer", "auditor"])
    with pytest.raises(siltstone.PermissionDeniedError):
        agent.export(tmp_path / "x")
    with pytest.raises(siltstone.PermissionDeniedError):
        agent.import_(file)


def test_over_grpc_too(open_at: Open, tmp_path: Path, file: Path) -> None:
    from siltstone.server import serve

    mem = open_at(settings=replace(SETTINGS, max_message_bytes=4 << 20))
    server = serve(mem.engine, address="127.0.0.1:0", workers=4)
    try:
        with siltstone.Client(server.address, timeout=30) as client:
            report: ImportReport = client.import_(file)
            assert report.failed == 0
            client.export(tmp_path / "again.jsonl")
            made = client.backup_to(tmp_path / "kept")
            assert client.backup_to(tmp_path / "kept").new_bytes == 0 < made.new_bytes
    finally:
        server.stop()
    assert rows(tmp_path / "again.jsonl")[1:] == rows(file)[1:]


@pytest.mark.parametrize("vector", [[1.0, 2.0, 3.0], [1e18] * 384, [1e-18] * 384])
def test_a_former_state_with_vectors_that_no_index_takes_is_a_bad_row_and_spoils_no_past(
    open_at: Open, file: Path, vector: list[float]
) -> None:
    changed = rows(file)
    bad = next(i for i, row in enumerate(changed) if "revision" in row and "vectors" in row)
    changed[bad]["revision"]["memory"]["embedding_dimension"] = len(vector)
    changed[bad]["vectors"] = base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()
    write_rows(file, changed)
    mem = open_at()
    report = mem.import_(file)
    assert [failure.partition(":")[0] for failure in report.failures] == [f"line {bad + 1}"]
    then = changed[bad]["revision"]["memory"]["update_time"]
    mem.search("容器", as_of=then)
    assert mem.check().problems == []


@pytest.mark.parametrize(
    "fields",
    [
        {"flags": ["x"] * 65},
        {"flags": ["x" * 300]},
        {"evidence": [{"verdict": "WORKED", "time": NOW}] * 101},
        {"evidence": [{"verdict": "WORKED", "time": NOW, "note": "长" * 400_000}]},
        {"supersede_reason": "长" * 400_000},
        {"source": {"principal": "长" * 400_000}},
        {"tags": [str(i) for i in range(100_000)]},
    ],
)
def test_a_row_with_more_of_anything_than_a_store_makes_itself_is_a_bad_row(
    open_at: Open, file: Path, fields: dict[str, Any]
) -> None:
    changed = rows(file)
    at = index_of(changed, "cake")
    changed[at]["memory"] |= fields
    write_rows(file, changed)
    report = open_at().import_(file)
    [failure] = report.failures
    assert failure.startswith(f"line {at + 1}: memory.{next(iter(fields))}")


def test_data_exports_and_backups_are_for_their_owner_only(open_at: Open, tmp_path: Path) -> None:
    mem = open_at("new")
    mem.write("给团队的说明")
    mem.export(tmp_path / "all.jsonl")
    mem.backup_to(tmp_path / "kept")
    mem.close()
    assert (tmp_path / "all.jsonl").stat().st_mode & 0o077 == 0
    for directory in ("kept", "new", "new/index", "new/store"):
        assert (tmp_path / directory).stat().st_mode & 0o077 == 0, directory

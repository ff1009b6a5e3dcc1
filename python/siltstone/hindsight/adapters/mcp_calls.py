"""Adapter: logs of MCP tool calls, above all Playwright's.

One record a call ({tool | name, arguments, result}), JSON-RPC messages (`tools/call` and its answer), and the
`session.md` that Playwright MCP keeps with `--save-session`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from siltstone.hindsight.adapters.anthropic_messages import result_text
from siltstone.hindsight.adapters.collecting import StepCollector, joined, time_of
from siltstone.hindsight.adapters.log import Adapter, Found, Log, Skipped
from siltstone.hindsight.adapters.own_format import is_own_step
from siltstone.hindsight.untrusted import arguments_of, invalid, outcome_of, read_json, required_text, text_of

MARKDOWN_START = "### Tool call: "
_BROWSER = re.compile(r"(?:^|__)browser_[a-z_]+$")
_ARGUMENTS = ("arguments", "args", "params", "input")
_RESULTS = ("result", "output", "response", "content")
_TIMES = ("time", "timestamp", "ts", "startTime")


def _tool(entry: dict[str, Any]) -> str:
    for name in ("tool", "name", "toolName", "tool_name"):
        if isinstance(entry.get(name), str):
            return str(entry[name])
    return ""


def _is_call(entry: dict[str, Any]) -> bool:
    return _BROWSER.search(_tool(entry)) is not None and "role" not in entry and "type" not in entry


def _is_rpc(entry: dict[str, Any]) -> bool:
    return entry.get("jsonrpc") == "2.0" and entry.get("method") == "tools/call"


def _matches(log: Log) -> bool:
    if log.key not in ("", "calls", "steps"):
        return False
    entries = log.dicts()
    if any(_is_rpc(entry) for entry in entries):
        return True
    calls = [entry for entry in entries if _is_call(entry)]
    return bool(calls) and not all(
        is_own_step(entry) and isinstance(entry.get("result", ""), str) for entry in calls
    )


def _read(log: Log) -> Found:
    steps = StepCollector()
    for where, entry in log.entries("calls"):
        with log.entry():
            time = next((t for name in _TIMES if (t := time_of(entry.get(name)))), None)
            if entry.get("jsonrpc") == "2.0":
                _rpc(steps, entry, where, log)
                continue
            tool = _tool(entry).strip()
            if not tool:
                log.skip(where, "no call of a tool: it has no name")
                continue
            arguments = next((entry[name] for name in _ARGUMENTS if name in entry), None)
            steps.call(where, tool, arguments_of(arguments), text=_said(entry), time=time)
            text, failed = _result(entry, where, log)
            steps.answer(where, text, failed=failed)
    row = log.row
    return Found(
        steps.finished(),
        goal=required_text(row.get("goal"), "goal") or required_text(row.get("task"), "task"),
        outcome=outcome_of(row["outcome"], "outcome") if row.get("outcome") is not None else None,
        id=required_text(row.get("id"), "id"),
    )


def _rpc(steps: StepCollector, entry: dict[str, Any], where: str, log: Log) -> None:
    key = text_of(entry.get("id"), f"{where}.id")
    if _is_rpc(entry):
        params = entry.get("params")
        if not isinstance(params, dict) or not isinstance(params.get("name"), str):
            raise invalid(f"{where}.params", "expected an object with the tool's name")
        steps.call(key, params["name"], arguments_of(params.get("arguments")))
    elif steps.waiting(key) is not None:
        error = entry.get("error")
        if error is not None:
            steps.answer(key, text_of(error, f"{where}.error"), failed=True)
        else:
            text, failed = _result(entry, where, log)
            steps.answer(key, text, failed=failed)


def _said(entry: dict[str, Any]) -> str:
    parts = [entry.get(name) for name in ("thought", "text", "message")]
    return joined(*(part for part in parts if isinstance(part, str)))


def _result(entry: dict[str, Any], where: str, log: Log) -> tuple[str, bool]:
    value = next((entry[name] for name in _RESULTS if entry.get(name) is not None), None)
    failed = any(entry.get(name) is True for name in ("isError", "is_error"))
    if isinstance(value, dict) and isinstance(value.get("content"), list):
        failed = failed or value.get("isError") is True
        value = value["content"]
    text = result_text(value, f"{where}.result", log)
    error = entry.get("error")
    if error:
        return joined(text, text_of(error, f"{where}.error")), True
    return text, failed


def read_markdown(lines: Iterable[str], skipped: Skipped) -> Iterator[dict[str, Any]]:
    """The calls of a `session.md`, each as a record; arguments that are not JSON are reported."""
    call: dict[str, Any] = {}
    section, fence, block = "", False, list[str]()
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\n").rstrip("\r")
        if fence:
            if line != "```":
                block.append(line)
                continue
            fence = False
            _store(call, section, "\n".join(block), number, skipped)
            block = []
        elif line.startswith(MARKDOWN_START):
            if call:
                yield call
            call = {"name": line.removeprefix(MARKDOWN_START).strip(), "arguments": {}}
            section = ""
        elif line.startswith("```"):
            fence = True
        elif line.startswith("- "):
            section = line[2:].partition(":")[0].strip().casefold()
    if fence:
        _store(call, section, "\n".join(block), number, skipped)
    if call:
        yield call


def _store(call: dict[str, Any], section: str, text: str, number: int, skipped: Skipped) -> None:
    if section == "args":
        try:
            call["arguments"] = read_json(text)
        except ValueError as error:
            skipped.add(f"line {number}: arguments are not JSON: {error}")
    elif section in ("result", "error"):
        call["result"] = joined(call.get("result", ""), text)
        call["isError"] = call.get("isError") is True or section == "error"


ADAPTER = Adapter(
    "mcp-calls",
    "MCP call logs such as Playwright's ({name: browser_click, arguments, result}, JSON-RPC, session.md)",
    _matches,
    _read,
)

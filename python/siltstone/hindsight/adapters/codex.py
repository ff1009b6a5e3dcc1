"""Adapter: Codex session logs (rollout files), and what `codex exec --json` prints."""

import re
from datetime import datetime
from typing import Any

from siltstone.hindsight.adapters.collecting import StepCollector, time_of
from siltstone.hindsight.adapters.log import Adapter, Found, Log, kind_of
from siltstone.hindsight.adapters.openai_responses import ItemReader, is_item
from siltstone.hindsight.untrusted import arguments_of, text_of
from siltstone.model import Outcome, Role

_LINES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_STREAM = {
    "thread.started",
    "turn.started",
    "item.started",
    "item.completed",
    "turn.completed",
    "turn.failed",
}
# What the program puts into the user's turn before the user's own words.
_INJECTED = re.compile(
    r"\A\s*(?:<(?:environment_context|user_instructions|turn_aborted|permissions|INSTRUCTIONS|skill"
    r"|collaboration_mode|user_shell_command)\b|# AGENTS\.md instructions)"
)
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) *(-?\d+)", re.MULTILINE)
_HEAD = 400  # characters within which a tool's output states its exit code, before the line "Output:"
_OUTPUT = "\nOutput:\n"


def _matches(log: Log) -> bool:
    entries = log.dicts()
    if any(kind_of(entry) in _LINES and isinstance(entry.get("payload"), dict) for entry in entries):
        return True
    if any(kind_of(entry) in _STREAM for entry in entries):
        return True
    # The first version: a line about the session, then bare items.
    first = entries[0] if entries else {}
    old = {"id", "timestamp", "instructions"} <= first.keys() and "type" not in first
    return old and any(is_item(entry) or entry.get("record_type") == "state" for entry in entries[1:])


def _read(log: Log) -> Found:
    reader = ItemReader(log)
    found = Found([])
    echoes = StepCollector()  # the events repeat what the items say, in older logs they are all there is
    for where, entry in log.entries("lines"):
        with log.entry():
            kind, payload, time = kind_of(entry), entry.get("payload"), time_of(entry.get("timestamp"))
            if kind in _STREAM:
                _streamed(reader, entry, where, found)
            elif kind == "session_meta" and isinstance(payload, dict):
                found.id = payload["id"] if isinstance(payload.get("id"), str) else ""
            elif kind == "event_msg" and isinstance(payload, dict):
                _event(reader, echoes, payload, found, time)
            elif kind == "response_item" and isinstance(payload, dict):
                reader.read(payload, where, time=time)
            elif kind and kind not in _LINES:
                reader.read(entry, where, time=time)
            elif not kind and isinstance(entry.get("id"), str) and not found.id:
                found.id = entry["id"]
    reader.flush()
    steps = reader.steps
    if not any(step.role in (Role.USER, Role.AGENT) for step in steps.steps):
        steps.steps = echoes.steps + steps.steps
    for step in steps.steps:
        if step.role is Role.USER and _INJECTED.match(step.text):
            step.role = Role.SYSTEM
        exit_code = _EXIT.search(step.result[:_HEAD]) if step.tool else None
        if exit_code:
            step.is_error = step.is_error or exit_code[1] != "0"
            head = step.result.find(_OUTPUT, exit_code.end(), _HEAD)
            step.result = step.result[head + len(_OUTPUT) :] if head >= 0 else step.result
    found.steps = steps.finished()
    found.goal = next((step.text for step in found.steps if step.role is Role.USER), "")
    return found


def _event(
    reader: ItemReader, echoes: StepCollector, payload: dict[str, Any], found: Found, time: datetime | None
) -> None:
    kind, text = kind_of(payload), payload.get("message")
    if kind in ("user_message", "agent_message") and isinstance(text, str):
        echoes.say(Role.USER if kind == "user_message" else Role.AGENT, text, time=time)
    elif kind in ("error", "stream_error") and isinstance(text, str):
        reader.steps.answer("", text, failed=True, time=time)
    elif kind == "turn_aborted":
        found.outcome = Outcome.UNKNOWN
    elif kind == "exec_command_end":
        step = reader.steps.waiting(text_of(payload.get("call_id"), "call_id"))
        if step is not None:  # the call's own output follows, or in some versions this is all there is
            step.result = text_of(payload.get("aggregated_output"), "aggregated_output")
            step.is_error = payload.get("exit_code") not in (None, 0)


def _streamed(reader: ItemReader, entry: dict[str, Any], where: str, found: Found) -> None:
    kind, item = kind_of(entry), entry.get("item")
    if kind == "thread.started" and isinstance(entry.get("thread_id"), str):
        found.id = entry["thread_id"]
    elif kind == "turn.failed":
        found.outcome = Outcome.FAILURE
    elif kind == "item.completed" and isinstance(item, dict):
        _completed(reader, item, where)


def _completed(reader: ItemReader, item: dict[str, Any], where: str) -> None:
    steps = reader.steps
    kind, text = kind_of(item) or kind_of(item, "item_type"), text_of(item.get("text"), where)
    failed = item.get("status") == "failed" or item.get("exit_code") not in (None, 0)
    if kind in ("agent_message", "assistant_message", "reasoning"):
        steps.say(Role.AGENT, text)
    elif kind == "command_execution":
        steps.call(where, "shell", {"command": text_of(item.get("command"), where)})
        steps.answer(where, text_of(item.get("aggregated_output"), where), failed=failed)
    elif kind == "mcp_tool_call":
        steps.call(where, text_of(item.get("tool"), where) or "mcp", arguments_of(item.get("arguments")))
        steps.answer(where, text_of(item.get("error") or item.get("result"), where), failed=failed)
    elif kind == "file_change":
        steps.call(where, "apply_patch", arguments_of({"changes": item.get("changes")}))
        steps.answer(where, "", failed=failed)
    elif kind == "web_search":
        steps.call(where, "web_search", arguments_of({"query": item.get("query")}))
    elif kind == "error":
        steps.answer("", text_of(item.get("message"), where), failed=True)


ADAPTER = Adapter(
    "codex",
    "Codex session logs (lines of {timestamp, type: session_meta | response_item | event_msg, payload})",
    _matches,
    _read,
)

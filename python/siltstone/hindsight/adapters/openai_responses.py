"""Adapter: items of the OpenAI Responses API, as input, output, or whole responses."""

from datetime import datetime
from typing import Any

from siltstone.errors import InvalidArgumentError
from siltstone.hindsight.adapters.collecting import StepCollector, joined, role_of
from siltstone.hindsight.adapters.log import Adapter, Found, Log, kind_of
from siltstone.hindsight.untrusted import (
    arguments_of,
    check_value,
    invalid,
    read_json,
    required_text,
    text_of,
)
from siltstone.model import Outcome, Role

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.AGENT,
}
_CALLS = {"function_call", "custom_tool_call", "mcp_call"}
# Tools that run on the provider's side: call and result are one item.
_HOSTED = {
    "web_search_call": ("action", "query"),
    "file_search_call": ("queries",),
    "code_interpreter_call": ("code",),
    "computer_call": ("action",),
    "local_shell_call": ("action",),
    "tool_search_call": ("arguments",),
    "shell_call": ("action",),
    "apply_patch_call": ("operation",),
}
_TEXT_PARTS = {"input_text", "output_text", "text", "summary_text", "reasoning_text"}
# What a wrapper around an output may hold beside it.
_WRAPPING = {
    "output",
    "content",
    "stdout",
    "stderr",
    "exit_code",
    "metadata",
    "success",
    "isError",
    "structuredContent",
    "_meta",
    "meta",
    "duration_seconds",
    "timed_out",
}
_SILENT = {"item_reference", "compaction", "mcp_list_tools", "ghost_snapshot"}


def is_item(entry: Any) -> bool:
    """Whether an entry is an item that only the Responses API has; a plain message is none."""
    if not isinstance(entry, dict):
        return False
    kind = kind_of(entry)
    if kind == "reasoning" and ("summary" in entry or "content" in entry):
        return True
    if kind == "message" and isinstance(entry.get("content"), list):
        return any(
            isinstance(p, dict) and p.get("type") in ("input_text", "output_text") for p in entry["content"]
        )
    return isinstance(kind, str) and (
        kind in _CALLS or kind in _HOSTED or (kind.endswith("_output") and "call_id" in entry)
    )


class ItemReader:
    """Adds items to steps; the reasoning before a call becomes the call's text."""

    def __init__(self, log: Log) -> None:
        self.steps = StepCollector()
        self._log = log
        self._thought = ""
        self._time: datetime | None = None

    def read(self, item: dict[str, Any], where: str, *, time: datetime | None = None) -> None:
        kind = kind_of(item) or ("message" if "role" in item else "")
        if kind == "reasoning":
            parts = [self._text(item.get(name), f"{where}.{name}") for name in ("summary", "content")]
            self._thought, self._time = joined(self._thought, *parts), time
        elif kind == "message":
            self._message(item, where, time)
        elif kind in _CALLS or kind in _HOSTED:
            self._call(item, str(kind), where, time)
        elif isinstance(kind, str) and kind.endswith("_output"):
            text, failed = output_of(self._text(item.get("output"), f"{where}.output"))
            key = required_text(item.get("call_id"), f"{where}.call_id")
            self.steps.answer(key, text, failed=failed, time=time)
        elif kind not in _SILENT:
            self._log.skip(where, f"an item of type {str(kind)[:40]!r} is not read")

    def flush(self) -> None:
        """Reasoning that led to nothing is a step by itself."""
        self.steps.say(Role.AGENT, self._thought, time=self._time)
        self._thought = ""

    def _message(self, item: dict[str, Any], where: str, time: datetime | None) -> None:
        role = role_of(item.get("role"), _ROLES, f"{where}.role")
        text = self._text(item.get("content"), f"{where}.content")
        if role is Role.AGENT:
            text, self._thought = joined(self._thought, text), ""
        else:
            self.flush()
        self.steps.say(role, text, time=time)

    def _call(self, item: dict[str, Any], kind: str, where: str, time: datetime | None) -> None:
        key = required_text(item.get("call_id") or item.get("id"), f"{where}.call_id")
        if kind in _CALLS:
            tool = required_text(item.get("name"), f"{where}.name").strip()
            if not tool:
                raise invalid(f"{where}.name", "the tool's name is missing")
            arguments = arguments_of(item.get("arguments", item.get("input")))
        else:
            tool = kind.removesuffix("_call")
            given = {name: item[name] for name in _HOSTED[kind] if item.get(name) is not None}
            action = given.get("action")
            arguments = action if isinstance(action, dict) else given
        self.steps.call(key, tool, arguments, text=self._thought, time=time)
        self._thought = ""
        result = item.get("output", item.get("outputs", item.get("results")))
        error = item.get("error")
        if error:
            self.steps.answer(key, text_of(error, f"{where}.error"), failed=True)
        elif result is not None:
            self.steps.answer(key, self._text(result, where), failed=item.get("status") == "failed")

    def _text(self, content: Any, where: str) -> str:
        if not isinstance(content, list):
            return text_of(content, where)
        texts: list[str] = []
        for part in content:
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, dict) and kind_of(part) in _TEXT_PARTS:
                texts.append(required_text(part.get("text"), f"{where}.text"))
            elif isinstance(part, dict) and isinstance(part.get("refusal"), str):
                texts.append(part["refusal"])
            elif isinstance(part, dict) and str(part.get("type", "")).endswith(("_image", "_file")):
                self._log.skip(where, f"a part of type {str(part['type'])[:40]!r} is not read")
            else:
                texts.append(text_of(part, where))
        return "\n".join(texts)


def output_of(output: str) -> tuple[str, bool]:
    """A tool's output and whether it failed.

    Programs wrap it in JSON: ``{"output", "metadata": {"exit_code"}}``, ``{"content", "success"}``,
    ``{"stdout", "stderr", "exit_code"}``, an MCP tool's result; what is in it is the output. Other JSON is
    an output of its own and stays as it is.
    """
    if not output.startswith("{"):
        return output, False
    try:
        value = read_json(output)
        check_value(value, "output")
    except (ValueError, InvalidArgumentError):
        return output, False
    if isinstance(value, dict) and len(value) == 1 and value.keys() <= {"Ok", "Err"}:
        if "Err" in value:
            return text_of(value["Err"], "output"), True
        value = value["Ok"]
    if not isinstance(value, dict) or not value.keys() <= _WRAPPING:
        return output, False
    texts = [_wrapped(value[name]) for name in ("output", "content", "stdout", "stderr") if name in value]
    if not texts or None in texts:
        return output, False
    meta = value.get("metadata")
    code = value.get("exit_code", meta.get("exit_code") if isinstance(meta, dict) else None)
    failed = value.get("success") is False or value.get("isError") is True or code not in (None, 0)
    return joined(*(text for text in texts if text)), failed


def _wrapped(value: Any) -> str | None:
    """A text, or the texts of a list of parts; None for anything else, an image among the parts included."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        return None
    texts = [part.get("text") for part in value if kind_of(part) in _TEXT_PARTS]
    known = [text for text in texts if isinstance(text, str)]
    return "\n".join(known) if len(known) == len(value) else None


def _matches(log: Log) -> bool:
    if any(is_item(entry) for entry in log.dicts()):
        return True
    if log.key == "output" and log.row.get("object") == "response":
        return True
    return any(entry.get("object") == "response" and "output" in entry for entry in log.dicts())


def _read(log: Log) -> Found:
    reader = ItemReader(log)
    row = log.row
    reader.steps.say(Role.SYSTEM, row["instructions"] if isinstance(row.get("instructions"), str) else "")
    _input(reader, row.get("input"))
    outcome = _outcome(row)
    for where, entry in log.entries("items"):
        with log.entry():
            if entry.get("object") == "response" and isinstance(entry.get("output"), list):
                _input(reader, entry.get("input"))
                for index, item in enumerate(entry["output"]):
                    if not isinstance(item, dict):
                        raise invalid(
                            f"{where}.output[{index}]", f"expected an item, got {type(item).__name__}"
                        )
                    reader.read(item, f"{where}.output[{index}]")
                outcome = _outcome(entry)
            else:
                reader.read(entry, where)
    reader.flush()
    goal = required_text(row.get("goal"), "goal")
    return Found(reader.steps.finished(), goal=goal, outcome=outcome, id=required_text(row.get("id"), "id"))


def _input(reader: ItemReader, given: Any) -> None:
    if isinstance(given, str):
        reader.steps.say(Role.USER, given)
    elif isinstance(given, list):
        for index, item in enumerate(given):
            if not isinstance(item, dict):
                raise invalid(f"input[{index}]", f"expected an item, got {type(item).__name__}")
            reader.read(item, f"input[{index}]")


def _outcome(response: dict[str, Any]) -> Outcome | None:
    return Outcome.FAILURE if response.get("status") == "failed" or response.get("error") else None


ADAPTER = Adapter(
    "openai-responses",
    "OpenAI Responses items (message, reasoning, function_call, function_call_output; or a whole response)",
    _matches,
    _read,
)

"""Adapter: LangChain messages: {type, content}, {type, data}, or as `dumpd` writes them ({"lc": 1, …})."""

from typing import Any

from siltstone.hindsight.adapters.anthropic_messages import result_text
from siltstone.hindsight.adapters.collecting import StepCollector, joined
from siltstone.hindsight.adapters.log import Adapter, Found, Log, kind_of
from siltstone.hindsight.untrusted import arguments_of, invalid, outcome_of, required_text
from siltstone.model import Role

_ROLES = {
    "human": Role.USER,
    "ai": Role.AGENT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
    "chat": Role.AGENT,
}
_TELLING = {"human", "ai"}
_SAID = {"text", "thinking", "reasoning"}


def _plain(entry: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Kind and fields of a message in any of its three forms; kind "" where it is none."""
    if entry.get("lc") == 1 and isinstance(entry.get("kwargs"), dict):
        path = entry.get("id")
        name = path[-1] if isinstance(path, list) and path and isinstance(path[-1], str) else ""
        return _kind(name if name.endswith(("Message", "Chunk")) else ""), entry["kwargs"]
    kind = kind_of(entry)
    data = entry.get("data")
    if isinstance(kind, str) and isinstance(data, dict) and "content" in data:
        return _kind(kind), data
    if isinstance(kind, str) and "content" in entry and "role" not in entry:
        return _kind(kind), entry
    return "", {}


def _kind(name: str) -> str:
    kind = name.removesuffix("Chunk").removesuffix("Message").casefold()
    return kind if kind in _ROLES else ""


def _matches(log: Log) -> bool:
    if log.key not in ("", "messages"):
        return False
    return any(_plain(entry)[0] in _TELLING for entry in log.dicts())


def _read(log: Log) -> Found:
    steps = StepCollector()
    for where, entry in log.entries("messages"):
        with log.entry():
            kind, message = _plain(entry)
            if not kind:
                raise invalid(f"{where}.type", f"no message; its type is none of {', '.join(_ROLES)}")
            role = _ROLES[kind]
            text, inline = _content(message.get("content"), where, log)
            if role is Role.TOOL:
                key = required_text(message.get("tool_call_id"), f"{where}.tool_call_id")
                tool = required_text(message.get("name"), f"{where}.name")
                steps.answer(key or tool, text, failed=message.get("status") == "error", tool=tool)
                continue
            calls = _calls(message, where) or inline
            for position, (key, tool, arguments) in enumerate(calls):
                steps.call(key or tool, tool, arguments, text=text if position == 0 else "", role=role)
            if not calls:
                steps.say(role, text)
    row = log.row
    return Found(
        steps.finished(),
        goal=required_text(row.get("goal"), "goal"),
        outcome=outcome_of(row["outcome"], "outcome") if row.get("outcome") is not None else None,
        id=required_text(row.get("id"), "id"),
    )


_Call = tuple[str, str, dict[str, Any]]


def _calls(message: dict[str, Any], where: str) -> list[_Call]:
    """The calls of a message; older versions keep them, and those that did not parse, elsewhere."""
    more = message.get("additional_kwargs")
    calls = message.get("tool_calls") or []
    broken = message.get("invalid_tool_calls") or []
    if not calls and not broken and isinstance(more, dict):
        calls = more.get("tool_calls") or ([more["function_call"]] if more.get("function_call") else [])
    if not isinstance(calls, list) or not isinstance(broken, list):
        raise invalid(f"{where}.tool_calls", f"expected a list, got {type(calls).__name__}")
    return [_call(call, f"{where}.tool_calls[{index}]") for index, call in enumerate([*calls, *broken])]


def _call(call: Any, where: str) -> _Call:
    inner = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(inner, dict):
        raise invalid(where, "expected an object with name and args")
    tool = required_text(inner.get("name"), f"{where}.name").strip()
    if not tool:
        raise invalid(f"{where}.name", "the tool's name is missing")
    arguments = arguments_of(inner.get("args", inner.get("arguments", inner.get("input"))))
    return required_text(call.get("id"), f"{where}.id"), tool, arguments


def _content(content: Any, where: str, log: Log) -> tuple[str, list[_Call]]:
    if not isinstance(content, list):
        return result_text(content, where, log), []
    said, calls = "", []
    for block in content:
        kind = kind_of(block) if isinstance(block, dict) else ""
        if kind == "tool_use":
            calls.append(_call(block, where))
        elif kind in _SAID and isinstance(block.get(kind), str):
            said = joined(said, block[kind])
        else:
            said = joined(said, result_text([block], where, log))
    return said, calls


ADAPTER = Adapter(
    "langchain",
    'LangChain messages ({type: human | ai | tool | system, content} or data, or {"lc": 1, "kwargs"})',
    _matches,
    _read,
)

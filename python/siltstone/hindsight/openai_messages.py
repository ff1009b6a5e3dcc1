"""Adapter: OpenAI chat messages, alone or in an object with goal and outcome."""

from typing import Any

from siltstone.hindsight.actions import command_of
from siltstone.hindsight.failure import is_reading, result_failed
from siltstone.hindsight.untrusted import arguments_of, invalid, required_text, text_of
from siltstone.model import Role, Step

NAME = "openai-messages"
_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.AGENT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
_TEXT_PARTS = {"text", "input_text", "output_text", "refusal"}


def is_message(value: Any) -> bool:
    return isinstance(value, dict) and "role" in value and ("content" in value or "tool_calls" in value)


def read_messages(messages: list[Any]) -> tuple[list[Step], list[str]]:
    """Steps of a chat, and what could not be read of it.

    A tool call and the tool's answer with its id are one step; several calls of one message are several, the
    first with the message's text.
    """
    steps: list[Step] = []
    waiting: dict[str, Step] = {}
    skipped: list[str] = []
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        if not isinstance(message, dict):
            raise invalid(where, f"expected an object, got {type(message).__name__}")
        name = message.get("role")
        role = _ROLES.get(name) if isinstance(name, str) else None
        if role is None:
            raise invalid(f"{where}.role", f"{str(name)[:40]!r} is none of {', '.join(_ROLES)}")
        text = _content(message.get("content"), f"{where}.content", skipped)
        calls = _calls(message, where)
        if role is Role.TOOL:
            key = required_text(message.get("tool_call_id"), f"{where}.tool_call_id") or text_of(
                message.get("name"), where
            )
            step = waiting.pop(key, None)
            if step is None:
                step = Step(role=Role.TOOL)
                steps.append(step)
            step.result = text
        elif calls:
            for position, (key, tool, arguments) in enumerate(calls):
                step = Step(role=role, text=text if position == 0 else "", tool=tool, arguments=arguments)
                steps.append(step)
                waiting[key] = step
        elif text.strip():
            steps.append(Step(role=role, text=text))
        elif message.get("content") not in (None, "", []):
            skipped.append(f"{where}: nothing in it that can be read")
    for number, step in enumerate(steps, start=1):
        step.number = number
        step.is_error = result_failed(step.result, reading=is_reading(step.tool, command_of(step)))
    return steps, skipped


def _content(content: Any, where: str, skipped: list[str]) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise invalid(where, f"expected text or a list of parts, got {type(content).__name__}")
    texts: list[str] = []
    for index, part in enumerate(content):
        if isinstance(part, str):
            texts.append(part)
        elif not isinstance(part, dict):
            raise invalid(f"{where}[{index}]", f"expected a part, got {type(part).__name__}")
        elif part.get("type") in _TEXT_PARTS or (part.get("type") is None and "text" in part):
            texts.append(required_text(part.get("text", part.get("refusal")), f"{where}[{index}].text"))
        else:
            skipped.append(f"{where}[{index}]: a part of type {str(part.get('type'))[:40]!r} is not read")
    return "\n".join(texts)


def _calls(message: dict[str, Any], where: str) -> list[tuple[str, str, dict[str, Any]]]:
    calls = message.get("tool_calls")
    if calls is None and message.get("function_call") is not None:
        calls = [{"function": message["function_call"]}]
    if calls is None:
        return []
    if not isinstance(calls, list):
        raise invalid(f"{where}.tool_calls", f"expected a list, got {type(calls).__name__}")
    found = []
    for index, call in enumerate(calls):
        place = f"{where}.tool_calls[{index}]"
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            raise invalid(f"{place}.function", "expected an object with name and arguments")
        tool = required_text(function.get("name"), f"{place}.function.name").strip()
        if not tool:
            raise invalid(f"{place}.function.name", "the tool's name is missing")
        key = required_text(call.get("id"), f"{place}.id") or tool
        found.append((key, tool, arguments_of(function.get("arguments"))))
    return found

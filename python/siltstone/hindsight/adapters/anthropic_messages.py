"""Adapter: Anthropic messages, content as text or blocks (text, thinking, tool_use, tool_result)."""

from datetime import datetime
from typing import Any

from siltstone.hindsight.adapters.collecting import StepCollector, joined, role_of
from siltstone.hindsight.adapters.log import Adapter, Found, Log, kind_of
from siltstone.hindsight.untrusted import arguments_of, invalid, outcome_of, required_text, text_of
from siltstone.model import Role

_ROLES = {"user": Role.USER, "assistant": Role.AGENT, "system": Role.SYSTEM}
_OWN_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"}
_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}


def has_own_blocks(message: Any) -> bool:
    """Whether a message has content that only Anthropic writes so."""
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, list) and any(
        isinstance(block, dict) and kind_of(block) in _OWN_BLOCKS for block in content
    )


def read_message(
    steps: StepCollector,
    message: dict[str, Any],
    where: str,
    log: Log,
    *,
    role: Role | None = None,
    time: datetime | None = None,
    spare_result: str = "",
) -> None:
    """Add one message; a tool_result goes to the step of its tool_use.

    `role` overrides that of its texts; `spare_result` stands in for an empty result.
    """
    spoken = role or role_of(message.get("role"), _ROLES, f"{where}.role")
    content = message.get("content")
    if content is None or isinstance(content, str):
        steps.say(spoken, content or "", time=time)
        return
    if not isinstance(content, list):
        raise invalid(f"{where}.content", f"expected text or a list of blocks, got {type(content).__name__}")
    said = ""
    for index, block in enumerate(content):
        place = f"{where}.content[{index}]"
        if isinstance(block, str):
            said = joined(said, block)
            continue
        if not isinstance(block, dict):
            raise invalid(place, f"expected a block, got {type(block).__name__}")
        kind = kind_of(block)
        if kind in ("text", "thinking"):
            said = joined(said, required_text(block.get(kind), f"{place}.{kind}"))
        elif kind in _CALLS:
            tool = required_text(block.get("name"), f"{place}.name").strip()
            if not tool:
                raise invalid(f"{place}.name", "the tool's name is missing")
            key = required_text(block.get("id"), f"{place}.id")
            steps.call(key, tool, arguments_of(block.get("input")), text=said, role=Role.AGENT, time=time)
            said = ""
        elif isinstance(kind, str) and kind.endswith("tool_result"):
            key = required_text(block.get("tool_use_id"), f"{place}.tool_use_id")
            text = result_text(block.get("content"), place, log) or spare_result
            steps.answer(key, text, failed=block.get("is_error") is True, time=time)
        elif kind != "redacted_thinking":
            log.skip(place, f"a block of type {str(kind)[:40]!r} is not read")
    steps.say(spoken, said, time=time)


def result_text(content: Any, where: str, log: Log) -> str:
    """The text of a tool's result: text, or blocks of text; others are reported."""
    if not isinstance(content, list):
        return text_of(content, where)
    texts: list[str] = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif isinstance(block, dict) and kind_of(block) in ("image", "document", "image_url"):
            log.skip(where, f"a block of type {block['type']!r} is not read")
        else:
            texts.append(text_of(block, where))
    return "\n".join(texts)


def _matches(log: Log) -> bool:
    messages = [entry for entry in log.dicts() if "role" in entry]
    if not messages:
        return False
    if any(has_own_blocks(message) for message in messages):
        return True
    # `system` beside the messages is Anthropic's; OpenAI has it among them.
    return log.key == "messages" and isinstance(log.row.get("system"), str | list)


def _read(log: Log) -> Found:
    steps = StepCollector()
    system = log.row.get("system")
    steps.say(Role.SYSTEM, result_text(system, "system", log) if system else "")
    for where, message in log.entries("messages"):
        with log.entry():
            read_message(steps, message, where, log)
    return Found(
        steps.finished(),
        goal=required_text(log.row.get("goal"), "goal") or required_text(log.row.get("task"), "task"),
        outcome=outcome_of(log.row["outcome"], "outcome") if log.row.get("outcome") is not None else None,
        id=required_text(log.row.get("id"), "id"),
        task_type=required_text(log.row.get("task_type"), "task_type"),
    )


ADAPTER = Adapter(
    "anthropic-messages",
    "Anthropic messages (content blocks of type text, thinking, tool_use, tool_result)",
    _matches,
    _read,
)

"""Adapter: OpenAI chat messages, alone or in an object with goal and outcome."""

from typing import Any

from siltstone.hindsight.adapters.agent_runs import goal_of, id_of, is_run_step, task_type_of
from siltstone.hindsight.adapters.collecting import StepCollector, role_of
from siltstone.hindsight.adapters.log import Adapter, Found, Log, Skipped
from siltstone.hindsight.adapters.own_format import is_own_step
from siltstone.hindsight.adapters.swe_agent import outcome_of_exit
from siltstone.hindsight.untrusted import arguments_of, invalid, outcome_of, required_text, text_of
from siltstone.model import Role

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


def _matches(log: Log) -> bool:
    if log.key == "messages":
        return True
    first = next(iter(log.dicts()), {})
    return log.key == "" and "role" in first and not (is_run_step(first) or is_own_step(first))


def _read(log: Log) -> Found:
    row, info = log.row, log.row.get("info")
    outcome = outcome_of(row["outcome"], "outcome") if row.get("outcome") is not None else None
    if outcome is None and isinstance(info, dict):  # mini-swe-agent
        outcome = outcome_of_exit(info.get("exit_status"))
    steps = StepCollector()
    for where, message in log.entries("messages"):
        with log.entry():
            read_message(steps, message, where, log)
    return Found(
        steps.finished(), goal=goal_of(row), outcome=outcome, id=id_of(row), task_type=task_type_of(row)
    )


def read_message(steps: StepCollector, message: dict[str, Any], where: str, log: Log) -> None:
    """Add one message. Several calls of one message are several steps, the first with the message's text."""
    role = role_of(message.get("role"), _ROLES, f"{where}.role")
    text = _content(message.get("content"), f"{where}.content", log.skipped)
    calls = _calls(message, where)
    if role is Role.TOOL:
        given = message.get("tool_call_id", message.get("id"))
        key = required_text(given, f"{where}.tool_call_id") or text_of(message.get("name"), where)
        steps.answer(key, text, failed=message.get("error") is True)
    elif calls:
        for position, (key, tool, arguments) in enumerate(calls):
            steps.call(key, tool, arguments, text=text if position == 0 else "", role=role)
    elif text.strip():
        steps.say(role, text)
    elif message.get("content") not in (None, "", []):
        log.skip(where, "nothing in it that can be read")


def _content(content: Any, where: str, skipped: Skipped) -> str:
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
            skipped.add(f"{where}[{index}]: a part of type {str(part.get('type'))[:40]!r} is not read")
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
        if function is None and isinstance(call, dict) and "name" in call:  # tau2-bench
            function = call
        if not isinstance(function, dict):
            raise invalid(f"{place}.function", "expected an object with name and arguments")
        tool = required_text(function.get("name"), f"{place}.function.name").strip()
        if not tool:
            raise invalid(f"{place}.function.name", "the tool's name is missing")
        key = required_text(call.get("id"), f"{place}.id") or tool
        found.append((key, tool, arguments_of(function.get("arguments"))))
    return found


ADAPTER = Adapter(
    NAME,
    'OpenAI chat messages (a list of {role, content, tool_calls}, or {"goal", "messages"})',
    _matches,
    _read,
)

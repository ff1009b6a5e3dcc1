"""Adapter: published agent runs, a task with its steps.

tau-bench (role, message, action with tool and args, observation), SWE-agent and ReAct on HotpotQA (thought,
action, observation), WebVoyager (observation, thought, action) and web tests (action with name and args).
"""

import re
from typing import Any

from siltstone.hindsight.actions import command_of
from siltstone.hindsight.adapters.collecting import role_of
from siltstone.hindsight.adapters.log import Adapter, Found, Log
from siltstone.hindsight.failure import is_reading, result_failed
from siltstone.hindsight.untrusted import arguments_of, invalid, outcome_of, required_text, text_of
from siltstone.model import Role, Step

NAME = "agent-run"
_STEP_KEYS = {"thought", "action", "observation", "message"}
_ROLES = {
    "user": Role.USER,
    "agent": Role.AGENT,
    "assistant": Role.AGENT,
    "tool": Role.TOOL,
    "system": Role.SYSTEM,
}
_TASK_TYPES = {"customer-service-tools": "customer-service", "search-qa": "question-answering"}
_BRACKETS = re.compile(r"\A\s*([A-Za-z]\w*)\[(.*)\]\s*\Z", re.DOTALL)
_FIRST_WORD = re.compile(r"\A\s*([^\s;]+);?\s*(.*)\Z", re.DOTALL)
_BROWSER_WORDS = frozenset(["click", "type", "scroll", "wait", "goback", "google", "answer"])


def is_run_step(value: Any) -> bool:
    return isinstance(value, dict) and bool(_STEP_KEYS & value.keys())


def task_type_of(row: dict[str, Any]) -> str:
    """The task type a source gives, or its domain."""
    given = required_text(row.get("task_type"), "task_type") or required_text(row.get("domain"), "domain")
    return _TASK_TYPES.get(given, given)


def goal_of(row: dict[str, Any]) -> str:
    """The task, with the instructions of a scripted one."""
    goal = required_text(row.get("goal"), "goal") or required_text(row.get("task"), "task")
    instructions = row.get("instructions")
    lines = (
        [item["do"] for item in instructions if _is_instruction(item)]
        if isinstance(instructions, list)
        else []
    )
    return "\n".join([goal, *lines])


def id_of(row: dict[str, Any]) -> str:
    value = row.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return required_text(value, "id")


def _matches(log: Log) -> bool:
    entries = log.dicts()
    if log.key in ("steps", "trajectory"):
        return any(is_run_step(entry) for entry in entries) or (not entries and "task" in log.row)
    return log.key == "" and bool(entries) and is_run_step(entries[0])


def _read(log: Log) -> Found:
    row = log.row
    return Found(
        _steps(log, required_text(row.get("error"), "error")),
        goal=goal_of(row),
        outcome=outcome_of(row["outcome"], "outcome") if row.get("outcome") is not None else None,
        id=id_of(row),
        task_type=task_type_of(row),
    )


def _steps(log: Log, error: str) -> list[Step]:
    """Steps of a run; an action and the observation it gave are one."""
    entries = []
    for where, entry in log.entries("steps"):
        if not is_run_step(entry):
            raise invalid(where, f"has none of {', '.join(sorted(_STEP_KEYS))}")
        entries.append(entry)
    steps = _observed_first(entries) if _sees_before_it_acts(entries) else _in_order(entries)
    if error.strip():
        steps.append(Step(role=Role.TOOL, result=error, is_error=True))
    for number, step in enumerate(steps, start=1):
        step.number = number
        step.is_error = step.is_error or result_failed(
            step.result, reading=is_reading(step.tool, command_of(step))
        )
    return steps


def _in_order(entries: list[dict[str, Any]]) -> list[Step]:
    steps: list[Step] = []
    for index, entry in enumerate(entries):
        where = f"steps[{index}]"
        role = role_of(entry.get("role", "agent"), _ROLES, f"{where}.role")
        observation = text_of(entry.get("observation"), where)
        if role is Role.TOOL and steps and steps[-1].tool and not steps[-1].result:
            called = required_text(entry.get("tool"), f"{where}.tool")
            if not called or called == steps[-1].tool:
                steps[-1].result = observation or _said(entry, where)
                continue
        tool, arguments = _action(entry.get("action"), f"{where}.action")
        text = _said(entry, where)
        if tool == "finish" and not text:
            text = text_of(arguments.get("reason"), where)
        steps.append(Step(role=role, text=text, tool=tool, arguments=arguments, result=observation))
    return steps


def _sees_before_it_acts(entries: list[dict[str, Any]]) -> bool:
    """WebVoyager: an observation is what the page looked like before the step's action."""
    words = [
        _FIRST_WORD.sub(r"\1", entry["action"]).casefold()
        for entry in entries
        if isinstance(entry.get("action"), str)
    ]
    first = entries[0] if entries else {}
    return (
        bool(words)
        and all(word in _BROWSER_WORDS for word in words)
        and isinstance(first.get("observation"), str)
        and "role" not in first
    )


def _observed_first(entries: list[dict[str, Any]]) -> list[Step]:
    steps = [Step(role=Role.USER, text=text_of(entries[0].get("observation"), "steps[0]"))]
    for index, entry in enumerate(entries):
        tool, arguments = _action(entry.get("action"), f"steps[{index}].action")
        following = entries[index + 1].get("observation") if index + 1 < len(entries) else None
        steps.append(
            Step(
                text=_said(entry, f"steps[{index}]"),
                tool=tool,
                arguments=arguments,
                result=text_of(following, f"steps[{index}]"),
            )
        )
    return steps if steps[0].text.strip() else steps[1:]


def _said(entry: dict[str, Any], where: str) -> str:
    parts = [required_text(entry.get(key), f"{where}.{key}") for key in ("thought", "message")]
    return "\n".join(part for part in parts if part.strip())


def _action(action: Any, where: str) -> tuple[str, dict[str, Any]]:
    if action is None:
        return "", {}
    if isinstance(action, dict):
        tool = required_text(action.get("tool") or action.get("name"), f"{where}.tool").strip()
        if not tool:
            raise invalid(f"{where}.tool", "the tool's name is missing")
        return tool, arguments_of(action.get("args", action.get("arguments")))
    if not isinstance(action, str):
        raise invalid(where, f"expected text or an object, got {type(action).__name__}")
    return split_action(action) if action.strip() else ("", {})


def split_action(action: str) -> tuple[str, dict[str, Any]]:
    """Tool and arguments of an action written as text: ``Search[x]``, ``Click [3]``, a shell command."""
    call = _BRACKETS.match(action)
    if call:
        return call[1], {"input": call[2]} if call[2] else {}
    first = _FIRST_WORD.match(action)
    tool, rest = (first[1], first[2]) if first else (action.strip(), "")
    if tool.casefold() in _BROWSER_WORDS and tool[:1].isupper():
        return tool, {"input": rest} if rest else {}
    return tool, {"command": action}


def _is_instruction(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("do"), str)


ADAPTER = Adapter(
    NAME,
    'agent runs ({"task", "steps": [{thought, action, observation}]})',
    _matches,
    _read,
)

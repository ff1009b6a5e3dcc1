"""Adapter: SWE-agent `.traj` files (trajectory, history, info); mini-swe-agent's hold chat messages."""

import re
from typing import Any

from siltstone.hindsight.adapters.agent_runs import split_action
from siltstone.hindsight.adapters.collecting import StepCollector
from siltstone.hindsight.adapters.log import Adapter, Found, Log
from siltstone.hindsight.untrusted import required_text, text_of
from siltstone.model import Outcome, Role

_STEP = {"action", "observation"}
_GAVE_UP = re.compile(
    r"\b(?:exit_(?:cost|context|format|error|forfeit|api|total\w*|command\w*)|early_exit|LimitsExceeded)\b"
)


def _matches(log: Log) -> bool:
    return (
        log.key == "trajectory"
        and any(entry.keys() >= _STEP for entry in log.dicts())
        and bool({"history", "info", "environment", "replay_config"} & log.row.keys())
    )


def _read(log: Log) -> Found:
    steps = StepCollector()
    goal = _goal(log.row.get("history"))
    steps.say(Role.USER, goal)
    for where, entry in log.entries("trajectory"):
        thought = required_text(entry.get("thought"), f"{where}.thought")
        action = required_text(entry.get("action"), f"{where}.action")
        if not action.strip():
            steps.say(Role.AGENT, thought or text_of(entry.get("response"), where))
            continue
        tool, arguments = split_action(action)
        steps.call(where, tool, arguments, text=thought)
        steps.answer(where, text_of(entry.get("observation"), where))
    info = log.row.get("info")
    return Found(
        steps.finished(),
        goal=goal or required_text(log.row.get("goal"), "goal") or required_text(log.row.get("task"), "task"),
        outcome=outcome_of_exit(info.get("exit_status") if isinstance(info, dict) else None),
        id=text_of(log.row.get("instance_id"), "instance_id"),
        task_type="software-engineering",
    )


def outcome_of_exit(status: Any) -> Outcome | None:
    """FAILURE where a run ended without handing in; None where it handed in, which may be right or not."""
    if not isinstance(status, str) or status.startswith("submitted"):
        return None
    return Outcome.FAILURE if _GAVE_UP.search(status) else None


def _goal(history: Any) -> str:
    """The first message to the agent that is no demonstration."""
    for message in history if isinstance(history, list) else []:
        if not isinstance(message, dict) or message.get("role") != "user" or message.get("is_demo"):
            continue
        content = message.get("content")
        if isinstance(content, list):
            content = "\n".join(
                str(part["text"]) for part in content if isinstance(part, dict) and "text" in part
            )
        if isinstance(content, str) and content.strip():
            return content
    return ""


ADAPTER = Adapter(
    "swe-agent",
    'SWE-agent .traj files ({"trajectory": [{thought, action, observation}], "history", "info"})',
    _matches,
    _read,
)

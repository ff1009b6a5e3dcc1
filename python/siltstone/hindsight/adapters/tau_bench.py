"""Adapter: result files of tau-bench (`traj`) and tau2-bench (`simulations`), one run at a time."""

from typing import Any

from siltstone.hindsight.adapters.collecting import StepCollector
from siltstone.hindsight.adapters.log import Adapter, Found, Log
from siltstone.hindsight.adapters.openai_messages import read_message
from siltstone.hindsight.untrusted import invalid, required_text, text_of
from siltstone.model import Outcome

_TASK_TYPE = "customer-service"


def _matches(log: Log) -> bool:
    if log.key == "traj":
        return True
    return log.key == "simulations" and any(isinstance(s.get("messages"), list) for s in log.dicts())


def _read(log: Log) -> Found:
    if log.key == "simulations":
        return _simulation(log)
    row = log.row
    info = row.get("info")
    task = info.get("task") if isinstance(info, dict) else None
    given = task.get("instruction") if isinstance(task, dict) else None
    steps = StepCollector()
    for where, message in log.entries("traj"):
        read_message(steps, message, where, log)
    return Found(
        steps.finished(),
        goal=required_text(given, "info.task.instruction"),
        outcome=_outcome(row.get("reward")),
        id="/".join(text_of(row[name], name) for name in ("task_id", "trial") if name in row),
        task_type=_TASK_TYPE,
    )


def _simulation(log: Log) -> Found:
    entries = list(log.entries("simulations"))
    if len(entries) != 1:
        raise invalid("simulations", f"holds {len(entries)} runs; give one at a time")
    where, run = entries[0]
    tasks = log.row.get("tasks")
    task = (
        next((t for t in tasks if isinstance(t, dict) and t.get("id") == run.get("task_id")), {})
        if isinstance(tasks, list)
        else {}
    )
    steps = StepCollector()
    for index, message in enumerate(run["messages"]):
        if not isinstance(message, dict):
            raise invalid(f"{where}.messages[{index}]", f"expected an object, got {type(message).__name__}")
        read_message(steps, message, f"{where}.messages[{index}]", log)
    reward = run.get("reward_info")
    return Found(
        steps.finished(),
        goal=_instructions(task.get("user_scenario")),
        outcome=_outcome(reward.get("reward") if isinstance(reward, dict) else None),
        id=text_of(run.get("id"), "id"),
        task_type=_TASK_TYPE,
    )


def _instructions(scenario: Any) -> str:
    given = scenario.get("instructions") if isinstance(scenario, dict) else None
    if isinstance(given, dict):
        parts = [given.get(name) for name in ("reason_for_call", "task_instructions")]
        return "\n".join(part for part in parts if isinstance(part, str) and part.strip())
    return given if isinstance(given, str) else ""


def _outcome(reward: Any) -> Outcome | None:
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        return None
    return Outcome.SUCCESS if reward >= 1 else Outcome.FAILURE if reward <= 0 else Outcome.PARTIAL


ADAPTER = Adapter(
    "tau-bench",
    'tau-bench results ({"task_id", "reward", "traj": [messages]}; tau2: {"simulations": [one]})',
    _matches,
    _read,
)

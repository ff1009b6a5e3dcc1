"""Adapter: browser-use histories (`AgentHistoryList` as JSON)."""

from typing import Any

from siltstone.hindsight.adapters.collecting import StepCollector, joined, time_of
from siltstone.hindsight.adapters.log import Adapter, Found, Log
from siltstone.hindsight.untrusted import required_text, text_of
from siltstone.model import Outcome, Step

NAME = "browser-use"
_SAID = ("thinking", "evaluation_previous_goal", "memory", "next_goal")
_ELEMENT = ("name", "type", "aria-label", "placeholder", "title", "id", "value", "role")


def _is_item(entry: dict[str, Any]) -> bool:
    return "model_output" in entry and isinstance(entry.get("result"), list)


def _matches(log: Log) -> bool:
    return any(_is_item(entry) for entry in log.dicts())


def _read(log: Log) -> Found:
    steps = StepCollector()
    last: dict[str, Any] = {}
    failed: list[bool] = []
    first_goal = ""
    for where, entry in log.entries("history"):
        if not _is_item(entry):
            log.skip(where, "no item of a history: it has no model_output and result")
            continue
        output = entry["model_output"] if isinstance(entry["model_output"], dict) else {}
        state = output.get("current_state")
        said = {**output, **state} if isinstance(state, dict) else output
        thoughts = [required_text(said.get(name), f"{where}.{name}") for name in _SAID]
        first_goal = first_goal or thoughts[-1]
        last = _item(steps, entry, where, joined(*thoughts)) or last
        failed += [step.is_error for step in steps.steps[len(failed) :]]
    for step, error in zip(steps.finished(), failed, strict=True):
        step.is_error = error  # the log says so itself; the words of a page say nothing about the action
    goal = required_text(log.row.get("task"), "task") or required_text(log.row.get("goal"), "goal")
    return Found(steps.steps, goal=goal or first_goal, outcome=_outcome(last))


def _item(steps: StepCollector, entry: dict[str, Any], where: str, text: str) -> dict[str, Any]:
    """The steps of one item, one an action; its last result."""
    output = entry["model_output"] if isinstance(entry["model_output"], dict) else {}
    actions = output.get("action")
    actions = [action for action in actions if isinstance(action, dict)] if isinstance(actions, list) else []
    results = [result for result in entry["result"] if isinstance(result, dict)]
    state, meta = entry.get("state"), entry.get("metadata")
    elements = state.get("interacted_element") if isinstance(state, dict) else None
    time = time_of(meta.get("step_start_time")) if isinstance(meta, dict) else None
    for index in range(max(len(actions), len(results))):
        action = actions[index] if index < len(actions) else {}
        tool = next((name for name, given in action.items() if given is not None), "")
        given = action.get(tool)
        arguments = dict(given) if isinstance(given, dict) else {"input": given} if given is not None else {}
        element = elements[index] if isinstance(elements, list) and index < len(elements) else None
        if described := _element(element):
            arguments.setdefault("element", described)
        step = steps.call(f"{where}.{index}", tool, arguments, text=text if index == 0 else "", time=time)
        if index < len(results):
            _result(step, results[index], where)
    if not actions and not results:
        steps.call("", "", {}, text=text, time=time)
    return results[-1] if results else {}


def _result(step: Step, result: dict[str, Any], where: str) -> None:
    error = text_of(result.get("error"), f"{where}.error")
    content = text_of(result.get("extracted_content"), f"{where}.extracted_content")
    step.result = joined(content, error)
    step.is_error = bool(error.strip())


def _element(element: Any) -> str:
    """What was acted on, in the words a person sees; its place in the page is left out."""
    if not isinstance(element, dict):
        return ""
    attributes = element.get("attributes")
    given = attributes if isinstance(attributes, dict) else {}
    words = [given[name] for name in _ELEMENT if isinstance(given.get(name), str) and given[name].strip()]
    node = element.get("node_name", element.get("tag_name"))
    return " ".join([*([node.lower()] if isinstance(node, str) else []), *words])[:200]


def _outcome(last: dict[str, Any]) -> Outcome | None:
    """What the agent itself says with its last action; None where it only says that it is done."""
    if last.get("is_done") is True and isinstance(last.get("success"), bool):
        return Outcome.SUCCESS if last["success"] else Outcome.FAILURE
    return Outcome.FAILURE if last.get("error") and last.get("is_done") is not True else None


ADAPTER = Adapter(
    NAME,
    'browser-use histories ({"history": [{model_output, result, state}]})',
    _matches,
    _read,
)

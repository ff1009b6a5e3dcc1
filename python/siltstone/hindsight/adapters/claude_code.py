"""Adapter: Claude Code session logs, and what its `--output-format stream-json` prints."""

import re
from typing import Any

from siltstone.hindsight.adapters.anthropic_messages import read_message
from siltstone.hindsight.adapters.collecting import StepCollector, time_of
from siltstone.hindsight.adapters.log import Adapter, Found, Log, kind_of
from siltstone.hindsight.untrusted import text_of
from siltstone.model import Outcome, Role

_TURNS = {"user", "assistant"}
_MARKS = {"uuid", "parentUuid", "sessionId", "session_id", "isSidechain"}
_OTHER = {"summary", "system", "file-history-snapshot", "queue-operation", "progress", "result"}
# What the program, not the user, puts into a user's turn.
_INJECTED = re.compile(
    r"\A\s*(?:<(?:command-\w+|local-command-\w+|system-reminder|bash-\w+|user-memory-input)\b|Caveat: )"
)


def _is_line(entry: dict[str, Any]) -> bool:
    kind = kind_of(entry)
    if kind in _TURNS:
        return isinstance(entry.get("message"), dict) and bool(_MARKS & entry.keys())
    return kind == "summary" and "leafUuid" in entry


def _matches(log: Log) -> bool:
    return any(_is_line(entry) for entry in log.dicts())


def _read(log: Log) -> Found:
    steps = StepCollector()
    seen: set[str] = set()
    found = Found([])
    alone = all(entry.get("isSidechain") is True for entry in log.dicts() if kind_of(entry) in _TURNS)
    for where, entry in log.entries("lines"):
        with log.entry():
            kind = kind_of(entry)
            uuid = entry.get("uuid")
            if isinstance(uuid, str):
                # A session that is resumed repeats the lines it goes on from.
                if uuid in seen:
                    continue
                seen.add(uuid)
            for name in ("sessionId", "session_id"):
                if not found.id and isinstance(entry.get(name), str):
                    found.id = entry[name]
            if kind in _TURNS and isinstance(entry.get("message"), dict):
                _turn(steps, entry, where, log, alone)
            elif kind == "result":
                found.outcome = Outcome.FAILURE if entry.get("is_error") is True else found.outcome
            elif kind not in _OTHER and not isinstance(kind, str):
                log.skip(where, "no line of a session: its type is missing")
    found.steps = steps.finished()
    found.goal = next((s.text for s in found.steps if s.role is Role.USER and s.text.strip()), "")
    return found


def _turn(steps: StepCollector, entry: dict[str, Any], where: str, log: Log, alone: bool) -> None:
    message = entry["message"]
    role = Role.AGENT if entry["type"] == "assistant" else Role.USER
    injected = entry.get("isMeta") is True or entry.get("isCompactSummary") is True
    # A sub-agent's orders come from the agent.
    commanded = entry.get("isSidechain") is True and not alone
    if role is Role.USER and (injected or commanded or _INJECTED.match(_text(message.get("content")))):
        role = Role.SYSTEM
    before = len(steps.steps)
    spare = _kept_output(entry.get("toolUseResult"))
    time = time_of(entry.get("timestamp"))
    read_message(steps, message, where, log, role=role, time=time, spare_result=spare)
    if entry.get("isApiErrorMessage") is True:
        for step in steps.steps[before:]:
            step.role, step.result, step.text, step.is_error = Role.TOOL, step.text, "", True


def _kept_output(output: Any) -> str:
    """What the line keeps of a result beside its block."""
    if isinstance(output, dict):
        kept = [text_of(output.get(name), name) for name in ("stdout", "stderr")]
        return "\n".join(text for text in kept if text)
    return output if isinstance(output, str) else ""


def _text(content: Any) -> str:
    if isinstance(content, list) and content and isinstance(content[0], dict):
        content = content[0].get("text")
    return content if isinstance(content, str) else ""


ADAPTER = Adapter(
    "claude-code",
    "Claude Code session logs (lines of {type: user | assistant | summary, message, uuid, sessionId})",
    _matches,
    _read,
)

"""The identity of a trajectory: the same run twice is one evidence."""

import hashlib
import json

from siltstone.model import Trajectory


def trajectory_digest(trajectory: Trajectory) -> str:
    """SHA-256 of what was asked and what happened, as 64 hex digits.

    Equal for equal goal and steps (role, text, tool, arguments, result). The source's id, the outcome,
    times and the adapter do not count: a log that is read again under another label is still the same run.
    """
    content = [
        trajectory.goal,
        [[step.role.value, step.text, step.tool, step.arguments, step.result] for step in trajectory.steps],
    ]
    text = json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()

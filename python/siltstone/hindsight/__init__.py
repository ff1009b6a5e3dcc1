"""Looking back over a finished run: read its log, draw typed lessons from it. Pure functions, no I/O, no LLM.

`read_trajectory` turns a log into a `Trajectory`, `look_back` a trajectory into lessons. Every lesson is made
of words that stand in the log, each field with the steps that say so; text in a log is data and is never
followed.
"""

from siltstone.hindsight.digest import trajectory_digest
from siltstone.hindsight.extraction import EXTRACTOR, look_back
from siltstone.hindsight.extractor import Extraction, Extractor
from siltstone.hindsight.instructions import flags_of
from siltstone.hindsight.reading import Reading, read_trajectory
from siltstone.hindsight.remembering import asks_to_remember, is_note, remembered_lessons
from siltstone.hindsight.rendering import lesson_text, summarize_folded, summarize_run
from siltstone.hindsight.run import numbered
from siltstone.hindsight.state import block_start, derive_state, essential_goal, step_line
from siltstone.hindsight.untrusted import MAX_BYTES
from siltstone.hindsight.watching import Check, seldom, unwatched

__all__ = [
    "EXTRACTOR",
    "MAX_BYTES",
    "Check",
    "Extraction",
    "Extractor",
    "Reading",
    "asks_to_remember",
    "block_start",
    "derive_state",
    "essential_goal",
    "flags_of",
    "is_note",
    "lesson_text",
    "look_back",
    "numbered",
    "read_trajectory",
    "remembered_lessons",
    "seldom",
    "step_line",
    "summarize_folded",
    "summarize_run",
    "trajectory_digest",
    "unwatched",
]

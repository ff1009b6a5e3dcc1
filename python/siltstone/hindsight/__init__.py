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
from siltstone.hindsight.rendering import lesson_text, summarize_run

__all__ = [
    "EXTRACTOR",
    "Extraction",
    "Extractor",
    "Reading",
    "flags_of",
    "lesson_text",
    "look_back",
    "read_trajectory",
    "summarize_run",
    "trajectory_digest",
]

"""What finds lessons: the rules, or something that stands in for them."""

from dataclasses import dataclass, field
from typing import Protocol

from siltstone.hindsight.extraction import EXTRACTOR, look_back
from siltstone.hindsight.instructions import flags_of
from siltstone.hindsight.watching import Check, unwatched
from siltstone.model import ExtractedLesson, Trajectory


@dataclass(slots=True)
class Extraction:
    """The lessons of one trajectory, who found them, and what their reader should know."""

    lessons: list[ExtractedLesson]
    extractor: str  # with its version: "rules/1", "llm:MODEL/1"
    flags: list[str] = field(default_factory=list)


class Extractor(Protocol):
    """Finds the lessons of a run. Safe for many threads; the trajectory is not changed."""

    def extract(
        self, trajectory: Trajectory, timeout: float | None = None, check: Check = unwatched
    ) -> Extraction:
        """`timeout` is in seconds; None leaves it to the extractor. `check` is asked several times a second;
        what it raises ends the work at once, a question to a model included."""
        ...

    def close(self) -> None: ...


class Rules:
    """The rules, which need nothing and nobody."""

    def extract(
        self, trajectory: Trajectory, timeout: float | None = None, check: Check = unwatched
    ) -> Extraction:
        return Extraction(look_back(trajectory, check), EXTRACTOR, flags_of(trajectory, check))

    def close(self) -> None:
        pass

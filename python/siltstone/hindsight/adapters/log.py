"""A log as the adapters see it: what surrounds the entries, the first of them, and the rest as a stream."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from siltstone.errors import InvalidArgumentError
from siltstone.hindsight.untrusted import MAX_STEPS, check_value, invalid
from siltstone.hindsight.watching import Check, unwatched
from siltstone.model import Outcome, Step

# Under which names the formats keep their entries, the most telling first.
CONTAINERS = ("messages", "steps", "trajectory", "traj", "history", "simulations", "output", "items", "calls")


_MOST_REPORTED = 100


@dataclass(slots=True)
class Skipped:
    """What of a log could not be read: the first 100 places, and how many there are."""

    places: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, text: str) -> None:
        self.count += 1
        if len(self.places) < _MOST_REPORTED:
            self.places.append(text[:300])

    def told(self) -> list[str]:
        more = self.count - len(self.places)
        return [*self.places, f"… and {more} more, {self.count} in all"] if more else self.places


@dataclass(slots=True)
class Log:
    """A log whose format is not known yet.

    `entries` may be read once. `head` are its first entries, to tell the format by; a format that ends
    otherwise than it began is read as far as it goes, and what is foreign in it is reported.
    """

    row: dict[str, Any]  # the object around the entries; {} for lines and bare lists
    key: str  # the name of the entries in `row`; "" for lines and bare lists
    head: list[Any]
    rest: Iterator[Any]
    skipped: Skipped = field(default_factory=Skipped)
    lines: deque[int] | None = None  # JSONL: numbers of the lines whose entries are still to be read
    check: Check = unwatched  # asked before each entry; raises where the reading is to end

    def entries(self, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Place and entry, each checked to be a bounded JSON object."""
        for where, entry in self.values(name):
            if not isinstance(entry, dict):
                raise invalid(where, f"expected an object, got {type(entry).__name__}")
            yield where, entry

    def values(self, name: str) -> Iterator[tuple[str, Any]]:
        for index, entry in enumerate(chain(self.head, self.rest)):
            self.check()
            if self.lines is not None:  # each was checked as it was read
                yield f"line {self.lines.popleft()}", entry
                continue
            where = f"{self.key or name}[{index}]"
            check_value(entry, where)
            yield where, entry

    @contextmanager
    def entry(self) -> Iterator[None]:
        """Within it one entry is read: one of JSONL that is malformed is skipped and reported, as a broken
        line is."""
        try:
            yield
        except InvalidArgumentError as error:
            if self.lines is None or error.field == "source":
                raise
            self.skipped.add(error.message)

    def dicts(self) -> list[dict[str, Any]]:
        """The objects among the first entries."""
        return [entry for entry in self.head if isinstance(entry, dict)]

    def skip(self, where: str, what: str) -> None:
        self.skipped.add(f"{where}: {what}")


@dataclass(slots=True)
class Found:
    """What an adapter read. `outcome` is None where the log does not say how the run ended."""

    steps: list[Step]
    goal: str = ""
    outcome: Outcome | None = None
    id: str = ""
    task_type: str = ""


@dataclass(frozen=True, slots=True)
class Adapter:
    """One format: its name, what it looks like, and how to tell and read it."""

    name: str
    looks: str  # for the error about an unknown log
    matches: Callable[[Log], bool]
    read: Callable[[Log], Found]


def log_of(value: Any, head: int = 50) -> Log | None:
    """A parsed JSON value as a log; None where it can be none."""
    if isinstance(value, list) and len(value) == 1 and _holds_entries(value[0]):
        value = value[0]
    if isinstance(value, dict):
        for key in CONTAINERS:
            entries = value.get(key)
            if isinstance(entries, list):
                _check_length(entries, key)
                around = {name: inner for name, inner in value.items() if name != key}
                for name, inner in around.items():
                    check_value({name: inner}, name if isinstance(name, str) else "source")
                return Log(around, key, entries[:head], iter(entries[head:]))
        return Log({}, "", [value], iter(()))
    if isinstance(value, list) and value:
        _check_length(value, "source")
        return Log({}, "", value[:head], iter(value[head:]))
    return None


def kind_of(entry: dict[str, Any], name: str = "type") -> str:
    """The kind an entry says it is of; "" where it does not say so in a word."""
    kind = entry.get(name)
    return kind if isinstance(kind, str) else ""


def _check_length(entries: list[Any], where: str) -> None:
    if len(entries) > MAX_STEPS:
        raise invalid(where, f"{len(entries)} entries, at most {MAX_STEPS}; split the run")


def _holds_entries(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in CONTAINERS)


def holds_a_run(value: Any) -> bool:
    """Whether an entry is a whole run of its own, so that a file of them holds several."""
    if not isinstance(value, dict) or value.get("object") == "response" or "model_output" in value:
        return False
    return any(
        isinstance(value.get(key), list)
        for key in ("messages", "steps", "trajectory", "traj", "history", "simulations")
    )

"""Flags for the fields of a memory, shared by `write` and `update`."""

from argparse import ArgumentParser, Namespace
from typing import Any

from siltstone.cli.context import given
from siltstone.cli.parser import as_dict, choices, json_value, pair
from siltstone.model import MemoryType, Outcome

OUTCOMES = tuple(outcome.value for outcome in Outcome)
_PLAIN = (
    "summary",
    "lesson",
    "memory_type",
    "task_type",
    "outcome",
    "tags",
    "tools_used",
    "confidence",
    "event_time",
    "valid_until",
    "request_id",
)


def add_memory_fields(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--summary", help="what searches show, at most 64 tokens; made from the content by default")
    add("--lesson", type=json_value, metavar="JSON", help='{"problem": …, "root_cause": …, "solution": …}')
    add("--memory-type", **choices(*MemoryType), help="what is so, what happened, or how to do it")
    add("--task-type", metavar="TEXT", help="kind of task it came from")
    add("--outcome", **choices(*OUTCOMES), help="how that task ended")
    add("--tag", dest="tags", action="append", metavar="TAG", help="may be repeated")
    add("--tool", dest="tools_used", action="append", metavar="TOOL", help="tool used; may be repeated")
    add(
        "--attribute",
        dest="attributes",
        action="append",
        type=pair,
        metavar="NAME=TEXT|NAME:=JSON",
        help="mysql=8.0 (text), replicas:=3 (number); may be repeated",
    )
    add("--confidence", type=float, metavar="0..1", help="how sure the writer is")
    add("--event-time", metavar="TIME", help="when it happened, RFC 3339; the moment of the write by default")
    add("--valid-until", metavar="TIME", help="searches leave it out from then on, RFC 3339")
    add("--request-id", metavar="ID", help="a repeat with the same id changes nothing more")


def memory_fields(args: Namespace) -> dict[str, Any]:
    """The fields given, as keyword arguments of `Api.write` and `Api.update`."""
    fields = given(args, *_PLAIN)
    attributes = as_dict(args.attributes, "--attribute")
    return fields if attributes is None else {**fields, "attributes": attributes}

"""Flags that make a filter, shared by `search`, `list` and `forget`."""

import argparse
import re
from argparse import ArgumentParser, Namespace
from typing import Any

from siltstone.cli.context import given
from siltstone.cli.fields import OUTCOMES
from siltstone.cli.parser import UsageError, choices, json_value
from siltstone.model import MemoryType, Verification

_BOUNDS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_BOUND = re.compile(r"\s*(>=|<=|>|<)\s*(.+?)\s*", re.DOTALL)
_CONDITION = re.compile(r"([^=<>:]+?)\s*(>=|<=|>|<|=)(:?)\s*(.*)", re.DOTALL)
_LISTS = ("tags_any", "tags_all", "task_type", "tools_used", "outcome", "verification", "memory_type", "ids")
_TIMES = ("event_time", "create_time", "update_time")


def add_filter(parser: ArgumentParser) -> None:
    group = parser.add_argument_group(
        "filter", "all that is given must hold; a repeated flag means any of its values"
    )
    add = group.add_argument
    add(
        "--filter",
        dest="filter_json",
        type=json_value,
        metavar="JSON",
        help="a whole filter, with not and any_of",
    )
    add("--tag", dest="filter_tags_any", action="append", metavar="TAG", help="has any of these tags")
    add("--all-tags", dest="filter_tags_all", action="append", metavar="TAG", help="has all of these tags")
    add("--task-type", dest="filter_task_type", action="append", metavar="TEXT")
    add("--tool", dest="filter_tools_used", action="append", metavar="TOOL", help="used any of these tools")
    add("--outcome", dest="filter_outcome", action="append", **choices(*OUTCOMES))
    add("--verification", dest="filter_verification", action="append", **choices(*Verification))
    add("--memory-type", dest="filter_memory_type", action="append", **choices(*MemoryType))
    add("--id", dest="filter_ids", action="append", metavar="ID", help="only among these memories")
    add(
        "--attribute",
        dest="filter_attributes",
        action="append",
        type=_condition,
        metavar="CONDITION",
        help="'mysql=8.0', 'mysql>=8.0' (versions compare as versions), 'replicas>=:3' (: for JSON)",
    )
    for name in _TIMES:
        add(
            "--" + name.replace("_", "-"),
            dest=f"filter_{name}",
            action="append",
            type=_bound,
            metavar="BOUND",
            help="'>=2026-05-01T00:00:00Z'; repeat for the other bound",
        )
    add(
        "--confidence",
        dest="filter_confidence",
        action="append",
        type=_number_bound,
        metavar="BOUND",
        help="'>=0.8'; repeat for the other bound",
    )


def filter_of(args: Namespace) -> dict[str, Any] | None:
    """The filter that the flags make; None when there are none."""
    flags = given(args, *(f"filter_{name}" for name in _LISTS))
    made: dict[str, Any] = {name.removeprefix("filter_"): value for name, value in flags.items()}
    for name in (*_TIMES, "confidence"):
        if bounds := getattr(args, f"filter_{name}"):
            made[name] = _merged(bounds, "--" + name.replace("_", "-"))
    if args.filter_attributes:
        attributes: dict[str, list[tuple[str, Any]]] = {}
        for name, bound in args.filter_attributes:
            attributes.setdefault(name, []).append(bound)
        made["attributes"] = {n: _merged(bounds, f"--attribute {n}") for n, bounds in attributes.items()}
    whole = args.filter_json
    if whole is None:
        return made or None
    if not isinstance(whole, dict):
        raise UsageError(f"--filter: expected a JSON object, got {type(whole).__name__}", field="filter")
    if twice := sorted(whole.keys() & made.keys()):
        raise UsageError(
            f"--filter: {', '.join(twice)} is also given as a flag; give it once", field=f"filter.{twice[0]}"
        )
    return {**whole, **made}


def _bound(text: str) -> tuple[str, str]:
    match = _BOUND.fullmatch(text)
    if not match:
        raise argparse.ArgumentTypeError(f"expected >=, >, < or <= and a value, got {text!r}")
    return _BOUNDS[match[1]], match[2]


def _number_bound(text: str) -> tuple[str, float]:
    bound, value = _bound(text)
    try:
        return bound, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number after the sign, got {text!r}") from None


def _condition(text: str) -> tuple[str, tuple[str, Any]]:
    match = _CONDITION.fullmatch(text)
    if not match:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE or NAME>=VALUE, got {text!r}")
    name, sign, as_json, value = match.groups()
    return name.strip(), (_BOUNDS.get(sign, "eq"), json_value(value) if as_json else value)


def _merged(bounds: list[tuple[str, Any]], flag: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for bound, value in bounds:
        if bound in made:
            raise UsageError(f"{flag}: the same bound is given twice; give it once", field=bound)
        made[bound] = value
    return made

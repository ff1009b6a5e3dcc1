"""What a tool is, and the checks each call passes before it reaches the service."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from siltstone.errors import InvalidArgumentError, SiltstoneError
from siltstone.gateway.schemas import Schema, output_of

Arguments = dict[str, Any]

_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One MCP tool.

    `run` takes the client (any `siltstone.Api` whose methods are awaitable) and checked arguments and gives
    an object of the model, of type `output`; `render` says it as text. `renames` turns the beginning of a
    field's path in the service's errors into this tool's name for it. Of `needs_one_of` a call gives one or
    more; the input schema cannot say so in a way that all clients read.
    """

    name: str
    title: str
    description: str
    input_schema: Schema
    output: type
    run: Callable[[Any, Arguments], Awaitable[Any]]
    render: Callable[[Any], str]
    renames: Mapping[str, str] = field(default_factory=dict)
    needs_one_of: Sequence[str] = ()
    read_only: bool = False
    destructive: bool = False

    @cached_property
    def output_schema(self) -> Schema:
        return output_of(self.output)

    @cached_property
    def _validator(self) -> Draft202012Validator:
        return Draft202012Validator(self.input_schema)

    def check(self, arguments: Arguments) -> None:
        """Refuse arguments that the input schema does not allow.

        Raises:
            InvalidArgumentError: naming every fault; `reason` and `field` are the first one's.
        """
        try:
            faults = [_explain(e) for e in self._validator.iter_errors(arguments)]
        except RecursionError:
            raise InvalidArgumentError("arguments: nested too deeply; flatten them") from None
        if not faults:
            if self.needs_one_of and not any(name in arguments for name in self.needs_one_of):
                names = ", ".join(self.needs_one_of)
                raise InvalidArgumentError(f"arguments: nothing to change; give at least one of {names}")
            return
        # A wrong name is usually why another is missing: say it first.
        faults.sort(key=lambda f: (f.reason != "UNKNOWN_FIELD", f.field))
        message = "; ".join(f.message for f in faults[:5])
        raise InvalidArgumentError(message, reason=faults[0].reason, field=faults[0].field)

    def in_own_words(self, error: SiltstoneError) -> SiltstoneError:
        """The service's error with the names this tool's caller used."""
        for theirs, ours in self.renames.items():
            rest = error.field.removeprefix(theirs)
            if rest != error.field and (theirs.endswith(".") or rest[:1] in ("", ".", "[")):
                # A name that is also a word stands for the argument at the beginning only: "namespaces: no
                # namespace 'x' …; look at the list of namespaces".
                every = 1 if error.field.isalpha() else -1
                message = error.message.replace(error.field, ours + rest, every)
                return type(error)(message, reason=error.reason, field=ours + rest)
        return error


def _explain(error: ValidationError) -> InvalidArgumentError:
    path = ""
    for part in error.absolute_path:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    kind, schema = error.validator, cast(Schema, error.schema)
    value: Any = error.instance
    rule: Any = error.validator_value

    def fault(wanted: str, reason: str = "INVALID_ARGUMENT", at: str = path) -> InvalidArgumentError:
        return InvalidArgumentError(f"{at or 'arguments'}: {wanted}", reason=reason, field=at)

    def inside(name: str) -> str:
        return f"{path}.{name}" if path else name

    if kind == "required":
        name = next(name for name in rule if error.message.startswith(repr(name)))
        hint = schema["properties"][name].get("description", "")
        return fault(f"missing, and required. {hint}".rstrip(), "MISSING_FIELD", inside(name))
    if kind == "additionalProperties" and rule is False:
        known = sorted(schema["properties"])
        name = next(name for name in value if name not in known)
        near = get_close_matches(name, known, 1)
        meant = f"did you mean {near[0]}? " if near else ""
        return fault(f"unknown; {meant}the names here: {', '.join(known)}", "UNKNOWN_FIELD", inside(name))
    if kind == "type":
        return fault(f"expected {_TYPES[rule]}, got {_shown(value)}{_remedy(rule, value)}", "WRONG_TYPE")
    if kind == "enum":
        return fault(f"expected one of {', '.join(rule)}, got {_shown(value)}")
    if kind in ("minimum", "maximum"):
        low, high = schema.get("minimum"), schema.get("maximum")
        span = f"{low}..{high}" if high is not None else f"at least {low}"
        return fault(f"expected {span}, got {_shown(value)}", "OUT_OF_RANGE")
    if kind == "anyOf":
        return _explain_union(error, fault)
    if kind in ("minLength", "minItems", "minProperties"):
        return fault("empty; give it a value")
    return fault(error.message)


def _explain_union(
    error: ValidationError, fault: Callable[..., InvalidArgumentError]
) -> InvalidArgumentError:
    """A value of the right kind is wrong further in; else name the kinds there are."""
    faults: dict[Any, list[ValidationError]] = {}
    for each in error.context or ():
        faults.setdefault(each.relative_schema_path[0], []).append(each)
    right_kind = [f for f in faults.values() if not (f[0].validator == "type" and not f[0].relative_path)]
    if right_kind:
        return _explain(min(right_kind, key=len)[0])
    kinds = dict.fromkeys(_TYPES[s["type"]] for s in cast(list[Schema], error.validator_value))
    return fault(f"expected {' or '.join(kinds)}, got {_shown(error.instance)}", "WRONG_TYPE")


def _remedy(wanted: str, value: object) -> str:
    if value is None:
        return "; leave it out instead"
    if isinstance(value, str) and wanted in ("integer", "number", "boolean"):
        return "; send it without quotes"
    if isinstance(value, str) and wanted in ("array", "object"):
        return "; send it as JSON, not as text"
    return ""


def _shown(value: object) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return f"{shown} (text)" if isinstance(value, str) else shown

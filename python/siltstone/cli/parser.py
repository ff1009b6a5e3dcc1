"""The argument parser: the global flags, and what the commands' flags are made of."""

import argparse
import json
import re
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from siltstone.config import SETTINGS, default_text, env_name, flag_name, yes_or_no
from siltstone.errors import InvalidArgumentError

GLOBAL_SETTINGS = (
    "address",
    "token",
    "tls_ca",
    "tls_client_cert",
    "tls_client_key",
    "namespace",
    "data",
    "timeout_s",
    "lang",
)

_PAIR = re.compile(r"([^=:]+)(:=|=)(.*)", re.DOTALL)


class UsageError(InvalidArgumentError):
    """The command line itself is wrong: exit code 2."""

    default_reason: ClassVar[str] = "WRONG_USAGE"

    def __init__(self, message: str, *, field: str = "", usage: str = "") -> None:
        super().__init__(message, field=field)
        self.usage = usage


class Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", _Formatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, usage=self.format_usage().strip())


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32)


class Commands:
    """Adds commands that all take the global flags, before the command's name or after it."""

    def __init__(self, parser: Parser) -> None:
        self._subparsers = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)

    def add(self, name: str, help: str, run: Callable[..., int] | None = None, **options: Any) -> Parser:
        options.setdefault("description", help[0].upper() + help[1:] + ".")
        command: Parser = self._subparsers.add_parser(name, help=help, parents=[global_flags()], **options)
        if run is not None:
            command.set_defaults(run=run)
        return command

    def group(self, name: str, help: str) -> "Commands":
        """A command that has commands below it, such as ``task start``."""
        return Commands(self.add(name, help))


def global_flags() -> Parser:
    # What is not given leaves no trace, so that a flag before the command is not undone after it.
    parser = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    group = parser.add_argument_group("global flags")
    for name in GLOBAL_SETTINGS:
        group.add_argument(flag_name(name), metavar=_metavar(name), help=setting_help(name))
    group.add_argument("--json", action="store_true", help="print one JSON object")
    group.add_argument(
        "--config", metavar="FILE", help="file of settings (env SILTSTONE_CONFIG, default ./siltstone.toml)"
    )
    return parser


def add_settings(parser: argparse.ArgumentParser) -> None:
    """A flag for every setting that is not a global one."""
    group = parser.add_argument_group("settings", "flag, else environment variable, else siltstone.toml")
    for name in SETTINGS:
        if name not in GLOBAL_SETTINGS:
            # A switch needs no value.
            switch: dict[str, Any] = {}
            if SETTINGS[name].metadata["parse"] is yes_or_no:
                switch = {"nargs": "?", "const": "true"}
            group.add_argument(flag_name(name), metavar=_metavar(name), help=setting_help(name), **switch)


def setting_help(name: str) -> str:
    default = default_text(name)
    doc = SETTINGS[name].metadata["doc"]
    if name == "data":
        doc += "; a command other than serve and up then works in process, without a server"
    return f"{doc} (env {env_name(name)}{', default ' + default if default else ''})".replace("%", "%%")


def _metavar(name: str) -> str:
    if name.endswith("address"):
        return "HOST:PORT"
    if name.startswith("tls_"):
        return "FILE"
    return {"data": "DIR", "lang": "en|zh", "insecure": "true|false"}.get(
        name, name.rpartition("_")[2].upper()
    )


def choices(*names: str, lower: bool = False) -> dict[str, Any]:
    """Options of an argument that takes one of `names`, in any case."""
    return {"type": str.lower if lower else str.upper, "choices": names, "metavar": "|".join(names)}


def json_value(text: str) -> Any:
    """An argument that is JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from None


def pair(text: str) -> tuple[str, Any]:
    """NAME=TEXT, or NAME:=JSON for numbers, true and false, and {"time": "2026-05-01T00:00:00Z"}."""
    match = _PAIR.fullmatch(text)
    if not match:
        raise argparse.ArgumentTypeError(f"expected NAME=TEXT or NAME:=JSON, got {text!r}")
    return match[1], json_value(match[3]) if match[2] == ":=" else match[3]


def as_dict(pairs: list[tuple[str, Any]] | None, flag: str) -> dict[str, Any] | None:
    """The object that repeated NAME=VALUE arguments make; None when there are none."""
    if pairs is None:
        return None
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise UsageError(f"{flag}: {name} is given twice; give it once", field=name)
        made[name] = value
    return made

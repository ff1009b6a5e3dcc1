"""The entry of the command line: arguments in, exit code out."""

import argparse
import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from siltstone.cli import (
    admin,
    audit,
    backups,
    bench,
    doctor,
    hindsight,
    jobs,
    mcp_install,
    memories,
    search,
    serving,
    tasks,
    write,
)
from siltstone.cli.context import Context
from siltstone.cli.output import error_json, visible
from siltstone.cli.parser import Commands, Parser, UsageError, global_flags
from siltstone.cli.texts import Texts, language
from siltstone.config import SETTINGS, SettingError, load
from siltstone.errors import SiltstoneError

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130

_EPILOG = """\
Without --data a command is a client of the server at --address; start one with `siltstone up`.
Exit codes: 0 done, 1 refused or failed (the reason is on stderr), 2 wrong usage.
"""


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(version("siltstone"))
        parser.exit()


def build_parser() -> Parser:
    parser = Parser(
        prog="siltstone",
        description="Self-hosted memory for agents.",
        epilog=_EPILOG,
        parents=[global_flags()],
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = Commands(parser)
    for module in (
        serving,
        write,
        search,
        memories,
        hindsight,
        tasks,
        jobs,
        audit,
        admin,
        backups,
        mcp_install,
        doctor,
        bench,
    ):
        module.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command.

    Returns:
        0 done; 1 refused or failed, the reason on stderr; 2 wrong usage; 130 interrupted, or nobody reads the
        output any more.
    """
    _speak_utf8()
    arguments = list(sys.argv[1:] if argv is None else argv)
    before_rest = arguments[: arguments.index("--")] if "--" in arguments else arguments
    as_json = "--json" in before_rest
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except SystemExit as end:  # argparse, after --help
        return end.code if isinstance(end.code, int) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # What is still buffered must not be tried again when the interpreter ends.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    except (UsageError, SettingError) as error:
        _report(error, as_json)
        return WRONG_USAGE
    except SiltstoneError as error:
        _report(error, as_json)
        return FAILED
    except Exception as error:
        if os.environ.get("SILTSTONE_LOG_LEVEL", "").lower() == "debug":
            traceback.print_exc()
        _report(SiltstoneError(f"{type(error).__name__}: {error}"), as_json)
        return FAILED


def _run(arguments: list[str]) -> int:
    args = build_parser().parse_args(arguments)
    config = getattr(args, "config", None) or os.environ.get("SILTSTONE_CONFIG")
    settings = load(_setting_flags(args), os.environ, file=Path(config) if config else None)
    text = Texts(language(settings.lang, os.environ))
    code: int = args.run(Context(args, settings, text, getattr(args, "json", False)))
    return code


def _setting_flags(args: argparse.Namespace) -> dict[str, object]:
    return {name: value for name in SETTINGS if (value := getattr(args, name, None)) is not None}


def _report(error: SiltstoneError, as_json: bool) -> None:
    if as_json:
        print(error_json(error.status, error.reason, error.field, error.message), file=sys.stderr)
        return
    usage = getattr(error, "usage", "")
    if usage:
        print(usage, file=sys.stderr)
    print(visible(f"siltstone: {error.message}"), file=sys.stderr)


def _speak_utf8() -> None:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")

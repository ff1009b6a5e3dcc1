"""What a command works with: the settings, the API behind them, and the way its answer is shown."""

import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siltstone.cli.output import as_json, visible
from siltstone.cli.texts import Texts
from siltstone.config import Settings
from siltstone.errors import InvalidArgumentError

if TYPE_CHECKING:
    from siltstone.api import Api


@dataclass(slots=True)
class Context:
    args: Namespace
    settings: Settings
    text: Texts
    json: bool

    def api(self) -> "AbstractContextManager[Api]":
        """The store itself when --data is given, else a client of the server."""
        if getattr(self.args, "data", None) is not None:
            import siltstone

            return siltstone.open(self.settings.data, settings=self.settings)
        from siltstone.client import Client

        settings = self.settings
        client: AbstractContextManager[Api] = Client(
            reachable(settings.address), timeout=settings.timeout_s, **self.connection()
        )
        return client

    def connection(self) -> dict[str, Any]:
        """What a client shows the server, and how it knows it."""
        settings = self.settings
        return {
            "token": settings.token or None,
            "tls_ca": settings.tls_ca,
            "tls_client_cert": settings.tls_client_cert,
            "tls_client_key": settings.tls_client_key,
        }

    def show(self, answer: object, human: Callable[[], str]) -> None:
        """Print the answer: as one JSON object, or as `human` words it."""
        print(as_json(answer) if self.json else human())

    def say(self, key: str, **values: object) -> None:
        """A line for people; nothing under --json."""
        if not self.json:
            print(visible(self.text(key, **values)))

    def next(self, *words: str, key: str = "next") -> None:
        """What to type next."""
        self.say(key, command=self.command(*words))

    def command(self, *words: str) -> str:
        """A command line of this program that reaches the same store and namespace as this one does."""
        given = []
        for name in ("config", "data", "address", "namespace"):
            if (value := getattr(self.args, name, None)) is not None:
                given += [f"--{name}", value]
        return shlex.join([program(), *given, *words])

    def client_command(self, address: str, *words: str) -> str:
        """The same as a client of the server at `address`, which this process runs: --data would open its
        store a second time."""
        given = []
        for name in ("config", "namespace"):
            if (value := getattr(self.args, name, None)) is not None:
                given += [f"--{name}", value]
        if reachable(address) != Settings().address:
            given += ["--address", reachable(address)]
        return shlex.join([program(), *given, *words])


def program() -> str:
    """How this program is called from the working directory."""
    called = Path(os.path.abspath(sys.argv[0]))
    if called.name not in ("siltstone", "siltstone.exe"):
        return "siltstone"
    try:
        return str(called.relative_to(Path.cwd()))
    except ValueError:
        on_path = any(Path(p) == called.parent for p in os.environ.get("PATH", "").split(os.pathsep))
        return called.name if on_path else str(called)


def reachable(address: str) -> str:
    """Where a client on this machine finds what listens on `address`, which may be all of its addresses."""
    host, _, port = address.rpartition(":")
    return {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host) + ":" + port


def read_text(source: str, field: str) -> str:
    """The text of a file, or of standard input for ``-``; verbatim."""
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidArgumentError(f"{field}: cannot read {source!r}: {reason}", field=field) from None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            f"{field}: {source!r} is not UTF-8 (byte {error.start}); convert it first", field=field
        ) from None


def given(args: Namespace, *names: str) -> dict[str, Any]:
    """The arguments among `names` that were given, as keyword arguments."""
    return {name: value for name in names if (value := getattr(args, name, None)) is not None}

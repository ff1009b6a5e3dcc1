"""`siltstone doctor`: what is wrong on this machine, and the remedy."""

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from siltstone.cli.context import Context, reachable
from siltstone.cli.output import one_line, pairs
from siltstone.cli.parser import Commands, add_settings
from siltstone.config import FILE_NAME, unknown_variables
from siltstone.errors import SiltstoneError

if TYPE_CHECKING:
    import ssl

TIMEOUT_S = 3.0


@dataclass(slots=True)
class Check:
    name: str
    state: str  # ok | note | bad
    detail: str
    remedy: str = ""


def add(commands: Commands) -> None:
    add_settings(commands.add("doctor", "check this machine and say what is wrong", run))


def run(context: Context) -> int:
    checks = [check(context) for check in CHECKS]
    bad = sum(check.state == "bad" for check in checks)
    answer = {
        "ok": not bad,
        "checks": [
            {"name": c.name, "state": c.state, "detail": c.detail, "remedy": c.remedy} for c in checks
        ],
    }
    context.show(answer, lambda: _human(context, checks, bad))
    return 1 if bad else 0


def _human(context: Context, checks: list[Check], bad: int) -> str:
    text = context.text
    rows: list[tuple[str, object]] = []
    for check in checks:
        rows.append((text("d_" + check.name), f"{text('mark_' + check.state)}  {one_line(check.detail)}"))
        if check.remedy:
            rows.append(("", text("remedy", text=one_line(check.remedy))))
    return pairs(rows) + "\n\n" + (text("doctor_bad", count=bad) if bad else text("doctor_good"))


def check_python(context: Context) -> Check:
    fine = sys.version_info >= (3, 11)
    remedy = "" if fine else context.text("d_python_remedy")
    return Check("python", "ok" if fine else "bad", platform.python_version(), remedy)


def check_core(context: Context) -> Check:
    try:
        from siltstone import rust_core

        rust_core.count_tokens("silt")
    except Exception as error:  # whatever it is, it is the finding
        return Check("core", "bad", _why(error), context.text("d_core_remedy"))
    return Check("core", "ok", str(rust_core.__file__))


def check_model(context: Context) -> Check:
    settings = context.settings
    try:
        from siltstone.embed import open_embedder

        embedder = open_embedder(
            settings.embedding_model,
            base_url=settings.embedding_base_url,
            api_key=settings.embedding_api_key,
            dimension=settings.embedding_dimension,
        )
        try:
            embedder.embed_queries(["silt"])
        finally:
            embedder.close()
    except Exception as error:  # whatever it is, it is the finding
        return Check("model", "bad", _why(error), context.text("d_model_remedy"))
    detail = context.text("d_model_good", model=embedder.model, dimension=embedder.dimension)
    return Check("model", "ok", detail)


def check_data(context: Context) -> Check:
    text, path = context.text, Path(context.settings.data).resolve()
    above = path
    while not above.exists():
        above = above.parent
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        why = "not a directory" if not above.is_dir() else f"no right to write in {above}"
        return Check("data", "bad", text("d_data_bad", path=path, why=why), text("d_data_remedy"))
    if above != path:
        return Check("data", "ok", text("d_data_new", path=path))
    if holder := _holder(path):
        return Check("data", "note", text("d_data_locked", path=path, pid=holder))
    return Check("data", "ok", text("d_data_good", path=path))


def _holder(path: Path) -> str:
    """The process that has the data directory open; "" if none has."""
    directory = path / "store"
    if not (directory / "siltstone.lock").exists():
        return ""
    from siltstone.store.lockfile import LockFile

    try:
        LockFile(directory).release()
    except SiltstoneError:
        return (directory / "siltstone.lock").read_text(encoding="ascii", errors="replace").strip() or "?"
    return ""


def check_address(context: Context) -> Check:
    text, settings = context.text, context.settings
    address = reachable(settings.address)

    def ask() -> str:
        from siltstone.client import Client

        with Client(address, timeout=TIMEOUT_S, **context.connection()) as client:
            stats = client.stats()
        return text("d_serves", address=address, version=stats.version, memories=stats.memories)

    return _check_port(context, "address", address, ask, ["up"])


def check_gateway(context: Context) -> Check:
    address = reachable(context.settings.gateway_address)

    def ask() -> str:
        import urllib.request

        # A proxy of the environment has no business with this machine's own ports.
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
        if context.settings.tls_cert:
            handlers.append(urllib.request.HTTPSHandler(context=_own_certificate(context.settings.tls_cert)))
        scheme = "https" if context.settings.tls_cert else "http"
        opener = urllib.request.build_opener(*handlers)
        opener.open(f"{scheme}://{address}/healthz", timeout=TIMEOUT_S).close()
        return context.text("d_gateway_serves", address=address)

    return _check_port(context, "gateway", address, ask, ["up"])


def _own_certificate(path: str) -> "ssl.SSLContext":
    """Trusts the certificate of this file and no other, by whatever name it is reached."""
    import ssl

    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.check_hostname = False
    trust.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    trust.load_verify_locations(cafile=path)
    return trust


def _check_port(context: Context, name: str, address: str, ask: Callable[[], str], start: list[str]) -> Check:
    text = context.text
    try:
        _connect(address)
    except (ConnectionRefusedError, FileNotFoundError):
        remedy = text("d_start_remedy", command=context.command(*start))
        return Check(name, "note", text("d_free", address=address), remedy)
    except OSError as error:
        flag = "--gateway-address" if name == "gateway" else "--address"
        return Check(
            name,
            "bad",
            text("d_bad_address", address=address, why=_why(error)),
            text("d_port_remedy", flag=flag),
        )
    try:
        return Check(name, "ok", ask())
    except Exception as error:  # whatever it is, it is the finding
        flag = "--gateway-address" if name == "gateway" else "--address"
        detail = text("d_no_answer", address=address, why=_why(error))
        return Check(name, "bad", detail, text("d_port_remedy", flag=flag))


def _connect(address: str) -> None:
    import socket  # here, because every command loads this file

    if address.startswith("unix:"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(TIMEOUT_S)
            connection.connect(address.removeprefix("unix:"))
        return
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT_S).close()


def check_settings(context: Context) -> Check:
    if names := unknown_variables(os.environ):
        detail = context.text("d_unknown", names=", ".join(names))
        return Check("settings", "note", detail, context.text("d_unknown_remedy"))
    file = getattr(context.args, "config", None) or os.environ.get("SILTSTONE_CONFIG") or FILE_NAME
    detail = str(file) if Path(file).is_file() else context.text("d_settings_none", path=file)
    return Check("settings", "ok", detail)


def _why(error: BaseException) -> str:
    return str(error) or type(error).__name__


CHECKS = (check_python, check_core, check_model, check_data, check_settings, check_address, check_gateway)

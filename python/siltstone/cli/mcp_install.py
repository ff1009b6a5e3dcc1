"""`siltstone mcp install`: the configuration that lets an MCP client start the gateway."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from siltstone.cli.context import Context
from siltstone.cli.parser import Commands, UsageError, choices
from siltstone.config import Settings, flag_name
from siltstone.errors import FailedPreconditionError

# client → (key of the servers in its file, text that says where that file is)
CLIENTS = {
    "generic": ("mcpServers", "mcp_in_generic"),
    "claude-desktop": ("mcpServers", "mcp_in_claude_desktop"),
    "claude-code": ("mcpServers", "mcp_in_claude_code"),
    "cursor": ("mcpServers", "mcp_in_cursor"),
    "gemini": ("mcpServers", "mcp_in_gemini"),
    "vscode": ("servers", "mcp_in_vscode"),
}


def add(commands: Commands) -> None:
    parser = commands.group("mcp", "MCP clients").add(
        "install", "print what an MCP client's configuration needs", run_install
    )
    parser.add_argument(
        "--client", **choices(*CLIENTS, lower=True), default="generic", help="default generic"
    )
    parser.add_argument("--write", metavar="FILE", help="put it into this JSON file, the rest of which stays")


def run_install(context: Context) -> int:
    key, where = CLIENTS[context.args.client]
    snippet = {key: {"siltstone": entry(context)}}
    if context.args.write is None:
        context.say("put_in", where=context.text(where))
        context.show(snippet, lambda: json.dumps(snippet, ensure_ascii=False, indent=2))
        return 0
    path = Path(context.args.write)
    merge(path, key, snippet[key])
    context.show({"path": str(path), **snippet}, lambda: context.text("written", path=str(path)))
    return 0


def entry(context: Context) -> dict[str, Any]:
    """The gateway over stdio, by absolute paths: a client starts it in a directory of its own."""
    args = ["gateway", "--stdio"]
    config = getattr(context.args, "config", None) or os.environ.get("SILTSTONE_CONFIG")
    default = Settings()
    for name in ("address", "namespace", "tls_ca", "tls_client_cert", "tls_client_key"):
        value = getattr(context.args, name, None)
        if value is None and (not config or os.environ.get(f"SILTSTONE_{name.upper()}")):
            # The client has neither this shell's variables nor this directory's siltstone.toml.
            setting = getattr(context.settings, name)
            value = setting if setting != getattr(default, name) else None
        if value is not None:
            is_file = name.startswith("tls_") and value != "system"
            args += [flag_name(name), os.path.abspath(value) if is_file else value]
    if config:
        args += ["--config", os.path.abspath(config)]
    script = Path(os.path.abspath(sys.argv[0]))
    made: dict[str, Any]
    if script.name in ("siltstone", "siltstone.exe"):
        made = {"command": str(script), "args": args}
    else:
        made = {"command": sys.executable, "args": ["-m", "siltstone.cli", *args]}
    if (token := getattr(context.args, "token", None)) is not None:
        made["env"] = {"SILTSTONE_TOKEN": token}
    return made


def merge(path: Path, key: str, servers: dict[str, Any]) -> None:
    """Set `servers` under `key` of a JSON file, all of it or nothing; what else the file holds stays."""
    whole: Any = {}
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = json.loads(text) if text.strip() else {}
    except (OSError, ValueError, RecursionError) as error:
        raise FailedPreconditionError(
            f"write: {path} is not a JSON file that can be changed ({error}); put the snippet in by hand",
            field="write",
        ) from None
    if not isinstance(whole, dict) or not isinstance(whole.setdefault(key, {}), dict):
        raise UsageError(f"write: {path} holds something else than an object with {key}", field="write")
    whole[key].update(servers)
    temporary = path.with_name(path.name + ".new")
    try:
        temporary.write_text(json.dumps(whole, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o777)
        os.replace(temporary, path)
    except OSError as error:
        raise FailedPreconditionError(
            f"write: cannot write {path}: {error.strerror}; name another file", field="write"
        ) from None

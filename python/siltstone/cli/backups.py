"""Copies of a store: `siltstone backup` and `restore`."""

import sys
from collections.abc import Callable
from pathlib import Path

from siltstone.cli.context import Context
from siltstone.cli.output import one_line, table
from siltstone.cli.parser import Commands, UsageError
from siltstone.errors import SiltstoneError


def add(commands: Commands) -> None:
    parser = commands.add(
        "backup", "back up to a target of the server's configuration, or to a folder here", run_backup
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="a name of the setting backup_targets")
    parser.add_argument("--to", metavar="DIR", help="a folder of this machine, which the bytes are sent to")

    parser = commands.add(
        "restore", "make a data directory from a backup, while no server has it open", run_restore
    )
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a folder, a URL such as s3://bucket/path, or a name of backup_targets",
    )
    parser.add_argument("--backup", metavar="NAME", help="which one; default: the newest")
    parser.add_argument("--list", action="store_true", help="list the backups there, restore nothing")
    parser.add_argument("--check", action="store_true", help="verify the backup, restore nothing")
    parser.add_argument(
        "--replace", action="store_true", help="put it in the place of the store that is there"
    )


def run_backup(context: Context) -> int:
    args = context.args
    if (args.target is None) == (args.to is None):
        raise UsageError("backup: give either a target's name or --to DIR", field="target")
    with context.api() as api:
        if args.to is None:
            made = api.backup(args.target)
        else:
            made = api.backup_to(args.to, progress=progress(context, "bytes_so_far"))
    counts = {"bytes": made.size_bytes, "new": made.new_bytes}
    text = context.text("backed_up", name=one_line(made.name), target=one_line(made.target), **counts)
    context.show(made, lambda: text)
    return 0


def run_restore(context: Context) -> int:
    from siltstone.backup import backups_at, open_target
    from siltstone.engine.restoring import choose, restore, verify

    args, settings = context.args, context.settings
    target = open_target(dict(settings.backup_targets).get(args.source, args.source))
    if args.list:
        unread: dict[str, SiltstoneError] = {}
        made = backups_at(target, unread=unread)
        heads = [context.text(key) for key in ("h_name", "h_time", "h_seq", "h_bytes", "h_store")]
        rows = [[m.name, m.create_time, m.seq, m.size_bytes, m.store] for m in made]
        names = ("name", "create_time", "seq", "size_bytes", "store")
        problems = [one_line(str(error)) for error in unread.values()]
        answer = {"backups": [dict(zip(names, row, strict=True)) for row in rows], "unread": problems}
        none = context.text("no_backups", target=one_line(target.location))
        lines = [table(heads, rows) if rows else none]
        lines += [context.text("unread_backups", why=problem) for problem in problems]
        context.show(answer, lambda: "\n".join(lines))
        return 0
    manifest = choose(target, args.backup or "")
    if args.check:
        verify(target, manifest)
        counts = {"name": manifest.name, "bytes": manifest.size_bytes}
        context.show(
            {"name": manifest.name, "size_bytes": manifest.size_bytes},
            lambda: context.text("backup_whole", **counts),
        )
        return 0
    done = restore(Path(settings.data), target, manifest, replace=args.replace)
    where = one_line(str(Path(settings.data).resolve()))
    lines = [context.text("restored_backup", data=where, seq=done.seq, time=done.create_time, name=done.name)]
    if done.erased or done.revoked:
        lines.append(context.text("replayed", erased=done.erased, revoked=done.revoked))
    if done.unread:
        lines.append(context.text("not_replayed", why=one_line(done.unread)))
    if done.former:
        lines.append(context.text("former_kept", path=one_line(done.former)))
    context.show(done, lambda: "\n".join(lines))
    return 0


def progress(context: Context, key: str) -> Callable[[int], None] | None:
    """Shows a count that grows, on a terminal; None where nobody looks."""
    if context.json or not sys.stderr.isatty():
        return None

    def show(count: int) -> None:
        print(f"\r{context.text(key, count=f'{count:,}')}", end="", file=sys.stderr, flush=True)

    return show

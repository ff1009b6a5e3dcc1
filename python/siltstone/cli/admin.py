"""Administration: `siltstone namespaces`, `stats`, `check`, `compact`, `export`, `token` and their like."""

import time

from siltstone.cli.backups import progress
from siltstone.cli.context import Context, given
from siltstone.cli.output import one_line, pairs, table
from siltstone.cli.parser import Commands, UsageError
from siltstone.data import to_data

_POLLED_EVERY_S = 0.5  # while it re-embeds


def add(commands: Commands) -> None:
    parser = commands.add("namespaces", "list the namespaces", run_namespaces)
    parser.add_argument("--page-size", type=int, metavar="N", help="default 1000")
    parser.add_argument("--page-token", metavar="TOKEN", help="next_page_token of the page before")
    parser.add_argument("--delete", metavar="NAME", help="delete this one with everything in it; needs --yes")
    parser.add_argument("--yes", action="store_true", help="yes, delete it")

    parser = commands.add("stats", "counts and sizes", run_stats)
    parser.add_argument(
        "--all", action="store_true", help="of the whole store, the default without --namespace"
    )

    parser = commands.add("check", "compare store and index", run_check)
    parser.add_argument("--repair", action="store_true", help="rebuild what is derived")

    commands.add("compact", "make the store's file anew without what was deleted", run_compact)

    parser = commands.add("export", "write all memories to a file, as JSONL", run_export)
    parser.add_argument("path", metavar="FILE")
    parser.add_argument("--only", action="append", default=[], metavar="NAMESPACE", help="may be repeated")

    parser = commands.add("import", "read memories from a file that export wrote", run_import)
    parser.add_argument("path", metavar="FILE")

    parser = commands.add("reembed", "move memories to another embedding model", run_reembed)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument(
        "--all", action="store_true", help="in every namespace, the default without --namespace"
    )

    parser.add_argument("--no-wait", action="store_true", help="leave it to the server to go on")

    tokens = commands.group("token", "access tokens")
    parser = tokens.add("create", "make a token; its secret is shown once", run_token_create)
    parser.add_argument("name", metavar="NAME")
    parser.add_argument(
        "--for",
        dest="namespaces",
        action="append",
        required=True,
        metavar="PATTERN",
        help="namespaces it opens, such as 'team/*' or 'team/**'; '**': everything. May be repeated",
    )
    parser.add_argument(
        "--role",
        dest="roles",
        action="append",
        required=True,
        metavar="ROLE",
        help="reader, writer, auditor or admin; none includes another. May be repeated",
    )
    parser = tokens.add("list", "list the tokens, revoked ones too", run_token_list)
    parser.add_argument("--page-size", type=int, metavar="N", help="1..1000 (default 100)")
    parser.add_argument("--page-token", metavar="TOKEN", help="next_page_token of the page before")
    parser = tokens.add("revoke", "make a token useless", run_token_revoke)
    parser.add_argument("id", metavar="ID")


def run_namespaces(context: Context) -> int:
    args = context.args
    if args.delete is not None:
        if not args.yes:
            raise UsageError(
                f"namespaces: add --yes to delete {args.delete!r} with all its memories", field="yes"
            )
        with context.api() as api:
            count = api.delete_namespace(args.delete)
        text = context.text("deleted_namespace", name=one_line(args.delete), count=count)
        context.show({"memories": count}, lambda: text)
        return 0
    with context.api() as api:
        page = api.namespaces(**given(args, "page_size", "page_token"))
    heads = [context.text(key) for key in ("h_name", "h_memories", "h_model", "h_dimension", "h_time")]
    rows = [[n.name, n.memories, n.embedding_model, n.embedding_dimension, n.create_time] for n in page]
    answer = {"namespaces": page, "next_page_token": page.next_page_token}
    context.show(answer, lambda: table(heads, rows))
    if page.next_page_token:
        context.next("namespaces", "--page-token", page.next_page_token, key="more")
    return 0


def _one_namespace(context: Context) -> str | None:
    """The namespace that was asked for on the command line; None: all of them."""
    asked: str | None = getattr(context.args, "namespace", None)
    if asked is not None and context.args.all:
        raise UsageError("give either --namespace or --all", field="namespace")
    return asked


def run_stats(context: Context) -> int:
    with context.api() as api:
        stats = api.stats(_one_namespace(context))
    context.show(stats, lambda: pairs(list(to_data(stats).items())))
    return 0


def run_check(context: Context) -> int:
    with context.api() as api:
        report = api.check(repair=context.args.repair)
    if report.problems:
        lines = [context.text("check_bad", count=len(report.problems)), *map(one_line, report.problems)]
        if context.args.repair:
            lines.append(context.text("repaired", count=report.repaired))
        if report.unrepaired:
            lines.append(context.text("unrepaired", count=len(report.unrepaired)))
            lines += map(one_line, report.unrepaired)
    else:
        counts = {"namespaces": report.namespaces, "memories": report.memories, "vectors": report.vectors}
        lines = [context.text("check_good", **counts)]
    context.show(report, lambda: "\n".join(lines))
    return 1 if report.unrepaired or (report.problems and not context.args.repair) else 0


def run_compact(context: Context) -> int:
    with context.api() as api:
        report = api.compact()
    counts = {"before": report.bytes_before, "after": report.bytes_after}
    context.show(report, lambda: context.text("compacted", **counts))
    return 0


def run_export(context: Context) -> int:
    path = context.args.path
    with context.api() as api:
        written = api.export(path, namespaces=context.args.only, progress=progress(context, "bytes_so_far"))
    context.show(
        {"path": path, "bytes": written}, lambda: context.text("exported", bytes=written, path=one_line(path))
    )
    return 0


def run_import(context: Context) -> int:
    with context.api() as api:
        report = api.import_(context.args.path, progress=progress(context, "bytes_so_far"))
    counts = {"count": report.imported, "unchanged": report.unchanged, "embedded": report.embedded}
    lines = [context.text("imported", **counts), *map(one_line, report.warnings)]
    if report.failed:
        lines += [context.text("import_failed", count=report.failed), *map(one_line, report.failures)]
    context.show(report, lambda: "\n".join(lines))
    return 1 if report.failed else 0


def run_reembed(context: Context) -> int:
    args, show = context.args, progress(context, "moved_so_far")
    with context.api() as api:
        report = api.reembed(args.model, namespace=_one_namespace(context))
        while report.namespaces_remaining and not args.no_wait:
            if show is not None:
                show(report.memories)
            time.sleep(_POLLED_EVERY_S)
            report = api.reembed(args.model, namespace=_one_namespace(context))
    counts = {"memories": report.memories, "model": one_line(report.model), "remaining": report.remaining}
    context.show(report, lambda: context.text("reembedded", **counts))
    return 0


def run_token_create(context: Context) -> int:
    args = context.args
    with context.api() as api:
        token = api.create_token(
            args.name, namespaces=args.namespaces, roles=[role.lower() for role in args.roles]
        )
    fields = [(name, value) for name, value in to_data(token).items() if name != "secret"]
    context.show(
        token, lambda: pairs(fields) + "\n" + context.text("secret_once", secret=one_line(token.secret))
    )
    return 0


def run_token_list(context: Context) -> int:
    with context.api() as api:
        page = api.tokens(**given(context.args, "page_size", "page_token"))
    keys = ("h_id", "h_name", "h_namespaces", "h_roles", "h_time", "h_revoked")
    heads = [context.text(key) for key in keys]
    rows = [[t.id, one_line(t.name), t.namespaces, t.roles, t.create_time, t.revoke_time] for t in page]
    answer = {"tokens": page, "next_page_token": page.next_page_token}
    context.show(answer, lambda: table(heads, rows) if page else context.text("no_tokens"))
    if page.next_page_token:
        context.next("token", "list", "--page-token", page.next_page_token, key="more")
    return 0


def run_token_revoke(context: Context) -> int:
    with context.api() as api:
        api.revoke_token(context.args.id)
    context.show({}, lambda: context.text("revoked", id=one_line(context.args.id)))
    return 0

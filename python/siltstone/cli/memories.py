"""`siltstone get`, `list`, `forget`, `verify` and `trace`."""

from collections.abc import Sequence

from siltstone.cli.context import Context, given
from siltstone.cli.filters import add_filter, filter_of
from siltstone.cli.output import clip, one_line, pairs, table
from siltstone.cli.parser import Commands, UsageError, choices
from siltstone.data import to_data
from siltstone.model import ForgetMode, Memory, Trace, Verdict


def add(commands: Commands) -> None:
    parser = commands.add("get", "show memories whole", run_get)
    parser.add_argument("ids", nargs="+", metavar="ID")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="cap on the tokens of all their texts")
    parser.add_argument("--task-id", metavar="ID", help="the task that is shown them")
    parser.add_argument("--as-of", metavar="TIME", help="as they stood then, RFC 3339")

    parser = commands.add("list", "list a namespace's memories", run_list)
    parser.add_argument("--page-size", type=int, metavar="N", help="1..1000 (default 100)")
    parser.add_argument("--page-token", metavar="TOKEN", help="next_page_token of the page before")
    add_filter(parser)

    parser = commands.add("forget", "take memories out of searches and lists, or erase them", run_forget)
    parser.add_argument("ids", nargs="*", metavar="ID", help="these; or give a filter")
    parser.add_argument("--mode", **choices(*ForgetMode), help="INVALIDATE can be undone (default)")
    parser.add_argument("--dry-run", action="store_true", help="only count")
    parser.add_argument("--undo", action="store_true", help="bring these ids back")
    parser.add_argument("--request-id", metavar="ID", help="a repeat with the same id changes nothing more")
    add_filter(parser)

    parser = commands.add("verify", "say what became of a memory", run_verify)
    parser.add_argument("id", metavar="ID")
    parser.add_argument("verdict", **choices(*(v for v in Verdict if v is not Verdict.REACHED)))
    for name in ("evidence", "task-id", "reviewer", "note", "request-id"):
        parser.add_argument(f"--{name}", metavar="TEXT")

    parser = commands.add("trace", "show how a memory came to be what it is", run_trace)
    parser.add_argument("id", metavar="ID")


def run_get(context: Context) -> int:
    with context.api() as api:
        page = api.get(context.args.ids, **given(context.args, "max_tokens", "task_id", "as_of"))
    answer = {"memories": page, "tokens_used": page.tokens_used, "truncated_ids": list(page.truncated_ids)}
    context.show(answer, lambda: "\n\n".join(whole(memory) for memory in page))
    if page.truncated_ids:
        context.say("cut_contents", ids=", ".join(page.truncated_ids))
    return 0


def run_list(context: Context) -> int:
    namespace = context.settings.namespace
    options = given(context.args, "page_size", "page_token")
    with context.api() as api:
        page = api.list(namespace, filter=filter_of(context.args), **options)
    answer = {"memories": page, "next_page_token": page.next_page_token}
    empty = context.text("no_memories", namespace=one_line(namespace))
    context.show(answer, lambda: memory_table(context, page) if page else empty)
    if page.next_page_token:
        context.next("list", "--page-token", page.next_page_token, key="more")
    return 0


def run_forget(context: Context) -> int:
    args = context.args
    filter = filter_of(args)
    if bool(args.ids) == (filter is not None):
        raise UsageError("forget: give either ids or a filter", field="ids" if args.ids else "filter")
    if args.undo:
        return _undo(context)
    options = given(args, "mode", "request_id")
    with context.api() as api:
        result = api.forget(
            ids=args.ids or None,
            filter=filter,
            namespace=context.settings.namespace,
            dry_run=args.dry_run,
            **options,
        )
    key = "would_forget" if result.dry_run else "forgotten"
    lines = [context.text(key, count=result.count, mode=result.mode), *map(one_line, result.ids)]
    context.show(result, lambda: "\n".join(lines))
    if result.ids and not result.dry_run and result.mode == ForgetMode.INVALIDATE:
        shown = result.ids if len(result.ids) <= 5 else [result.ids[0], "…"]
        context.next("forget", "--undo", *shown, key="undo")
    return 0


def _undo(context: Context) -> int:
    args = context.args
    if not args.ids or args.dry_run or args.mode is not None or args.request_id is not None:
        raise UsageError("forget: --undo takes ids and no other flag", field="undo")
    with context.api() as api:
        memories = [api.restore_memory(id) for id in args.ids]
    context.show({"memories": memories}, lambda: context.text("restored", count=len(memories)))
    return 0


def run_verify(context: Context) -> int:
    args = context.args
    options = given(args, "evidence", "task_id", "reviewer", "note", "request_id")
    with context.api() as api:
        memory = api.verify(args.id, args.verdict, **options)
    context.show(memory, lambda: memory_table(context, [memory]))
    return 0


def run_trace(context: Context) -> int:
    with context.api() as api:
        trace = api.trace(context.args.id)
    context.show(trace, lambda: _trace(context, trace))
    return 0


def _trace(context: Context, trace: Trace) -> str:
    text = context.text
    parts = [whole(trace.memory)]
    if trace.revisions:
        heads = [text("h_revision"), text("h_time"), text("h_reason"), text("h_content")]
        rows = [
            [r.revision, r.update_time, r.reason, clip(one_line(r.memory.content), 80)]
            for r in trace.revisions
        ]
        parts.append(text("revisions") + "\n" + table(heads, rows))
    for key in ("superseded", "superseded_by", "conflicts"):
        if memories := getattr(trace, key):
            parts.append(text(key) + "\n" + memory_table(context, memories))
    if trace.truncated:
        parts.append(text("trace_truncated"))
    return "\n\n".join(parts)


def memory_table(context: Context, memories: Sequence[Memory]) -> str:
    heads = [context.text(key) for key in ("h_id", "h_confidence", "h_verification", "h_time", "h_summary")]
    rows = [
        [m.id, m.confidence, m.verification, m.event_time, clip(one_line(m.summary or m.content), 80)]
        for m in memories
    ]
    return table(heads, rows)


def whole(memory: Memory) -> str:
    """All fields of a memory that are not empty, under their names; the content last."""
    fields = to_data(memory)
    content = fields.pop("content", "")
    lesson = fields.pop("lesson", None) or {}
    evidence = fields.pop("evidence", [])
    rows: list[tuple[str, object]] = [(name, value) for name, value in fields.items() if value != 0]
    rows += [(f"lesson.{name}", lesson.get(name)) for name in ("problem", "root_cause", "solution")]
    rows += [(f"step {e['step']} ({e['field']})", e["quote"]) for e in lesson.get("evidence", [])]
    rows += [(e["verdict"], {k: v for k, v in e.items() if v and k != "verdict"}) for e in evidence]
    return pairs([*rows, ("content", content)])

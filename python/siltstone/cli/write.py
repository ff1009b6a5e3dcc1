"""`siltstone write` and `siltstone update`."""

from siltstone.cli.context import Context, given, read_text
from siltstone.cli.fields import add_memory_fields, memory_fields
from siltstone.cli.output import clip, one_line, pairs
from siltstone.cli.parser import Commands, UsageError, choices, json_value
from siltstone.model import OnDuplicate, OnTooLong, WriteReceipt


def add(commands: Commands) -> None:
    parser = commands.add("write", "keep a memory", run_write)
    add = parser.add_argument
    add(
        "content",
        metavar="CONTENT",
        help="the text, verbatim; - reads standard input, its last line end included",
    )
    add_memory_fields(parser)
    add("--ttl", metavar="DURATION", help="30d, 12h: instead of --valid-until")
    add("--supersedes", action="append", metavar="ID", help="memory that this one replaces; may be repeated")
    add("--sequence", metavar="TEXT", help="the ordered run it belongs to")
    add("--position", type=int, metavar="N", help="its place in that run")
    add("--source", type=json_value, metavar="JSON", help='{"task_id": …, "writer": …}')
    add("--vector", type=json_value, metavar="JSON", help="its embedding, a list of numbers")
    add("--task-id", metavar="ID", help="the task that writes it")
    add("--on-duplicate", **choices(*OnDuplicate), help="default MERGE")
    add("--on-too-long", **choices(*OnTooLong), help="COMPRESS keeps what matters most (default REFUSE)")

    parser = commands.add("update", "change fields of a memory", run_update)
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--content", help="the new text; - reads standard input")
    add_memory_fields(parser)
    parser.add_argument("--clear", action="append", metavar="FIELD", help="empty this field; may be repeated")
    parser.add_argument("--revision", type=int, metavar="N", help="refuse when the memory has changed since")


def run_write(context: Context) -> int:
    args = context.args
    content = read_text("-", "content") if args.content == "-" else args.content
    options = given(
        args,
        "ttl",
        "supersedes",
        "sequence",
        "position",
        "source",
        "vector",
        "task_id",
        "on_duplicate",
        "on_too_long",
    )
    with context.api() as api:
        receipt = api.write(content, namespace=context.settings.namespace, **memory_fields(args), **options)
    context.show(receipt, lambda: receipt_lines(context, receipt))
    return 0


def run_update(context: Context) -> int:
    args = context.args
    changes = memory_fields(args) | given(args, "clear")
    if args.content is not None:
        changes["content"] = read_text("-", "content") if args.content == "-" else args.content
    if not changes.keys() - {"request_id"}:
        raise UsageError("update: nothing to change; give --content, --tag, --clear or another field")
    with context.api() as api:
        memory = api.update(args.id, **changes, **given(args, "revision"))
    rows: list[tuple[str, object]] = [("id", memory.id), ("revision", memory.revision)]
    context.show(memory, lambda: pairs([*rows, ("summary", one_line(memory.summary))]))
    return 0


def receipt_lines(context: Context, receipt: WriteReceipt) -> str:
    """What a write did, the memory, and the memories behind that."""
    lines = [f"{receipt.action}  {one_line(receipt.memory.id)}  {clip(one_line(receipt.memory.summary), 90)}"]
    for related in receipt.related:
        what = f"{related.relation} {related.id} ({context.text('h_similarity')} {related.similarity:.3f})"
        because = f": {related.reason}" if related.reason else ""
        lines.append(f"  {context.text('related')}: {one_line(what + because)}")
    return "\n".join(lines)

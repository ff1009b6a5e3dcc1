"""`siltstone audit queue` and `audit log`: what a person reviews, and every change."""

from siltstone.cli.context import Context, given
from siltstone.cli.memories import memory_table
from siltstone.cli.output import clip, one_line, table
from siltstone.cli.parser import Commands


def add(commands: Commands) -> None:
    group = commands.group("audit", "what to review, and what was changed")
    parser = group.add("queue", "memories to review: confident, often shown, never confirmed", run_queue)
    parser.add_argument("--limit", type=int, metavar="N", help="1..1000 (default 20)")

    parser = group.add("log", "every change, of all namespaces or of --namespace", run_log)
    parser.add_argument("--since-seq", type=int, metavar="SEQ", help="only after this commit")
    parser.add_argument("--page-size", type=int, metavar="N", help="1..1000 (default 100)")
    parser.add_argument("--page-token", metavar="TOKEN", help="next_page_token of the page before")


def run_queue(context: Context) -> int:
    namespace = context.settings.namespace
    with context.api() as api:
        memories = api.audit_queue(namespace, **given(context.args, "limit"))
    empty = context.text("nothing_to_review", namespace=one_line(namespace))
    context.show({"memories": memories}, lambda: memory_table(context, memories) if memories else empty)
    if memories:
        context.next("verify", memories[0].id, "CONFIRM|REFUTE")
    return 0


def run_log(context: Context) -> int:
    options = given(context.args, "since_seq", "page_size", "page_token", "namespace")
    with context.api() as api:
        page = api.audit_log(**options)
    heads = [
        context.text(key)
        for key in ("h_seq", "h_time", "h_action", "h_namespace", "h_id", "h_principal", "h_note")
    ]
    rows = [
        [e.seq, e.time, e.action, one_line(e.namespace), e.memory_id, e.principal, clip(one_line(e.note), 60)]
        for e in page
    ]
    answer = {"events": page, "next_page_token": page.next_page_token}
    context.show(answer, lambda: table(heads, rows) if page else context.text("no_changes"))
    if page.next_page_token:
        context.next("audit", "log", "--page-token", page.next_page_token, key="more")
    return 0

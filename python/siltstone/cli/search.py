"""`siltstone search`."""

from siltstone.cli.context import Context, given
from siltstone.cli.filters import add_filter, filter_of
from siltstone.cli.output import indented, one_line, table
from siltstone.cli.parser import Commands, UsageError, as_dict, choices, json_value, pair
from siltstone.data import to_data
from siltstone.model import Hit, Profile, SearchResult, TimeWindow, View

_PARTS = ("score", "similarity", "recency", "confidence", "gate", "cosine", "lexical", "support")
_PLAIN = (
    "vector",
    "top_k",
    "profile",
    "now",
    "time_zone",
    "as_of",
    "view",
    "max_tokens",
    "min_score",
    "task_id",
    "diversity",
)
_NUMBERS = ("similarity", "recency", "confidence", "lexical", "neighbours", "gate")


def add(commands: Commands) -> None:
    parser = commands.add("search", "find memories", run)
    add = parser.add_argument
    add("query", nargs="?", metavar="QUERY", help="any language; without it recency and confidence order")
    add("--vector", type=json_value, metavar="JSON", help="the query's embedding, a list of numbers")
    add(
        "--also",
        action="append",
        default=[],
        metavar="NAMESPACE",
        help="search this namespace too; may be repeated",
    )
    add("--no-public", action="store_true", help="leave out the namespace `public`")
    add("--top-k", type=int, metavar="N", help="how many hits, 1..10000 (default 8)")
    add("--profile", **choices(*Profile, lower=True), help="a set of weights (default balanced)")
    add(
        "--weight",
        dest="weights",
        action="append",
        type=pair,
        metavar="NAME=VALUE",
        help="similarity, recency, confidence, lexical, neighbours, gate (numbers), calibrate=true|false, "
        "half_life=30d; may be repeated",
    )
    add("--now", metavar="TIME", help="moment recency is measured at, RFC 3339")
    add("--time-zone", metavar="ZONE", help="such as Asia/Shanghai (default UTC)")
    add("--as-of", metavar="TIME", help="what was believed then, RFC 3339")
    add("--view", **choices(*View), help="FULL shows content and lesson (default SUMMARY)")
    add("--max-tokens", type=int, metavar="N", help="cap on the tokens of the texts returned")
    add("--min-score", type=float, metavar="0..1", help="leave out hits below")
    for name in ("superseded", "expired", "refuted"):
        add(f"--include-{name}", action="store_true", help=f"let {name} memories in")
    add("--task-id", metavar="ID", help="the task that is shown the hits")
    add("--explain", action="store_true", help="add how the search was carried out")
    add(
        "--diversity",
        type=float,
        metavar="0..1",
        help="what one copy too many of a statement loses; 0: by score alone (default 0.9)",
    )
    add("--no-rerank", action="store_true", help="do not ask the server's reranker")
    add_filter(parser)


def run(context: Context) -> int:
    args = context.args
    namespaces = [context.settings.namespace, *args.also]
    options = given(args, *_PLAIN)
    if (filter := filter_of(args)) is not None:
        options["filter"] = filter
    if args.weights:
        options["weights"] = _weights(as_dict(args.weights, "--weight") or {})
    with context.api() as api:
        result = api.search(
            args.query,
            namespace=namespaces,
            include_public=not args.no_public,
            include_superseded=args.include_superseded,
            include_expired=args.include_expired,
            include_refuted=args.include_refuted,
            explain=args.explain,
            rerank=not args.no_rerank,
            **options,
        )
    searched = namespaces if args.no_public else list(dict.fromkeys([*namespaces, "public"]))
    context.show(result, lambda: _human(context, result, searched))
    return 0


def _weights(given: dict[str, object]) -> dict[str, object]:
    made: dict[str, object] = {}
    for name, value in given.items():
        if name in _NUMBERS and isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise UsageError(
                    f"--weight: {name}={value} is not a number", field=f"weights.{name}"
                ) from None
        elif name == "calibrate" and isinstance(value, str):
            if value.lower() not in ("true", "false"):
                raise UsageError(
                    f"--weight: calibrate={value} is neither true nor false", field="weights.calibrate"
                )
            value = value.lower() == "true"
        made[name] = value
    return made


def _human(context: Context, result: SearchResult, namespaces: list[str]) -> str:
    text = context.text
    parts = []
    if result.time_window is not None:
        parts.append(_window(context, result.time_window))
    if result.nothing_in_window:
        parts.append(text("nothing_in_window"))
    if result.hits:
        heads = [text("h_rank"), *(text("h_" + name) for name in _PARTS), text("h_id")]
        rows = [
            [rank, *(getattr(hit, name) for name in _PARTS), hit.memory.id]
            for rank, hit in enumerate(result.hits, 1)
        ]
        home = namespaces[0]
        parts.append(table(heads, rows, below=[_hit_text(hit, home) for hit in result.hits]))
    elif not result.truncated:
        parts.append(text("no_match", namespaces=", ".join(one_line(n) for n in namespaces)))
    if result.truncated:
        parts.append(text("truncated", tokens=result.tokens_used))
    if result.explain is not None:
        e = result.explain
        times = {"embed": _us(e.embed_us), "search": _us(e.search_us), "read": _us(e.read_us)}
        parts.append(
            text("explain", plan=one_line(e.plan), allowed=e.allowed, candidates=e.candidates, **times)
        )
        if e.gave_way:
            parts.append(text("gave_way", ids=", ".join(one_line(id) for id in e.gave_way)))
        if e.rerank:
            parts.append(text("rerank", said=one_line(e.rerank)))
    return "\n".join(parts)


def _hit_text(hit: Hit, home: str) -> str:
    memory = hit.memory
    marks = [memory.namespace] if memory.namespace != home else []
    if memory.verification != "PENDING":
        marks.append(memory.verification.value)
    if memory.superseded_by:
        marks.append("superseded_by " + memory.superseded_by)
    if memory.conflicts_with:
        marks.append("conflicts_with " + ", ".join(memory.conflicts_with))
    if hit.in_window:
        marks.append("in_window")
    head = "".join(f"[{one_line(mark)}] " for mark in marks) + one_line(memory.summary)
    return head + ("\n" + indented(memory.content, "  ") if memory.content else "")


def _window(context: Context, window: TimeWindow) -> str:
    ends = [context.text("open_end") if end is None else to_data(end) for end in (window.start, window.end)]
    return context.text("window", start=ends[0], end=ends[1])


def _us(microseconds: int) -> str:
    return f"{microseconds} µs" if microseconds < 1000 else f"{microseconds / 1000:.1f} ms"

"""`siltstone hindsight`: look back over a run and keep its lessons."""

from pathlib import Path

from siltstone.cli.context import Context, given, read_text
from siltstone.cli.fields import OUTCOMES
from siltstone.cli.output import clip, indented, one_line, pairs
from siltstone.cli.parser import Commands, choices
from siltstone.cli.write import receipt_lines
from siltstone.model import ExtractedLesson, Hindsight


def add(commands: Commands) -> None:
    parser = commands.add("hindsight", "extract the lessons of a finished run and keep them", run)
    add = parser.add_argument
    add("file", metavar="FILE", help="the run's log, JSON or JSONL; - reads standard input")
    add("--goal", metavar="TEXT", help="what the run was for, where the log does not say")
    add("--outcome", **choices(*OUTCOMES), help="how it ended, where the log does not say")
    add("--max-tokens", type=int, metavar="N", help="cap of the summary (default 400)")
    add("--dry-run", action="store_true", help="extract only, write nothing")
    add("--task-id", metavar="ID", help="the task that the run belongs to")
    add("--request-id", metavar="ID", help="a repeat with the same id changes nothing more")


def run(context: Context) -> int:
    import tempfile  # here, because every command loads this file

    args = context.args
    options = given(args, "goal", "outcome", "max_tokens", "task_id", "request_id")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(args.file)
        if args.file == "-":  # the API takes a path or parsed data; JSONL is neither until it is a file
            path = Path(directory) / "trajectory"
            path.write_bytes(read_text("-", "trajectory").encode())
        with context.api() as api:
            hindsight = api.summarize_trajectory(
                path, namespace=context.settings.namespace, dry_run=args.dry_run, **options
            )
    context.show(hindsight, lambda: hindsight_text(context, hindsight))
    if args.dry_run:
        context.say("dry_run")
    elif hindsight.lessons:
        lesson = hindsight.lessons[0].lesson
        question = lesson.problem or lesson.solution or lesson.root_cause
        context.next("search", _beginning(one_line(question)))
    return 0


def _beginning(text: str, columns: int = 70) -> str:
    """As many whole words as fit, to type as a query; no flag."""
    short = clip(text, columns)
    if short != text:
        short = short[:-1].rsplit(" ", 1)[0]
    return short.lstrip("-")


def hindsight_text(context: Context, hindsight: Hindsight) -> str:
    """The lessons, each with what became of it and the steps that prove it, the summary, and what to know."""
    text = context.text
    parts = []
    for i, extracted in enumerate(hindsight.lessons):
        receipt = receipt_lines(context, hindsight.receipts[i]) if i < len(hindsight.receipts) else ""
        head = text("lesson_head", number=i + 1)
        parts.append(
            "\n".join(
                [head, *filter(None, [receipt and indented(receipt, "  ")]), _lesson(context, extracted)]
            )
        )
    if not hindsight.lessons:
        parts.append(text("no_lessons", steps=hindsight.steps))
    if hindsight.summary:
        head = text("summary_head", tokens=hindsight.summary_tokens)
        parts.append(head + "\n" + indented(hindsight.summary, "  "))
    parts.append(
        pairs(
            [
                (text("h_outcome"), hindsight.outcome.value),
                (text("h_steps"), hindsight.steps),
                ("format", hindsight.format),
                ("extractor", hindsight.extractor),
            ]
        )
    )
    if hindsight.skipped:
        lines = [
            text("skipped", count=hindsight.skipped_count),
            *("  " + one_line(s) for s in hindsight.skipped),
        ]
        parts.append("\n".join(lines))
    if hindsight.flags:
        parts.append("\n".join([text("flags"), *("  " + one_line(flag) for flag in hindsight.flags)]))
    return "\n\n".join(parts)


def _lesson(context: Context, extracted: ExtractedLesson) -> str:
    """The filled fields, each with the steps that prove it."""
    rows: list[tuple[str, object]] = []
    for name in ("problem", "root_cause", "solution"):
        rows.append((name, one_line(getattr(extracted.lesson, name))))
        for evidence in extracted.lesson.evidence:
            if evidence.field == name:
                step = context.text("step", number=evidence.step)
                rows.append(("", f"{step}: “{clip(one_line(evidence.quote), 90)}”"))
    rows += [
        ("task_type", one_line(extracted.task_type)),
        ("outcome", extracted.outcome.value),
        ("confidence", extracted.confidence),
        ("tools_used", [one_line(tool) for tool in extracted.tools_used]),
        ("tags", [one_line(tag) for tag in extracted.tags]),
    ]
    return indented(pairs(rows), "  ")

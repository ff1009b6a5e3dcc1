"""`siltstone task`: working memory."""

import json
from argparse import Namespace
from typing import Any

from siltstone.cli.context import Context, given, read_text
from siltstone.cli.fields import OUTCOMES
from siltstone.cli.hindsight import hindsight_text
from siltstone.cli.output import clip, one_line, pairs, table, visible
from siltstone.cli.parser import Commands, UsageError, as_dict, choices, json_value, pair
from siltstone.data import to_data
from siltstone.model import Role, Task, TaskStatus

_STEP = ("role", "text", "tool", "arguments", "result", "is_error", "time", "remember")


def add(commands: Commands) -> None:
    tasks = commands.group("task", "working memory of one piece of work")
    parser = tasks.add("start", "open a task", run_start)
    parser.add_argument("goal", metavar="GOAL")
    parser.add_argument("--task-type", metavar="TEXT")
    parser.add_argument(
        "--hindsight-every", type=int, metavar="N", help="look back over it after N steps; 0: never"
    )
    _request_id(parser)

    parser = tasks.add("update", "replace fields of a task", run_update)
    parser.add_argument("id", metavar="ID")
    for flag, name, what in (
        ("--step-done", "steps_done", "what has been done"),
        ("--pending", "pending", "what is still to do"),
        ("--finding", "findings", "what was found out"),
    ):
        parser.add_argument(
            flag, dest=name, action="append", metavar="TEXT", help=f"{what}; repeat for the whole list"
        )
    parser.add_argument("--current-hypothesis", metavar="TEXT")
    parser.add_argument("--variable", dest="variables", action="append", type=pair, metavar="NAME=TEXT")
    parser.add_argument("--revision", type=int, metavar="N", help="refuse when the task has changed since")
    _request_id(parser)

    parser = tasks.add("append", "add steps to a task's log", run_append)
    parser.add_argument("id", metavar="ID")
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="steps as JSON or JSONL (- reads standard input); or one step as flags",
    )
    parser.add_argument("--role", **choices(*Role))
    parser.add_argument("--text", metavar="TEXT", help="what was said or thought")
    parser.add_argument("--tool", metavar="NAME", help="the tool called")
    parser.add_argument("--arguments", type=json_value, metavar="JSON", help="its arguments, an object")
    parser.add_argument("--result", metavar="TEXT", help="what it gave")
    parser.add_argument(
        "--error", dest="is_error", action="store_const", const=True, help="the result is a failure"
    )
    parser.add_argument("--time", metavar="TIME", help="RFC 3339")
    parser.add_argument(
        "--remember", action="store_const", const=True, help="keep what the step says as a memory"
    )
    _request_id(parser)

    parser = tasks.add("get", "show a task", run_get)
    parser.add_argument("id", metavar="ID")

    parser = tasks.add("render", "a task's state as text for a prompt", run_render)
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="16..100000 (default 800)")
    parser.add_argument(
        "--with-memories", type=int, metavar="N", help="add the best N memories for its goal, 0..50"
    )

    parser = tasks.add("finish", "close a task and look back over it", run_finish)
    parser.add_argument("id", metavar="ID")
    parser.add_argument("outcome", **choices(*OUTCOMES))
    parser.add_argument("--wait", action="store_true", help="answer when the lessons are kept")
    _request_id(parser)

    parser = tasks.add("list", "list a namespace's tasks", run_list)
    parser.add_argument("--status", **choices(*TaskStatus))
    parser.add_argument("--page-size", type=int, metavar="N", help="1..1000 (default 100)")
    parser.add_argument("--page-token", metavar="TOKEN", help="next_page_token of the page before")


def _request_id(parser: Any) -> None:
    parser.add_argument("--request-id", metavar="ID", help="a repeat with the same id changes nothing more")


def run_start(context: Context) -> int:
    options = given(context.args, "task_type", "hindsight_every", "request_id")
    with context.api() as api:
        task = api.start_task(context.args.goal, namespace=context.settings.namespace, **options)
    context.show(task, lambda: _whole(task))
    context.next("task", "append", task.id, "--text", "…")
    return 0


def run_update(context: Context) -> int:
    args = context.args
    changes = given(args, "steps_done", "current_hypothesis", "pending", "findings")
    if (variables := as_dict(args.variables, "--variable")) is not None:
        changes["variables"] = variables
    if not changes:
        raise UsageError("task update: nothing to change; give --finding, --pending or another field")
    with context.api() as api:
        task = api.update_task(args.id, **changes, **given(args, "revision", "request_id"))
    context.show(task, lambda: _whole(task))
    return 0


def run_append(context: Context) -> int:
    args = context.args
    one = given(args, *_STEP)
    if (args.file is None) == (not one):
        raise UsageError("task append: give either FILE or one step as flags", field="steps")
    steps = [one] if one else _steps(args)
    with context.api() as api:
        task = api.append_steps(args.id, steps, **given(args, "request_id"))
    context.show(task, lambda: _whole(task))
    return 0


def _steps(args: Namespace) -> list[dict[str, Any]]:
    """Steps from a JSON list, one JSON object, or JSONL."""
    text = read_text(args.file, "steps")
    try:
        whole = json.loads(text)
    except RecursionError:
        raise UsageError("steps: nested too deeply", field="steps") from None
    except ValueError:
        whole = []
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    whole.append(json.loads(line))
                except (ValueError, RecursionError) as error:
                    raise UsageError(f"steps: line {number} is not JSON: {error}", field="steps") from None
    steps: list[dict[str, Any]] = whole if isinstance(whole, list) else [whole]
    return steps


def run_get(context: Context) -> int:
    with context.api() as api:
        task = api.get_task(context.args.id)
    context.show(task, lambda: _whole(task))
    return 0


def run_render(context: Context) -> int:
    with context.api() as api:
        rendered = api.render_task(context.args.id, **given(context.args, "max_tokens", "with_memories"))
    context.show(rendered, lambda: visible(rendered.text))
    if rendered.truncated:
        context.say("task_cut", tokens=rendered.tokens)
    return 0


def run_finish(context: Context) -> int:
    args = context.args
    with context.api() as api:
        job = api.finish_task(args.id, args.outcome, wait=args.wait, **given(args, "request_id"))
    told = context.text("job", task=one_line(job.task_id), job=one_line(job.id), state=job.state)
    context.show(
        job,
        lambda: f"{told}\n\n{hindsight_text(context, job.hindsight)}" if job.hindsight else told,
    )
    if job.error:
        context.say("failed", message=job.error)
    context.next("list")
    return 1 if job.error else 0


def run_list(context: Context) -> int:
    namespace = context.settings.namespace
    with context.api() as api:
        page = api.list_tasks(namespace, **given(context.args, "status", "page_size", "page_token"))
    heads = [context.text(key) for key in ("h_id", "h_status", "h_outcome", "h_steps", "h_time", "h_goal")]
    rows = [
        [t.id, t.status, t.outcome, t.step_count, t.create_time, clip(one_line(t.goal), 60)] for t in page
    ]
    empty = context.text("no_tasks", namespace=one_line(namespace))
    answer = {"tasks": page, "next_page_token": page.next_page_token}
    context.show(answer, lambda: table(heads, rows) if page else empty)
    if page.next_page_token:
        context.next("task", "list", "--page-token", page.next_page_token, key="more")
    return 0


def _whole(task: Task) -> str:
    told = to_data(task)
    derived = {f"{name} (by the log)": value for name, value in told.pop("derived", {}).items() if value}
    rows: list[tuple[str, object]] = []
    for name, value in {**told, **derived}.items():
        lines = value if isinstance(value, list) else [value]
        rows += [(name if i == 0 else "", line) for i, line in enumerate(lines)]
    return pairs(rows)

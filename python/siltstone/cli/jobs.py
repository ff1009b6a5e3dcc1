"""`siltstone job`: the queue of looking back over tasks."""

from siltstone.cli.context import Context, given
from siltstone.cli.hindsight import hindsight_text
from siltstone.cli.output import pairs, table
from siltstone.cli.parser import Commands, choices
from siltstone.data import to_data
from siltstone.model import HindsightJob, JobState


def add(commands: Commands) -> None:
    jobs = commands.group("job", "the queue of looking back over tasks")
    parser = jobs.add("list", "list hindsight jobs of all namespaces", run_list)
    parser.add_argument(
        "--state", dest="states", action="append", **choices(*JobState), help="repeat for several"
    )
    parser.add_argument("--page-size", type=int, metavar="N", help="1..1000 (default 100)")
    parser.add_argument("--page-token", metavar="TOKEN", help="next_page_token of the page before")

    parser = jobs.add("get", "show a hindsight job", run_get)
    parser.add_argument("id", metavar="ID")

    parser = jobs.add("create", "look back over a task now", run_create)
    parser.add_argument("task_id", metavar="TASK_ID")
    parser.add_argument("--wait", action="store_true", help="answer when the lessons are kept")
    parser.add_argument("--request-id", metavar="ID", help="a repeat with the same id changes nothing more")

    parser = jobs.add("cancel", "cancel a job that waits or runs", run_cancel)
    parser.add_argument("id", metavar="ID")


def run_list(context: Context) -> int:
    with context.api() as api:
        page = api.list_hindsight_jobs(**given(context.args, "states", "page_size", "page_token"))
    heads = [context.text(key) for key in ("h_id", "h_state", "h_trigger", "h_task", "h_tries", "h_time")]
    rows = [[j.id, _state(j), j.trigger, j.task_id, j.attempts, j.update_time] for j in page]
    answer = {"jobs": page, "next_page_token": page.next_page_token}
    context.show(answer, lambda: table(heads, rows) if page else context.text("no_jobs"))
    if page.next_page_token:
        context.next("job", "list", "--page-token", page.next_page_token, key="more")
    return 0


def _state(job: HindsightJob) -> str:
    share = f" {job.progress:.0%}" if job.state is JobState.RUNNING else ""
    return job.state.value + share


def run_get(context: Context) -> int:
    with context.api() as api:
        job = api.get_hindsight_job(context.args.id)
    return _show(context, job)


def run_create(context: Context) -> int:
    args = context.args
    with context.api() as api:
        job = api.create_hindsight_job(args.task_id, wait=args.wait, **given(args, "request_id"))
    return _show(context, job)


def run_cancel(context: Context) -> int:
    with context.api() as api:
        job = api.cancel_hindsight_job(context.args.id)
    return _show(context, job)


def _show(context: Context, job: HindsightJob) -> int:
    def text() -> str:
        rows = [(name, value) for name, value in to_data(job).items() if name != "hindsight"]
        told = pairs(rows)
        return f"{told}\n\n{hindsight_text(context, job.hindsight)}" if job.hindsight else told

    context.show(job, text)
    return 1 if job.state is JobState.FAILED else 0

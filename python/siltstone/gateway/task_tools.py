"""The tools on tasks: working memory for one piece of work."""

from siltstone.gateway import readable
from siltstone.gateway.schemas import STEP, choice, flag, record, text, texts, whole
from siltstone.gateway.tool import Tool
from siltstone.model import HindsightJob, Outcome, RenderedTask, Task

_TASK_ID = text("The task's id, as task_start gave it.")

START = Tool(
    name="task_start",
    title="Start a task",
    description=(
        "Open working memory for one piece of work that takes several steps, so that its state outlives your "
        "context. Returns the task with its id, which the other task tools and memory_search take.\n"
        'Example: {"goal": "Migrate the orders database to MySQL 8.0", "task_type": "database-migration"}'
    ),
    input_schema=record(
        {
            "goal": text("What is to be reached.", minLength=1),
            "namespace": text('Where it belongs, a path such as "team/agent-a".', default="default"),
            "task_type": text('Kind of task, as "database-migration".'),
            "hindsight_every": whole("Draw lessons from it after so many steps too; 0: never.", 0, 10_000),
        },
        ["goal"],
    ),
    output=Task,
    run=lambda memories, given: memories.start_task(**given),
    render=readable.task,
)

UPDATE = Tool(
    name="task_update",
    title="Update a task",
    description=(
        "Write down where the task stands. Each field you give replaces the former one as a whole; the "
        "others stay. Returns the task.\n"
        'Example: {"task_id": "0197a3c4-…", "current_hypothesis": "the client plugin is too old", '
        '"pending": ["try it with --default-auth"]}'
    ),
    input_schema=record(
        {
            "task_id": _TASK_ID,
            "steps_done": texts("What is done."),
            "current_hypothesis": text("What you believe at the moment."),
            "pending": texts("What is still to do."),
            "findings": texts("What you found out."),
            "variables": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Names and values to keep at hand.",
            },
            "revision": whole("The revision you read; refused if it is no longer that.", 1),
        },
        ["task_id"],
    ),
    output=Task,
    run=lambda memories, given: memories.update_task(**given),
    render=readable.task,
    renames={"task.id": "task_id", "task.": ""},
    needs_one_of=("steps_done", "current_hypothesis", "pending", "findings", "variables"),
    destructive=True,
)

APPEND = Tool(
    name="task_append",
    title="Log steps of a task",
    description=(
        "Add what you did to the task's log; lessons are drawn from it later. Failures are worth as much as "
        'successes. Set "remember" on a step whose text is worth keeping as a memory of its own. Returns the '
        "task.\n"
        'Example: {"task_id": "0197a3c4-…", "steps": [{"tool": "bash", "arguments": {"command": "make '
        'test"}, "result": "2 failed", "is_error": true}]}'
    ),
    input_schema=record(
        {
            "task_id": _TASK_ID,
            "steps": {
                "type": "array",
                "items": STEP,
                "minItems": 1,
                "description": "The steps, oldest first.",
            },
        },
        ["task_id", "steps"],
    ),
    output=Task,
    run=lambda memories, given: memories.append_steps(**given),
    render=readable.task,
)

RENDER = Tool(
    name="task_render",
    title="Read a task",
    description=(
        "Read the task's state as text, to go on with it after a pause or a lost context. Returns at most "
        "max_tokens tokens, with the most useful memories for its goal if you ask for some. What you set "
        "yourself is there word for word; the rest is read from the log.\n"
        'Example: {"task_id": "0197a3c4-…", "max_tokens": 600, "with_memories": 3}'
    ),
    input_schema=record(
        {
            "task_id": _TASK_ID,
            "max_tokens": whole("Hard cap on the text.", 16, 100_000, default=800),
            "with_memories": whole("How many of the best memories for the goal to add.", 0, 50, default=0),
        },
        ["task_id"],
    ),
    output=RenderedTask,
    run=lambda memories, given: memories.render_task(**given),
    render=readable.rendered,
    read_only=True,
)

FINISH = Tool(
    name="task_finish",
    title="Finish a task",
    description=(
        "Close the task, also when it failed. Its log is then looked back over and the lessons are kept, in "
        "the background unless you wait. Returns that job.\n"
        'Example: {"task_id": "0197a3c4-…", "outcome": "SUCCESS"}'
    ),
    input_schema=record(
        {
            "task_id": _TASK_ID,
            "outcome": choice(Outcome, "How it ended."),
            "wait": flag("Answer when the lessons are there."),
        },
        ["task_id", "outcome"],
    ),
    output=HindsightJob,
    run=lambda memories, given: memories.finish_task(**given),
    render=readable.job,
)

TASK_TOOLS = (START, UPDATE, APPEND, RENDER, FINISH)

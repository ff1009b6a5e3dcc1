"""What working memory saves: a task's rendered state against its full history, step by step.

    .venv/bin/python benches/working_memory.py DIR [--max-tokens 800] [--from-step 10]

DIR (or SILTSTONE_TRAJECTORIES) holds trajectories.jsonl: an agent run a line. Each run is appended to a task
step by step, as an agent would that never updates the state itself. From the tenth step on, the rendering is
compared with the whole history as text (the goal and every step in full). Prints a table by source:

- share: mean of rendered tokens / tokens of the history, over all renderings; sum: of their sums.
- goal, error: share of renderings that hold the whole goal (of one longer than the budget, the part without
  the prompt around it), and the last error where there is one.
- prefix: share of a rendering's characters that are also the beginning of the next one.
- ms: median of one rendering.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import siltstone
from siltstone import rust_core
from siltstone.config import Settings
from siltstone.hindsight import essential_goal, read_trajectory
from siltstone.local import Local
from siltstone.model import Step, Trajectory


@dataclass
class Rendering:
    tokens: int
    history: int
    goal: bool
    error: bool | None  # None: there was none
    prefix: float
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "folder", nargs="?", default=os.environ.get("SILTSTONE_TRAJECTORIES", ""), metavar="DIR"
    )
    parser.add_argument("--max-tokens", type=int, default=800)
    parser.add_argument("--from-step", type=int, default=10)
    args = parser.parse_args()
    file = Path(args.folder) / "trajectories.jsonl"
    if not args.folder or not file.is_file():
        print(f"no {file}; give the folder of the runs, or SILTSTONE_TRAJECTORIES", file=sys.stderr)
        return 2
    found: dict[str, list[Rendering]] = defaultdict(list)
    settings = Settings(embedding_model="hashing", hindsight_workers=0, hindsight_every=0)
    with tempfile.TemporaryDirectory() as data, siltstone.open(data, settings=settings) as mem:
        for line in file.read_text("utf-8").splitlines():
            trajectory = read_trajectory(line).trajectory
            source = trajectory.id.partition("/")[0] or "all"
            found[source] += renderings(mem, trajectory, args.max_tokens, args.from_step)
    print(f"{'source':<24} renderings  share    sum   goal  error  prefix    ms")
    everything = [rendering for some in found.values() for rendering in some]
    for source, rows in [*sorted(found.items()), ("all", everything)]:
        if rows:
            print(row(source, rows))
    return 0


def renderings(mem: Local, trajectory: Trajectory, max_tokens: int, first: int) -> list[Rendering]:
    task = mem.start_task(trajectory.goal or "no goal given")
    history = rust_core.count_tokens(trajectory.goal)
    rows: list[Rendering] = []
    before = ""
    for number, step in enumerate(trajectory.steps, 1):
        task = mem.append_steps(task.id, [step])
        history += rust_core.count_tokens(full(step))
        if number < first:
            continue
        start = time.perf_counter()
        text = mem.render_task(task.id, max_tokens=max_tokens).text
        seconds = time.perf_counter() - start
        derived = mem.get_task(task.id).derived
        assert derived is not None
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, text, strict=False)))
        rows.append(
            Rendering(
                tokens=rust_core.count_tokens(text),
                history=history,
                goal=task.goal in text or essential_goal(task.goal) in text,
                error=derived.last_error in text if derived.last_error else None,
                prefix=same / len(before) if before else 1.0,
                seconds=seconds,
            )
        )
        before = text
    return rows


def full(step: Step) -> str:
    arguments = " ".join(f"{name}={value}" for name, value in step.arguments.items())
    return "\n".join(part for part in (step.text, f"{step.tool} {arguments}".strip(), step.result) if part)


def row(source: str, rows: list[Rendering]) -> str:
    share = statistics.mean(r.tokens / max(1, r.history) for r in rows)
    total = sum(r.tokens for r in rows) / sum(r.history for r in rows)
    goal = statistics.mean(r.goal for r in rows)
    errors = [r.error for r in rows if r.error is not None]
    error = f"{statistics.mean(errors):6.3f}" if errors else "     –"
    prefix = statistics.mean(r.prefix for r in rows)
    milliseconds = 1000 * statistics.median(r.seconds for r in rows)
    shares = f"{share:6.3f} {total:6.3f} {goal:6.3f} {error} {prefix:7.3f}"
    return f"{source:<24} {len(rows):10,} {shares} {milliseconds:5.1f}"


if __name__ == "__main__":
    sys.exit(main())

"""`siltstone bench load`: a load on a running service, measured."""

import random

from siltstone.cli import load
from siltstone.cli.context import Context
from siltstone.cli.output import table
from siltstone.cli.parser import Commands, UsageError

_FAULTS = {"INTERNAL", "UNREADABLE_ANSWER"}  # what no load may bring about
_SHOWN = 12  # samples that a person gets to see


def add(commands: Commands) -> None:
    bench = commands.group("bench", "measure a running service")
    parser = bench.add("load", "put a mixed load on it from many clients, in namespaces of its own", run_load)
    parser.add_argument("--seconds", type=float, metavar="N", help="how long; default 30")
    parser.add_argument("--calls", type=int, metavar="N", help="instead: how many calls of each client")
    parser.add_argument("--clients", type=int, default=16, metavar="N", help="at the same time; default 16")
    parser.add_argument("--writes", type=float, default=0.2, metavar="SHARE", help="default 0.2")
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="texts in a call; default 1")
    parser.add_argument(
        "--keep",
        type=int,
        default=500,
        metavar="N",
        help="memories of a client, then it begins anew; default 500",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="repeats the calls of an earlier load")


def run_load(context: Context) -> int:
    args = context.args
    for name in ("seconds", "calls", "clients", "batch", "keep"):
        value = getattr(args, name)
        if value is not None and not value > 0:
            raise UsageError(f"{name}: {value} is out of range; give more than 0", field=name)
    if not 0 <= args.writes <= 1:
        raise UsageError(f"writes: {args.writes} is no share; give 0 to 1", field="writes")
    if args.seconds is not None and args.calls is not None:
        raise UsageError("give either --seconds or --calls", field="calls")
    if getattr(args, "data", None) is not None:
        raise UsageError("bench load: measures a server; start one, and leave --data out", field="data")
    wanted = load.Load(
        clients=args.clients,
        seconds=30.0 if args.seconds is None and args.calls is None else args.seconds,
        calls=args.calls,
        writes=args.writes,
        batch=args.batch,
        keep=args.keep,
        seed=random.randrange(10**9) if args.seed is None else args.seed,
    )
    result = load.run(wanted, context.api)
    answer = {
        "seconds": round(result.seconds, 2),
        "clients": wanted.clients,
        "seed": wanted.seed,
        "calls": result.summary(),
        "errors": dict(result.errors.most_common()),
        "samples": result.samples,
    }
    context.show(answer, lambda: _shown(context, result))
    return 1 if _FAULTS & result.errors.keys() else 0


def _shown(context: Context, result: load.Result) -> str:
    rows = result.summary()
    heads = ("method", "count", "per_second", "p50_ms", "p95_ms", "p99_ms", "max_ms")
    parts = [table(heads, [[row[head] for head in heads] for row in rows])]
    if result.errors:
        parts.append(table(("refused", "count"), result.errors.most_common()))
    else:
        parts.append(context.text("nothing_refused"))
    if result.samples:
        step = max(1, len(result.samples) // _SHOWN)
        shown = [*result.samples[:-1:step], result.samples[-1]]
        names = ["second", *load.FIGURES.values()]
        parts.append(table(names, [[round(sample.get(name, 0.0)) for name in names] for sample in shown]))
    return "\n\n".join(parts)

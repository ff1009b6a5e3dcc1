"""A server under a mixed load for long: does its memory, its file, or the number of its open files grow?

    python benches/soak_load.py --seconds 3600

It starts a server of its own over an empty directory, puts `siltstone bench load` on it, and compares the
second tenth of the time with the last. The load holds as many memories at its end as at its beginning, so
what grows by more than the bounds below grows without reason: exit code 1.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

# What the last tenth may have beyond the second: a share of it, and an absolute amount.
BOUNDS = {"memory": (0.10, 16 << 20), "open_files": (0.0, 10)}
# What a write leaves in the file for good, or for a day: its entry in the audit log, its answer for a repeat.
KEPT_BYTES = 4096


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--keep", type=int, default=200)
    parser.add_argument("--model", default="hashing", help="embedding model of the server")
    parser.add_argument("--out", type=Path, help="file for the whole result, as JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as data:
        result = soak(data, args)
    if args.out:
        args.out.write_text(json.dumps(result, indent=1), encoding="utf-8")
    for row in result["calls"]:
        print(row)
    print("refused:", result["errors"] or "nothing")
    faults = judge(result)
    for fault in faults:
        print("GROWS:", fault)
    return 1 if faults else 0


def soak(data: str, args: argparse.Namespace) -> dict[str, Any]:
    program = [sys.executable, "-m", "siltstone.cli"]
    address = ["--address", "127.0.0.1:0", "--data", data, "--embedding-model", args.model]
    server = subprocess.Popen([*program, "serve", "--json", *address], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        listens = json.loads(server.stdout.readline())["address"]
        environment = {**os.environ, "SILTSTONE_ADDRESS": listens}
        flags = ["--seconds", str(args.seconds), "--clients", str(args.clients), "--keep", str(args.keep)]
        done = subprocess.run(
            [*program, "bench", "load", "--json", *flags],
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
            timeout=args.seconds + 300,
        )
    finally:
        server.terminate()
        server.wait(60)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def judge(result: dict[str, Any]) -> list[str]:
    """What grew beyond its bounds, in words."""
    samples = result["samples"]
    tenth = len(samples) // 10
    if tenth < 1:
        return [f"{len(samples)} samples are too few to compare; soak for longer"]
    for sample in samples:
        # The pages of the store's file that are in memory can be dropped at any time.
        sample["memory"] = sample["rss_bytes"] - sample["store_bytes"]
    early, late = samples[tenth : 2 * tenth], samples[-tenth - 1 : -1]

    def compared(name: str) -> tuple[float, float]:
        before, after = (median(sample[name] for sample in part) for part in (early, late))
        print(f"{name}: {before:,.0f} in the second tenth, {after:,.0f} in the last")
        return before, after

    faults = []
    for name, (share, amount) in BOUNDS.items():
        before, after = compared(name)
        if after > before * (1 + share) + amount:
            faults.append(f"{name} from {before:,.0f} to {after:,.0f}")
    before, after = compared("store_bytes")
    writes = next((row["count"] for row in result["calls"] if row["method"] == "write"), 0)
    if after > before * 1.5 + KEPT_BYTES * writes:
        faults.append(f"store_bytes from {before:,.0f} to {after:,.0f} with {writes:,} writes")
    if "CONNECTION_FAILED" in result["errors"]:
        faults.append("the server was not there all the time")
    return faults


if __name__ == "__main__":
    sys.exit(main())

"""Runs as a process of its own: imports the service once, then forks a server for each line it reads.

A line is a JSON object: `data`, the directory; `back_s`, how far the clock is set back. A server tells its
pid and address in a line and serves until it is killed, or ends in order at SIGTERM.
"""

import ctypes
import json
import os
import signal
import sys
import time
from queue import SimpleQueue

from siltstone.config import Settings
from siltstone.engine import Engine
from siltstone.server import serve

_PR_SET_PDEATHSIG = 1
SETTINGS = Settings(embedding_model="hashing", sweep_every_s=0.0, hindsight_every=0)


def run_server(data: str, back_s: float) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if back_s:
        real = time.time_ns
        time.time_ns = lambda: real() - int(back_s * 1e9)
    told: SimpleQueue[int] = SimpleQueue()  # not an event, whose lock a signal may find held
    signal.signal(signal.SIGTERM, lambda number, _: told.put(number))
    engine = Engine.open(data, SETTINGS)
    server = serve(engine, address="127.0.0.1:0")
    print(json.dumps({"pid": os.getpid(), "address": server.address}), flush=True)
    told.get()
    server.stop()
    engine.close()


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            try:
                run_server(order["data"], order["back_s"])
                os._exit(0)
            except BaseException as error:
                print(json.dumps({"pid": os.getpid(), "error": repr(error)}), flush=True)
                os._exit(1)
        print(json.dumps({"forked": pid}), flush=True)


main()

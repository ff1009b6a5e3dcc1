"""Runs as a process of its own: imports the service once, then forks a server for each line it reads.

A line is a JSON object: `data`, the directory; `back_s`, how far the clock is set back. A server tells its
pid and address in a line and serves until it is killed, or ends in order at SIGTERM. To it `turned` is an
embedding model too.
"""

import ctypes
import json
import os
import signal
import sys
import time
from queue import SimpleQueue
from typing import Any

import numpy as np
from siltstone.config import Settings
from siltstone.embed import Vectors
from siltstone.embed.hashing import HashingEmbedder
from siltstone.engine import Engine
from siltstone.engine import engine as engine_room
from siltstone.server import serve

_PR_SET_PDEATHSIG = 1
SETTINGS = Settings(embedding_model="hashing", sweep_every_s=0.0, hindsight_every=0)
_open_embedder = engine_room.open_embedder


class Turned(HashingEmbedder):
    """Of the same dimension, in another order: a vector of one model is far from all of the other's."""

    def __init__(self) -> None:
        super().__init__()
        self.model = "turned/1"

    def embed_passages(self, texts: Any) -> Vectors:
        return np.ascontiguousarray(super().embed_passages(texts)[:, ::-1])


def open_embedder(name: str, **given: Any) -> Any:
    return Turned() if name == "turned" else _open_embedder(name, **given)


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
    engine_room.open_embedder = open_embedder
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

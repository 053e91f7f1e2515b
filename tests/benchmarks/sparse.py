"""Texts of many hashed words: fit and prediction of long input within 1 GB.

    python tests/benchmarks/sparse.py --rows 1000000 --features 100000 --memory 1GB

Draws rows of 20 to 50 words by Zipf's law, some of which depend on the class, by a seed; writes
them as cells; fits and predicts in processes of their own, and tells their seconds, CPU seconds and
largest memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CLASSES = ("arts", "money", "news", "sport")
# Rows that are drawn and written at a time.
CHUNK = 100_000


def draw(folder: Path, rows: int, words: int, seed: int) -> None:
    """`cells.parquet` and `labels.parquet`: text words, so that the fit has to hash them."""
    rng = np.random.default_rng([seed, rows, words])
    probability = 1 / np.arange(1, words + 1) ** 1.05
    below = np.cumsum(probability / probability.sum())
    # One word in ten leans to a class: it is drawn there from a permutation of its own.
    leaning = rng.permutation(words)
    schema = pa.schema([("doc", pa.int64()), ("word", pa.string())])
    names = np.array([f"w{i:x}" for i in range(words)])
    labels = []
    with pq.ParquetWriter(folder / "cells.parquet", schema) as writer:
        for first in range(0, rows, CHUNK):
            n = min(CHUNK, rows - first)
            y = rng.integers(0, len(CLASSES), n)
            labels.append(y)
            sizes = rng.integers(20, 51, n)
            doc = np.repeat(np.arange(n), sizes)
            word = np.searchsorted(below, rng.random(len(doc)))
            own = rng.random(len(doc)) < 0.1
            word[own] = leaning[(word[own] * len(CLASSES) + y[doc[own]]) % words]
            key = np.unique(doc.astype(np.int64) * words + word)
            columns = {"doc": first + key // words, "word": names[key % words]}
            writer.write_table(pa.table(columns, schema=schema))
    names_of = np.array(CLASSES)[np.concatenate(labels)]
    pq.write_table(pa.table({"doc": np.arange(rows), "topic": names_of}), folder / "labels.parquet")


def measured(words: list[str]) -> dict[str, Any]:
    """Seconds, CPU seconds and largest memory of a program."""
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    code = (
        "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:]); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(done.returncode)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = int(done.stdout.split()[-1]) / 1024
    return {"s": round(time.perf_counter() - started, 1), "cpu_s": round(cpu, 1), "mb": round(peak)}


def main() -> None:
    """Draw, fit, predict, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--features", type=int, default=100_000)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--learner", default="nb")
    parser.add_argument("--options", default="", help="of the fit, as one text: '--k 1'")
    parser.add_argument("--folder", type=Path, required=True)
    given = parser.parse_args()
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "labels.parquet").exists():
        draw(folder, given.rows, given.words, given.seed)
    cells, labels = str(folder / "cells.parquet"), str(folder / "labels.parquet")
    store = str(folder / "models.duckdb")
    program = [sys.executable, "-m", "sqlbn"]
    limits = ["--memory-limit", given.memory, "--threads", given.threads]
    fit = [*program, "fit", cells, "--long", "doc,word", "--labels", labels, "-t", "topic"]
    fit += ["--learner", given.learner, "--features", str(given.features), "--store", store]
    found = {"fit": measured([*fit, "--replace", *given.options.split(), *limits])}
    predict = [*program, "predict", "model", cells, "--store", store, *limits]
    found["predict"] = measured([*predict, "--out", str(folder / "scored.parquet")])
    print(json.dumps({"cells": pq.read_metadata(cells).num_rows, **found}))


if __name__ == "__main__":
    main()

"""`sqlbn prepare` beside Khiops, which knows the same criterion, on the same rows.

    python tests/benchmarks/preparation.py FILE.parquet:TARGET ... [--khiops PYTHON]

Whole processes, in one run. PYTHON is an interpreter that can import khiops (this one unless said);
where it cannot, only our seconds are printed. Khiops reads a text file, whose making is not timed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

KHIOPS = """
import json, sys
from khiops import core as kh
data, target, folder = sys.argv[1:]
kh.build_dictionary_from_data_table(data, "rows", f"{folder}/rows.kdic")
domain = kh.read_dictionary_file(f"{folder}/rows.kdic")
for variable in domain.get_dictionary("rows").variables:
    if variable.name == target:
        variable.type = "Categorical"
kh.train_predictor(
    domain, "rows", data, target, f"{folder}/report.khj", sample_percentage=100,
    do_data_preparation_only=True, max_trees=0, max_constructed_variables=0, max_text_features=0,
)
report = kh.read_analysis_results_file(f"{folder}/report.khj").preparation_report
print(json.dumps({v.name: v.level or 0.0 for v in report.variables_statistics}))
"""


def timed(command: list[str], environment: dict[str, str]) -> tuple[float, Any]:
    """Seconds of a process, and the JSON it prints."""
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return seconds, json.loads(done.stdout.strip().splitlines()[-1])


def measure(path: Path, target: str, khiops: str | None) -> None:
    """One line: seconds of both, and the largest difference of their levels."""
    program = [sys.executable, "-c", "from sqlbn.cli import main; main()", "prepare", str(path)]
    ours, told = timed([*program, "--target", target, "--json", "--quiet"], dict(os.environ))
    levels = {v["attribute"]: v["level"] for v in told["variables"]}
    line = f"{path.stem:16} {told['rows']:10,} {len(levels):6} {ours:9.2f}"
    if khiops is not None:
        with tempfile.TemporaryDirectory() as folder:
            text = f"{folder}/rows.txt"
            duckdb.sql(f"COPY (FROM '{path}') TO '{text}' (HEADER, DELIMITER '\t')")
            # Khiops' own programs lie beside its interpreter.
            search = f"{Path(khiops).parent}{os.pathsep}{os.environ.get('PATH', '')}"
            command = [khiops, "-W", "ignore", "-c", KHIOPS, text, target, folder]
            theirs, other = timed(command, {**os.environ, "PATH": search, "PYTHONPATH": ""})
        apart = max(abs(levels[n] - other.get(n, 0.0)) for n in levels)
        line += f" {theirs:9.2f} {ours / theirs:7.2f} {apart:12.6f}"
    print(line, flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE.parquet:TARGET")
    parser.add_argument("--khiops", default=sys.executable, metavar="PYTHON")
    options = parser.parse_args()
    found = subprocess.run(
        [options.khiops, "-c", "import khiops"], capture_output=True, check=False
    )
    khiops = options.khiops if found.returncode == 0 else None
    if khiops is None:
        print("khiops cannot be imported: it is skipped (pip install khiops, --khiops PYTHON)")
    print(
        f"{'file':16} {'rows':>10} {'vars':>6} {'sqlbn s':>9} {'khiops s':>9}   ratio  levels apart"
    )
    for file in options.files:
        path, _, target = file.rpartition(":")
        measure(Path(path), target, khiops)


if __name__ == "__main__":
    main()

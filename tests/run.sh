#!/usr/bin/env bash
# Everything the project promises, on a fresh machine with Python 3.11: environment, lint, types, tests.
# Further arguments go to pytest, for example:  bash tests/run.sh -m slow
# Hostile inputs that the default run leaves out:  bash tests/run.sh -m hostile
# The learners on Spark, for which a Java runtime is needed:  bash tests/run.sh -m spark
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"
venv="${SQLBN_VENV:-.venv}"
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -e ".[dev]"
"$venv/bin/ruff" check .
"$venv/bin/ruff" format --check .
"$venv/bin/mypy"
# Two processes: most tests are many small queries that one core is enough for.
in_two() { "$venv/bin/python" -m pytest -n 2 --dist worksteal --durations 15 "$@"; }
# One process: Spark uses both cores itself, and two of them would start two clusters.
in_one() { "$venv/bin/python" -m pytest --durations 15 "$@"; }
case "$*" in
  *spark*) in_one "$@" ;;
  *) in_two "$@" ;;
esac

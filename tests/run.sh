#!/usr/bin/env bash
# Everything the project promises, on a fresh machine with Python 3.11: environment, lint, types, tests.
# Further arguments go to pytest, for example:  bash tests/run.sh -m slow
# In less than a minute, for every save:  bash tests/run.sh quick
# Hostile inputs that the default run leaves out:  bash tests/run.sh -m hostile
# The learners on Spark, for which a Java runtime is needed:  bash tests/run.sh -m spark
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"
venv="${SQLBN_VENV:-.venv}"
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
# A quick run takes the environment as it is, unless there is none.
[ "${1:-}" = quick ] && "$venv/bin/python" -c "import sqlbn, pytest" 2> /dev/null ||
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -e ".[dev]"
"$venv/bin/ruff" check .
"$venv/bin/ruff" format --check .
"$venv/bin/mypy"
# Two processes: most tests are many small queries that one core is enough for.
in_two() { "$venv/bin/python" -m pytest -n 2 --dist worksteal --durations 15 "$@"; }
# One process: Spark uses both cores itself, and two of them would start two clusters.
in_one() { "$venv/bin/python" -m pytest --durations 15 "$@"; }
# The rules of the house, every kind of model against brute force on few examples, the store, SQL.
quick() {
  SQLBN_QUICK=3 in_two tests/house tests/learners/test_properties.py tests/learners/test_structure.py \
    tests/learners/test_counts.py tests/learners/test_ande.py tests/learners/test_toy_learner.py \
    tests/encoding/test_mdl.py tests/store/test_store_folder.py tests/scoring/test_predict.py \
    tests/promises/test_predict_in_sql.py tests/promises/test_option_catalogue.py "$@"
}
case "$*" in
  quick*) quick "${@:2}" ;;
  *spark*) in_one "$@" ;;
  *) in_two "$@" ;;
esac

#!/usr/bin/env bash
# The main job on real data, on a fresh machine with Python 3.11: learn, evaluate and use a classifier.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"
venv="${SQLBN_VENV:-.venv}"
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
echo "installing into $venv …"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -e ".[plot]"
exec "$venv/bin/sqlbn" demo

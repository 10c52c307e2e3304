#!/usr/bin/env bash
# Runs the controller's tests with the lowest, or with the highest, versions of what driftwatch needs to run: `versions.sh lowest` or `versions.sh highest`.
# What follows goes to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
  lowest) how=lowest-direct ;;
  highest) how=highest ;;
  *) echo "error: versions.sh takes lowest or highest" >&2; exit 2 ;;
esac
place=.venv/versions-$1
shift
bash scripts/setup.sh dev
[ -x .venv/release/bin/uv ] || { .venv/bin/python -m venv .venv/release && .venv/release/bin/python -m pip install -q --disable-pip-version-check uv; }
uv=.venv/release/bin/uv
$uv venv -q --clear --python .venv/bin/python "$place"
$uv pip compile -q --resolution $how --python "$place/bin/python" pyproject.toml -o "$place/needs.txt"
$uv pip install -q --python "$place/bin/python" -c "$place/needs.txt" -e '.[dev]'
if [ $# = 0 ]; then set -- tests/capture tests/cli tests/compare tests/dumps tests/explain tests/fleet tests/report tests/store tests/transports; fi
exec "$place/bin/python" -m pytest -q -p no:cacheprovider -W ignore::DeprecationWarning "$@"  # old releases warn of what newer ones of their own needs deprecate

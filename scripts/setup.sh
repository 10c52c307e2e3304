#!/usr/bin/env bash
# Makes .venv with driftwatch in it: `setup.sh run` with what it needs to run, `setup.sh dev` with its tests' and checks' needs too.
# Done once; while neither pyproject.toml nor this folder's place changes, a second call only looks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

wanted=${1:-run}
case $wanted in
  run) what=. ;;
  dev) what='.[dev]' ;;
  *) echo "error: setup.sh takes run or dev, not $wanted" >&2; exit 2 ;;
esac

# A name on PATH may be a shim that fails, so each is run. It must be able to make a virtual environment.
can() { "$1" -c "import sys; assert sys.version_info >= (3, 10); $2" >/dev/null 2>&1 </dev/null; }

find_python() {
  local name
  for name in python3.13 python3.12 python3.11 python3.10 python3; do
    if can "$name" "$1"; then
      command -v "$name"
      return
    fi
  done
  return 1
}

python_with_venv() {
  find_python 'import venv, ensurepip' && return
  local bare version
  bare=$(find_python '') || { echo "error: no Python >= 3.10 runs here: install one, then run this again" >&2; return 2; }
  version=$("$bare" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    { apt-get -qq -o Acquire::http::Timeout=20 update &&
      DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Acquire::http::Timeout=20 install --no-install-recommends python3-venv "python$version-venv"; } >/dev/null </dev/null
    find_python 'import venv, ensurepip' && return
  fi
  echo "error: $bare cannot make a virtual environment: install python$version-venv (Debian, Ubuntu) or your system's package of that kind, then run this again" >&2
  return 2
}

stamp="$PWD $(cksum <pyproject.toml)"
made=$(cat .venv/made-from 2>/dev/null || true)
if can .venv/bin/python 'import driftwatch, typer' && { [ "$made" = "$stamp dev" ] || [ "$made" = "$stamp $wanted" ]; }; then
  exit 0
fi
if ! can .venv/bin/python 'import pip'; then
  python=$(python_with_venv)
  echo "making .venv with $python" >&2
  rm -rf .venv
  "$python" -m venv .venv
fi
echo "installing $what into .venv" >&2
.venv/bin/python -m pip install -q --disable-pip-version-check --retries 2 -e "$what" >&2 </dev/null
echo "$stamp $wanted" >.venv/made-from

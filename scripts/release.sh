#!/usr/bin/env bash
# Makes dist/: the wheel, the source distribution and a list of all that the wheel brings with it (CycloneDX), and looks whether any of that has a known
# weakness. Installs the wheel as a user would, with uv and with pipx, and runs it. Publishes nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools=.venv/release
bash scripts/setup.sh dev
if [ ! -x $tools/bin/uv ]; then
  .venv/bin/python -m venv $tools
  $tools/bin/python -m pip install -q --disable-pip-version-check uv pipx pip-audit cyclonedx-bom
fi
rm -rf dist
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) .venv/bin/python -m hatchling build -d dist
wheel=$(echo dist/*.whl)

trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
UV_TOOL_DIR="$trial/uv" UV_TOOL_BIN_DIR="$trial/uv-bin" $tools/bin/uv tool install -q "$wheel"
"$trial/uv-bin/driftwatch" --version
"$trial/uv-bin/driftwatch" diff snapshots/good.json snapshots/bad.json --format html -o "$trial/report.html" || [ $? = 1 ]
test -s "$trial/report.html"
PIPX_HOME="$trial/pipx" PIPX_BIN_DIR="$trial/pipx-bin" $tools/bin/pipx install -q "$wheel" >/dev/null
"$trial/pipx-bin/driftwatch" --version

python="$trial/uv/driftwatch-gpu/bin/python"
$tools/bin/cyclonedx-py environment --output-format JSON --output-file dist/sbom.cdx.json "$python"
$tools/bin/uv pip freeze -q --python "$python" | grep -v '^driftwatch' >"$trial/needs.txt"
$tools/bin/pip-audit --disable-pip --no-deps --requirement "$trial/needs.txt"
ls -l dist

#!/usr/bin/env bash
# A rule of our own, the file in this folder: a switch that has been slow at our site. docs/write-a-rule.md
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"

driftwatch diff ../../snapshots/good.json ../../snapshots/bad.json --rules . -q || echo "exit $?"
driftwatch diff ../../snapshots/good.json ../../snapshots/bad.json --rules . -v --width 120 || echo "exit $?"

#!/usr/bin/env bash
# The vanishing baseline: was it the kernel package, what was it, and how to prove it. docs/vanishing-baseline.md
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"

driftwatch diff ../../snapshots/good.json ../../snapshots/bad.json --ask sgl-kernel --ask driver -q || echo "exit $?"
driftwatch diff ../../snapshots/good.json ../../snapshots/bad.json || echo "exit $?"
driftwatch memory ../../snapshots/bad.json --mem-fraction-static 0.85
driftwatch plan ../../snapshots/good.json ../../snapshots/bad.json || echo "exit $?"

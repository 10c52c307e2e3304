#!/usr/bin/env bash
# Formats: one diff for a terminal, a program, an issue thread and a browser. docs/formats.md
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
driftwatch diff ../../snapshots/good.json ../../snapshots/bad.json -q || echo "exit $?"
driftwatch diff ../../snapshots/good.json ../../snapshots/bad.json --json -o "$out/diff.json" || echo "exit $?"
python3 -c 'import json, sys; one = json.load(sys.stdin); print(one["verdict_word"], one["suspects"][0]["subject"]["name"])' <"$out/diff.json"
driftwatch diff ../../snapshots/good.json ../../snapshots/bad.json --format markdown --anonymise || echo "exit $?"
driftwatch diff ../../snapshots/good.json ../../snapshots/bad.json --format html -o "$out/diff.html" || echo "exit $?"
grep -c '<html' "$out/diff.html"
driftwatch show ../../snapshots/bad.json --format check-env || echo "exit $?"

#!/usr/bin/env bash
# Five minutes: two snapshots are stored, compared, and read back. docs/start.md
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
DRIFTWATCH_STORE=$(mktemp -d)  # your own store is left alone
export DRIFTWATCH_STORE
trap 'rm -rf "$DRIFTWATCH_STORE"' EXIT

driftwatch import ../../snapshots/good.json --host gpu-a --label good
driftwatch import ../../snapshots/bad.json --host gpu-a --label bad
driftwatch diff gpu-a -q || echo "exit $?"
driftwatch list gpu-a
driftwatch show gpu-a@bad driver/version packages/torch/version
driftwatch show gpu-a@bad --value driver/version

# And one of this machine. Code 3 says that something did not answer: without a GPU there is no driver to ask.
driftwatch snapshot local --label good -q || [ $? -eq 3 ]

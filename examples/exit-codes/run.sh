#!/usr/bin/env bash
# Exit codes: what a script may rely on. docs/exit-codes.md
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
DRIFTWATCH_STORE=$(mktemp -d)  # your own store is left alone
export DRIFTWATCH_STORE
trap 'rm -rf "$DRIFTWATCH_STORE"' EXIT

code() { "$@" >/dev/null 2>&1 && echo "0  $*" || echo "$?  $*"; }

code driftwatch diff ../../snapshots/good.json ../../snapshots/good.json
code driftwatch diff ../../snapshots/good.json ../../snapshots/bad.json
code driftwatch show ../../snapshots/bad.json driver/version
code driftwatch show ../../snapshots/bad.json caches
code driftwatch show gpu-a@good
code driftwatch diff --no-such-option

# In a pipeline: a finding stops it, "not everything was checked" does not.
ended=0
driftwatch diff ../../snapshots/good.json ../../snapshots/good.json -q 2>/dev/null || ended=$?
case $ended in 0) echo "go on" ;; 3) echo "go on, with a note" ;; *) exit "$ended" ;; esac

#!/usr/bin/env bash
# Makes snapshots/ anew: the collectors run on the recorded host that tests/hosts/ holds, before and after the change. Nothing there is written by hand.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
for side in good bad; do
  code=0
  # 3: the recorder's own environment was not recorded, and the snapshot says so.
  .venv/bin/driftwatch snapshot --recorded "tests/hosts/s1-seed-fraction.tar.xz/s1-seed-fraction/$side" --store "$store" --out "snapshots/$side.json" || code=$?
  case $code in 0 | 3) ;; *) exit "$code" ;; esac
done

#!/usr/bin/env bash
# Nothing secret leaves: what of an environment is told, of a paste and of this machine. docs/nothing-secret-leaves.md
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
DRIFTWATCH_STORE=$(mktemp -d)  # your own store is left alone
export DRIFTWATCH_STORE
trap 'rm -rf "$DRIFTWATCH_STORE"' EXIT

driftwatch show ./environment.txt --as env 'env/*'

# A probe masks on the host, before anything is sent: a secret is a keyed digest, so that another one still shows.
export HF_TOKEN=made-up-words OUR_FEATURE_FLAG=1 NCCL_DEBUG=INFO
here=$(driftwatch snapshot local --only env --save --label good -q)
driftwatch show "$here" env/HF_TOKEN env/NCCL_DEBUG env/OUR_FEATURE_FLAG
here=$(driftwatch --config show-more.toml snapshot local --only env --save --label more -q)
driftwatch show "$here" env/OUR_FEATURE_FLAG
grep -rl made-up-words "$DRIFTWATCH_STORE" || echo "the words stand nowhere in the store"

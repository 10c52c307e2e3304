#!/usr/bin/env bash
# Hangs in NCCL: a shell session of each day, and the log of the broken run. docs/hangs-in-nccl.md
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"

driftwatch diff ./good.txt ./bad.txt --log ./server.log || echo "exit $?"
driftwatch diff ./good.txt ./bad.txt --log ./server.log --ask torch --ask vllm -q || echo "exit $?"

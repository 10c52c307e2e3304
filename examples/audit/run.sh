#!/usr/bin/env bash
# Audit 200 hosts nightly: who is asked, one night here, 200 hosts against each other, and the line for cron. docs/audit.md
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
DRIFTWATCH_STORE=$(mktemp -d)  # your own store is left alone
export DRIFTWATCH_STORE
trap 'rm -rf "$DRIFTWATCH_STORE"' EXIT

driftwatch hosts @prod @lab | head -n 3
driftwatch hosts @prod @lab | wc -l

# A good day, and the night after: this machine stands in for the 200. Somebody has set a variable.
driftwatch snapshot @here --label good -q || [ $? -eq 3 ]
NCCL_DEBUG=INFO driftwatch audit @here || echo "exit $?"
driftwatch ack A --note "wanted"
NCCL_DEBUG=INFO driftwatch audit @here --only-new -q && echo "nothing new"

# 200 pastes of check_env, of which one has another triton and three another driver: who is odd needs no baseline.
pastes=$DRIFTWATCH_STORE/pastes
mkdir "$pastes"
for number in $(seq -w 200); do cp check_env.txt "$pastes/gpu-$number.txt"; done
sed -i 's/^triton: .*/triton: 3.5.0/' "$pastes/gpu-200.txt"
sed -i 's/^CUDA Driver Version: .*/CUDA Driver Version: 580.126.09/' "$pastes"/gpu-01[1-3].txt
(cd "$pastes" && driftwatch peers ./gpu-*.txt) || echo "exit $?"

driftwatch schedule --cron --at 02:30 @prod @lab

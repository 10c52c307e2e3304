#!/usr/bin/env bash
# OOM after an upgrade: check_env and the log, before and after, as people paste them. docs/oom-after-upgrade.md
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"

driftwatch diff ./good.txt ./bad.txt -q || echo "exit $?"
driftwatch memory ./bad.txt --mem-fraction-static 0.848
driftwatch show ./bad.txt servers/sglang/args/mem_fraction_static driver/version

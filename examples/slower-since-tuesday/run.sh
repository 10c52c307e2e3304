#!/usr/bin/env bash
# Slower since Tuesday: nvidia-smi under load, then and now. docs/slower-since-tuesday.md
# Each paste is what this printed: nvidia-smi --format=csv --query-gpu=\
#   timestamp,name,uuid,pci.bus_id,driver_version,pstate,clocks.sm,clocks.max.sm,utilization.gpu,power.draw,temperature.gpu
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"

driftwatch diff ./good.txt ./bad.txt --symptom slow || echo "exit $?"
driftwatch show ./bad.txt 'gpus/*/clocks/*' 'gpus/*/power_draw_w' 'gpus/*/utilization_percent'

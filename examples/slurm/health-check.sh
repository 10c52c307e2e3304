#!/bin/sh
# Slurm's HealthCheckProgram: the node takes a snapshot of itself and puts it into the store. In slurm.conf:
#   HealthCheckProgram=/etc/slurm/driftwatch-health-check.sh
#   HealthCheckInterval=300
#   HealthCheckNodeState=CYCLE,ANY
# It only looks. It never drains a node and never fails: a snapshot that took too long says nothing about the node's health.
set -u

driftwatch=/opt/driftwatch/bin/driftwatch
store=/var/lib/driftwatch     # or s3://BUCKET/PREFIX
state=/run/driftwatch         # what this script remembers: when the last snapshot was begun
every_s=3600                  # slurmd calls more often; what comes before this is over at once
deadline_s=40                 # slurmd ends the program after 60 s

# One at a time: a snapshot that hangs keeps the lock, and no second one joins it.
take() {
  flock --nonblock 9 || return
  echo "$now" >"$state/last"
  timeout --kill-after=5 $((deadline_s + 5)) "$driftwatch" snapshot --quiet --deadline "$deadline_s" --store "$store" --note "health check" \
    </dev/null >"$state/said" 2>&1
}

[ -d "$state" ] || mkdir -m 700 "$state"
now=$(date +%s)
last=$(cat "$state/last" 2>/dev/null)
case $last in '' | *[!0-9]*) last=0 ;; esac
if [ $((now - last)) -ge "$every_s" ]; then
  { take; } 9>"$state/lock"
fi
exit 0

#!/bin/sh
# Slurm's Prolog: what the node was like when a job began. In slurm.conf:
#   Prolog=/etc/slurm/driftwatch-prolog.sh
#   PrologFlags=Alloc
# A prolog that fails drains the node and a slow one holds the job: so this one never fails, and lets the job wait for a few seconds at the most.
set -u

driftwatch=/opt/driftwatch/bin/driftwatch
store=/var/lib/driftwatch     # or s3://BUCKET/PREFIX
deadline_s=10
skip=sources,git,objects,native,record,ownership    # what reads many files can wait for the health check; the snapshot is a partial one

timeout --kill-after=2 $((deadline_s + 3)) "$driftwatch" snapshot --quiet --deadline "$deadline_s" --skip "$skip" --store "$store" \
  --note "prolog of job ${SLURM_JOB_ID:-unknown}" </dev/null >/dev/null 2>&1
exit 0

"""Runs one collector on this machine, in this process: each fact is a line of JSON, flushed at once; the last line says how it ended.

Usage: ``python tests/lab/tell.py REPOSITORY COLLECTOR``. Runs on Python 3.8 too. It stands in for the runner where a test must end the child itself.
"""
from __future__ import annotations

import importlib
import json
import sys


def main(repository, collector):
    sys.path.insert(0, repository)
    host = importlib.import_module("driftwatch.agent.host")
    probe = importlib.import_module("driftwatch.agent.probe")
    root = importlib.import_module("driftwatch.agent.real").RealRoot()
    collect = importlib.import_module("driftwatch.agent.collectors." + collector).collect
    try:
        for path, value in collect(host.Host(root, host.Settings())):
            say(path, {"unknown": value.status, "reason": value.reason} if isinstance(value, probe.Unknown) else value)
    except probe.Refusal as refusal:
        say("", [refusal.status, str(refusal)])
    else:
        say("", ["ok", ""])


def say(path, value):
    sys.stdout.write(json.dumps([path, value]) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Runs one collector on this machine, in a process of its own: ``python3 -I -S benchmarks/collector.py NAME SETTINGS [FILE]``.

SETTINGS is the JSON of the settings of an order; ``site`` in it is a package folder to look at and ``python`` its interpreter, ``known_file`` a file
that FILE named in an earlier run: what the sources collector told then is known now, and not read again. Where SETTINGS is empty nothing is looked at.
Each fact is made the line of JSON that a probe's child writes; none is printed.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120  # pathlib would count as the agent's cost

from driftwatch.agent.child import ENCODE
from driftwatch.agent.host import Host, Settings, Target
from driftwatch.agent.known_files import key_of, units
from driftwatch.agent.real import RealRoot


def host_of(given: dict[str, Any]) -> Host:
    """Return this machine with the settings that were given."""
    site, known, python = given.pop("site", None), given.pop("known_file", None), given.pop("python", sys.executable)
    if known is not None:
        with open(known, encoding="ascii") as file:  # noqa: PTH123  # as above
            given["known"] = json.load(file)
    host = Host(RealRoot(), Settings(**given))
    host.targets = (Target(python, (site,) if site else (), None, "a benchmark"),)
    return host


def known_of(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what a controller would send along after these facts of one tree."""
    root = next(value for path, value in facts.items() if path.endswith("/root"))
    files = {path.rpartition("/")[2]: times for path, times in facts.items() if "/times/" in path and len(times) == 3}
    tree = {name: [int(facts[f"sources/sglang/files/{name}"].split()[1]), *times] for name, times in files.items()}
    return {root: {unit: key_of((name, tree[name]) for name in names) for unit, names in units(tree).items()}}


def main() -> None:
    """Run the collector to its end."""
    gc.disable()  # as agent/main.py does
    given = json.loads(sys.argv[2])
    is_idle = not given
    host = host_of(given)
    collect = importlib.import_module("driftwatch.agent.collectors." + sys.argv[1]).collect
    facts = {}
    for path, value in () if is_idle else collect(host):
        facts[path] = value
        ENCODE([path, value])
    if sys.argv[3:]:
        with open(sys.argv[3], "w", encoding="ascii") as file:  # noqa: PTH123  # as above
            json.dump(known_of(facts), file)


if __name__ == "__main__":
    main()

"""Runs one collector on this machine, in a process of its own: round_robin.COLLECTOR, then NAME SETTINGS [FILE].

SETTINGS is the JSON of the settings of an order; ``site`` in it is a package folder to look at and ``python`` its interpreter (null: it is not asked),
``known_file`` a file that FILE named in an earlier run: what the sources collector told then is known now, and not read again. Where SETTINGS is empty
nothing is looked at.
Each fact is made the line of JSON that a probe's child writes; none is printed, nor masked.
"""

# ruff: noqa: E402  # no collection while the agent is imported, as on a host
from __future__ import annotations

import gc

gc.disable()  # as stage 0 does, before it imports anything else

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120  # pathlib would count as the agent's cost

from driftwatch.agent.fact_lines import fact_line
from driftwatch.agent.host import Host, Settings, Target
from driftwatch.agent.probe import Absent
from driftwatch.agent.real import RealRoot
from driftwatch.agent.typed import Any


class Unasked(RealRoot):
    """This machine, on which no command is run."""

    def run(self, argv: Any, *_given: Any) -> Any:
        """Refuse."""
        raise Absent(f"{argv[0]}: not asked here")


def host_of(given: dict[str, Any]) -> Host:
    """Return this machine with the settings that were given."""
    site, known, python = given.pop("site", None), given.pop("known_file", None), given.pop("python", sys.executable)
    if known is not None:
        with open(known, encoding="ascii") as file:  # noqa: PTH123  # as above
            given["known"] = json.load(file)
    host = Host(RealRoot() if python else Unasked(), Settings(**given))
    host.targets = (Target(python or "/nowhere/python", (site,) if site else (), None, "a benchmark"),)
    return host


def known_of(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what a controller would send along after these facts of one tree."""
    from driftwatch.agent.known_files import key_of, units  # noqa: PLC0415  # the controller's part, in the run that is not measured

    root = next(value for path, value in facts.items() if path.endswith("/root"))
    files = {path.rpartition("/")[2]: times for path, times in facts.items() if "/times/" in path and len(times) == 3}
    tree = {name: [int(facts[f"sources/sglang/files/{name}"].split()[1]), *times] for name, times in files.items()}
    return {root: {unit: key_of((name, tree[name]) for name in names) for unit, names in units(tree).items()}}


def main() -> None:
    """Run the collector to its end, and end."""
    given = json.loads(sys.argv[2])
    is_idle = not given
    host = host_of(given)
    collect = __import__("driftwatch.agent.collectors." + sys.argv[1], fromlist=["collect"]).collect
    facts = {} if sys.argv[3:] else None
    for path, value in () if is_idle else collect(host):
        fact_line(path, value)
        if facts is not None:
            facts[path] = value
    if facts is not None:
        with open(sys.argv[3], "w", encoding="ascii") as file:  # noqa: PTH123  # as above
            json.dump(known_of(facts), file)
    os._exit(0)  # as a probe's child does

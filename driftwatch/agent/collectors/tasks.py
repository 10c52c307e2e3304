"""Tasks that are stuck in uninterruptible sleep, and where in the kernel. Asks only files that need no lock of a task, so that none can hold us.

A task counts as stuck that was in this state at two looks and was not scheduled in between: one that merely waits for a disk moves on.

| path | what |
|---|---|
| tasks/stuck/NAME | {"count", "wchan"}: tasks of this name, threads too; the kernel functions that they wait in (null: not told, it needs root) |
| tasks/zombies/NAME (volatile) | how many that ended and were not collected by their parent |
| tasks/count, tasks/threads (volatile) | processes and threads that were seen |

``tasks`` as a whole is unknown in a container and where /proc hides other users' processes.
"""
from __future__ import annotations

import re

from ..host import Host
from ..probe import Fact, Probe, Unknown, fact_path
from ..processes_seen import Seen, parse_stat
from ..typed import Any, Dict, Iterator, List, NamedTuple, Optional, Regex, Set
from ..visibility import narrow_view

MOST_THREADS = 30000
PAUSE = ["sleep", "0.3"]
_SWITCHES = Regex(r"^(?:non)?voluntary_ctxt_switches:\s*(\d+)$", re.MULTILINE)
_WORKER = Regex(r"kworker/.*")


class Waiting(NamedTuple):
    """A task in uninterruptible sleep: its folder in /proc, its name, and how often it was scheduled so far ("" where that is not told)."""

    folder: str
    name: str
    switches: str


def collect(host: Host) -> Iterator[Fact]:
    """Yield the tasks that are stuck, by name, then what else was counted."""
    hidden = narrow_view(host)
    if hidden is not None:
        yield "tasks", hidden
    waiting: List[Waiting] = []
    ended: List[Seen] = []
    refused: Optional[Unknown] = None
    processes = threads = 0
    for pid in host.pids() if host.exists("/proc") else ():
        seen = _look(host, "/proc/%d" % pid)
        if seen is None:
            continue
        processes += 1
        names = host.try_list("/proc/%d/task" % pid) if threads < MOST_THREADS else None
        refused = names if isinstance(names, Unknown) else refused
        own = [] if isinstance(names, Unknown) else [one for one in names or () if one != str(pid)]
        threads += 1 + len(own)
        ended += [seen] if seen.state == "Z" else []
        waiting += _waiting(host, "/proc/%d" % pid, seen)
        for one in own:
            folder = "/proc/%d/task/%s" % (pid, one)
            waiting += _waiting(host, folder, _look(host, folder))
    yield from _stuck(host, waiting)
    yield from _zombies(host, ended)
    yield "tasks/count", processes
    yield "tasks/threads", refused or threads
    if refused or threads >= MOST_THREADS:
        yield "tasks/stuck", refused or Unknown("not_recorded", "only the first %d threads were looked at" % MOST_THREADS)


def _look(host: Host, folder: str) -> Optional[Seen]:
    text = host.attempt(host.head, folder + "/stat", 4096)
    seen = host.attempt(parse_stat, text) if isinstance(text, str) and text else None
    return seen if isinstance(seen, Seen) else None


def _waiting(host: Host, folder: str, seen: Optional[Seen]) -> List[Waiting]:
    return [Waiting(folder, seen.name, _switches(host, folder))] if seen is not None and seen.state == "D" else []


def _switches(host: Host, folder: str) -> str:
    text = host.try_read(folder + "/status")
    return " ".join(_SWITCHES.findall(text)) if isinstance(text, str) else ""


def _stuck(host: Host, waiting: List[Waiting]) -> Iterator[Fact]:
    """Yield the tasks that still wait after a pause and did not run in between."""
    if waiting:
        host.try_run(PAUSE, 1.0)
    counts: Dict[str, int] = {}
    places: Dict[str, Set[str]] = {}
    for one in waiting:
        seen = _look(host, one.folder)
        if seen is None or seen.state != "D" or _switches(host, one.folder) != one.switches:
            continue
        name = _WORKER.sub("kworker", one.name)
        counts[name] = counts.get(name, 0) + 1
        place = _place(host, one.folder)
        places.setdefault(name, set()).update([place] if place else [])
    for name, count in sorted(counts.items()):
        yield fact_path("tasks", "stuck", name), {"count": count, "wchan": ", ".join(sorted(places[name])) or None}


def _place(host: Host, folder: str) -> Any:
    """Return the kernel function that a task waits in, "" where it is not told."""
    text = host.try_read(folder + "/wchan")
    return text.strip().strip("0") if isinstance(text, str) else ""


def _zombies(host: Host, ended: List[Seen]) -> Iterator[Fact]:
    counts: Dict[str, int] = {}
    for one in ended:
        again = _look(host, "/proc/%d" % one.pid)
        if again is not None and again.state == "Z":
            counts[one.name] = counts.get(one.name, 0) + 1
    for name, count in sorted(counts.items()):
        yield fact_path("tasks", "zombies", name), count


PROBES = (Probe(
    "tasks", collect, deadline_s=8.0, tells=("tasks", "tasks/*"), reads="state, wait channel and count of switches of every task in /proc",
    volatile=("tasks/zombies/*", "tasks/count", "tasks/threads"), root_shows="where other users' tasks wait"),)

"""What the kernel killed at a control group's own memory limit, told apart from what it killed because the host had no memory left. Pure; weighs nothing.

A group's counter counts both kinds (kernel: Documentation/admin-guide/cgroup-v2.rst, ``memory.events``); the log's line tells which it was.
"""

from __future__ import annotations

import re

from driftwatch.explain import limits
from driftwatch.explain.case import Case
from driftwatch.explain.pairs import logged_more
from driftwatch.explain.words import listed, number

LOG = "kernel_log/oom_kill"
_OF_GROUP = re.compile(r"memory cgroup out of memory|CONSTRAINT_MEMCG|oom_memcg=", re.IGNORECASE)
_ORDERS = ("limits/unit/*/MemoryMax", "limits/unit/*/MemoryHigh", "limits/unit/*/MemorySwapMax", "services/*/unit/MemoryMax", "services/*/unit/MemoryHigh")
_CALLED = {
    "memory_max_bytes": "memory.max", "memory_high_bytes": "memory.high", "memory_bytes": "memory limit", "pids_max": "pids.max", "cpu_max_cores": "cpu.max",
}
_COUNTERS = (("/oom_kills", "/memory_max_bytes"), ("/oom_killed", "/memory_bytes"))


def has_grown(case: Case, path: str) -> bool:
    """Tell whether a counter is known on both sides and larger on the bad one."""
    known = case.known(path)
    return known is not None and (number(known[1]) or 0) > (number(known[0]) or 0)


def killed(case: Case) -> dict[str, list[str]]:
    """Return the limits of groups at which processes were killed since the good side, each with the facts that tell so; ``""`` where none tells which."""
    lines = logged_more(case, LOG)
    of_group = [line for line in lines if _OF_GROUP.search(line)]
    if lines and not of_group:
        return {}
    log = [LOG] if of_group else []
    found = {limit: [path, *log] for path, limit in _limited(case)}
    return found or ({"": log} if log else {})


def is_host_named(case: Case) -> bool:
    """Tell whether the kernel's log says that it killed for the host's sake too."""
    return any(not _OF_GROUP.search(line) for line in logged_more(case, LOG))


def _limited(case: Case) -> list[tuple[str, str]]:
    """Return the counters that grew, or that a container's end set, of groups that have a limit, each with that limit's fact."""
    found = []
    for path, value in (*case.below("bad", "cgroup"), *case.below("bad", "containers")):
        if is_told_again(case, path):
            continue
        ending = next(((counter, limit) for counter, limit in _COUNTERS if path.endswith(counter)), None)
        if ending is None:
            continue
        limit = path.removesuffix(ending[0]) + ending[1]
        most = limits.soft(case.value("bad", limit))
        is_new = has_grown(case, path) if not isinstance(value, bool) else value and case.value("good", path) is False
        if is_new and most is not None and 0 < most < float("inf"):
            found.append((path, limit))
    return found


def is_told_again(case: Case, path: str) -> bool:
    """Tell whether a fact of our own group is told of a server that is in the same one, as within a container."""
    group = case.value("bad", "cgroup/own/group") if path.startswith("cgroup/own/") else None
    groups = [value for other, value in case.below("bad", "cgroup") if other.startswith("cgroup/servers/") and other.endswith("/group")]
    return group is not None and group in groups


def title(limit: str) -> str:
    """Return how a limit of a group is called, by its fact: ``memory.max of vllm``."""
    *_, whose, what = limit.split("/")
    called = _CALLED.get(what, what.replace("_", " "))
    return f"{called} of {'our own group' if limit.startswith('cgroup/own/') else whose}"


def unit(path: str) -> str:
    """Return the unit that a fact of an order is of, without its ending."""
    parts = path.split("/")
    return (parts[2] if parts[0] == "limits" else parts[1]).removesuffix(".service")


def orders(case: Case, limit: str) -> list[str]:
    """Return the orders that moved of the unit that a limit's group is of; all that moved where no group is told."""
    every = [change.path for change in case.moved(*_ORDERS)]
    top = limit.rsplit("/", 1)[0]
    group = f"{case.value('bad', f'{top}/group') or ''}/"
    return [path for path in every if not limit or unit(path) == top.rsplit("/", 1)[-1] or f"/{unit(path)}.service/" in group]


def ordered(found: list[str]) -> str:
    """Return in words what ordered a limit, empty where nothing tells."""
    told = listed(path.split("/", 1)[1] for path in found if path.startswith("limits/"))
    return f"ordered by {told}" if told else ""

"""Control groups as text: which groups a process is in, which container that is, and what the limits of a group say. Pure."""
from __future__ import annotations

import re

from .probe import Unknown, Unreadable
from .typed import Any, Dict, Iterable, List, NamedTuple, Optional, Regex, Union

TOP = "/sys/fs/cgroup"
NO_LIMIT = 1 << 60  # version 1 writes no limit as the largest multiple of a page
MAX = "max"
_CONTAINER = Regex(r"(?<![0-9a-f])([0-9a-f]{64})(?![0-9a-f])|/lxc(?:\.payload\.|/)([^/\n]+)", re.MULTILINE)
Limit = Union[int, float, str]


class Limited(NamedTuple):
    """A limit: its name in paths, the controller, its file in version 2 and in version 1 ("" where there is none)."""

    name: str
    controller: str
    file: str
    old_file: str


LIMITS = (
    Limited("memory_max_bytes", "memory", "memory.max", "memory.limit_in_bytes"),
    Limited("memory_high_bytes", "memory", "memory.high", ""),
    Limited("memory_swap_max_bytes", "memory", "memory.swap.max", ""),
    Limited("cpu_max_cores", "cpu", "cpu.max", "cpu.cfs_quota_us"),
    Limited("pids_max", "pids", "pids.max", "pids.max"),
)
READINGS = (
    Limited("memory_current_bytes", "memory", "memory.current", "memory.usage_in_bytes"),
    Limited("pids_current", "pids", "pids.current", "pids.current"),
    Limited("cpuset_cpus", "cpuset", "cpuset.cpus.effective", "cpuset.effective_cpus"),
    Limited("cpuset_mems", "cpuset", "cpuset.mems.effective", "cpuset.effective_mems"),
)
COUNTS = (
    Limited("oom_kills", "memory", "memory.events", "memory.oom_control"),
    Limited("throttled", "cpu", "cpu.stat", "cpu.stat"),
)
COUNTED = {"oom_kills": "oom_kill", "throttled": "nr_throttled"}


def parse_groups(text: str) -> Dict[str, str]:
    """Return the group of a process by controller, of /proc/PID/cgroup; the one of version 2 under ""."""
    found = {}
    for controllers, path in re.findall(r"^\d+:([^:\n]*):(/.*)$", text, re.MULTILINE):
        for controller in controllers.split(","):
            found[controller] = path.rstrip("/")
    if not found:
        raise Unreadable("/proc/PID/cgroup: no group in %r" % text[:80])
    return found


def container_of(text: str) -> Optional[str]:
    """Return the id of the container whose groups /proc/PID/cgroup names, or None."""
    found = _CONTAINER.search(text)
    return (found.group(1) or found.group(2)) if found else None


def files(groups: Dict[str, str], limited: Limited) -> List[str]:
    """Return the files that tell a limit: of the process's own group first, then of every group above it."""
    is_old = limited.controller in groups
    name = limited.old_file if is_old else limited.file
    group = groups.get(limited.controller, groups.get("", ""))
    top = TOP + "/" + limited.controller if is_old else TOP
    found = []
    while name:
        found.append(top + group + "/" + name)
        if not group:
            break
        group = group.rpartition("/")[0]
    return found


def parse_limit(text: str) -> Limit:
    """Return a limit in its own unit, ``max`` for none: bytes, processes, or cores for ``QUOTA PERIOD`` in microseconds."""
    words = text.split()
    if words[:1] == [MAX] or words[:1] == ["-1"]:
        return MAX
    if not 0 < len(words) < 3 or not all(word.isdigit() and len(word) < 30 for word in words) or (words[1:] and int(words[1]) == 0):
        raise Unreadable("control group: no limit in %r" % text[:80])
    if len(words) > 1:
        return round(int(words[0]) / int(words[1]), 3)
    return MAX if int(words[0]) >= NO_LIMIT else int(words[0])


def least(limits: Iterable[Any]) -> Any:
    """Return the limit that holds: the least of a group and all above it, ``max`` where none has one, None where none was told; Unknown if one is."""
    told = [one for one in limits if one is not None]
    unknown = [one for one in told if isinstance(one, Unknown)]
    numbers = [one for one in told if isinstance(one, (int, float))]
    return unknown[0] if unknown else min(numbers) if numbers else MAX if told else None


def parse_count(text: str, name: str) -> Optional[int]:
    """Return one counter of a file such as memory.events, None where the kernel does not keep it."""
    found = re.search(r"^%s (\d+)$" % re.escape(name), text, re.MULTILINE)
    return int(found.group(1)) if found else None

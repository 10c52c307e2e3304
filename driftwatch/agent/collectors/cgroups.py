"""The control groups (version 1 and 2) that our own shell and each server are in: their limits, and what they use.

WHO is ``own`` for the probing shell, else ``servers/SERVER`` by the server's name as elsewhere: ``sglang``, ``vllm@8000`` … A limit is the least of the group
and all above it, as far as they can be seen from here; ``max`` is no limit. Inside a container this is the container's. Where no server runs,
``cgroup/servers`` is unknown.

| path | what |
|---|---|
| cgroup/WHO/memory_max_bytes, memory_high_bytes, memory_swap_max_bytes, pids_max | number or ``max`` |
| cgroup/WHO/cpu_max_cores | processor time that it may take, in cores, or ``max`` |
| cgroup/WHO/cpuset_cpus, cpuset_mems | processors and memory nodes that it may use, such as ``0-63`` |
| cgroup/WHO/oom_kills | processes of the group that were killed for want of memory |
| cgroup/WHO/memory_current_bytes, pids_current, throttled (volatile) | in use; how often it was held back for want of processor time |
| cgroup/WHO/group, container (volatile) | name of the group; id of the container |
"""
from __future__ import annotations

from ..control_groups import COUNTED, COUNTS, LIMITS, READINGS, Limited, container_of, files, least, parse_count, parse_groups, parse_limit
from ..host import Host
from ..probe import Absent, Fact, Probe, Unknown, fact_path
from ..processes_seen import limited_view, survey
from ..serving import servers_among
from ..typed import Any, Dict, Iterator

NOT_RUNNING = Unknown("not_recorded", "no server runs, so there is no control group of one")


def collect(host: Host) -> Iterator[Fact]:
    """Yield the limits of our own group, then those of each server's."""
    if not host.exists("/sys/fs/cgroup"):
        raise Absent("/sys/fs/cgroup: no control groups here")
    own = host.try_read("/proc/self/cgroup")
    yield from _group(host, "cgroup/own", "0::/" if own is None else own)
    servers = servers_among(survey(host))
    if not servers:
        yield "cgroup/servers", limited_view(host) or NOT_RUNNING
    for server in servers:
        seen = server.launch or (server.ranks[0][1] if server.ranks else None)
        if seen is not None:
            yield from _group(host, fact_path("cgroup", "servers", server.name), host.try_read("/proc/%d/cgroup" % seen.pid))


def _group(host: Host, top: str, text: Any) -> Iterator[Fact]:
    groups = host.attempt(parse_groups, text) if isinstance(text, str) else text
    if not isinstance(groups, dict):
        yield top, groups or Unknown("error", "the process ended while it was looked at")
        return
    yield top + "/group", groups.get("memory", groups.get("")) or "/"
    container = container_of(text)
    if container:
        yield top + "/container", container
    for limited in LIMITS:
        yield from _told(top, limited, least(_limit(host, limited, path) for path in files(groups, limited)))
    for limited in READINGS:
        value = host.try_read(files(groups, limited)[0])
        yield from _told(top, limited, _reading(limited, value.strip()) if isinstance(value, str) else value)
    for limited in COUNTS:
        yield from _told(top, limited, _count(host, limited, groups))


def _told(top: str, limited: Limited, value: Any) -> Iterator[Fact]:
    if value is not None:
        yield "%s/%s" % (top, limited.name), value


def _limit(host: Host, limited: Limited, path: str) -> Any:
    """Return one group's limit, None where the group has no such file, else Unknown."""
    text = host.try_read(path)
    if isinstance(text, str) and limited.old_file and path.endswith(limited.old_file) and limited.name == "cpu_max_cores":
        period = host.try_read(path.replace("quota", "period"))
        text = text.strip() + " " + period if isinstance(period, str) else period
    return host.attempt(parse_limit, text) if isinstance(text, str) else text


def _reading(limited: Limited, text: str) -> Any:
    """Return a count as a number, a list of processors or nodes as its text even where it names one."""
    return int(text) if text.isdigit() and limited.controller != "cpuset" else text


def _count(host: Host, limited: Limited, groups: Dict[str, str]) -> Any:
    text = host.try_read(files(groups, limited)[0])
    return parse_count(text, COUNTED[limited.name]) if isinstance(text, str) else text


_VOLATILE = ("group", "container", "memory_current_bytes", "pids_current", "throttled")

PROBES = (Probe(
    "cgroups", collect, deadline_s=6.0, tells=("cgroup", "cgroup/*"),
    volatile=tuple(top + one for top in ("cgroup/own/", "cgroup/servers/*/") for one in _VOLATILE),
    reads="/proc/PID/cgroup of our own shell and of each server; their limits in /sys/fs/cgroup",
    root_shows="the groups of other users' processes where /proc hides them"),)

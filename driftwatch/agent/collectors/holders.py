"""Which processes hold GPUs, seen from the kernel's side: who has /dev/nvidia* open. Works while the driver's library hangs; tells no memory.

NAME is the process's own, as under ``gpus/UUID/holders``: ``sglang::scheduler_TP0``, ``VLLM::Worker``, ``python3`` … Where a name has several processes and
they differ, a value is a sorted list. All but orphans are volatile: they come and go with the server.

| path | what |
|---|---|
| holders/NAME/count | processes of this name |
| holders/NAME/gpus | UUIDs of the GPUs that they have open (PCI address where the kernel does not tell the UUID); empty: only the driver's control device |
| holders/NAME/parent | name of the parent; ``outside``: in another PID namespace; ``gone``: no longer there |
| holders/NAME/orphans | how many are workers whose launch process is gone; absent where none is |
| holders/NAME/used_by | framework of the launch process that they are or stand below; absent where there is none |
| holders/NAME/user, unit | user; systemd service |
| holders/NAME/state | state letters: D uninterruptible sleep, Z zombie whose threads still hold the device |
| holders/NAME/pids, started_at, container | process ids; start of the oldest, ISO 8601 in UTC; container ids |

``holders`` as a whole is unknown where other processes cannot be seen: in a container, or as another user than root.
"""
from __future__ import annotations

from ..control_groups import container_of
from ..gpu_holders import Family, Holder, find, gpus_by_device, is_orphan, name_of, parent_of, server_of
from ..host import Host
from ..probe import Fact, Probe, Unknown, fact_path
from ..process_facts import Look
from ..processes_seen import Seen, parse_unit
from ..typed import Any, Dict, Iterator, List, Tuple
from ..visibility import narrow_view


def collect(host: Host) -> Iterator[Fact]:
    """Yield the holders by name, and that others are hidden where they are."""
    hidden = narrow_view(host)
    family = find(host)
    if hidden is None and family.is_denied:
        hidden = Unknown("denied", "the open files of other users' processes cannot be listed (uid %d): as root: fuser -v /dev/nvidia*" % host.uid())
    if hidden is not None:
        yield "holders", hidden
    look, devices = Look(host), gpus_by_device(host)
    named: Dict[str, List[Holder]] = {}
    for holder in family.holders:
        named.setdefault(name_of(holder.seen), []).append(holder)
    for name, holders in sorted(named.items()):
        for path, value in _of_name(look, family, holders, devices):
            if value not in (None, ""):
                yield fact_path("holders", name, path), value


def _of_name(look: Look, family: Family, holders: List[Holder], devices: Dict[str, str]) -> Iterator[Tuple[str, Any]]:
    seen = sorted((holder.seen for holder in holders), key=lambda one: (one.start_ticks, one.pid))
    yield "count", len(seen)
    yield "gpus", sorted({devices.get(device, device) for holder in holders for device in holder.devices if device[6:].isdigit()})
    yield "state", "".join(sorted({one.state for one in seen}))
    yield "pids", sorted(one.pid for one in seen)
    yield "parent", _same(parent_of(family, one) for one in seen)
    yield "orphans", sum(is_orphan(family, one) for one in seen) or None
    yield "used_by", _same(server_of(family, one) for one in seen)
    yield "user", _same(look.user(one) for one in seen)
    yield "unit", _same(look.parsed(one, "cgroup", parse_unit) for one in seen)
    yield "container", _same(_container(look, one) for one in seen)
    yield "started_at", look.started_at(seen[0])


def _container(look: Look, seen: Seen) -> Any:
    return look.parsed(seen, "cgroup", container_of)


def _same(values: Iterator[Any]) -> Any:
    """Return the value that all have, the sorted list of several, None for none; Unknown where nothing else was told."""
    told = [one for one in values if one not in (None, "")]
    known = sorted({one for one in told if not isinstance(one, Unknown)})
    return known[0] if len(known) == 1 else known or (told[0] if told else None)


PROBES = (Probe(
    "holders", collect, deadline_s=10.0, tells=("holders", "holders/*"),
    reads="links in /proc/PID/fd to /dev/nvidia*; state, parent, user and control group of these",
    volatile=tuple("holders/*/" + one for one in (
        "count", "gpus", "parent", "used_by", "user", "unit", "state", "pids", "started_at", "container")),
    root_shows="open files of other users' processes"),)

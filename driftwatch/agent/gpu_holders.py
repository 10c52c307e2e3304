"""Who has a GPU's device files open, as the kernel tells it in /proc: asks neither the driver nor its library, so that it cannot hang on either.

Open files and states are read first: they need no lock of the process. Command lines come last, each from a child of its own.
"""
from __future__ import annotations

import re

from .gpus import pci_address, whole_name
from .host import Host
from .launch_args import recognise, title_of
from .probe import Unknown
from .processes_seen import SILENT_LIMIT, Seen, parse_stat, with_arguments
from .typed import Dict, List, NamedTuple, Optional, Regex, Set, Tuple

KERNEL_LIST = "/proc/driver/nvidia/gpus"
KTHREADD = 2
_REAPERS = Regex(r"systemd|init\b|containerd-shim|docker-init|dumb-init|tini|conmon|s6-|runsv|catatonit|pause\Z")
_FORKED = ("spawn_main", "forkserver", "--multiprocessing-fork")
NO_ANSWER = Unknown("timeout", "not asked: in uninterruptible sleep, and others like it did not answer")


class Holder(NamedTuple):
    """A process that has device files of GPUs open, with its arguments, and the names of these files below /dev."""

    seen: Seen
    devices: Tuple[str, ...]


class Family(NamedTuple):
    """All processes that were seen, by id, without their arguments; those of GPU holders and of their parents with them."""

    known: Dict[int, Seen]
    holders: Tuple[Holder, ...]
    is_denied: bool


def find(host: Host) -> Family:
    """Return who holds GPUs, ourselves left out, and whether open files of some processes may not be listed."""
    known: Dict[int, Seen] = {}
    opened: Dict[int, Tuple[str, ...]] = {}
    is_denied = False
    for pid in host.pids() if host.exists("/proc") else ():
        text = host.attempt(host.head, "/proc/%d/stat" % pid, 4096)
        seen = host.attempt(parse_stat, text) if isinstance(text, str) and text else None
        if not isinstance(seen, Seen):
            continue
        known[pid] = seen
        if KTHREADD in (pid, seen.ppid):
            continue
        devices = _devices(host, seen)
        is_denied = is_denied or devices is None
        if devices:
            opened[pid] = devices
    ours = _ours(host, known)
    known = _with_arguments(host, known, set(opened) - ours)
    return Family(known, tuple(Holder(known[pid], devices) for pid, devices in sorted(opened.items()) if pid not in ours), is_denied)


def _devices(host: Host, seen: Seen) -> Optional[Tuple[str, ...]]:
    """Return the GPU device files that a process has open, None where it may not be asked. A zombie's are those of its threads that still live."""
    folders = ["/proc/%d/fd" % seen.pid]
    if seen.state == "Z":
        threads = host.try_list("/proc/%d/task" % seen.pid)
        if isinstance(threads, Unknown):
            return None
        folders = ["/proc/%d/task/%s/fd" % (seen.pid, one) for one in threads] if threads and len(threads) > 1 else []
    found: Set[str] = set()
    for folder in folders:
        names = host.try_list(folder)
        if isinstance(names, Unknown):
            return None
        links = (host.attempt(host.link, folder + "/" + name) for name in names or ())
        found.update(one[5:] for one in links if isinstance(one, str) and one.startswith("/dev/nvidia"))
    return tuple(sorted(found))


def _ours(host: Host, known: Dict[int, Seen]) -> Set[int]:
    """Return the agent's processes: our own probes have the devices open too while they ask."""
    own = host.attempt(host.link, "/proc/self")
    if not isinstance(own, str) or not own.isdigit() or int(own) not in known:
        return set()
    runner = known[int(own)].ppid
    return {pid for pid in known if runner in (pid, *(one.pid for one in above(known, known[pid])))}


def above(known: Dict[int, Seen], seen: Seen) -> List[Seen]:
    """Return the processes above one, nearest first, as far as they are known."""
    found: List[Seen] = []
    while seen.ppid in known and len(found) < len(known):
        seen = known[seen.ppid]
        found.append(seen)
    return found


def _with_arguments(host: Host, known: Dict[int, Seen], wanted: Set[int]) -> Dict[int, Seen]:
    """Return the processes, those wanted and all above them with their arguments; those in uninterruptible sleep last, and not for ever."""
    family = wanted | {one.pid for pid in wanted for one in above(known, known[pid])}
    told = dict(known)
    silent = 0
    for pid in sorted(family, key=lambda one: (known[one].state == "D", one)):
        is_stuck = known[pid].state == "D"
        if is_stuck and silent >= SILENT_LIMIT:
            told[pid] = known[pid]._replace(argv=NO_ANSWER)
            continue
        told[pid] = with_arguments(host, known[pid], 0.4)
        silent += isinstance(told[pid].argv, Unknown) and is_stuck
    return told


def name_of(seen: Seen) -> str:
    """Return a process's name: the kernel's, and where that was cut, the title in its command line that begins with it."""
    return whole_name(seen.name, seen.title)


def parent_of(family: Family, seen: Seen) -> str:
    """Return the name of a process's parent; ``outside`` where it is in another PID namespace, ``gone`` where it is not among the processes."""
    parent = family.known.get(seen.ppid)
    return name_of(parent) if parent is not None else "outside" if seen.ppid == 0 else "gone"


def is_orphan(family: Family, seen: Seen) -> bool:
    """Tell whether a process is a worker of something that ended: above it and workers like it stands only what adopts orphans."""
    if not _is_worker(seen):
        return False
    first = next((one for one in above(family.known, seen) if not _is_worker(one)), None)
    return first is not None and _adopts(first)


def _is_worker(seen: Seen) -> bool:
    if isinstance(seen.argv, tuple) and recognise(seen.argv):
        return False
    forked = isinstance(seen.argv, tuple) and any(mark in argument for argument in seen.argv for mark in _FORKED)
    return forked or title_of(seen.title) is not None or title_of(seen.name) is not None


def _adopts(seen: Seen) -> bool:
    is_first = seen.pid == 1 and not seen.name.startswith("python") and not (isinstance(seen.argv, tuple) and recognise(seen.argv))
    return is_first or _REAPERS.match(seen.name) is not None


def server_of(family: Family, seen: Seen) -> Optional[str]:
    """Return the framework of the launch process that a process is or stands below, or None."""
    for one in (seen, *above(family.known, seen)):
        launch = recognise(one.argv) if isinstance(one.argv, tuple) else None
        if launch is not None:
            return launch.framework
    return None


def gpus_by_device(host: Host) -> Dict[str, str]:
    """Return UUID, or the PCI address where it is not told, of each GPU that the kernel lists, by its device file such as ``nvidia0``."""
    found = {}
    for address in host.noted_names(KERNEL_LIST):
        text = host.try_read("%s/%s/information" % (KERNEL_LIST, address))
        fields = dict(re.findall(r"^([A-Za-z ]+):[ \t]+(\S.*?)\s*$", text, re.MULTILINE)) if isinstance(text, str) else {}
        uuid = fields.get("GPU UUID", "?")
        if fields.get("Device Minor", "").isdigit():
            found["nvidia" + fields["Device Minor"]] = pci_address(address) if "?" in uuid else uuid
    return found

"""The machine and its kernel, as the kernel's own text files tell it. Runs no command, touches no device, cannot hang on a GPU.

| path | what |
|---|---|
| os/name, os/id, os/version_id | PRETTY_NAME, ID and VERSION_ID of /etc/os-release |
| kernel/release, kernel/cmdline | as the running kernel tells them |
| kernel/boot_id, kernel/booted_at (both volatile) | the id of this boot; when it began, ISO 8601 in UTC |
| system/uptime_s (volatile) | whole seconds since boot |
| system/cpu/model, system/cpu/count | the first processor's name; processors that are online |
| system/memory/total_kib | MemTotal |
| system/memory/NAME_kib (volatile) | every other line of /proc/meminfo under the kernel's own NAME; lines without a unit count pages and have no ``_kib`` |
| system/load/{1m,5m,15m} (volatile) | load averages; tasks in uninterruptible sleep count |
| system/pressure/{cpu,io,memory}/{some,full}_{avg10,avg60,avg300} (volatile) | share of stalled time, percent; total_us: microseconds since boot |
"""
from __future__ import annotations

import re

from ..host import Host
from ..moments import iso
from ..probe import Fact, Probe, Unknown, Unreadable
from ..typed import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

Count = Union[int, Unknown, None]


def collect(host: Host) -> Iterator[Fact]:
    """Yield what the system's own files say; one that is missing, unreadable or senseless costs only its own facts."""
    for path, file, parse in TEXTS:
        yield from _told(host, path, host.try_read(file), parse)
    release = host.try_read("/etc/os-release")
    yield from _told(host, "os", host.try_read("/usr/lib/os-release") if release is None else release, parse_os_release)
    yield from _processors(host)
    for resource in ("cpu", "io", "memory"):
        yield from _pressure(host, resource)


def _processors(host: Host) -> Iterator[Fact]:
    text = host.try_read("/proc/cpuinfo", 8 << 20)
    if text is None or isinstance(text, Unknown):
        yield "system/cpu", text or Unknown("error", "/proc/cpuinfo: no such file")
        return
    model, count = parse_cpuinfo(text)
    online = host.try_read("/sys/devices/system/cpu/online")
    if model is not None:
        yield "system/cpu/model", model
    yield "system/cpu/count", host.attempt(parse_cpu_list, online) if isinstance(online, str) else count


def _pressure(host: Host, resource: str) -> Iterator[Fact]:
    """Yield the stalls of one resource; nothing where the kernel keeps no such account (it may be built in, but off)."""
    text = host.try_read("/proc/pressure/" + resource)
    if isinstance(text, Unknown) and "EOPNOTSUPP" in text.reason:
        return
    yield from _told(host, "system/pressure/" + resource, text, parse_pressure)


def _told(host: Host, path: str, text: Any, parse: Callable[[str], Any]) -> Iterator[Fact]:
    """Yield what a text holds, at a path or below it; Unknown where it could not be read or makes no sense, nothing where there is none."""
    value = host.attempt(parse, text) if isinstance(text, str) else text
    if isinstance(value, dict):
        for name, single in value.items():
            yield "%s/%s" % (path, name), single
    elif value is not None:
        yield path, value


def parse_os_release(text: str) -> Dict[str, Any]:
    """Return ``name``, ``id`` and ``version_id`` of an os-release file, those that it holds."""
    found = dict(re.findall(r"^([A-Z_]+)=[\"']?(.*?)[\"']?\s*$", text, re.MULTILINE))
    pairs = (("name", found.get("PRETTY_NAME") or found.get("NAME")), ("id", found.get("ID")), ("version_id", found.get("VERSION_ID")))
    return {name: value for name, value in pairs if value}


def parse_boot_time(text: str) -> str:
    """Return when this boot began, ISO 8601 in UTC, from /proc/stat."""
    match = re.search(r"^btime (\d+)$", text, re.MULTILINE)
    if match is None:
        raise Unreadable("/proc/stat: no btime in %r" % text[-80:])
    return iso(int(match.group(1)))


def parse_uptime(text: str) -> int:
    """Return whole seconds since boot."""
    match = re.match(r"(\d+)\.\d+ ", text)
    if match is None:
        raise Unreadable("/proc/uptime: no uptime in %r" % text[:80])
    return int(match.group(1))


def parse_cpuinfo(text: str) -> Tuple[Optional[str], Count]:
    """Return the first processor's model and how many processors are listed: unknown where a socket is said to hold more than are listed.

    ARM tells no model name: there its implementer and part number are the model.
    """
    fields: Dict[str, List[str]] = {}
    for name, mark, value in (line.partition(":") for line in text.split("\n")):
        if mark:
            fields.setdefault(name.rstrip(), []).append(value.strip())
    listed = len(fields.get("processor", ()))
    siblings = int(fields.get("siblings", ["0"])[0] or 0)
    count: Count = listed or None
    if listed < siblings:
        count = Unknown("error", "/proc/cpuinfo: cut: it lists %d of the %d processors of its first socket" % (listed, siblings))
    part = ["implementer %s part %s" % pair for pair in zip(fields.get("CPU implementer", ()), fields.get("CPU part", ()))]
    return next(iter(fields.get("model name", part)), None), count


def parse_cpu_list(text: str) -> int:
    """Return how many processors a list such as ``0-15,32`` names."""
    spans = re.findall(r"(\d+)(?:-(\d+))?", text)
    if not spans:
        raise Unreadable("/sys/devices/system/cpu/online: no list of processors in %r" % text[:80])
    return sum(int(last or first) - int(first) + 1 for first, last in spans)


def parse_meminfo(text: str) -> Dict[str, Any]:
    """Return ``total_kib`` first, then ``NAME_kib`` for every other line in KiB, and ``NAME`` for a line that counts pages."""
    lines = re.findall(r"^([^\s:]+):\s+(\d+)( kB)?\s*$", text, re.MULTILINE)
    found = {name + ("_kib" if unit else ""): int(number) for name, number, unit in lines}
    if "MemTotal_kib" not in found:
        raise Unreadable("/proc/meminfo: no MemTotal in %r" % text[:80])
    return {"total_kib": found.pop("MemTotal_kib"), **found}


def parse_loadavg(text: str) -> Dict[str, Any]:
    """Return the load averages ``1m``, ``5m`` and ``15m``."""
    match = re.match(r"(\d+\.\d+) (\d+\.\d+) (\d+\.\d+) ", text)
    if match is None:
        raise Unreadable("/proc/loadavg: no load in %r" % text[:80])
    return dict(zip(("1m", "5m", "15m"), map(float, match.groups())))


def parse_pressure(text: str) -> Dict[str, Any]:
    """Return ``some_avg10`` and its kin in percent of stalled time, ``some_total_us`` and ``full_total_us`` in microseconds."""
    found: Dict[str, Any] = {}
    for kind, rest in re.findall(r"^(some|full) (.+)$", text, re.MULTILINE):
        for name, value in re.findall(r"(avg\d+|total)=([\d.]+)", rest):
            found["%s_%s" % (kind, "total_us" if name == "total" else name)] = int(value) if name == "total" else float(value)
    if not found:
        raise Unreadable("/proc/pressure: no pressure in %r" % text[:80])
    return found


TEXTS = (
    ("kernel/release", "/proc/sys/kernel/osrelease", str.strip),
    ("kernel/cmdline", "/proc/cmdline", str.strip),
    ("kernel/boot_id", "/proc/sys/kernel/random/boot_id", str.strip),
    ("kernel/booted_at", "/proc/stat", parse_boot_time),
    ("system/uptime_s", "/proc/uptime", parse_uptime),
    ("system/load", "/proc/loadavg", parse_loadavg),
    ("system/memory", "/proc/meminfo", parse_meminfo),
)
BY_ITSELF = tuple("system/memory/%s*" % initial for initial in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")  # names of the kernel begin with capitals, total_kib does not

PROBES = (
    Probe(
        "system", collect, deadline_s=5.0, tells=("os", "os/*", "kernel/*", "system/*"),
        reads="the kernel's text files in /proc, /etc/os-release",
        volatile=("kernel/boot_id", "kernel/booted_at", "system/uptime_s", "system/load", "system/load/*", "system/pressure/*", *BY_ITSELF),
    ),
)

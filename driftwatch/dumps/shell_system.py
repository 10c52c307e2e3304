"""Output of commands that ask the operating system: uname, df, ulimit, free, cat of known files, lsmod, modinfo, systemctl, docker info, dmesg, hostname …

| path | what |
|---|---|
| kernel/release, kernel/cmdline, os/name, python/version, driver/module/…, driver/on_disk/version | as the collectors tell them |
| disks/PATH/{size_bytes, used_bytes, free_bytes, inodes, inodes_free} | only where df printed exact numbers; ``size``, ``used_percent`` are its rounded texts |
| mounts/PATH/{source, type} | |
| shm/size_bytes | of /dev/shm, where it is exact |
| limits/NAME/soft | of the shell: a number or ``unlimited``; sizes in bytes |
| modules/NAME/loaded, services/NAME/{active, sub}, container_runtime/{runtimes, default, version} | |
| system/memory/total_kib, NAME_kib | of free, where it is exact |
| env/NAME | of ``echo $NAME`` |
| system/cpu/{model, count}, system/hypervisor | of lscpu |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from driftwatch.agent.collectors.driver import parse_version
from driftwatch.agent.collectors.limits import parse_setting
from driftwatch.agent.collectors.names import parse_hosts, parse_resolv
from driftwatch.agent.collectors.system import PROBES, parse_meminfo, parse_os_release
from driftwatch.agent.container_texts import parse_daemon, parse_toml
from driftwatch.agent.probe import Refusal, fact_path
from driftwatch.dumps import unit_file
from driftwatch.dumps.kernel_lines import is_kernel_line, kernel_facts
from driftwatch.dumps.shell import Simple, Told

VOLATILE = ("disks/*/used_bytes", "disks/*/free_bytes", "disks/*/inodes_free", "disks/*/used_percent", "shm/used_bytes", "shm/free_bytes", "shm/used_percent",
            *(glob for probe in PROBES for glob in probe.volatile))
UNAME = re.compile(r"Linux (\S+) (\d+\.\d+\S*) #\S.*")
_DF_HEAD = re.compile(r"(?:Filesystem|\S+)\s.*\bMounted on\s*\Z")
_DF_ROW = re.compile(r"(\S.*?)\s+(?:([a-z][\w.]*)\s+)?([\d.]+[KMGTPE]?i?|-)\s+([\d.]+[KMGTPE]?i?|-)\s+([\d.]+[KMGTPE]?i?|-)\s+(\d+%|-)\s+(/\S*)\s*\Z")
_BLOCKS: Mapping[str, int] = MappingProxyType({"1K-blocks": 1024, "1024-blocks": 1024, "1B-blocks": 1, "1-blocks": 1, "512-blocks": 512})
_LIMIT = re.compile(r"([A-Za-z][A-Za-z ()-]*?)\s+\((?:([\w -]+), )?-(\w)\) (unlimited|\d+)\s*\Z|-(\w): [^\d]*?(?:\((\w+)\))?\s+(unlimited|\d+)\s*\Z")
_LIMITS: Mapping[str, tuple[str, int]] = MappingProxyType({
    "n": ("open_files", 1), "l": ("locked_memory_bytes", 1024), "u": ("processes", 1), "s": ("stack_size_bytes", 1024), "v": ("address_space_bytes", 1024),
    "m": ("resident_set_bytes", 1024), "q": ("msgqueue_size_bytes", 1), "i": ("pending_signals", 1), "t": ("cpu_time_seconds", 1), "x": ("file_locks", 1),
    "d": ("data_size_bytes", 1024), "r": ("realtime_priority", 1),
})
_ACTIVE = re.compile(r"\s*Active: (\w+)(?: \(([\w-]+)\))?")
_UNIT = re.compile(r"[\u25cf\u25cb\xd7*]? ?([\w@.-]+)\.service\b")
_DOCKER: Mapping[str, str] = MappingProxyType({
    "Runtimes": "runtimes", "Default Runtime": "default", "Server Version": "version", "Cgroup Driver": "cgroup_driver"})
_LSCPU: Mapping[str, str] = MappingProxyType({"Model name": "system/cpu/model", "CPU(s)": "system/cpu/count", "Hypervisor vendor": "system/hypervisor"})
_MODULE_ROW = re.compile(r"(\w+)\s+\d+\s+\d+(?:\s+[\w,-]+)?\s*\Z")
_MODINFO = re.compile(r"[a-z]+:\s")
_FIRST_LINE: Mapping[str, tuple[re.Pattern[str], str]] = MappingProxyType({
    "/proc/sys/kernel/osrelease": (re.compile(r"\d+\.\d+\S*"), "kernel/release"),
    "/proc/cmdline": (re.compile(r".+"), "kernel/cmdline"),
    "/sys/module/nvidia/version": (re.compile(r"\d+\.\d[\d.]*"), "driver/module/version"),
})
_MOST = 400

_SETTING = re.compile(r"(?P<name>[a-z]\w*(?:\.[\w-]+)+)\s*=\s*(?P<value>\S.*)\Z")
_SETTINGS: Mapping[str, tuple[str, Callable[[str], dict[str, Any]]]] = MappingProxyType({
    "/etc/docker/daemon.json": ("container_runtime/docker", parse_daemon),
    "/etc/nvidia-container-runtime/config.toml": ("container_runtime/nvidia", parse_toml),
})

def _matching(pattern: re.Pattern[str], lines: Sequence[str]) -> int:
    """Return how many of the first lines match a pattern."""
    return next((at for at, line in enumerate(lines[:_MOST]) if not pattern.match(line)), min(len(lines), _MOST))


def read_uname(command: Simple, lines: Sequence[str]) -> Told:
    """Return the kernel's release of ``uname -a`` or ``-r``."""
    text = lines[0].strip() if lines else ""
    full = UNAME.match(text)
    if full:
        return Told(1, {"kernel/release": full.group(2)})
    is_release = command.has("-r", "--kernel-release") and re.fullmatch(r"\d+\.\d+\S*", text)
    return Told(1, {"kernel/release": text}) if is_release else Told(0, {})


def read_df(command: Simple, lines: Sequence[str]) -> Told:
    """Return the file systems that ``df`` lists; without its heading nothing tells in what it counts."""
    columns = next((word.partition("=")[2].split(",") for word in command.words if word.startswith("--output=")), [])
    if columns:
        return _df_columns(command, columns, lines)
    if not lines or not _DF_HEAD.match(lines[0].strip()):
        return Told(0, {})
    heading = lines[0].split()
    used = 1 + _matching(_DF_ROW, lines[1:])
    facts: dict[str, Any] = {}
    is_inodes = "Inodes" in heading
    scale = next((_BLOCKS[word] for word in heading if word in _BLOCKS), None) if not command.has("-h", "-H") else None
    for row in filter(None, map(_DF_ROW.match, lines[1:used])):
        source, kind, size, in_use, free, percent, path = row.groups()
        top = "shm" if path == "/dev/shm" else fact_path("disks", path)  # noqa: S108  # a name in a text
        facts.update(_inodes(top, size, free) if is_inodes else _room(top, (size, in_use, free, percent), scale))
        mount = fact_path("mounts", path)
        facts.update({f"{mount}/source": source, **({f"{mount}/type": kind} if kind else {})})
    return Told(used, facts)


def _df_columns(command: Simple, columns: Sequence[str], lines: Sequence[str]) -> Told:
    """Return kind and source of each file system that ``df --output=…`` lists, and where the one path lies that it was asked for."""
    facts: dict[str, Any] = {}
    used = 0
    for line in lines[:_MOST]:
        row = dict(zip(columns, line.split(), strict=False))
        if len(line.split()) != len(columns) or not (line.split()[0] in ("Type", "Filesystem", "Mounted") or row.get("target", "/").startswith("/")):
            break
        used += 1
        if row.get("fstype", "Type") != "Type" and "target" in row:
            mount = fact_path("mounts", row["target"])
            facts.update({f"{mount}/{name}": row[key] for key, name in (("fstype", "type"), ("source", "source")) if key in row})
            if len(command.operands) == 1:
                facts[f"{fact_path('files', command.operands[0].rstrip('/') or '/')}/file_system"] = f"{row['fstype']} at {row['target']}"
    return Told(used if facts else 0, facts)


def _inodes(top: str, total: str, free: str) -> dict[str, Any]:
    return {f"{top}/inodes": int(total), f"{top}/inodes_free": int(free)} if total.isdigit() and free.isdigit() and top != "shm" else {}


def _room(top: str, texts: tuple[str, str, str, str], scale: int | None) -> dict[str, Any]:
    size, in_use, free, percent = texts
    if scale is not None and size.isdigit() and in_use.isdigit() and free.isdigit():
        return {f"{top}/size_bytes": int(size) * scale, f"{top}/used_bytes": int(in_use) * scale, f"{top}/free_bytes": int(free) * scale}
    return {**({f"{top}/size": size} if size != "-" else {}), **({f"{top}/used_percent": int(percent[:-1])} if percent != "-" else {})}


def read_ulimit(command: Simple, lines: Sequence[str]) -> Told:
    """Return the limits of ``ulimit -a``, or the one that a letter asks for."""
    if not command.has("-a"):
        letter = next((word[-1] for word in command.words[1:] if word.startswith("-")), "")
        text = lines[0].strip() if lines else ""
        return Told(1, dict(_limit(letter, text))) if letter in _LIMITS and re.fullmatch(r"\d+|unlimited", text) else Told(0, {})
    used = _matching(_LIMIT, lines)
    facts: dict[str, Any] = {}
    for row in filter(None, map(_LIMIT.match, lines[:used])):
        facts.update(_limit(row.group(3) or row.group(5), row.group(4) or row.group(7), row.group(2) or row.group(6) or ""))
    return Told(used, facts)


def _limit(letter: str, text: str, unit: str = "") -> Iterator[tuple[str, Any]]:
    name, scale = _LIMITS.get(letter, ("", 1))
    if name and unit != "blocks":
        yield f"limits/{name}/soft", int(text) * scale if text.isdigit() else text


def read_free(command: Simple, lines: Sequence[str]) -> Told:
    """Return the memory that ``free`` tells in KiB; rounded units tell no exact number and are passed over."""
    used = _matching(re.compile(r"\s*total\s+used|(?:Mem|Swap|Total|Low|High):|-/\+ buffers"), lines)
    if not used or command.has("-h", "-g", "-m", "-b", "--mebi", "--gibi"):
        return Told(used, {})
    facts: dict[str, Any] = {}
    heading = lines[0].split()
    for line in lines[1:used]:
        name, *numbers = line.split()
        if name == "Mem:" and all(one.isdigit() for one in numbers):
            told = dict(zip(heading, map(int, numbers), strict=False))
            facts.update((f"system/memory/{key}", told[column]) for column, key in (
                ("total", "total_kib"), ("free", "MemFree_kib"), ("available", "MemAvailable_kib")) if column in told)
    return Told(used, facts)


def read_cat(command: Simple, lines: Sequence[str]) -> Told:
    """Return what a known file of the system holds."""
    if len(command.operands) != 1:
        return Told(0, {})
    path = command.operands[0]
    single = _FIRST_LINE.get(path)
    if single:
        found = single[0].fullmatch(lines[0].strip()) if lines else None
        return Told(1, {single[1]: found.group()}) if found else Told(0, {})
    if path.endswith("/os-release"):
        used = _matching(re.compile(r"[A-Z_]+=|\s*\Z"), lines)
        return Told(used, {f"os/{name}": value for name, value in parse_os_release("\n".join(lines[:used])).items()})
    if path in _SETTINGS:
        return _settings(*_SETTINGS[path], lines)
    if path not in _FILES:
        return Told(0, {})
    row, read, whole = _FILES[path]
    used = _matching(row, lines)
    facts = read("\n".join(lines[:used]))
    return Told(used, facts, tells_if_whole=whole if facts else ())


def _settings(top: str, parse: Callable[[str], dict[str, Any]], lines: Sequence[str]) -> Told:
    """Return the settings of a container engine or of NVIDIA's runtime, told whole: a file that was cut makes no sense or tells less."""
    try:
        found = parse("\n".join(lines[:_MOST]))
    except Refusal:
        return Told(0, {})
    told = {f"{top}/{fact_path(key)}": value for key, value in found.items()}
    return Told(len(lines), told, tells_if_whole=(top + "/*",)) if told else Told(0, {})


def _driver(text: str) -> dict[str, Any]:
    try:
        version, flavour = parse_version(text)
    except Refusal:
        return {}
    return {"driver/module/version": version, "driver/module/flavour": flavour}


def _meminfo(text: str) -> dict[str, Any]:
    try:
        return {f"system/memory/{name}": value for name, value in parse_meminfo(text).items()}
    except Refusal:
        return {}


def read_kernel_log(_: Simple, lines: Sequence[str]) -> Told:
    """Return what the kernel's log says, by class."""
    used = next((at for at, line in enumerate(lines) if not (is_kernel_line(line) or line[:1].isspace() or line.startswith("-- "))), len(lines))
    return Told(used, kernel_facts("\n".join(lines[:used])))


def read_lsmod(_: Simple, lines: Sequence[str]) -> Told:
    """Return the loaded modules that lsmod lists."""
    start = 1 if lines and lines[0].startswith("Module ") else 0
    used = start + _matching(_MODULE_ROW, lines[start:])
    return Told(used, {f"{fact_path('modules', row.group(1))}/loaded": True for row in filter(None, map(_MODULE_ROW.match, lines[start:used]))})


def read_modinfo(command: Simple, lines: Sequence[str]) -> Told:
    """Return the version of NVIDIA's module on disk."""
    used = _matching(_MODINFO, lines)
    version = next((line.partition(":")[2].strip() for line in lines[:used] if line.startswith("version:")), "")
    name = command.operands[0] if command.operands else ""
    return Told(used, {"driver/on_disk/version": version} if version and name == "nvidia" else {})


def read_systemctl(command: Simple, lines: Sequence[str]) -> Told:
    """Return whether a service is active, of ``status`` or ``is-active``; of ``cat`` what its unit orders."""
    verb, *names = command.operands or ("",)
    if verb == "cat" and len(names) == 1:
        return _unit(names[0], lines)
    if verb == "is-active" and len(names) == 1 and lines and re.fullmatch(r"[a-z]+", lines[0].strip()):
        return Told(1, {f"{_service(names[0])}/active": lines[0].strip()})
    facts: dict[str, Any] = {}
    top = ""
    for line in lines[:_MOST] if verb == "status" else ():
        unit, active = _UNIT.match(line), _ACTIVE.match(line)
        top = _service(unit.group(1)) if unit else top
        if active and top:
            facts.update({f"{top}/active": active.group(1), **({f"{top}/sub": active.group(2)} if active.group(2) else {})})
    return Told(len(lines) if facts else 0, facts)


def _unit(name: str, lines: Sequence[str]) -> Told:
    """Return what the lines of a unit order, up to a blank one: those that a filter left have no section above them."""
    used = next((at for at, line in enumerate(lines[:_MOST]) if not line.strip()), min(len(lines), _MOST))
    text = "".join(f"{line}\n" for line in (f"# /etc/systemd/system/{name.removesuffix('.service')}.service", "[Service]", *lines[:used]))
    told = unit_file.parse(text).facts
    return Told(used if told else 0, told)


def _service(name: str) -> str:
    return fact_path("services", name.removesuffix(".service"))


def read_docker(command: Simple, lines: Sequence[str]) -> Told:
    """Return the runtimes that ``docker info`` names; other verbs tell nothing here."""
    if command.operands[:1] != ("info",):
        return Told(0, {})
    used = _matching(re.compile(r"\s|[A-Z][\w /-]*:|WARNING|\s*\Z"), lines)
    facts: dict[str, Any] = {}
    for line in lines[:used]:
        name, _, value = line.strip().partition(": ")
        if name in _DOCKER and value:
            facts[f"container_runtime/{_DOCKER[name]}"] = sorted(value.split()) if name == "Runtimes" else value.strip()
    return Told(used if facts else 0, facts)


def read_release(_: Simple, lines: Sequence[str]) -> Told:
    """Return the system's name that ``lsb_release -a`` tells."""
    used = _matching(re.compile(r"No LSB modules|[A-Z][\w ]+:\s"), lines)
    name = next((line.partition(":")[2].strip() for line in lines[:used] if line.startswith("Description:")), "")
    return Told(used, {"os/name": name} if name else {})


def read_echo(command: Simple, lines: Sequence[str]) -> Told:
    """Return the variable that ``echo $NAME`` shows; an empty line is an unset or empty one, which cannot be told apart."""
    names = [re.fullmatch(r"\$\{?([A-Za-z_]\w*)\}?", word) for word in command.words[1:]]
    if len(names) != 1 or names[0] is None or not lines:
        return Told(0, {})
    return Told(1, {f"env/{names[0].group(1)}": lines[0].strip()} if lines[0].strip() else {})


def read_lscpu(_: Simple, lines: Sequence[str]) -> Told:
    """Return the processor that lscpu describes; its other rows are left out."""
    used = _matching(re.compile(r"\s{0,4}[A-Z][\w ():./-]{1,60}:"), lines)
    rows = [line.strip().partition(":") for line in lines[:used]]
    facts: dict[str, Any] = {_LSCPU[name]: value.strip() for name, _, value in reversed(rows) if name in _LSCPU and value.strip()}
    facts.update((path, int(facts[path])) for path in ("system/cpu/count",) if str(facts.get(path, "")).isdigit())
    return Told(used if facts else 0, facts)


def read_sysctl(_: Simple, lines: Sequence[str]) -> Told:
    """Return the kernel's settings that sysctl shows, ``NAME = VALUE``."""
    used = _matching(_SETTING, lines)
    rows = [found for line in lines[:used] if (found := _SETTING.match(line))]
    return Told(used, {fact_path("limits", "sysctl", row["name"]): parse_setting(row["value"]) for row in rows})


def _hosts(text: str) -> dict[str, Any]:
    return {fact_path("names", "hosts", name): addresses for name, addresses in parse_hosts(text).items()}


def _resolv(text: str) -> dict[str, Any]:
    return {f"names/{key}": words for key, words in parse_resolv(text).items() if words}


_FILES: Mapping[str, tuple[re.Pattern[str], Callable[[str], dict[str, Any]], tuple[str, ...]]] = MappingProxyType({
    "/proc/driver/nvidia/version": (re.compile(r"NVRM version|GCC version"), _driver, ()),
    "/proc/meminfo": (re.compile(r"\S+:\s+\d+( kB)?\s*\Z"), _meminfo, ()),
    "/etc/hosts": (re.compile(r"\s*(#|\Z|[\da-fA-F.]*[.:][\da-fA-F:.]*(%\w+)?\s+\S)"), _hosts, ("names/hosts/*",)),
    "/etc/resolv.conf": (
        re.compile(r"\s*([#;]|\Z|(nameserver|search|domain|options|sortlist)\s)"), _resolv, ("names/servers", "names/search", "names/options"),
    ),
})
READERS: Mapping[str, Callable[[Simple, Sequence[str]], Told]] = MappingProxyType({
    "uname": read_uname, "df": read_df, "ulimit": read_ulimit, "free": read_free, "cat": read_cat, "dmesg": read_kernel_log, "journalctl": read_kernel_log,
    "lsmod": read_lsmod, "modinfo": read_modinfo, "systemctl": read_systemctl, "docker": read_docker, "lsb_release": read_release, "echo": read_echo,
    "lscpu": read_lscpu, "sysctl": read_sysctl,
})

"""Everything that ``nvidia-smi`` prints: its table, ``-q``, ``-q -x``, csv queries, ``-L``, ``--version`` and its refusals.

The facts and paths are those of the nvml collector (agent/collectors/nvml.py). A GPU is known by its UUID; the table prints none, so there its key is
``index-N``. N/A is no figure, ERR! is no answer; a name that nvidia-smi cut itself ends in ``...``, as printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from driftwatch.agent.gpus import Process, pci_address, program_name
from driftwatch.agent.probe import Unknown as AgentUnknown
from driftwatch.agent.probe import fact_path
from driftwatch.agent.topology_texts import parse_nvlink
from driftwatch.dumps import smi_csv, smi_query
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.smi_elements import NEVER_PRINTS, VOLATILE, element_of, gpu_facts, process, stored
from driftwatch.model import Unknown

_TABLE = re.compile(r"\s{0,8}['\"`]?(?:[|+][-=+| ]|\|ERR!|[|+]\Z)")
_CLOCK = re.compile(r"\s*[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\s*\Z")
_BANNER = re.compile(r"NVIDIA-SMI\s+(\d[\w.]*)\s+(?:(?:Driver|KMD) Version: *([\w./!-]+)(?=[\s|]))?(?:\s+CUDA (?:UMD )?Version: *([\w./!-]+)(?=[\s|]))?")
_FIRST = re.compile(
    r"\s{0,8}\|\s*(\d{1,3})\s+(\S.{0,60}?)\s+(On|Off|N/A|ERR!|WDDM|TCC|MCDM)\s*\|\s*([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s+\S+\s*\|\s*(\S[^|]*?)\s*\|")
_BEGUN = re.compile(r"\s{0,8}\|\s{1,4}(\d{1,3})\s+[A-Z]\S*")
_SECOND = re.compile(r"\s*\|\s*(\S+)\s+(\S+)\s+(\S+)\s+(\S+) ?/ *(\S+)\s*\|\s*(\S[^|]*?)\s*\|\s*(\S+)\s+(\S[^|]*?)\s*\|")
_THIRD = re.compile(r"\s*\|[^|]*\|[^|]*\|\s*([^|\s]+)\s*\|")
_MIG = re.compile(r"\s*\|\s+(\d{1,3})\s+\d+\s+\d+\s+\d+\s+\|\s*\d+MiB\s*/")
_MIG_TITLE = re.compile(r"\s*\|\s*MIG devices:")
_PROCESS = re.compile(r"\s*\|\s+(\d{1,3})\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(\d+)\s+(?:M\+C\+G|M\+C|C\+G|C|G|M)\s+(.*?)\s+(\d+MiB|N/A)\s*\|")
_CLOSED = re.compile(r"\s{0,8}\+[-=]{20,}\+\s*\Z")
_END_OF_GPUS = re.compile(r"\s*\+(?:-+\+)+\s*\Z")
_LISTED = re.compile(r"\s*GPU (\d{1,3}): (.{1,80}?) \(UUID: (GPU-[0-9A-Fa-f-]{8,40}(?=\))|GPU-(?:[0-9A-Fa-f]{4,12}-){4}[0-9A-Fa-f]{12})\)?\s*\Z")
_LISTED_MIG = re.compile(r"\s+MIG \S+")
_LINKED = re.compile(r"\s+Link \d{1,2}: ")
_VERSIONS = re.compile(r"\s*(?:NVIDIA-SMI|NVML|DRIVER|KMD|CUDA(?: UMD)?) [Vv]ersion\s*: \S")
_REFUSED = re.compile(
    r"\s*(?:NVIDIA-SMI has failed because|Failed to initialize NVML: |No devices were found|Unable to determine the device handle for GPU)")
_LIBRARY = re.compile(r"\s*NVML library version: (\d[\d.]*)\s*\Z")
_LAYOUTS = (
    (re.compile(rf"\s{{0,8}}{_BANNER.pattern}"), re.compile(r"(?!)")),
    (_LISTED, re.compile(f"{_LISTED.pattern}|{_LISTED_MIG.pattern}|{_LINKED.pattern}")),
    (re.compile(r"\s*NVIDIA-SMI version"), _VERSIONS), (_REFUSED, re.compile(f"{_REFUSED.pattern}|{_LIBRARY.pattern}")),
)
_MARKS = ("(UUID: GPU-", "NVIDIA-SMI", "Failed to initialize NVML", "No devices were found", "Unable to determine")
_HANDLE = re.compile(r"handle for GPU\s?\d*:?\s?([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])")
_COMPUTE_MODES: Mapping[str, str] = MappingProxyType({"E. Process": "Exclusive_Process", "E. Thread": "Exclusive_Thread"})
_SWITCH: Mapping[str, str] = MappingProxyType({"On": "Enabled", "Off": "Disabled"})
_MODELS = ("WDDM", "TCC", "MCDM")  # Windows prints which kind of driver there is where Linux prints persistence
_NOT_SEEN = AgentUnknown("not_recorded", "nvidia-smi: the table of processes was not pasted")
_CUT = AgentUnknown("not_recorded", "nvidia-smi: the table of processes was cut")
_LONGEST = 400
_ANY_MARK = ("|", "NVSMI LOG", "nvidia", *_MARKS, *smi_query.MARKS, *smi_csv.MARKS)


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield every stretch that nvidia-smi printed."""
    yield from smi_query.find(lines)
    yield from smi_csv.find(lines)
    yield from _tables(lines)
    yield from _runs(lines)


def _runs(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the runs of lines that begin as ``-L``, ``--version`` or a refusal do, and go on so."""
    at = 0
    while at < len(lines):
        after = at + 1
        if any(mark in lines[at][:_LONGEST] for mark in _MARKS):
            head, rest = next(((head, rest) for head, rest in _LAYOUTS if head.match(lines[at][:_LONGEST])), (None, None))
            while head and rest and after < len(lines) and rest.match(lines[after][:_LONGEST]):
                after += 1
            if head:
                yield Stretch(at, after, 0.9)
        at = after


def _tables(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the runs of table lines, blank ones between, that hold the banner or a GPU's row; the time above with them."""
    at = 0
    while at < len(lines):
        if not _TABLE.match(lines[at]):
            at += 1
            continue
        first, last = at, at
        while at < len(lines) and (_TABLE.match(lines[at]) or not lines[at].strip()) and lines[at] != FENCE:
            last = at if lines[at].strip() else last
            at += 1
        rows = [line[:_LONGEST] for line in lines[first:last + 1]]
        if any(_BANNER.search(row) or _FIRST.match(row) or _MIG_TITLE.match(row) for row in rows):
            has_clock = first > 0 and _CLOCK.match(lines[first - 1]) is not None
            yield Stretch(first - has_clock, last + 1, 0.9)


def parse(text: str) -> Parsed:
    """Return what one stretch tells, by its layout."""
    if "<nvidia_smi_log" in text:
        return smi_query.parse_xml(text)
    lines = text.splitlines()
    head = next((line for line in lines if line.strip()), "")[:_LONGEST]
    if smi_query.TITLE.match(head) or smi_query.is_bare(lines, 0) or smi_query.is_piece(lines):
        return smi_query.parse_text(text)
    if _LISTED.match(head):
        return _list(lines, is_cut=not text.endswith("\n"))
    if _VERSIONS.match(head):
        return _versions(lines)
    if _REFUSED.match(head):
        return _refusal(lines)
    return smi_csv.parse(text) if smi_csv.fields_of(text.partition("\n")[0]) else _table(text)


def _list(lines: Sequence[str], *, is_cut: bool) -> Parsed:
    facts: dict[str, Any] = {}
    devices: dict[str, int] = {}
    top = ""
    for line in lines:
        found = _LISTED.match(line)
        if found:
            top = fact_path("gpus", found.group(3))
            facts.update({f"{top}/index": int(found.group(1)), f"{top}/name": found.group(2)})
        elif top and _LISTED_MIG.match(line):
            devices[top] = devices.get(top, 0) + 1
    cut = Unknown("error", "nvidia-smi -L: the list was cut")
    facts.update((f"{one}/mig/devices", cut if is_cut and one == top else count) for one, count in devices.items())
    facts.update((f"{top}/mig/current", "Enabled") for top in devices)
    if any(map(_LINKED.match, lines)):
        facts.update(_links(lines))
    return Parsed(facts, volatile=VOLATILE)


def _links(lines: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for uuid, links in parse_nvlink("\n".join(lines)).items():
        top = fact_path("nvlink", uuid)
        if isinstance(links, dict):
            yield from ((f"{top}/{name}", value) for name, value in links.items())
        else:
            yield top, stored(links)


def _versions(lines: Sequence[str]) -> Parsed:
    facts: dict[str, Any] = {}
    for line in lines:
        name, _, value = line.partition(":")
        value = value.strip()
        if re.match(r"\d+\.\d", value):
            key = {"driver version": "driver/version", "kmd version": "driver/version", "cuda version": "cuda/driver", "cuda umd version": "cuda/driver",
                   "nvml version": "nvml/version"}.get(name.strip().lower())
            facts.update({key: value} if key else {})
    return Parsed(facts)


def _refusal(lines: Sequence[str]) -> Parsed:
    """Return what a refusal leaves open: all GPUs, or the one whose address it names."""
    facts: dict[str, Any] = {}
    for line in (line.strip()[:_LONGEST] for line in lines):
        library, handle = _LIBRARY.match(line), _HANDLE.search(line)
        if library:
            facts["nvml/version"] = library.group(1)
        elif line.startswith("No devices were found"):
            facts["gpus/count"] = 0
        elif handle:
            facts[fact_path("gpus", pci_address(handle.group(1)))] = Unknown("error", f"nvidia-smi: {line}")
        elif line:
            facts["gpus"] = Unknown("error", f"nvidia-smi: {line}")
    return Parsed(facts)


def _table(text: str) -> Parsed:
    """Return what the table tells: banner, each GPU whose rows came whole, its processes, and a note where it was cut."""
    lines = [line.rstrip("\n")[:_LONGEST] + " " * (line[-1] == "\n" and "|" not in line) for line in text.splitlines(keepends=True)]  # unboxed lines end here
    facts: dict[str, Any] = {}
    banner = next((found for found in map(_BANNER.search, lines) if found), None)
    if banner:
        facts.update(_told_by_banner(banner))
    gpus, begun = _gpus(lines)
    has_processes = any("Processes:" in line for line in lines)
    listed = _processes(lines)
    is_closed = any("No running processes found" in line for line in lines) or any(map(_CLOSED.match, lines[-1:]))
    devices = [found.group(1) for found in map(_MIG.match, lines) if found]
    for index, texts in gpus.items():
        mig = [("mig_devices/mig_device", "")] * (devices.count(str(index)) if has_processes else 0)
        is_listed = is_closed or index < max(listed, default=0)  # else rows may be missing that stood below the cut
        processes = (tuple(listed.get(index, ())) if is_listed else _CUT) if has_processes else _NOT_SEEN
        facts.update(gpu_facts(element_of([*texts, *mig]), index, processes))
    facts.update((f"gpus/index-{index}", Unknown("error", "nvidia-smi: its row was cut")) for index in begun - set(gpus))
    facts.update((f"gpus/index-{int(index)}/mig/current", "Enabled") for index in devices)
    is_whole = banner is not None and has_processes and not begun - set(gpus) and sorted(gpus) == list(range(len(gpus)))
    facts.update({"gpus/count": len(gpus)} if is_whole and gpus else {})
    return Parsed(facts, notes=() if is_whole else ("nvidia-smi: only a part of its table was pasted",), volatile=VOLATILE)


def _told_by_banner(banner: re.Match[str]) -> Iterator[tuple[str, Any]]:
    for path, value in (("driver/version", banner.group(2)), ("cuda/driver", banner.group(3))):
        if value and value != "N/A":
            yield path, value if re.match(r"\d+(\.\d+)*\Z", value) else Unknown("error", f"nvidia-smi: {value} for {path}")


def _gpus(lines: Sequence[str]) -> tuple[dict[int, list[tuple[str, str]]], set[int]]:
    """Return for each GPU the texts of its rows by tag, and the indices of all GPUs whose first row begins."""
    gpus: dict[int, list[tuple[str, str]]] = {}
    begun: set[int] = set()
    for at, line in enumerate(lines):
        if "Processes:" in line or "MIG devices" in line:
            break
        first = _FIRST.match(line)
        start = _BEGUN.match(line)
        begun |= {int(start.group(1))} if start else set()
        if first:
            index = int(first.group(1))
            begun.add(index)
            gpus[index] = [*_of_first(first), *_of_second(lines[at + 1:at + 2]), *_of_third(lines[at + 2:at + 3])]
    return gpus, begun


def _of_first(row: re.Match[str]) -> Iterator[tuple[str, str]]:
    _, name, persistence, address, ecc = row.groups()
    yield "product_name", name
    if persistence not in _MODELS:
        yield "persistence_mode", _SWITCH.get(persistence, persistence)
    yield "pci/pci_bus_id", address
    if ecc in ("Off", "On"):
        yield "ecc_mode/current_ecc", _SWITCH[ecc]
    elif ecc.isdigit():
        yield "ecc_mode/current_ecc", "Enabled"
        yield "ecc_errors/volatile/double_bit/total", ecc


def _of_second(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    row = _SECOND.match(lines[0]) if lines else None
    if row is None:
        return
    _, temperature, state, power, cap, memory, busy, mode = row.groups()
    used, _, total = memory.partition("/")
    yield from (("temperature/gpu_temp", temperature), ("performance_state", state), ("gpu_power_readings/average_power_draw", power))
    yield from (("gpu_power_readings/current_power_limit", cap), ("utilization/gpu_util", busy), ("compute_mode", _COMPUTE_MODES.get(mode, mode)))
    if total:
        yield from (("fb_memory_usage/used", used.strip()), ("fb_memory_usage/total", total.strip()))


def _of_third(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    row = _THIRD.match(lines[0]) if lines else None
    if row and row.group(1).rstrip("*") in ("Enabled", "Disabled"):
        yield "mig_mode/current_mig", row.group(1).rstrip("*")


def _processes(lines: Sequence[str]) -> dict[int, list[Process]]:
    found: dict[int, list[Process]] = {}
    for row in filter(None, map(_PROCESS.match, lines)):
        index, pid, name, size = row.groups()
        found.setdefault(int(index), []).append(process(pid, size, program_name(name)))
    return found


FORMAT = Format(
    name="nvidia-smi", find=find, parse=parse, looks_like="nvidia-smi (table, -q, -q -x, csv, -L)", marks=_ANY_MARK,
    never_prints=(*NEVER_PRINTS, "driver/module/*", "topology/*", "gpus/*/link/*"),
)

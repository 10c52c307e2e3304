"""Reads ``nvidia-smi --query-gpu=… --format=csv`` and ``--query-compute-apps``. The names come from the header, else from the command above the rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from driftwatch.agent.gpus import Gpu, Process, program_name
from driftwatch.agent.probe import fact_path
from driftwatch.dumps.format import FENCE, Parsed, Stretch
from driftwatch.dumps.smi_elements import VOLATILE, element_of, gpu_facts, holders, process

_COMMAND = re.compile(r"nvidia-smi\b.*--query-(gpu|compute-apps)=([\w.,]+)")
_HEADER = re.compile(r"[a-z][\w.]*(?: \[[\w%/]+\])?(?:, ?[a-z][\w.]*(?: \[[\w%/]+\])?)*\s*\Z")
_FIELDS: Mapping[str, str] = MappingProxyType({
    "name": "product_name", "gpu_name": "product_name", "uuid": "uuid", "gpu_uuid": "uuid", "pci.bus_id": "pci/pci_bus_id", "gpu_bus_id": "pci/pci_bus_id",
    "vbios_version": "vbios_version", "persistence_mode": "persistence_mode", "compute_mode": "compute_mode", "pstate": "performance_state",
    "pcie.link.gen.current": "pci/pci_gpu_link_info/pcie_gen/current_link_gen", "pcie.link.gen.max": "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    "pcie.link.gen.gpucurrent": "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
    "pcie.link.width.current": "pci/pci_gpu_link_info/link_widths/current_link_width",
    "pcie.link.width.max": "pci/pci_gpu_link_info/link_widths/max_link_width",
    "temperature.gpu": "temperature/gpu_temp", "utilization.gpu": "utilization/gpu_util", "power.draw": "gpu_power_readings/power_draw",
    "power.draw.average": "gpu_power_readings/average_power_draw", "power.draw.instant": "gpu_power_readings/instant_power_draw",
    "enforced.power.limit": "gpu_power_readings/current_power_limit", "power.limit": "gpu_power_readings/requested_power_limit",
    "power.default_limit": "gpu_power_readings/default_power_limit", "ecc.mode.current": "ecc_mode/current_ecc", "ecc.mode.pending": "ecc_mode/pending_ecc",
    "mig.mode.current": "mig_mode/current_mig", "mig.mode.pending": "mig_mode/pending_mig",
    "remapped_rows.correctable": "remapped_rows/remapped_row_corr", "remapped_rows.uncorrectable": "remapped_rows/remapped_row_unc",
    "remapped_rows.pending": "remapped_rows/remapped_row_pending", "remapped_rows.failure": "remapped_rows/remapped_row_failure",
    **{f"memory.{one}": f"fb_memory_usage/{one}" for one in ("total", "used", "free", "reserved")},
    **{f"ecc.errors.{kind}.{since}.total": f"ecc_errors/{since}/{bits}_bit/total"
       for kind, bits in (("corrected", "single"), ("uncorrected", "double")) for since in ("volatile", "aggregate")},
    **{f"clocks.{when}{name}": f"{top}/{tag}_clock" for when, top in (("", "clocks"), ("current.", "clocks"), ("max.", "max_clocks"))
       for name, tag in (("graphics", "graphics"), ("gr", "graphics"), ("sm", "sm"), ("memory", "mem"), ("mem", "mem"), ("video", "video"))},
})
MARKS = ("driver_version", "uuid", "used_gpu_memory", "compute_mode", "pstate", "memory.", "pci.", "temperature.", "utilization.", "clocks.", "power.", "mig.",
         "ecc.", "remapped_rows.", "pcie.", "clocks_")
_HEAD = frozenset(("driver_version", "count", "index", "timestamp", "hostname"))
_OF_A_PROCESS = frozenset(("pid", "process_name", "name", "used_memory", "used_gpu_memory"))
_REASON = re.compile(r"clocks_(?:event|throttle)_reasons\.(\w+)\Z")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each header with its rows, and each command that names its fields with the rows below it."""
    at = 0
    while at < len(lines):
        fields = fields_of(lines[at])
        after = at + 1
        if fields:
            while after < len(lines) and _is_row(lines[after], fields):
                after += 1
            if after > at + 1:
                yield Stretch(at, after, 0.9)
        at = after


def _is_row(line: str, fields: Sequence[str]) -> bool:
    return line != FENCE and len(line) < 20000 and (line.count(",") + 1 >= len(fields) > 1 or fields_of(line) != [])


def fields_of(line: str) -> list[str]:
    """Return the names that a header or a command asks for, without units; nothing where a line is neither."""
    if "nvidia-smi" in line[:400]:
        command = _COMMAND.search(line[:20000])
        return command.group(2).rstrip(",").split(",") if command else []
    if "," not in line or len(line) > 20000 or not _HEADER.match(line):
        return []
    names = [name.strip().partition(" [")[0] for name in line.split(",")]
    known = [name for name in names if name in _FIELDS or name in _HEAD or name in _OF_A_PROCESS]
    is_ours = any("." in name or name in ("driver_version", "gpu_uuid", "used_gpu_memory", "uuid", "compute_mode", "pstate") for name in known)
    return names if len(known) > 1 and is_ours else []


def parse(text: str) -> Parsed:
    """Return what the rows tell; a row with fewer fields than its header was cut and is passed over with a note."""
    facts: dict[str, Any] = {}
    notes: list[str] = []
    fields: list[str] = []
    rows: list[dict[str, str]] = []
    for line in text.splitlines():
        names = fields_of(line)
        if names:
            _tell(facts, fields, rows)
            fields, rows = names, []
            continue
        row = _row(line, fields)
        if row is None:
            notes.append("nvidia-smi csv: a row was cut")
        else:
            rows.append(row)
    _tell(facts, fields, rows)
    return Parsed({path: value for path, value in facts.items() if value is not None}, notes=tuple(notes[:1]), volatile=VOLATILE)


def _row(line: str, fields: Sequence[str]) -> dict[str, str] | None:
    """Return the texts of a row by field; the commas of a process name stay in it. None where there are too few."""
    texts = [one.strip() for one in line.split(",")]
    extra = len(texts) - len(fields)
    if extra < 0:
        return None
    if extra:
        at = fields.index("process_name") if "process_name" in fields else len(fields) - 1
        texts[at:at + extra + 1] = [",".join(texts[at:at + extra + 1])]
    return dict(zip(fields, texts, strict=True))


def _tell(facts: dict[str, Any], fields: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
    if "pid" in fields:
        facts.update(_of_processes(rows))
        return
    for row in rows:
        count, driver = row.get("count", ""), row.get("driver_version", "")
        facts.update({"driver/version": driver} if re.match(r"\d+\.\d", driver) else {})
        facts.update({"gpus/count": int(count)} if count.isdigit() else {})
        facts.update(_of_gpu(row))


def _of_gpu(row: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    texts = [(_FIELDS[name], text) for name, text in row.items() if name in _FIELDS]
    for name, text in row.items():
        reason = _REASON.match(name)
        if reason and text in ("Active", "Not Active"):
            texts.append((f"clocks_event_reasons/clocks_event_reason_{reason.group(1)}", text))
    index = row.get("index", "")
    yield from gpu_facts(element_of(texts), int(index) if index.isdigit() else None)


def _of_processes(rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Any]]:
    """Yield who holds the memory of each GPU that the rows name; rows that name no GPU tell nothing that can be compared."""
    by_gpu: dict[str, list[Process]] = {}
    for row in rows:
        key = row.get("gpu_uuid", "")
        if key.startswith("GPU-") and row["pid"].isdigit():
            size = row.get("used_gpu_memory", row.get("used_memory", ""))
            by_gpu.setdefault(key, []).append(process(row["pid"], size if "MiB" in size or not size.isdigit() else size + " MiB",
                                                      program_name(row.get("process_name", row.get("name", "")))))
    for key, processes in by_gpu.items():
        told = holders(Gpu(key, None, (), None, tuple(processes)))
        yield from ((f"{fact_path('gpus', key)}/{path}", value) for path, value in told.items())

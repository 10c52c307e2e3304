"""Reads ``nvidia-smi -q`` (text) and ``-q -x`` (XML). A text that ends inside a GPU gives what stood whole before, and says where it ends.

A piece from within one GPU is read where the GPU's UUID stands in it, from its first whole section on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from driftwatch.agent.gpus import Process, program_name
from driftwatch.agent.nvidia_smi import END, parse_query
from driftwatch.agent.probe import Unknown as AgentUnknown
from driftwatch.agent.probe import fact_path
from driftwatch.dumps.format import FENCE, Parsed, Stretch
from driftwatch.dumps.smi_elements import VOLATILE, element_of, gpu_facts, holders, process, stored, version

TITLE = re.compile(r"\s*=+NVSMI LOG=+\s*\Z")
BARE = re.compile(r"(?:Timestamp|Driver Version|KMD Version|Attached GPUs) {6,60}: \S|GPU [0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]\s*\Z")
MARKS = ("NVSMI LOG", "nvidia_smi_log", "Attached GPUs", "Product Name", "GPU UUID")
_PIECE = re.compile(r" {4}GPU UUID {10,60}: GPU-[0-9A-Fa-f]")
_SECTION = re.compile(r" {4}\S")
_ROW = re.compile(r"( *)(\S[^:]{0,90}?) *: ?(.*)\Z")
_GPU = re.compile(r"GPU ([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*\Z")
_TAG = re.compile(r"<(/?)\w[^<>\n]{0,200}?(/?)>")
_HEAD = re.compile(r"(?:Timestamp|Driver Version|CUDA (?:UMD )?Version|KMD Version|Attached GPUs|NVML Version|GPU [0-9A-Fa-f]{8}:|Unit |HIC )")
_CUT = AgentUnknown("not_recorded", "nvidia-smi -q: the text ends before the processes")
_EXACT: Mapping[str, str] = MappingProxyType({
    "gpu uuid": "uuid", "pci/bus id": "pci/pci_bus_id", "mig mode/current": "mig_mode/current_mig", "mig mode/pending": "mig_mode/pending_mig",
    "ecc mode/current": "ecc_mode/current_ecc", "ecc mode/pending": "ecc_mode/pending_ecc", "temperature/gpu current temp": "temperature/gpu_temp",
    "remapped rows/correctable error": "remapped_rows/remapped_row_corr", "remapped rows/uncorrectable error": "remapped_rows/remapped_row_unc",
    "remapped rows/pending": "remapped_rows/remapped_row_pending", "remapped rows/remapping failure occurred": "remapped_rows/remapped_row_failure",
    "utilization/gpu": "utilization/gpu_util", "gpu power readings/instantaneous power draw": "gpu_power_readings/instant_power_draw",
    "pci/gpu link info/pcie generation/max": "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    "pci/gpu link info/pcie generation/current": "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
    "pci/gpu link info/link width/max": "pci/pci_gpu_link_info/link_widths/max_link_width",
    "pci/gpu link info/link width/current": "pci/pci_gpu_link_info/link_widths/current_link_width",
    **{f"gpu power readings/gpu ceiling power limit/{one} power limit": f"gpu_power_readings/{one}_power_limit" for one in ("current", "requested", "default")},
    **{f"{top}/{name}": f"{top.replace(' ', '_')}/{short}_clock" for top in ("clocks", "max clocks")
       for name, short in (("graphics", "graphics"), ("sm", "sm"), ("memory", "mem"), ("video", "video"))},
})
_REASONS: Mapping[str, str] = MappingProxyType({"idle": "gpu_idle", "display_clock_setting": "display_clocks_setting"})


@dataclass
class _Block:
    """One GPU as its lines come in: rows as (path of labels, text), and the processes."""

    address: str
    rows: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    processes: list[dict[str, str]] = field(default_factory=list)
    has_processes: bool = False


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each ``-q`` text from its title on, or the piece of one, and each ``-q -x`` document."""
    at = done = 0
    while at < len(lines):
        line = lines[at]
        after = at + 1
        if len(line) < 200 and (TITLE.match(line) or is_bare(lines, at)):
            after = _after_text(lines, after)
            yield Stretch(at, after, 0.95)
        elif "<nvidia_smi_log" in line or "<!DOCTYPE nvidia_smi_log" in line:
            after = _after_xml(lines, at)
            yield Stretch(at, after, 1.0)
        elif _PIECE.match(line):
            first, after = _piece(lines, at, done)
            yield from (Stretch(first, after, 0.95),) if is_piece(lines[first:after]) else ()
        done = after if after > at + 1 else done
        at = after


def is_bare(lines: Sequence[str], at: int) -> bool:
    """Tell whether a text without its title begins at a line: at its head, or at a GPU above the rows that each has."""
    return at < len(lines) and BARE.match(lines[at]) is not None and any(line.startswith(("Attached GPUs  ", "    Product ")) for line in lines[at:at + 6])


def _piece(lines: Sequence[str], at: int, done: int) -> tuple[int, int]:
    """Return where the indented lines around one begin, behind those that are done, and where they end."""
    first, after = at, at + 1
    while first > done and lines[first - 1].startswith("    "):
        first -= 1
    while after < len(lines) and lines[after].startswith("    "):
        after += 1
    return first, after


def is_piece(lines: Sequence[str]) -> bool:
    """Tell whether lines are a piece from within one GPU, and no rows that were picked from several."""
    return sum(_PIECE.match(line) is not None for line in lines) == 1 and all(line.startswith("    ") for line in lines if line.strip())


def _after_text(lines: Sequence[str], at: int) -> int:
    """Return where a ``-q`` text ends: at the first line that is neither indented nor one of its head."""
    last = at
    while at < len(lines) and lines[at] != FENCE:
        line = lines[at]
        if line.strip():
            if not line.startswith("    ") and not _HEAD.match(line):
                break
            last = at + 1
        at += 1
    return last


def _after_xml(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and lines[at] != FENCE:
        at += 1
        if END in lines[at - 1]:
            break
    return at


def parse_xml(text: str) -> Parsed:
    """Return what a ``-q -x`` document tells."""
    query = parse_query(text)
    facts: dict[str, Any] = {"driver/version": version(query.driver), "cuda/driver": version(query.cuda), "gpus/count": query.attached}
    whole = {gpu.key for gpu in query.gpus}
    begun = _ended(text) if query.cut else ""
    for gpu in parse_query(begun).gpus if begun else query.gpus:
        told = {path: stored(value) for path, value in gpu.facts}
        if gpu.processes is not None and gpu.key in whole:
            told.update(holders(gpu))
        facts.update((f"{fact_path('gpus', gpu.key)}/{path}", value) for path, value in told.items())
    return Parsed({path: value for path, value in facts.items() if value is not None}, notes=(query.cut,) if query.cut else (), volatile=VOLATILE)


def _ended(text: str) -> str:
    """Return a document that was cut within a GPU as one that ends before the section in which it was cut; "" where it was cut elsewhere."""
    start = text.rfind("<gpu id=")
    body = text[start:].rpartition("\n")[0]  # the last line may be a piece
    if start < 0 or "</gpu>" in body:
        return ""
    depth = end = 0
    for tag in _TAG.finditer(body):
        depth += -1 if tag.group(1) else not tag.group(2)
        end = tag.end() if depth == 1 else end
    return f"{text[:start]}{body[:end]}</gpu>{END}" if end else ""


def parse_text(text: str) -> Parsed:
    """Return what a ``-q`` text, or a piece of one, tells."""
    lines = text.splitlines()
    if is_piece(lines):
        return _of_piece(lines)
    head, blocks = _blocks(lines)
    driver = next((head[name] for name in ("KMD Version", "Driver Version") if name in head), None)
    cuda = next((head[name] for name in ("CUDA UMD Version", "CUDA Version") if name in head), None)
    count = int(head["Attached GPUs"]) if head.get("Attached GPUs", "").isdigit() else None
    facts: dict[str, Any] = {"driver/version": version(driver), "cuda/driver": version(cuda), "gpus/count": count}
    is_one_of_many = len(blocks) == 1 and count not in (None, 1)  # ``-i N`` prints one card, and its place tells nothing
    for index, block in enumerate(blocks):
        facts.update(_facts(block, None if is_one_of_many else index, is_last=index == len(blocks) - 1))
    facts.update(_firmware(blocks))
    is_cut = count is not None and (len(blocks) < count or not blocks[-1].has_processes) if blocks else False
    notes = (f"nvidia-smi -q: the text ends inside GPU {len(blocks)} of {count}",) if is_cut else ()
    return Parsed({path: value for path, value in facts.items() if value is not None}, notes=notes, volatile=VOLATILE)


def _of_piece(lines: Sequence[str]) -> Parsed:
    """Return what a piece from within one GPU tells, without the section that it begins in."""
    first = next((at for at, line in enumerate(lines) if _SECTION.match(line)), len(lines))
    _, blocks = _blocks(lines[first:], _Block(""))
    facts = {path: value for path, value in _facts(blocks[0], None, is_last=True) if value is not None}
    return Parsed({**facts, **_firmware(blocks)}, notes=("nvidia-smi -q: a piece from within one GPU",), volatile=VOLATILE)


def _firmware(blocks: Sequence[_Block]) -> dict[str, str]:
    """Return the firmware that runs on the GPUs, as the collector of firmware tells it, where it is one."""
    told = {value for block in blocks for labels, value in block.rows if labels == ("gsp firmware version",) and version(value)}
    return {"firmware/gsp": told.pop()} if len(told) == 1 else {}


def _blocks(lines: Sequence[str], *begun: _Block) -> tuple[dict[str, str], list[_Block]]:
    """Return the head's rows by label, and the GPUs; ``begun``: the one that the first line is of."""
    head: dict[str, str] = {}
    blocks: list[_Block] = [*begun]
    labels: list[str] = []
    for line in lines:
        header = _GPU.match(line)
        if header:
            blocks.append(_Block(header.group(1)))
        row = _ROW.match(line[:1000])
        if row and not blocks and not row.group(1):
            head[row.group(2)] = row.group(3).strip()
        if blocks and not header and line.strip():
            depth = max(1, (len(line) - len(line.lstrip(" "))) // 4)
            label, value = (row.group(2), row.group(3).strip()) if row else (line.strip()[:90], "")
            labels = [*labels[:depth - 1], label.lower()]
            _add(blocks[-1], tuple(labels), value, is_row=row is not None)
    return head, blocks


def _add(block: _Block, labels: tuple[str, ...], value: str, *, is_row: bool) -> None:
    if labels[0] != "processes":
        block.rows.append((labels, value))
        return
    block.has_processes = True
    if labels[-1] == "process id":
        block.processes.append({})
    if is_row and block.processes:
        block.processes[-1][labels[-1]] = value


def _facts(block: _Block, index: int | None, *, is_last: bool) -> Iterator[tuple[str, Any]]:
    """Yield a GPU's facts; of one that was cut, without the section that it ends in."""
    rows = block.rows
    if is_last and not block.has_processes and rows:
        rows = [row for row in rows if row[0][0] != rows[-1][0][0]]
    texts = [*([("pci/pci_bus_id", block.address)] if block.address else []), *((_tags(labels), value) for labels, value in rows if value)]
    texts += [("mig_devices/mig_device", "") for labels, _ in rows if labels == ("mig device",)]
    yield from gpu_facts(element_of(texts), index, _processes(block))


def _processes(block: _Block) -> tuple[Process, ...] | AgentUnknown:
    whole = [one for one in block.processes if "used gpu memory" in one and one.get("process id", "").isdigit()]
    if not block.has_processes or len(whole) < len(block.processes):
        return _CUT
    return tuple(process(one["process id"], one["used gpu memory"], program_name(one.get("name", ""))) for one in whole)


def _tags(labels: tuple[str, ...]) -> str:
    """Return the tag path of ``-q -x`` for a path of labels."""
    exact = _EXACT.get("/".join(labels))
    if exact is not None:
        return exact
    if len(labels) > 1 and re.match(r"clocks (?:event|throttle) reasons\Z", labels[0]):
        name = labels[-1].replace(" ", "_")
        return f"{labels[0].replace(' ', '_')}/clocks_event_reason_{_REASONS.get(name, name)}"
    return "/".join(re.sub(r"[^\w.]+", "_", label) for label in labels)

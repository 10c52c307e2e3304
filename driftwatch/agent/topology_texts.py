"""What ``nvidia-smi topo -m`` and ``nvidia-smi nvlink -s`` print, and SGLang's cached matrix of GPUs that reach each other. Pure text."""
from __future__ import annotations

import json
import re

from .probe import Unknown, Unreadable
from .typed import Any, Dict, List, NamedTuple, Regex

AFFINITIES = ("cpu", "numa", "gpu_numa")
_ANSI = Regex(r"\x1b\[[0-9;]*[A-Za-z]")
_HEADINGS = Regex(r"(CPU|NUMA) Affinity|GPU NUMA ID")
_DEVICE = Regex(r"(?:GPU\d+|NIC\d+|[a-z][\w.-]*\d\w*)\Z")


class Topology(NamedTuple):
    """How devices reach each other, {row: {column: NV18, PIX, SYS …}}, and what each GPU is near, {GPU: {cpu, numa, gpu_numa}}."""

    matrix: Dict[str, Dict[str, str]]
    affinity: Dict[str, Dict[str, str]]


def parse_topology(text: str) -> Topology:
    """Return the matrix that ``nvidia-smi topo -m`` prints, its network cards under their own names. Unreadable where a row is missing or cut."""
    lines = [line.rstrip() for line in _ANSI.sub("", text).splitlines() if line.strip()]
    start = next((at for at, line in enumerate(lines) if line.split()[0] == "GPU0" and _is_header(line)), None)
    if start is None:
        raise Unreadable("nvidia-smi topo -m: no matrix in %r" % text.strip()[:80])
    columns = _cells(_HEADINGS.sub("", lines[start]))
    legend = dict(re.findall(r"^[ \t]*(NIC\d+):\s*(\S+)[ \t]*$", "\n".join(lines), re.MULTILINE))
    rows = {cells[0]: cells[1:] for cells in (_cells(line) for line in lines[start + 1:]) if cells and cells[0] in columns}
    for at, name in enumerate(columns):
        if len([cell for cell in rows.get(name, ())[:len(columns)] if cell]) < len(columns) or rows[name][at] != "X":
            raise Unreadable("nvidia-smi topo -m: cut: no whole row for %s" % name)
    matrix = {legend.get(row, row): {legend.get(column, column): cell for column, cell in zip(columns, rows[row]) if column != row} for row in columns}
    near = {row: [cell for cell in rows[row][len(columns):] if cell] for row in columns}
    return Topology(matrix, {row: dict(zip(AFFINITIES, cells)) for row, cells in near.items() if cells})


def _is_header(line: str) -> bool:
    return all(_DEVICE.match(cell) for cell in _HEADINGS.sub("", line).split())


def _cells(line: str) -> List[str]:
    """Return the cells of a line; tabs part them as nvidia-smi prints it, blanks where the paste lost them."""
    if "\t" not in line.strip():
        return line.split()
    cells = [cell.strip() for cell in line.strip().split("\t")]
    return cells if line.strip().startswith(("GPU", "NIC")) or cells[0] else cells[1:]


def parse_nvlink(text: str) -> Dict[str, Any]:
    """Return for each GPU's UUID {"active", "inactive"} counts of links and "gb_s", the speeds of those that are active; Unknown where it says why not.

    A GPU that has none is left out; where all are inactive it does not say how many there are.
    """
    found: Dict[str, Any] = {}
    for uuid, block in re.findall(r"^GPU \d+: .*?\(UUID: (\S+)\)\s*$(.*?)(?=^GPU \d|\Z)", text, re.MULTILINE | re.DOTALL):
        links = re.findall(r"Link \d+: (?:([\d.]+) GB/s|(<?inactive>?))", block, re.IGNORECASE)
        speeds = sorted({float(speed) for speed, _ in links if speed})
        active = sum(bool(speed) for speed, _ in links)
        if links:
            found[uuid] = {"active": active, "inactive": len(links) - active, "gb_s": speeds}
        elif "all links are inActive" in block:
            found[uuid] = {"active": 0}
        elif block.strip() and "does not have or support" not in block:
            found[uuid] = Unknown("error", "nvidia-smi nvlink -s: %s" % " ".join(block.split())[:200])
    if not re.search(r"^GPU \d+: ", text, re.MULTILINE):
        raise Unreadable("nvidia-smi nvlink -s: %s" % (" ".join(text.split())[:200] or "it printed nothing"))
    return found


def parse_p2p(text: str) -> Dict[str, Any]:
    """Return of SGLang's file {"pairs": how many pairs of GPUs it knows, "refused": those that are told not to reach each other}."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict) or not all(isinstance(value, bool) for value in told.values()):
        raise Unreadable("gpu_p2p_access_cache: no map of pairs to true or false in %r" % text[:80])
    return {"pairs": len(told), "refused": sorted(pair for pair, may in told.items() if not may)}

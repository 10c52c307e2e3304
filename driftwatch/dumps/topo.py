"""``nvidia-smi topo -m``: how GPUs and network cards are linked, by the collector's own parser. Also found inside other dumps.

| path | what |
|---|---|
| topology/matrix, topology/affinity | as the topology collector tells them (agent/collectors/topology.py); unknown where a row was cut |
| topology/nics/NIC | the device's name, from the legend |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.agent.probe import Refusal, fact_path
from driftwatch.agent.topology_texts import parse_topology
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.model import Unknown

_NAME = r"(?:GPU|NIC|mlx|bnxt|irdma|efa|rdma|ib|hfi|bond|roce)\w{0,20}"
_HEADER = re.compile(rf"\s*(?:\x1b\[4m)?\s*GPU0(?:\s+{_NAME})*(?:\s+CPU.*)?\s*\Z")
_ROW = re.compile(rf"\s*{_NAME}(?:\s+(?:X|NV\d+|PIX|PXB|PHB|NODE|SYS|N/A|C2C)(?=\s|\Z)|\s*\Z)")
_NIC = re.compile(r"\s*(NIC\d{1,3}): (\S{1,60})\s*\Z")
_LEGEND = re.compile(r"\s*(?:Legend:|NIC Legend:|(?:X|SYS|NODE|PHB|PXB|PIX|NV#)\s{1,4}= .*)\s*\Z")
_LOOSE = re.compile(r"\s*(?:nodes \(e\.g\.|\(e\.g\.|the CPU\)|NUMA [Nn]ode|Bridge |PCIe |interconnect |\(without |\(typically )")
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST = 4000


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each header with its rows and legend, and each legend of network cards that stands alone."""
    at = 0
    while at < len(lines):
        line = lines[at][:_LONGEST]
        after = at + 1
        if "GPU0" in line and _HEADER.match(_ESCAPE.sub("", line)):
            while after < len(lines) and _is_mine(lines[after]):
                after += 1
            if any(_ROW.match(row[:_LONGEST]) for row in lines[at + 1:after]):
                yield Stretch(at, _without_blanks(lines, after), 0.95)
        elif line.strip() == "NIC Legend:":
            while after < len(lines) and (not lines[after].strip() or _NIC.match(lines[after])) and lines[after] != FENCE:
                after += 1
            yield Stretch(at, _without_blanks(lines, after), 0.9)
        at = after


def _without_blanks(lines: Sequence[str], after: int) -> int:
    while not lines[after - 1].strip():
        after -= 1
    return after


def _is_mine(line: str) -> bool:
    short = line[:_LONGEST]
    return line != FENCE and bool(not line.strip() or _ROW.match(short) or _LEGEND.match(short) or _NIC.match(short) or _LOOSE.match(short))


def parse(text: str) -> Parsed:
    """Return the links and the affinity of each device, and the names of the network cards."""
    cards = [found.groups() for found in map(_NIC.match, text.splitlines()) if found]
    facts: dict[str, Any] = {fact_path("topology", "nics", name): device for name, device in cards}
    if text.lstrip().startswith("NIC Legend:"):
        return Parsed(facts)
    try:
        found = parse_topology(text)
    except Refusal as wrong:
        return Parsed({**facts, "topology/matrix": Unknown("error", str(wrong)), "topology/affinity": Unknown("error", str(wrong))}, notes=(str(wrong),))
    return Parsed({**facts, "topology/matrix": found.matrix, "topology/affinity": found.affinity})


FORMAT = Format(
    name="nvidia-smi", find=find, parse=parse, looks_like="nvidia-smi topo -m", is_nested=True, marks=("GPU0", "NIC Legend:"),
    never_prints=("packages/*", "driver/*", "gpus/*/name", "env/*", "servers/*"),
)

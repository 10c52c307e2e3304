"""The table of ``npu-smi info``: Ascend cards, two rows a chip. The version of the tool that it begins with is not the driver's, and is not told.

| path | what |
|---|---|
| gpus/index-N/name, pci, index | N is the number that the runtime counts by, where a column tells it, else the card's |
| gpus/index-N/memory_total_mib, memory_used_mib | where a column tells HBM; a card without HBM has none |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from driftwatch.agent.gpus import pci_address
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch

_MARKS = ("npu-smi", "| NPU ")
_HEAD = re.compile(r"\s{0,8}\|\s+(?:npu-smi\s+\d|NPU\s+Name\s)")
_TABLE = re.compile(r"\s{0,8}[|+]")
_FIRST = re.compile(r"\s{0,8}\|\s*(?P<card>\d{1,3})\s+(?P<name>\w[\w-]{1,40})\s*\|\s*(?:OK|Warning|Alarm|Critical|UNKNOWN|Unknown|Offline|NA)\s*\|[^|]*\|\s*\Z")
_SECOND = re.compile(
    r"\s{0,8}\|\s*(?P<chip>\d{1,3})(?:\s+(?P<device>\d{1,4}))?\s*\|\s*(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*"
    r"\|(?P<figures>[^|]*)\|\s*\Z")
_USED = re.compile(r"(?P<used>\d{1,9})\s*/\s*(?P<total>\d{1,9})\s*\Z")
_LONGEST = 400


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the tables, from the tool's own line or the heading to the last line of the frame."""
    at = 0
    while at < len(lines):
        after = at + 1
        if _HEAD.match(lines[at][:_LONGEST]):
            while after < len(lines) and lines[after] != FENCE and _TABLE.match(lines[after]):
                after += 1
            yield Stretch(at - bool(at and lines[at - 1].lstrip().startswith("+-")), after, 0.9)
        at = after


def parse(text: str) -> Parsed:
    """Return what the pairs of rows tell; one whose second row is missing tells nothing."""
    lines = [line[:_LONGEST] for line in text.split("\n")]
    has_hbm = any("HBM-Usage(MB)" in line for line in lines)
    facts: dict[str, Any] = {}
    for above, below in pairwise(lines):
        card, chip = _FIRST.match(above), _SECOND.match(below)
        index = (chip["device"] or (card["card"] if int(chip["chip"]) == 0 else "")) if card and chip else ""
        if card and chip and index:
            facts.update(_chip(f"gpus/index-{int(index)}", card["name"], chip, has_hbm=has_hbm))
    return Parsed(facts, volatile=("gpus/*/memory_used_mib",))


def _chip(top: str, name: str, chip: re.Match[str], *, has_hbm: bool) -> Iterator[tuple[str, Any]]:
    yield from ((f"{top}/name", name), (f"{top}/index", int(top.rpartition("-")[2])), (f"{top}/pci", pci_address(chip["pci"])))
    memory = _USED.search(chip["figures"]) if has_hbm else None
    if memory and int(memory["total"]):
        yield from ((f"{top}/memory_total_mib", int(memory["total"])), (f"{top}/memory_used_mib", int(memory["used"])))


FORMAT = Format(
    name="transcript", find=find, parse=parse, looks_like="npu-smi info", marks=_MARKS,
    never_prints=("packages/*", "torch/*", "python/*", "env/*", "servers/*", "os/*", "kernel/*", "driver/*"),
)

"""AMD's cards as ``rocminfo``, ``amd-smi static`` and ``rocm-smi --showproductname`` print them, and the title of ``amd-smi``.

The concise table of ``rocm-smi`` gives ids of devices, which are no names: it tells nothing.

| path | what |
|---|---|
| gpus/index-N/name | rocminfo: the marketing name of the Nth agent that is a GPU; amd-smi: MARKET_NAME; rocm-smi: Card Series |
| gpus/index-N/pci, memory_total_mib | amd-smi's BDF and the size of its VRAM |
| driver/version, kernel/release, rocm/version | of amdgpu, and of the kernel that runs it |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from driftwatch.agent.gpus import pci_address
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.rows import command_of

_AGENT = re.compile(r"\s{0,8}Agent \d{1,3}\s*\Z")
_BEGIN_AMD = re.compile(r"GPU: (?P<index>\d{1,3})\s*\Z")
_SERIES = re.compile(r"\s{0,8}GPU\[(?P<index>\d{1,3})\]\s*:\s*(?P<key>Card [Ss]eries|Card SKU|Card [Mm]odel|Card [Vv]endor)\s*:\s*(?P<value>\S.{0,100}?)\s*\Z")
_SECTION = re.compile(r"\s{2,8}[A-Z][A-Z_]{1,30}:\s*\Z")
_TITLE = re.compile(r"\|\s*AMD-SMI \S{1,60}\s+amdgpu version: (?P<driver>\d[\w.+-]{2,40})(?:\s+ROCm version: (?P<rocm>\d[\w.+-]{2,40}))?(?=[\s|])")
_PAIR = re.compile(r"(?P<indent>\s*)(?P<key>[A-Za-z][\w .-]{0,60}?):(?:\s+(?P<value>\S.{0,200}?))?\s*\Z")
_SIZE = re.compile(r"(?P<size>\d{3,9}) MB\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_MARKS = ("Agent ", "GPU: ", "GPU[", "AMD-SMI ")
_LONGEST = 400
_FEWEST = 2


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each list of agents, each list of cards, each run of a card's names, and each title."""
    at = 0
    while at < len(lines):
        after = at + 1
        line = lines[at][:_LONGEST]
        if _AGENT.match(line):
            after = _end(lines, after, lambda one: one.strip() != "*** Done ***" and not command_of(one))
        elif _BEGIN_AMD.match(line) and after < len(lines) and _SECTION.match(lines[after]):
            after = _end(lines, after, lambda one: one[:1].isspace() or _BEGIN_AMD.match(one) is not None)
        elif _SERIES.match(line):
            after = _end(lines, after, lambda one: _SERIES.match(one) is not None)
        if after - at >= _FEWEST or _TITLE.search(line):
            yield Stretch(at, after, 0.9)
        at = after


def _end(lines: Sequence[str], at: int, goes_on: Callable[[str], bool]) -> int:
    """Return where a run ends, and no blank lines at its end."""
    after = at
    while at < len(lines) and lines[at] != FENCE and (not lines[at].strip() or goes_on(lines[at][:_LONGEST])):
        at += 1
        after = at if lines[at - 1].strip() else after
    return after


def parse(text: str) -> Parsed:
    """Return what one of the layouts tells, by its first line."""
    lines = [line[:_LONGEST] for line in text.split("\n")]
    if _AGENT.match(lines[0]):
        return Parsed(dict(_agents(lines)))
    if _BEGIN_AMD.match(lines[0]):
        return Parsed(dict(_cards(lines)))
    titled = _TITLE.search(lines[0])
    if titled:
        told = {"driver/version": titled["driver"], "rocm/version": titled["rocm"]}
        return Parsed({path: value for path, value in told.items() if value})
    named = [row for row in map(_SERIES.match, lines) if row and row["key"].lower() == "card series" and not _HEX.match(row["value"])]
    return Parsed({f"gpus/index-{int(row['index'])}/name": row["value"] for row in named if row["value"] != "N/A"})


def _agents(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the marketing names of the agents that are GPUs, in their order."""
    index, name = 0, ""
    for line in lines:
        pair = _PAIR.match(line)
        if _AGENT.match(line):
            name = ""
        elif pair and pair["key"] == "Marketing Name":
            name = pair["value"] or ""
        elif pair and pair["key"] == "Device Type" and pair["value"] == "GPU":
            yield from ((f"gpus/index-{index}/name", name),) if name else ()
            index += 1


def _cards(lines: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield what the sections of each card tell."""
    index = section = ""
    for line in lines:
        begun, pair = _BEGIN_AMD.match(line), _PAIR.match(line)
        if begun:
            index, section = begun["index"], ""
        elif pair and pair["value"] is None:
            section = pair["key"]
        elif pair and pair["value"] != "N/A":
            yield from _row(f"gpus/index-{int(index)}", section, pair["key"], pair["value"])


def _row(top: str, section: str, key: str, value: str) -> Iterator[tuple[str, Any]]:
    """Yield the fact that a row of a section tells; the same keys stand in several sections."""
    size = _SIZE.match(value)
    if (section, key) == ("ASIC", "MARKET_NAME") and not _HEX.match(value):
        yield f"{top}/name", value
    elif (section, key) == ("BUS", "BDF"):
        yield f"{top}/pci", pci_address(value)
    elif (section, key) == ("VRAM", "SIZE") and size:
        yield f"{top}/memory_total_mib", int(size["size"])
    elif (section, key) == ("DRIVER", "VERSION"):
        yield "driver/version", value
    elif (section, key) == ("DRIVER", "OS_KERNEL_VERSION"):
        yield "kernel/release", value


FORMAT = Format(
    name="transcript", find=find, parse=parse, looks_like="rocminfo, amd-smi static or rocm-smi", marks=_MARKS,
    never_prints=("packages/*", "torch/*", "python/*", "env/*", "servers/*", "os/*"),
)

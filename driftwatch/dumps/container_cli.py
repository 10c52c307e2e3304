"""``nvidia-container-cli info``: the driver, and a block for each GPU.

| path | what |
|---|---|
| driver/version, cuda/driver | |
| gpus/UUID/{index, name, pci, compute_capability} | |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.agent.gpus import pci_address
from driftwatch.agent.probe import fact_path
from driftwatch.dumps.format import Format, Parsed, Stretch

_ROW = re.compile(
    r"\s{0,4}(?P<key>NVRM version|CUDA version|Device Index|Device Minor|Model|Brand|GPU UUID|Bus Location|Architecture):\s{1,20}(?P<value>\S.{0,120}?)\s*\Z")
_HOST = {"NVRM version": "driver/version", "CUDA version": "cuda/driver"}
_GPU = {"Model": "name", "Architecture": "compute_capability"}
_UUID = re.compile(r"GPU-(?:[0-9a-f]{4,12}-){4}[0-9a-f]{12}\Z")
_VERSION = re.compile(r"\d[\d.]{1,20}\Z")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the rows from the driver's version, or a GPU's number, on."""
    at = 0
    while at < len(lines):
        row, after = _ROW.match(lines[at][:200]), at + 1
        if row and (row["key"] == "Device Index" or (row["key"] == "NVRM version" and _VERSION.match(row["value"]))):
            while after < len(lines) and _ROW.match(lines[after if lines[after].strip() else min(after + 1, len(lines) - 1)][:200]):
                after += 1
            yield Stretch(at, after, 0.9)
        at = after


def parse(text: str) -> Parsed:
    """Return what the rows tell; of a GPU whose UUID was not printed nothing, since its number may not be the driver's."""
    facts: dict[str, Any] = {}
    blocks: list[dict[str, str]] = []
    for row in filter(None, map(_ROW.match, text.split("\n"))):
        key, value = row["key"], row["value"]
        if key in _HOST:
            facts.update({_HOST[key]: value} if _VERSION.match(value) else {})
        elif key == "Device Index" or not blocks:
            blocks.append({key: value})
        else:
            blocks[-1][key] = value
    for block in blocks:
        facts.update(_gpu(block))
    return Parsed(facts)


def _gpu(block: dict[str, str]) -> Iterator[tuple[str, Any]]:
    uuid = block.get("GPU UUID", "")
    if not _UUID.match(uuid):
        return
    top = fact_path("gpus", uuid)
    if block.get("Device Index", "").isdigit():
        yield f"{top}/index", int(block["Device Index"][:6])
    if pci := pci_address(block.get("Bus Location", "")):
        yield f"{top}/pci", pci
    yield from ((f"{top}/{name}", block[key]) for key, name in _GPU.items() if key in block)


FORMAT = Format(
    name="transcript", find=find, parse=parse, looks_like="nvidia-container-cli info", marks=("NVRM version: ", "Device Index: "),
    never_prints=("packages/*", "torch/*", "python/*", "servers/*"))

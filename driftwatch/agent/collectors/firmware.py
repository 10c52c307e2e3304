"""Firmware of the machine and of its GPUs, as files tell it. Asks no device; each GPU's own VBIOS stands with the GPU.

| path | what |
|---|---|
| firmware/{bios,bios_date,bios_vendor} | of the mainboard |
| firmware/{machine,vendor,board} | which machine and which board it is |
| firmware/microcode | of the first processor |
| firmware/gsp | the version of the firmware that runs on the GPUs; several are joined by ", " |
"""
from __future__ import annotations

import re

from ..host import Host
from ..probe import Absent, Fact, Probe, Unknown
from ..typed import Any, Iterator, List

DMI = "/sys/class/dmi/id/"
GPUS = "/proc/driver/nvidia/gpus"
FILES = (
    ("bios", "bios_version"), ("bios_date", "bios_date"), ("bios_vendor", "bios_vendor"), ("machine", "product_name"), ("vendor", "sys_vendor"),
    ("board", "board_name"),
)


def collect(host: Host) -> Iterator[Fact]:
    """Yield the firmware versions that files tell; Absent where none does."""
    is_any = False
    for path, value in _everything(host):
        is_any = True
        yield path, value
    if not is_any:
        raise Absent("no firmware is told: %s, the microcode in /proc/cpuinfo and %s are not there" % (DMI[:-1], GPUS))


def _everything(host: Host) -> Iterator[Fact]:
    for name, file in FILES:
        text = host.try_read(DMI + file)
        if text is not None:
            yield "firmware/" + name, text if isinstance(text, Unknown) else text.strip()
    text = host.attempt(host.head, "/proc/cpuinfo", 1 << 16)
    found = re.search(r"^microcode\s*: *(\S+)", text, re.MULTILINE) if isinstance(text, str) else None
    if found:
        yield "firmware/microcode", found.group(1)
    gsp = _gsp(host)
    if gsp:
        yield "firmware/gsp", gsp


def _gsp(host: Host) -> Any:
    """Return the versions of the firmware that runs on the GPUs, "" where none runs, Unknown where one GPU's file cannot be read."""
    names = host.try_list(GPUS)
    texts: List[Any] = [names] if isinstance(names, Unknown) else [host.try_read("%s/%s/information" % (GPUS, address)) for address in names or ()]
    refused = next((text for text in texts if isinstance(text, Unknown)), None)
    return refused or ", ".join(sorted({parse_gsp(text) for text in texts if text is not None} - {""}))


def parse_gsp(text: str) -> str:
    """Return the version of the firmware that runs on a GPU, from its information file; "" where none runs or it does not tell."""
    found = re.search(r"^GPU Firmware:[ \t]*(\d[\w.]*)", text, re.MULTILINE)
    return found.group(1) if found else ""


PROBES = (
    Probe(
        "firmware", collect, deadline_s=5.0, tells=("firmware", "firmware/*"), reads="/sys/class/dmi/id, /proc/cpuinfo, /proc/driver/nvidia/gpus",
    ),
)

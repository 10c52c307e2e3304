"""What the kernel and ``lspci -vvv`` say of PCI devices: kinds, link speeds, the ports above a device, ACS control bits. Pure text and bytes."""
from __future__ import annotations

import re

from .probe import Unknown, Unreadable
from .typed import Dict, List, Optional, Tuple

GPU_MAKERS = ("0x10de", "0x1002")
ACS_BITS = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
ACS_CAPABILITY = 0x0D
FIRST_CAPABILITY = 0x100
CONTROL = 6  # bytes from the start of the capability to its control register


def kind_of(device_class: str, vendor: str) -> str:
    """Return gpu, nvswitch, nic or nvme for a device that matters by its class (such as ``0x030200``) and its maker, "" for any other."""
    kind = device_class[2:6]
    if (kind[:2] == "03" and vendor in GPU_MAKERS) or kind == "1200":
        return "gpu"
    if kind == "0680" and vendor == "0x10de":
        return "nvswitch"
    return {"0200": "nic", "0207": "nic", "0108": "nvme"}.get(kind, "")


def parse_speed(text: str) -> float:
    """Return a link's speed in GT/s: ``32.0 GT/s PCIe`` and ``8 GT/s`` alike."""
    match = re.match(r"(\d+(?:\.\d+)?) GT/s", text)
    if match is None:
        raise Unreadable("link speed: the kernel says %r" % text.strip()[:40])
    return float(match.group(1))


def parse_width(text: str) -> int:
    """Return how many lanes a link has. 0, 63 and 255 are no widths: the device gave none."""
    told = text.strip()
    if not told.isdigit() or not 0 < int(told) <= 32:
        raise Unreadable("link width: the kernel says %r" % told[:40])
    return int(told)


def upstream_of(path: str) -> List[str]:
    """Return the addresses of the ports above a device, the nearest first, the root port last, from the path of its folder in /sys/devices."""
    parts = re.sub(r"^.*?/(?=pci[0-9a-f]+:)", "", path).split("/")
    return [one for one in reversed(parts[:-1]) if re.fullmatch(r"[^/:]+:[^/:]+:[^/:]+\.[0-7]", one)]


def parse_acs(text: str) -> Dict[str, object]:
    """Return for each device in ``lspci -vvv`` the ACS control bits that are on, Unknown where lspci was refused; devices without ACS are left out."""
    found: Dict[str, object] = {}
    for address, block in re.findall(r"^((?:[^\s:]+:)+[^\s:]+\.[0-7]) (.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL):
        full = address if address.count(":") == 2 else "0000:" + address
        control = re.search(r"ACSCtl:\s*(.*)", block)
        if control is not None:
            found[full] = re.findall(r"(\w+)\+", control.group(1))
        elif "<access denied>" in block:
            found[full] = Unknown("denied", "lspci -vvv: %s: capabilities: access denied: needs root" % full)
    return found


def acs_control(config: bytes) -> Optional[List[str]]:
    """Return the ACS control bits that are on in a device's whole configuration space, None where it has no such capability."""
    where = FIRST_CAPABILITY
    for _ in range(64):
        head = int.from_bytes(config[where:where + 4], "little")
        if head & 0xFFFF == ACS_CAPABILITY:
            control = int.from_bytes(config[where + CONTROL:where + CONTROL + 2], "little")
            return [name for bit, name in enumerate(ACS_BITS) if control >> bit & 1]
        where = head >> 20
        if where < FIRST_CAPABILITY:
            break
    return None


def numbered(text: str) -> Tuple[int, ...]:
    """Return the NUMA node that a device is near, as nothing where the kernel says -1: it has no nodes, or the firmware does not tell."""
    return () if text.strip().startswith("-") else (int(text),)

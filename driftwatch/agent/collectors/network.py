"""Network interfaces as the kernel tells them, and the files from which NCCL takes its settings beside the environment. Sends no packet.

| path | what |
|---|---|
| net/NAME/operstate | up, down, unknown … |
| net/NAME/speed_mbps | as the driver tells it, while the interface is not down |
| net/NAME/mtu | bytes |
| net/NAME/pci | the address of its card |
| net/NAME/carrier_changes (volatile) | how often its link came or went |
| nccl/conf/NAME | a setting of /etc/nccl.conf |
| nccl/home_conf/NAME | a setting of .nccl.conf in the home of those who serve |

Interfaces that software makes for containers and tunnels are left out, bonds are not.
"""
from __future__ import annotations

import re

from ..host import Host
from ..probe import Fact, Probe, Unknown, fact_path
from ..serving_places import homes
from ..typed import Any, Dict, Iterator

TOP = "/sys/class/net"


def collect(host: Host) -> Iterator[Fact]:
    """Yield the state of each interface that is a card or a bond of cards."""
    for name in host.list(TOP):
        folder = TOP + "/" + name
        if name != "lo" and _is_kept(host, folder):
            yield from _interface(host, fact_path("net", name), folder)


def _is_kept(host: Host, folder: str) -> bool:
    """Tell whether an interface is a device, or a bond of devices."""
    where = host.attempt(host.real, folder)
    is_made_by_software = isinstance(where, str) and "/devices/virtual/" in where
    names = host.try_list(folder)
    return isinstance(names, Unknown) or bool(names and not (is_made_by_software and "bonding" not in names))


def _interface(host: Host, top: str, folder: str) -> Iterator[Fact]:
    state = host.try_read(folder + "/operstate")
    if state is not None:
        yield top + "/operstate", state.strip() if isinstance(state, str) else state
    for name in ("mtu", "carrier_changes"):
        text = host.try_read(folder + "/" + name)
        if text is not None:
            yield top + "/" + name, int(text) if isinstance(text, str) and text.strip().isdigit() else text
    there = host.attempt(host.exists, folder + "/device")
    if there:
        yield top + "/pci", there if isinstance(there, Unknown) else _card(host.real(folder + "/device"))
    speed = host.try_read(folder + "/speed") if not isinstance(state, str) or state.strip() != "down" else None
    if speed is not None:
        yield top + "/speed_mbps", _speed(folder, speed)


def _card(path: str) -> str:
    """Return the PCI address in the path of a device: virtio puts a device of its own below it."""
    return next((one for one in reversed(path.split("/")) if re.fullmatch(r"[0-9a-f]+:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", one)), path.rpartition("/")[2])


def _speed(folder: str, text: Any) -> Any:
    if isinstance(text, Unknown):
        return text
    told = text.strip()
    return int(told) if told.isdigit() else Unknown("error", "%s/speed: its driver does not tell it: %s" % (folder, told[:20]))


def collect_nccl(host: Host) -> Iterator[Fact]:
    """Yield NCCL's settings of the whole host, then those of each home."""
    yield from _settings(host, "nccl/conf", "/etc/nccl.conf")
    found, missing = homes(host)
    if missing is not None:
        yield "nccl/home_conf", missing
    for home in found:
        yield from _settings(host, "nccl/home_conf", home + "/.nccl.conf")


def _settings(host: Host, top: str, path: str) -> Iterator[Fact]:
    text = host.try_read(path)
    if isinstance(text, Unknown):
        yield top, text
    for name, value in parse_settings(text).items() if isinstance(text, str) else ():
        yield "%s/%s" % (top, fact_path(name)), host.mask.value(name, value) if host.mask.is_shown(name) else host.mask.text(value)


def parse_settings(text: str) -> Dict[str, str]:
    """Return the settings of a file of ``NAME=VALUE`` lines; what stands behind # is no setting."""
    pairs = (line.partition("#")[0].partition("=") for line in text.split("\n"))
    return {name.strip(): value.strip() for name, mark, value in pairs if mark and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name.strip())}


PROBES = (
    Probe(
        "network", collect, deadline_s=5.0, tells=("net", "net/*"), volatile=("net/*/carrier_changes",), reads="/sys/class/net: cards and bonds",
    ),
    Probe(
        "nccl", collect_nccl, deadline_s=5.0, tells=("nccl/conf", "nccl/conf/*", "nccl/home_conf", "nccl/home_conf/*"),
        reads="/etc/nccl.conf and .nccl.conf in the homes of those who serve", root_shows="files of other users",
    ),
)

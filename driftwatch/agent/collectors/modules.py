"""Kernel modules of the GPU, network and storage stack: which are loaded, in which build, with which parameters. Touches no device.

| path | what |
|---|---|
| modules/NAME/loaded | true; a module that is not loaded has no facts but ``configured`` |
| modules/NAME/{version,srcversion} | of the loaded build: its own number, and the digest of its sources |
| modules/NAME/taint | why it taints the kernel: O out of tree, E unsigned, P proprietary … |
| modules/NAME/state | ``Loading`` or ``Unloading``, where it is on its way |
| modules/NAME/parameters/P | as the module itself tells it |
| modules/NAME/configured | what /etc/modprobe.d orders for its next load: options, ``blacklist`` … |
| modules_other (volatile) | names of all other loaded modules |
"""
from __future__ import annotations

import re

from ..host import Host
from ..probe import Absent, Fact, Probe, Unknown, Unreadable, fact_path
from ..typed import Any, Dict, Iterator, List, NamedTuple, Optional, Regex, Tuple

STACK = Regex(
    r"(?:nvidia|nv_peer|gdrdrv|nouveau|nova|amdgpu|ib_|iw_|rdma|mlx|mst_|rpcrdma|irdma|bnxt|efa|gpu|xpmem|knem|vfio|nvme|nfs|lustre|lnet|ceph|wekafs|beegfs|fuse|overlay|ipmi|iommu)")
BUILT_IN = ("nvidia", "nvidia_uvm", "nvidia_peermem", "nv_peer_mem", "gdrdrv", "ib_core", "mlx5_core", "mlx5_ib")
PARAMETERS = Regex(r"(?:nvidia|nv_peer|gdrdrv|ib_|iw_|rdma|mlx|rpcrdma|vfio|nvme|nfs$|fuse)")
FOLDERS = ("/lib/modprobe.d", "/usr/lib/modprobe.d", "/etc/modprobe.d")  # the later one wins
NVIDIA = "/proc/driver/nvidia/params"


class Module(NamedTuple):
    """One loaded module: its name, its state (``Live``) and its taint flags without brackets."""

    name: str
    state: str
    taint: str


def collect(host: Host) -> Iterator[Fact]:
    """Yield the modules of the stack in the order of their names, then the names of all others; Absent where the kernel shows none."""
    text = host.try_read("/proc/modules", 1 << 20)
    if text is None:
        raise Absent("/proc/modules: no such file: this kernel shows no modules")
    listed = [] if isinstance(text, Unknown) else parse_modules(text)
    if isinstance(text, Unknown):
        yield "modules", text
        yield "modules_other", text
    stack = [one for one in listed + _built_in(host, listed) if STACK.match(one.name)]
    for module in stack:
        yield from _one(host, module)
    yield from _configured(host, [one.name for one in stack])
    if listed:
        yield "modules_other", [one.name for one in listed if not STACK.match(one.name)]


def parse_modules(text: str) -> List[Module]:
    """Return the modules of /proc/modules, sorted by name; a kernel may have none."""
    rows = [line.split() for line in text.splitlines()]
    if any(len(row) < 5 for row in rows):
        raise Unreadable("/proc/modules: cut or no list of modules: %r" % next(line for line in text.splitlines() if len(line.split()) < 5)[:80])
    return sorted(Module(row[0], row[4], row[6].strip("()") if len(row) > 6 else "") for row in rows)


def _built_in(host: Host, listed: List[Module]) -> List[Module]:
    """Return the modules that are part of the kernel itself or that a hidden list keeps from us: /sys knows them."""
    names = {one.name for one in listed}
    return [Module(name, "Live", "") for name in BUILT_IN if name not in names and host.attempt(host.exists, "/sys/module/" + name) is True]


def _one(host: Host, module: Module) -> Iterator[Fact]:
    yield fact_path("modules", module.name, "loaded"), True
    if module.taint:
        yield fact_path("modules", module.name, "taint"), module.taint
    if module.state != "Live":
        yield fact_path("modules", module.name, "state"), module.state
    for what in ("version", "srcversion"):
        text = host.try_read("/sys/module/%s/%s" % (module.name, what))
        if text is not None:
            yield fact_path("modules", module.name, what), text if isinstance(text, Unknown) else text.strip()
    if PARAMETERS.match(module.name):
        yield from _parameters(host, module.name)


def _parameters(host: Host, name: str) -> Iterator[Fact]:
    top = "/sys/module/%s/parameters" % name
    names = host.try_list(top)
    told: Dict[str, Any] = {one: host.try_read(top + "/" + one) for one in names} if isinstance(names, list) else {}
    if name == "nvidia":
        text = host.try_read(NVIDIA)
        told.update(parse_params(text) if isinstance(text, str) else {})
        names = text if isinstance(text, Unknown) else names
    if isinstance(names, Unknown):
        yield fact_path("modules", name, "parameters"), names
    for parameter, value in sorted(told.items()):
        if value is not None:
            yield fact_path("modules", name, "parameters", parameter), value.strip() if isinstance(value, str) else value


def parse_params(text: str) -> Dict[str, str]:
    """Return the parameters that the NVIDIA driver lists, without quotes."""
    return {name: value.strip().strip('"') for name, value in re.findall(r"^(\w+): *(.*)$", text, re.MULTILINE)}


def _configured(host: Host, loaded: List[str]) -> Iterator[Fact]:
    """Yield what is ordered for each module; where a file or a folder cannot be read, that it is unknown of these and of those that are loaded."""
    orders: Dict[str, List[str]] = {}
    refused: Optional[Unknown] = None
    for path, names in _config_files(host):
        text = names if isinstance(names, Unknown) else host.try_read(path)
        refused = text if isinstance(text, Unknown) else refused
        for name, order in parse_modprobe(text) if isinstance(text, str) else ():
            orders.setdefault(name, []).append(order)
    for name in sorted({*orders, *(loaded if refused else ())}):
        yield fact_path("modules", name, "configured"), refused or orders[name]


def _config_files(host: Host) -> List[Tuple[str, Any]]:
    """Return the files that modprobe reads, each with its name; a folder that cannot be listed stands with Unknown."""
    files: Dict[str, Tuple[str, Any]] = {}
    for folder in FOLDERS:
        names = host.try_list(folder)
        if isinstance(names, Unknown):
            files[folder] = (folder, names)
        else:
            files.update((name, (folder + "/" + name, name)) for name in names or () if name.endswith(".conf"))
    return [files[name] for name in sorted(files)]


def parse_modprobe(text: str) -> List[Tuple[str, str]]:
    """Return which module of the stack a modprobe file orders what for: ``options A=1``, ``blacklist``, ``install /bin/false``."""
    lines = (line.split() for line in text.replace("\\\n", " ").splitlines())
    orders = [(words[1].replace("-", "_"), " ".join([words[0], *words[2:]])) for words in lines if words[1:] and words[0] in ORDERS]
    return [(name, order) for name, order in orders if STACK.match(name)]


ORDERS = ("options", "blacklist", "install", "softdep")

PROBES = (
    Probe(
        "modules", collect, deadline_s=5.0, tells=("modules", "modules/*", "modules_other"), volatile=("modules_other",),
        reads="/proc/modules, /sys/module, /proc/driver/nvidia/params, /etc/modprobe.d",
        root_shows="parameters that only root may read",
    ),
)

"""PCI devices that matter (GPUs, NVSwitches, network cards, NVMe drives) and every port between each and the root: what they are and how their links run.

BDF is the kernel's address, ``0000:19:00.0``. Everything is read from sysfs; ``lspci -vvv`` is asked only where a port's configuration space is not there.

| path | what |
|---|---|
| pci_count/{gpu, nvswitch, nic, nvme} | how many the kernel lists |
| pci/BDF/kind | gpu, nvswitch, nic, nvme, or port: it lies above one of these |
| pci/BDF/{class, vendor, device} | hexadecimal, as the kernel writes them |
| pci/BDF/driver | the kernel module that drives it; nothing where none does |
| pci/BDF/numa_node | the NUMA node it is near; nothing where the kernel knows none |
| pci/BDF/upstream | the ports above it, the nearest first, the root port last |
| pci/BDF/link/speed (volatile), speed_max | GT/s; idle GPUs lower the current one, the maximum compares at any time |
| pci/BDF/link/{width, width_max} | lanes |
| iommu/type | how the devices that matter are translated: identity, DMA, DMA-FQ …, a list where they differ; none where there is no IOMMU |
| acs/BDF | of each port above a GPU that has ACS: the control bits that are on, such as ReqRedir (peers then go through the root) |
"""
from __future__ import annotations

from ..host import Host, Ran
from ..pci_texts import acs_control, kind_of, numbered, parse_acs, parse_speed, parse_width, upstream_of
from ..probe import Absent, Fact, Probe, Unknown, fact_path
from ..typed import Any, Dict, Iterator, List, NamedTuple

DEVICES = "/sys/bus/pci/devices"
GROUPS = "/sys/kernel/iommu_groups"
HEADER = 64  # bytes of configuration space that anyone may read
SPACE = 4096
LSPCI = ["lspci", "-vvv"]


class Device(NamedTuple):
    """A device that matters, or a port above one: address, kind, what it is (class, vendor, device) and the ports above it (Unknown: not told)."""

    address: str
    kind: str
    names: Dict[str, Any]
    upstream: Any = ()


def collect(host: Host) -> Iterator[Fact]:
    """Yield how many devices there are, what each is, how its link runs, then the ports above them, and how the IOMMU treats them."""
    devices = _devices(host)
    for kind in ("gpu", "nvswitch", "nic", "nvme"):
        yield "pci_count/" + kind, sum(one.kind == kind for one in devices)
    ports = _ports(host, devices)
    for device in devices + ports:
        yield from _identity(host, device)
    for device in devices + ports:
        yield from _link(host, device.address)
    yield from _iommu(host, devices)


def _devices(host: Host) -> List[Device]:
    """Return the devices that matter, without the virtual functions of others."""
    found = []
    for address in host.list(DEVICES):
        names = _names(host, address)
        kind = kind_of(str(names["class"]), str(names["vendor"]))
        if kind and not isinstance(host.attempt(host.link, "%s/%s/physfn" % (DEVICES, address)), str):
            found.append(Device(address, kind, names, _upstream(host, address)))
    return found


def _names(host: Host, address: str) -> Dict[str, Any]:
    told = {name: host.try_read("%s/%s/%s" % (DEVICES, address, name)) for name in ("class", "vendor", "device")}
    return {name: value.strip() if isinstance(value, str) else value for name, value in told.items()}


def _upstream(host: Host, address: str) -> Any:
    path = host.attempt(host.real, "%s/%s" % (DEVICES, address))
    if isinstance(path, str) and path.startswith(DEVICES):
        return Unknown("not_recorded", "%s: no link, so nothing tells what lies above it" % path)
    return upstream_of(path) if isinstance(path, str) else path


def _ports(host: Host, devices: List[Device]) -> List[Device]:
    known = {one.address for one in devices}
    above = dict.fromkeys(port for one in devices if isinstance(one.upstream, list) for port in one.upstream)
    return [Device(port, "port", _names(host, port), _upstream(host, port)) for port in sorted(above) if port not in known]


def _identity(host: Host, device: Device) -> Iterator[Fact]:
    top = fact_path("pci", device.address)
    yield top + "/kind", device.kind
    for name, value in device.names.items():
        if value is not None:
            yield "%s/%s" % (top, name), value
    driver = host.attempt(host.link, "%s/%s/driver" % (DEVICES, device.address))
    if driver is not None:
        yield top + "/driver", driver.rpartition("/")[2] if isinstance(driver, str) else driver
    node = host.try_read("%s/%s/numa_node" % (DEVICES, device.address))
    for value in numbered(node) if isinstance(node, str) else [node] if node is not None else []:
        yield top + "/numa_node", value
    if device.upstream:
        yield top + "/upstream", device.upstream


def _link(host: Host, address: str) -> Iterator[Fact]:
    """Yield the link's speeds and widths; nothing for a device without a link of its own."""
    for name, file, parse in (
        ("width", "current_link_width", parse_width), ("width_max", "max_link_width", parse_width),
        ("speed_max", "max_link_speed", parse_speed), ("speed", "current_link_speed", parse_speed),
    ):
        text = host.try_read("%s/%s/%s" % (DEVICES, address, file))
        value = host.attempt(parse, text) if isinstance(text, str) else text
        if value is not None:
            yield "%s/link/%s" % (fact_path("pci", address), name), value


def _iommu(host: Host, devices: List[Device]) -> Iterator[Fact]:
    """Yield how the IOMMU treats the devices that matter; nothing where the kernel shows no groups at all."""
    groups = host.try_list(GROUPS)
    if groups is None or isinstance(groups, Unknown) or not groups:
        if groups is not None:
            yield "iommu/type", groups or "none"
        return
    told = [host.try_read("%s/%s/iommu_group/type" % (DEVICES, one.address)) for one in devices]
    silent = [one for one in told if isinstance(one, Unknown)]
    types = sorted({one.strip() for one in told if isinstance(one, str)})
    if silent or types:
        yield "iommu/type", silent[0] if silent else types[0] if len(types) == 1 else types


def collect_acs(host: Host) -> Iterator[Fact]:
    """Yield the ACS bits of every port above a GPU; Absent where there is no GPU."""
    gpus = [one for one in _devices(host) if one.kind == "gpu"]
    if not gpus:
        raise Absent("no GPU among the PCI devices")
    ports = sorted({port for one in gpus if isinstance(one.upstream, list) for port in one.upstream})
    by_lspci: Any = None
    for port in ports:
        config = host.attempt(host.read_bytes, "%s/%s/config" % (DEVICES, port), SPACE)
        if config is None and by_lspci is None:
            by_lspci = _asked_lspci(host)
        bits = _by_config(port, config) if config is not None else by_lspci.get(port) if isinstance(by_lspci, dict) else by_lspci
        if bits is not None:
            yield fact_path("acs", port), bits


def _by_config(port: str, config: Any) -> Any:
    if isinstance(config, Unknown):
        return config
    if config[:2] == b"\xff\xff":
        return Unknown("error", "%s/%s/config: all ones: the port does not answer" % (DEVICES, port))
    if len(config) <= HEADER:
        return Unknown("denied", "%s/%s/config: only its first %d bytes can be read without root" % (DEVICES, port, len(config)))
    return acs_control(config)


def _asked_lspci(host: Host) -> Any:
    """Return the ACS bits by device as lspci prints them, or why it prints none."""
    ran = host.try_run(LSPCI, 8.0)
    if isinstance(ran, Unknown):
        return ran
    if not isinstance(ran, Ran) or ran.rc != 0:
        return Unknown("not_recorded", "ACS: %s" % ("lspci -vvv: exit code %d: %s" % (ran.rc, ran.stderr.strip()[:200]) if ran else "there is no lspci to ask"))
    return parse_acs(ran.stdout)


PROBES = (
    Probe(
        "links", collect, deadline_s=10.0, tells=("pci_count/*", "pci/*", "iommu/*"), volatile=("pci/*/link/speed",),
        reads="/sys/bus/pci/devices: GPUs, NVSwitches, network cards, NVMe drives and the ports above them; /sys/kernel/iommu_groups",
    ),
    Probe(
        "acs", collect_acs, deadline_s=10.0, tells=("acs", "acs/*"),
        reads="the configuration space of the ports above each GPU (lspci -vvv where it is not there)",
        root_shows="ACS bits of the ports above the GPUs",
    ),
)

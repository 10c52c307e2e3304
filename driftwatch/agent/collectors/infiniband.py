"""InfiniBand and RoCE adapters as the kernel tells them: firmware, state, rate and error counters of each port. Runs no command.

| path | what |
|---|---|
| infiniband/DEV/{firmware, hca_type, board_id} | as the adapter says |
| infiniband/DEV/{pci, numa_node} | its address on the bus; the NUMA node it is near |
| infiniband/DEV/ports/N/{state, phys_state, link_layer} | such as ACTIVE, LinkUp, InfiniBand or Ethernet |
| infiniband/DEV/ports/N/rate | such as 400 Gb/sec (4X NDR) |
| infiniband/DEV/ports/N/counters/NAME (volatile) | errors, retries and discards since the driver was loaded, by the kernel's names |
"""
from __future__ import annotations

from ..host import Host
from ..pci_texts import numbered
from ..probe import Fact, Probe, Unknown, fact_path, part
from ..typed import Any, Iterator, List, Tuple

TOP = "/sys/class/infiniband"
SAYS = (("firmware", "fw_ver"), ("hca_type", "hca_type"), ("board_id", "board_id"))
PORT = ("state", "phys_state", "link_layer", "rate")
COUNTERS = (
    ("counters", (
        "link_downed", "link_error_recovery", "symbol_error", "port_rcv_errors", "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors",
        "port_xmit_discards", "port_xmit_constraint_errors", "port_rcv_constraint_errors", "port_xmit_wait", "local_link_integrity_errors",
        "excessive_buffer_overrun_errors", "VL15_dropped")),
    ("hw_counters", (
        "out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err", "implied_nak_seq_err", "out_of_buffer", "rx_icrc_encapsulated",
        "roce_adp_retrans", "roce_adp_retrans_to", "roce_slow_restart")),
)


def collect(host: Host) -> Iterator[Fact]:
    """Yield what each adapter is, then the state of each port, at last the counters, which ask the adapter's firmware."""
    adapters = host.list(TOP)
    for adapter in adapters:
        yield from _adapter(host, adapter)
    ports: List[Tuple[str, str]] = []
    for adapter in adapters:
        top = fact_path("infiniband", adapter, "ports")
        ports += [(top + "/" + part(name), "%s/%s/ports/%s" % (TOP, adapter, name)) for name in (yield from host.names_in("%s/%s/ports" % (TOP, adapter), top))]
    for path, folder in ports:
        for name in PORT:
            yield from _told(path + "/" + name, host.try_read(folder + "/" + name))
    for path, folder in ports:
        yield from _counters(host, path, folder)


def _adapter(host: Host, adapter: str) -> Iterator[Fact]:
    top = fact_path("infiniband", adapter)
    for name, file in SAYS:
        yield from _told(top + "/" + name, host.try_read("%s/%s/%s" % (TOP, adapter, file)))
    there = host.attempt(host.exists, "%s/%s/device" % (TOP, adapter))
    if there:
        yield top + "/pci", there if isinstance(there, Unknown) else host.real("%s/%s/device" % (TOP, adapter)).rpartition("/")[2]
    node = host.try_read("%s/%s/device/numa_node" % (TOP, adapter))
    for value in numbered(node) if isinstance(node, str) else [node] if node is not None else []:
        yield top + "/numa_node", value


def _told(path: str, text: Any) -> Iterator[Fact]:
    """Yield a text without the number that the kernel puts before it (``4: ACTIVE``), Unknown where it could not be read."""
    if text is not None:
        yield path, text if isinstance(text, Unknown) else text.strip().rpartition(": ")[2]


def _counters(host: Host, path: str, folder: str) -> Iterator[Fact]:
    for kind, names in COUNTERS:
        there = yield from host.names_in(folder + "/" + kind, path + "/counters")
        for name in (one for one in names if one in there):
            text = host.try_read("%s/%s/%s" % (folder, kind, name))
            if text is not None:
                yield "%s/counters/%s" % (path, name), int(text) if isinstance(text, str) and text.strip().isdigit() else text


PROBES = (Probe(
    "infiniband", collect, deadline_s=10.0, tells=("infiniband", "infiniband/*"), volatile=("infiniband/*/ports/*/counters", "infiniband/*/ports/*/counters/*"),
    reads="/sys/class/infiniband: adapters, ports, counters"),)

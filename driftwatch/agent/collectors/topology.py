"""How the GPUs and network cards reach each other: the driver's matrix, NVLink, NUMA nodes, and what SGLang once measured and trusts since.

| path | what |
|---|---|
| topology/numa/NODE/{cpus, distances} | the kernel's lists for a NUMA node |
| topology/numa/NODE/memory_total_kib | its memory |
| topology/matrix | {row: {column: NV18, PIX, PXB, PHB, NODE, SYS}}, of ``nvidia-smi topo -m``; network cards by their own names |
| topology/affinity | {GPU: {"cpu", "numa", "gpu_numa"}}, of the same |
| nvlink/UUID/{active, inactive} | how many links |
| nvlink/UUID/gb_s | speeds of the active ones, GB/s a link |
| topology/p2p/FILE | SGLang's cached matrix: {"pairs": known, "refused": pairs of GPUs that it holds to be cut off, such as 0->3} |
"""
from __future__ import annotations

import re

from ..host import Host, Ran
from ..probe import Absent, Fact, Probe, Unknown, fact_path
from ..serving_places import homes
from ..topology_texts import parse_nvlink, parse_p2p, parse_topology
from ..typed import Any, Iterator, List

NODES = "/sys/devices/system/node"
MATRIX = ["nvidia-smi", "topo", "-m"]
NVLINK = ["nvidia-smi", "nvlink", "-s"]
PATIENCE_S = 8.0
P2P = "gpu_p2p_access_cache"


def collect(host: Host) -> Iterator[Fact]:
    """Yield the NUMA nodes, then the matrix."""
    nodes = host.try_list(NODES)
    for name in nodes if isinstance(nodes, list) else []:
        if re.match(r"node\d+$", name):
            yield from _node(host, name)
    if isinstance(nodes, Unknown):
        yield "topology/numa", nodes
    said = _said(host, MATRIX)
    found = host.attempt(parse_topology, said) if isinstance(said, str) else said
    if found is not None:
        yield "topology/matrix", found if isinstance(found, Unknown) else found.matrix
        yield "topology/affinity", found if isinstance(found, Unknown) else found.affinity


def _node(host: Host, name: str) -> Iterator[Fact]:
    top = fact_path("topology", "numa", name[4:])
    for path, file in (("cpus", "cpulist"), ("distances", "distance")):
        text = host.try_read("%s/%s/%s" % (NODES, name, file))
        if text is not None:
            yield "%s/%s" % (top, path), text.strip() if isinstance(text, str) else text
    memory = host.try_read("%s/%s/meminfo" % (NODES, name))
    total = re.search(r"MemTotal:\s+(\d+) kB", memory) if isinstance(memory, str) else None
    if memory is not None:
        yield top + "/memory_total_kib", int(total.group(1)) if total else memory if isinstance(memory, Unknown) else Unknown("error", "no MemTotal")


def _said(host: Host, argv: List[str]) -> Any:
    """Return what nvidia-smi printed, None where there is none, Unknown with its own words where it failed."""
    ran = host.try_run(argv, PATIENCE_S)
    if isinstance(ran, Ran) and ran.rc == 0:
        return ran.stdout
    if isinstance(ran, Ran):
        said = " ".join((ran.stdout + " " + ran.stderr).split())
        return Unknown("error", "%s: exit code %d: %s" % (" ".join(argv), ran.rc, said[:300] or "no text"))
    return ran


def collect_nvlink(host: Host) -> Iterator[Fact]:
    """Yield the state of every GPU's NVLinks; Absent where nvidia-smi names none."""
    said = _said(host, NVLINK)
    found = host.attempt(parse_nvlink, said) if isinstance(said, str) else said
    if isinstance(found, Unknown):
        yield "nvlink", found
    elif not found:
        raise Absent("no NVLink: %s" % ("there is no nvidia-smi" if found is None else "nvidia-smi nvlink -s prints none"))
    for uuid, links in found.items() if isinstance(found, dict) else ():
        top = fact_path("nvlink", uuid)
        if isinstance(links, Unknown):
            yield top, links
        for name, value in links.items() if isinstance(links, dict) else ():
            yield "%s/%s" % (top, name), value


def collect_p2p(host: Host) -> Iterator[Fact]:
    """Yield what SGLang's files in the homes of those who serve say; unknown as a whole where a server's home is."""
    found, missing = homes(host)
    if missing is not None:
        yield "topology/p2p", missing
    for folder in dict.fromkeys(variables.get("SGLANG_CACHE_DIR") or home + "/.cache/sglang" for home, variables in found.items()):
        names: Any = host.try_list(folder)
        if isinstance(names, Unknown):
            yield fact_path("topology", "p2p", folder), names
        for name in names if isinstance(names, list) else []:
            if name.startswith(P2P) and name.endswith(".json"):
                text = host.try_read(folder + "/" + name)
                yield fact_path("topology", "p2p", folder + "/" + name), host.attempt(parse_p2p, text) if isinstance(text, str) else text


PROBES = (
    Probe(
        "topology", collect, deadline_s=10.0, tells=("topology/numa", "topology/numa/*", "topology/matrix", "topology/affinity"),
        reads="/sys/devices/system/node, nvidia-smi topo -m",
    ),
    Probe("nvlink", collect_nvlink, deadline_s=10.0, tells=("nvlink", "nvlink/*"), reads="nvidia-smi nvlink -s"),
    Probe(
        "p2p", collect_p2p, deadline_s=5.0, tells=("topology/p2p", "topology/p2p/*"),
        reads="gpu_p2p_access_cache*.json in ~/.cache/sglang of those who serve", root_shows="files and homes of servers of other users",
    ),
)

"""What any layout of nvidia-smi tells of one GPU, put under the tags of ``-q -x``, so that one table of fields reads them all. Pure; finds no layout itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from driftwatch.agent.collectors.nvml import PROBES
from driftwatch.agent.gpus import IDLE_MIB, Gpu, Process, holder_facts, pci_address
from driftwatch.agent.nvidia_smi import FIELDS
from driftwatch.agent.probe import Unknown as AgentUnknown
from driftwatch.agent.probe import fact_path
from driftwatch.model import Unknown

VOLATILE = tuple(glob for probe in PROBES for glob in probe.volatile)
NEVER_PRINTS = ("packages/*", "torch/*", "python/*", "env/*", "servers/*", "sources/*", "git/*", "os/*", "kernel/*")


def stored(value: Any) -> Any:
    """Return a value of the agent's parsers as dumps tell it: its Unknown as the model's."""
    return Unknown(value.status, value.reason.replace("nvidia-smi -q -x: ", "nvidia-smi: ")) if isinstance(value, AgentUnknown) else value


def element_of(texts: Iterable[tuple[str, str]]) -> Element:
    """Return a GPU's element from pairs of tag path and text; the last part of a path given twice stands twice."""
    top = Element("gpu")
    for path, text in texts:
        *above, name = path.split("/")
        parent = top
        for tag in above:
            found = parent.find(tag)
            parent = SubElement(parent, tag) if found is None else found
        SubElement(parent, name).text = text
    return top


def gpu_facts(element: Element, index: int | None, processes: Any = None) -> Iterator[tuple[str, Any]]:
    """Yield the facts of one GPU by their whole paths. ``processes``: those listed, an Unknown, or None where the layout lists none.

    The key is the UUID, else ``index-N``; a GPU with neither is known by its PCI address.
    """
    uuid = (element.findtext("uuid") or "").strip()
    pci = pci_address(element.findtext("pci/pci_bus_id") or "") or None
    key = uuid if uuid.startswith("GPU-") else f"index-{index}" if index is not None else pci
    if key is None:
        return
    facts = {path: stored(convert(element, tags)) for path, tags, convert in FIELDS}
    if element.find("mig_devices") is None:
        facts["mig/devices"] = None
    used = facts["memory_used_mib"]
    facts.update({"pci": pci, "index": index, "memory_api": "nvidia-smi" if isinstance(used, int) else None})
    if processes is not None:
        facts.update(holders(Gpu(key, pci, (), used if isinstance(used, int) else None, processes)))
    yield from ((f"{fact_path('gpus', key)}/{path}", value) for path, value in facts.items() if value is not None)


def holders(gpu: Gpu) -> Mapping[str, Any]:
    """Return who holds a GPU's memory, by paths below the GPU; unknown where memory is used and nobody is listed, as it is inside a container."""
    if gpu.processes == () and isinstance(gpu.used_mib, int) and gpu.used_mib > IDLE_MIB:
        why = Unknown("not_recorded", f"nvidia-smi lists no process though {gpu.used_mib} MiB are used: inside a container it lists none; ask on the host")
        return {"holders": why, "unattributed_mib": why}
    return {path: stored(value) for path, value in holder_facts(gpu)}


def version(text: str | None) -> str | None:
    """Return a version without the remark behind it; None where there is none."""
    found = re.match(r"\d+(?:\.\d+)+", text or "")
    return found.group() if found else None


def process(pid: str, size: str, name: str) -> Process:
    """Return a process from the texts of its id, its memory (such as ``2566 MiB``) and its name without folder."""
    digits = size.strip().partition("MiB")[0].strip()
    return Process(int(pid), int(digits) if digits.isdigit() else None, name)

"""A GPU as facts tell it, whichever way it was asked: its address, its processes, and the memory that no listed process holds. Pure."""
from __future__ import annotations

import re

from .probe import Fact, Unknown, fact_path
from .typed import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

NOT_VISIBLE = "pid-not-visible"
COMM_LENGTH = 15  # the kernel cuts names there
IDLE_MIB = 64  # what a driver keeps on an idle GPU; one CUDA context alone takes more


class Process(NamedTuple):
    """A process on a GPU: its memory in MiB (None: the driver does not tell it), its name ("" where it is not told)."""

    pid: int
    used_mib: Optional[int]
    name: str = ""


class Gpu(NamedTuple):
    """One GPU: its key in paths, its PCI address, its facts (paths below ``gpus/KEY``), the memory in use in MiB, and its processes."""

    key: str
    pci: Optional[str]
    facts: Tuple[Fact, ...]
    used_mib: Any
    processes: Any


def pci_address(text: str) -> str:
    """Return a PCI address as the kernel writes it: ``00000000:C1:00.0`` is 0000:c1:00.0."""
    return re.sub(r"^0000(?=[0-9a-f]{4}:)", "", text.strip().lower())


def program_name(text: str) -> str:
    """Return a program's own name from the name or command line that the driver tells: no folder, no option; "" where it tells none."""
    first = re.split(r"\s-", text.strip(), maxsplit=1)[0]
    return "" if first.startswith("[") or first == "-" else first.rpartition("/")[2].strip()[:64]


def whole_name(short: str, line: str) -> str:
    """Return the kernel's name of a process, and where that was cut the longer one that begins with it in its title, which is read for such a name alone."""
    longer = program_name(line) if len(short) >= COMM_LENGTH else ""
    return longer if longer.startswith(short) else short


def told_name(process: Process) -> str:
    """Return the name that the driver told with a process."""
    return process.name or NOT_VISIBLE


def holder_facts(gpu: Gpu, name_of: Callable[[Process], str] = told_name, *, is_contained: bool = False) -> Iterator[Fact]:
    """Yield who holds the GPU's memory, and how much of it in MiB no listed process holds (paths below ``gpus/KEY``).

    ``is_contained``: we look from a container, where the driver lists no process of the host, though their memory counts as used.
    """
    if isinstance(gpu.processes, Unknown):
        yield "holders", gpu.processes
        yield "unattributed_mib", gpu.processes
    elif gpu.processes is not None:
        yield from _listed(gpu, name_of, _hidden(gpu) if is_contained else None)


def _listed(gpu: Gpu, name_of: Callable[[Process], str], hidden: Optional[Unknown]) -> Iterator[Fact]:
    if hidden is not None:
        yield "holders", hidden
    for name, processes in _by_name(gpu.processes, name_of):
        sizes = [one.used_mib for one in processes]
        used = None if None in sizes else sum(size for size in sizes if size is not None)
        yield fact_path("holders", name), {"count": len(processes), "used_mib": used, "pids": sorted(one.pid for one in processes)}
    rest = hidden if hidden is not None else unattributed(gpu.used_mib, gpu.processes)
    if rest is not None:
        yield "unattributed_mib", rest


def _by_name(processes: Iterable[Process], name_of: Callable[[Process], str]) -> List[Tuple[str, List[Process]]]:
    named: Dict[str, List[Process]] = {}
    for one in processes:
        named.setdefault(name_of(one), []).append(one)
    return sorted(named.items())


def _hidden(gpu: Gpu) -> Optional[Unknown]:
    """Return why the list of processes is no answer inside a container, None where it accounts for what is used."""
    listed = sum(one.used_mib or 0 for one in gpu.processes)
    if isinstance(gpu.used_mib, int) and gpu.used_mib - listed <= IDLE_MIB:
        return None
    used = "memory may be used" if gpu.used_mib is None or isinstance(gpu.used_mib, Unknown) else "%d MiB are used" % gpu.used_mib
    why = "inside a container the driver does not list the processes outside it; ask on the host"
    return Unknown("denied", "%d processes are listed though %s: %s" % (len(gpu.processes), used, why))


def unattributed(used_mib: Any, processes: Tuple[Process, ...]) -> Any:
    """Return the memory in use that no listed process holds, MiB: Unknown where the size of one is not told, None where the GPU tells no use."""
    if used_mib is None or isinstance(used_mib, Unknown):
        return used_mib
    sizes = [one.used_mib for one in processes if one.used_mib is not None]
    silent = len(processes) - len(sizes)
    if silent:
        return Unknown("not_recorded", "the driver does not tell the size of %d of %d processes" % (silent, len(processes)))
    return used_mib - sum(sizes)

"""How the processors and huge pages are set: governor, boost, threads, idle states, mitigations. Reads small files of /sys only.

Where processors differ, a value is {value: how many processors}.

| path | what |
|---|---|
| cpu/governor, cpu/driver, cpu/epp | frequency governor, its driver, energy preference |
| cpu/frequency_min_khz, frequency_max_khz | bounds that are set |
| cpu/turbo | ``on`` or ``off`` |
| cpu/smt | ``on``, ``off``, ``forceoff``, ``notsupported`` … |
| cpu/online, offline, isolated, nohz_full | lists such as ``0-127`` |
| cpu/idle/{driver,governor} | of idle states |
| cpu/microcode | version |
| cpu/nodes/N | processors of a NUMA node |
| cpu/mitigations | {vulnerability: what the kernel does about it} |
| thp/{enabled,defrag,shmem_enabled,khugepaged_defrag} | transparent huge pages, the word that is chosen |
"""
from __future__ import annotations

import re

from ..host import Host
from ..probe import Absent, Fact, Probe, Unknown
from ..typed import Any, Dict, Iterator, List

TOP = "/sys/devices/system/cpu"
PAGES = "/sys/kernel/mm/transparent_hugepage"
OF_EACH = (
    ("governor", "scaling_governor"), ("driver", "scaling_driver"), ("epp", "energy_performance_preference"), ("frequency_min_khz", "scaling_min_freq"),
    ("frequency_max_khz", "scaling_max_freq"),
)
TEXTS = (
    ("cpu/smt", TOP + "/smt/control"), ("cpu/online", TOP + "/online"), ("cpu/offline", TOP + "/offline"), ("cpu/isolated", TOP + "/isolated"),
    ("cpu/nohz_full", TOP + "/nohz_full"), ("cpu/idle/driver", TOP + "/cpuidle/current_driver"), ("cpu/idle/governor", TOP + "/cpuidle/current_governor_ro"),
    ("cpu/microcode", TOP + "/cpu0/microcode/version"), ("thp/enabled", PAGES + "/enabled"), ("thp/defrag", PAGES + "/defrag"),
    ("thp/shmem_enabled", PAGES + "/shmem_enabled"), ("thp/khugepaged_defrag", PAGES + "/khugepaged/defrag"),
)


def collect(host: Host) -> Iterator[Fact]:
    """Yield how processors are set, then how huge pages are."""
    if not host.exists(TOP) and not host.exists(PAGES):
        raise Absent("%s: no such folder" % TOP)
    for path, file in TEXTS:
        text = host.try_read(file)
        value = parse_chosen(text) if isinstance(text, str) else text
        if value not in (None, ""):
            yield path, value
    yield from _turbo(host)
    yield from _of_each(host)
    yield from _listed(host, "/sys/devices/system/node", r"node(\d+)\Z", "cpu/nodes/%s", "/cpulist")
    found = dict(_listed(host, TOP + "/vulnerabilities", "(.+)", "%s", ""))
    if found:
        yield "cpu/mitigations", next((one for one in found.values() if isinstance(one, Unknown)), found)


def parse_chosen(text: str) -> str:
    """Return the word in brackets of a list of choices, else the text itself."""
    chosen = re.search(r"\[([^\[\]]+)\]", text)
    return chosen.group(1) if chosen else text.strip()


def _turbo(host: Host) -> Iterator[Fact]:
    for file, off in ((TOP + "/intel_pstate/no_turbo", "1"), (TOP + "/cpufreq/boost", "0")):
        text = host.try_read(file)
        if text is not None:
            yield "cpu/turbo", ("off" if text.strip() == off else "on") if isinstance(text, str) else text
            return


def _of_each(host: Host) -> Iterator[Fact]:
    names = host.try_list(TOP)
    folders = [] if isinstance(names, Unknown) else ["%s/%s/cpufreq" % (TOP, name) for name in names or () if re.match(r"cpu\d+\Z", name)]
    for path, file in OF_EACH:
        told = [names] if isinstance(names, Unknown) else [host.try_read("%s/%s" % (folder, file)) for folder in folders]
        values = [value for value in told if value is not None]
        if values:
            yield "cpu/" + path, _together(values)


def _together(values: List[Any]) -> Any:
    """Return the value of all processors, or how many have each; Unknown where one was not told."""
    counts: Dict[Any, int] = {}
    for one in values:
        if isinstance(one, Unknown):
            return one
        text = one.strip()
        counts[text] = counts.get(text, 0) + 1
    only = next(iter(counts))
    return (int(only) if only.isdigit() else only) if len(counts) == 1 else counts


def _listed(host: Host, folder: str, pattern: str, path: str, file: str) -> Iterator[Fact]:
    """Yield what a file below each matching entry of a folder says, under a path made of the entry's name."""
    for name in (yield from host.names_in(folder, path.rpartition("/")[0])):
        match = re.match(pattern, name)
        text = host.try_read("%s/%s%s" % (folder, name, file)) if match else None
        if match and text is not None:
            yield path % match.group(1), text.strip() if isinstance(text, str) else text


PROBES = (Probe(
    "cpu", collect, deadline_s=5.0, tells=("cpu/*", "thp/*"), reads="/sys/devices/system/cpu, /sys/devices/system/node, /sys/kernel/mm/transparent_hugepage"),)

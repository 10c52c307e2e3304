"""How devices reach each other: isolation bits of the ports above GPUs, the IOMMU, the driver's matrix, the peer cache that a server trusts, kernel options."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.pairs import both
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import mark, term
from driftwatch.explain.words import listed, moved, show
from driftwatch.model import plain

_REDIRECTS = re.compile(r"ReqRedir|CmpltRedir|UpstreamFwd|EgressCtrl|SrcValid")
_OF_PATHS = re.compile(r"iommu|pci=|pcie_|acs")
_TRANSLATES = re.compile(r"(?:amd_iommu|intel_iommu|iommu)=(?:\S*,)?(?:on|force|nopt|force_enable|pgtbl_v[12]|strict)(?:,\S*)?|iommu\.passthrough=0")
_LETS_PASS = re.compile(r"(?:amd_iommu|intel_iommu|iommu)=(?:\S*,)?(?:off|pt)(?:,\S*)?|iommu\.passthrough=1")
_OPTIONS = re.compile(r"numa|hugepage|mitigations|isolcpus|nohz|nvidia|nouveau|rd\.driver|module_blacklist|cgroup|memory|mem=|cpu|idle")
_TEXT = re.compile(r"p2p|peer|NCCL|all_?reduce|collective|iommu|DMAR|IO_PAGE_FAULT", re.IGNORECASE)
_LOOKS = {
    "acs": "lspci -vvv | grep -E '^[0-9a-f]|ACSCtl'",
    "iommu": "cat /sys/kernel/iommu_groups/*/type | sort | uniq -c; dmesg | grep -iE 'iommu|DMAR'",
    "topology": "nvidia-smi topo -m; nvidia-smi topo -p2p r",
}


def weigh(case: Case) -> Iterator[Finding]:
    """Yield what moved between devices, one subject for each kind of path."""
    ports = [change for change in case.moved("acs/*") if _REDIRECTS.search(f"{case.known(change.path)}")]
    if ports:
        says = f"isolation bits (ACS) of {len(ports)} of the ports above GPUs moved: {moved(*both(case, ports[0].path))}; redirected peers go by the root"
        yield _evidence(case, "ACS above the GPUs", "isolation moved", says, [change.path for change in ports])
    for change in case.moved("iommu/type"):
        yield _evidence(case, "IOMMU", "isolation moved", f"the IOMMU's translation for the devices moved: {moved(*both(case, change.path))}", [change.path])
    yield from _matrix(case)
    for change in case.moved("topology/p2p/*"):
        says = "what SGLang once measured of peer access, and trusts since, is another"
        yield _evidence(case, f"peer cache {plain(change.path.split('/', 2)[2])}", "peers differ", says, [change.path])
    yield from _kernel_options(case)


def _evidence(case: Case, name: str, weight: str, says: str, facts: list[str]) -> Evidence:
    good, bad = both(case, facts[0])
    terms: list[Term] = [term(weight, says, facts)]
    if _TEXT.search(case.text):
        terms.append(term("text fits", "the error text speaks of peers or collectives"))
    look = Command("confirm", _LOOKS.get(facts[0].split("/")[0], _LOOKS["topology"]))
    return Evidence(
        Subject("topology", name),
        tuple(terms),
        Wording("topology", name, mark(good, bad), show(good), show(bad), f"{says[0].upper()}{says[1:]}.", commands=(look,)),
    )


def _matrix(case: Case) -> Iterator[Finding]:
    good, bad = both(case, "topology/matrix")
    if not isinstance(good, dict) or not isinstance(bad, dict) or not case.has_moved("topology/matrix"):
        return
    pairs = [
        f"{row} to {column} {moved(way, bad[row].get(column))}"
        for row, columns in good.items()
        if isinstance(bad.get(row), dict)
        for column, way in columns.items()
        if column in bad[row] and way != bad[row][column] and row < column and not _is_of_links(case, way, bad[row][column])
    ]
    if pairs:
        yield _evidence(case, "GPU topology", "links cut", f"the way between devices moved: {listed(pairs)}", ["topology/matrix"])


def _is_of_links(case: Case, way: str, now: str) -> bool:
    """Tell whether a way only has another count of NVLinks, and the links that are lost are told by themselves."""
    return all(re.fullmatch(r"NV\d+", str(one)) for one in (way, now)) and case.has_moved("nvlink/*/active")


def _kernel_options(case: Case) -> Iterator[Finding]:
    """Yield the options of the kernel's command line that came or went, beyond the release that it names."""
    good, bad = both(case, "kernel/cmdline")
    if not case.has_moved("kernel/cmdline") or not isinstance(good, str) or not isinstance(bad, str):
        return
    old, new = ({word for word in one.split() if not word.startswith(("BOOT_IMAGE=", "root=", "initrd="))} for one in (good, bad))
    told = [f"- {word}" for word in sorted(old - new)] + [f"+ {word}" for word in sorted(new - old)]
    of_paths = [word for word in told if _OF_PATHS.search(word)]
    others = [word for word in told if word not in of_paths]
    if of_paths:
        is_on = any(_TRANSLATES.fullmatch(word) for word in new - old) or any(_LETS_PASS.fullmatch(word) for word in old - new)
        translates = is_on and not any(_LETS_PASS.fullmatch(word) for word in new)
        says = f"the kernel was started with other options for the devices' paths: {listed(of_paths)}"
        says += "; what devices send to each other is translated now, and goes by the root" if translates else ""
        yield _evidence(case, "IOMMU", "isolation moved" if translates else "kernel options matter", says, ["kernel/cmdline"])
    if others:
        weight = "kernel options matter" if any(_OPTIONS.search(word) for word in others) else "kernel options moved"
        terms = (term(weight, f"the kernel was started with other options: {listed(others)}", ("kernel/cmdline",)),)
        verdict = f"The kernel was started with other options: {listed(others)}."
        look = Command("confirm", "cat /proc/cmdline")
        wording = Wording("kernel", "command line", "~", show(good), show(bad), verdict, commands=(look,))
        yield Evidence(Subject("kernel", "kernel command line"), terms, wording)


RULES = (Rule("device_paths", needs=(), weigh=weigh, blames=("topology", "kernel")),)

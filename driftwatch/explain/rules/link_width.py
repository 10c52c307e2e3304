"""PCIe links and NVLink: width and highest speed compare at any time, the current speed of an idle device never. Only ports on a device's path count."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.compare.change import Change
from driftwatch.explain import devices
from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.pairs import both, numbers
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import term
from driftwatch.explain.words import command, moved, number

_WIDTH = re.compile(r"pci/([^/]+)/link/(width|width_max|speed_max)")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each device whose link became narrower or slower, and each GPU that lost links to its siblings."""
    told: set[str] = set()
    fallen = [(match[1], change) for change in case.moved("pci/*/link/*") if (match := _WIDTH.fullmatch(change.path)) and _fell(case, change)]
    ends = {port for address, _ in fallen for port in (case.value("bad", f"pci/{address}/upstream") or ())[:1]}  # the other end of the same link
    for address, change in fallen:
        if address not in told and address not in ends:
            told.add(address)
            yield _narrower(case, address, change)
    for gpu in devices.every(case):
        address = devices.address(case, gpu)
        for name in ("link/width", "link/generation_max"):
            for change in case.moved(f"gpus/{gpu}/{name}"):
                if address not in told and _fell(case, change):
                    told.add(address)
                    yield _narrower(case, address, change)
    yield from _at_load(case, told)
    yield from _nvlink(case)


def _at_load(case: Case, told: set[str]) -> Iterator[Finding]:
    """Yield each GPU that worked on both sides while it was read, and whose link ran slower on the bad one: an idle link is slow by itself."""
    busy = [gpu for gpu in devices.every(case) if all(devices.is_loaded(case, side, gpu) for side in SIDES)]
    for gpu in busy:
        path, address = f"gpus/{gpu}/link/generation", devices.address(case, gpu)
        good, bad = numbers(case, path)
        if good is None or bad is None or bad >= good or address in told:
            continue
        says = f"the link of GPU {address} runs at PCIe generation {bad:.0f} under load, and ran at {good:.0f}"
        others = [number(case.value("bad", f"gpus/{one}/link/generation")) for one in busy if one != gpu]
        terms = [term("slower link", says, (path,))]
        if others and all(one is not None and one > bad for one in others):
            terms.append(term("one device of many", "its siblings run faster", (path,)))
        look = Command("confirm", f"lspci -s {command([address])} -vvv | grep -E 'LnkCap|LnkSta|LnkCtl2'", "while the GPU works")
        wording = Wording("PCIe link", f"{address} generation", "~", f"{good:.0f}", f"{bad:.0f}", f"{says[0].upper()}{says[1:]}.", commands=(look,))
        yield Evidence(Subject("pcie-link", f"GPU {address} link"), tuple(terms), wording)


def _fell(case: Case, change: Change) -> bool:
    good, bad = numbers(case, change.path)
    return good is not None and bad is not None and bad < good


def _narrower(case: Case, address: str, change: Change) -> Evidence:
    good, bad = both(case, change.path)
    what = change.path.rsplit("/", 1)[1]
    is_width = what.startswith("width")
    kind = case.value("bad", f"pci/{address}/kind")
    title = {"gpu": "GPU", "nic": "network card", "nvme": "drive", "nvswitch": "NVSwitch", "port": "port above a device"}.get(
        str(kind), "GPU" if change.path.startswith("gpus/") else "device"
    )
    told = f"x{good} → x{bad}" if is_width else moved(good, bad)
    says = f"the link of {title} {address} is {'narrower' if is_width else 'slower'}: {told}"
    terms = (term("narrower link" if is_width else "slower link", says, (change.path,)), *_below_siblings(case, address, change.path))
    commands = (
        Command("confirm", f"lspci -s {command([address])} -vvv | grep -E 'LnkCap|LnkSta'; dmesg | grep {command([address])}"),
        Command("look", "# seat the card or its riser again, or try another slot: a reboot may restore the width"),
    )
    wording = Wording("PCIe link", f"{address} {what.replace('_', ' ')}", "~", good, bad, f"{says[0].upper()}{says[1:]}.", commands=commands)
    return Evidence(Subject("pcie-link", f"{title} {address} link"), terms, wording)


def _below_siblings(case: Case, address: str, path: str) -> Iterator[Term]:
    """Yield that the siblings of one kind run wider: an outlier needs no baseline."""
    kind, mine = case.value("bad", f"pci/{address}/kind"), number(case.value("bad", path))
    others = [
        number(value)
        for other, value in case.below("bad", "pci")
        if other.endswith("/link/width") and other.split("/")[1] != address and case.value("bad", f"pci/{other.split('/')[1]}/kind") == kind
    ]
    if kind and mine is not None and others and all(other is not None and other > mine for other in others):
        yield term("one device of many", "its siblings run wider", (path,))


def _nvlink(case: Case) -> Iterator[Finding]:
    lost = [gpu for gpu in devices.every(case) if _links(case, "bad", gpu) is not None and (_links(case, "good", gpu) or 0) > (_links(case, "bad", gpu) or 0)]
    if lost:
        good, bad = numbers(case, f"nvlink/{lost[0]}/active")
        name = f"{devices.titled(case, lost)} NVLink"
        terms = (term("links cut", f"active NVLinks {moved(good, bad)}", [f"nvlink/{gpu}/active" for gpu in lost]),)
        look = Command("confirm", "nvidia-smi nvlink -s; dmesg | grep -iE 'nvlink|sxid'")
        yield Evidence(Subject("topology", name), terms, Wording("NVLink", name, "~", good, bad, f"{name}: active links {moved(good, bad)}.", commands=(look,)))


def _links(case: Case, side: SideName, gpu: str) -> float | None:
    return number(case.value(side, f"nvlink/{gpu}/active"))


RULES = (Rule("link_width", needs=(), weigh=weigh, blames=("pcie-link", "topology")),)

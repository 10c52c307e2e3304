"""Firmware: of the mainboard, of the processors, of each GPU. It moves seldom, takes effect with a boot, and no package list shows it."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.explain import devices
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.pairs import both
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import term
from driftwatch.explain.words import moved

_OF_HOST = {"firmware/bios": "BIOS", "firmware/microcode": "microcode", "firmware/gsp": "GPU system processor firmware"}


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each firmware that moved; that of the GPU's own processor follows the driver and is told with it."""
    for change in case.moved(*_OF_HOST):
        good, bad = both(case, change.path)
        if good is not None and bad is not None:
            name = _OF_HOST[change.path]
            look = Command("confirm", "cat /sys/class/dmi/id/bios_version; grep -m1 microcode /proc/cpuinfo")
            terms = [term("firmware moved", f"another {name}: {moved(good, bad)}", (change.path,))]
            line = devices.without_room(case) if name == "BIOS" else ""
            if line:
                says = f"the kernel had no room for a card's memory, which the BIOS lays out (above 4 GiB, resizable BAR): {line}"
                terms.append(term("no room for a card", says, (devices.PCIE_LOG,)))
            verdict = f"Another {name} runs, {moved(good, bad)}{'; look there for above-4G decoding and resizable BAR' if line else ''}."
            yield Evidence(Subject("firmware", name), tuple(terms), Wording("firmware", name, "~", good, bad, verdict, commands=(look,)))
    changes = [change for change in case.moved("gpus/*/vbios") if change.kind == "changed"]
    if changes:
        gpus = [change.path.split("/")[1] for change in changes]
        good, bad = both(case, changes[0].path)
        name = f"{devices.titled(case, gpus)} VBIOS"
        of_cards = (term("firmware moved", f"another VBIOS: {moved(good, bad)}", [change.path for change in changes]),)
        look = Command("confirm", "nvidia-smi --query-gpu=pci.bus_id,vbios_version --format=csv")
        yield Evidence(Subject("firmware", name), of_cards, Wording("firmware", name, "~", good, bad, commands=(look,)))


RULES = (Rule("firmware_moved", needs=(), weigh=weigh, blames=("firmware",)),)

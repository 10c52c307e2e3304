"""GPUs that are there no more: counted on the bus, by the driver and by NVML. Where the whole driver is gone, that is told elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.explain import devices
from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.explanation import Command, RuledOut, Subject, Term
from driftwatch.explain.pairs import both, numbers
from driftwatch.explain.rule import Doubt, Evidence, Finding, Rule, Wording
from driftwatch.explain.rules.driver_pair import moved_module
from driftwatch.explain.terms import term
from driftwatch.explain.words import count, listed, number

_BUS, _NVML, _KERNEL = "pci_count/gpu", "gpus/count", "nvml/listed_by_kernel"


def weigh(case: Case) -> Iterator[Finding]:
    """Yield the GPUs that the good side lists and the bad one does not, views that differ inside one host, or that all are there."""
    gone = _gone(case)
    if gone:
        yield _missing(case, gone)
        return
    before, now = numbers(case, _BUS)
    if before is not None and now is not None and now < before:
        yield _off_the_bus(case, before, now)
    else:
        yield from _views(case)


def _gone(case: Case) -> list[str]:
    """Return the GPUs that only the good side tells, while the bad side's NVML answered and its driver is loaded."""
    many, before = number(case.value("bad", _NVML)), number(case.value("good", _NVML))
    if many is None or before is None or many >= before or case.value("bad", "driver/module/version") is None:
        return []
    there = {path.split("/")[1] for path, _ in case.below("bad", "gpus") if path.count("/") > 1}
    return [gpu for gpu in devices.every(case) if gpu not in there]


def _missing(case: Case, gone: list[str]) -> Evidence:
    addresses = [devices.address(case, gpu) for gpu in gone]
    on_bus = number(case.value("bad", _BUS))
    before = number(case.value("good", _BUS))
    fell = on_bus is not None and before is not None and on_bus < before
    says = f"{count(len(gone), 'GPU')} of {case.value('good', _NVML)} {'is' if len(gone) == 1 else 'are'} gone: {listed(addresses)}"
    terms: list[Term] = [term("device is gone", says, [_NVML, *(f"gpus/{gpu}/pci" for gpu in gone)])]
    if fell:
        terms.append(term("repair pending", f"the bus lists {on_bus:g} GPUs, and listed {before:g}: it is no matter of the driver", (_BUS,)))
    elif case.value("bad", _NVML) == 0 and (other := moved_module(case)):
        terms.append(term("follows the driver", "the driver's module is another than on the good side, and drives no GPU at all", other))
    elif (line := devices.without_room(case)) and (other := [change.path for change in case.moved("firmware/bios", "kernel/cmdline")]):
        terms.append(term("follows the firmware", f"the kernel had no room for its memory, which firmware and kernel options lay out: {line}", other))
    commands = (
        Command("confirm", "nvidia-smi -L; lspci -d 10de: | grep -iE '3d|vga'; dmesg | grep -iE 'xid|fallen off'"),
        Command("look", "# power the host off and on: a reboot alone does not always bring a device back"),
    )
    wording = Wording("GPU", f"GPU {addresses[0]}", "-", f"{case.value('good', _NVML)} GPUs", f"{case.value('bad', _NVML)} GPUs", f"{says}.", commands=commands)
    return Evidence(Subject("gpu", f"GPU {listed(addresses, 3)}"), tuple(terms), wording)


def _off_the_bus(case: Case, before: float, now: float) -> Evidence:
    """Return that the bus lists fewer GPUs, where NVML does not tell which."""
    there = {path.split("/")[1] for path, value in case.below("bad", "pci") if path.endswith("/kind") and value == "gpu"}
    gone = [path.split("/")[1] for path, value in case.below("good", "pci") if path.endswith("/kind") and value == "gpu" and path.split("/")[1] not in there]
    says = f"the bus lists {now:g} GPUs, and listed {before:g}{f': {listed(gone)} gone' if gone else ''}"
    look = Command("confirm", "lspci -d 10de: | grep -iE '3d|vga'; dmesg | grep -iE 'xid|fallen off|pcieport'")
    name = f"GPU {listed(gone, 3)}" if gone else "GPUs missing on the bus"
    wording = Wording("GPU", "GPUs on the bus", "-", *both(case, _BUS), f"{says[0].upper()}{says[1:]}.", commands=(look,))
    return Evidence(Subject("gpu", name), (term("device is gone", says, (_BUS,)),), wording)


def _views(case: Case) -> Iterator[Finding]:
    """Yield that bus, driver and NVML list another number of GPUs inside one host."""
    odd = {side: _differ(case, side) for side in SIDES}
    if odd["bad"] and odd["good"]:
        yield Doubt(f"on the good side NVML already listed fewer GPUs than the bus: {odd['good']}", (_BUS, _NVML))
    elif odd["bad"] and case.value("bad", "driver/module/version") is not None:
        name = "pair broke" if case.known(_BUS) is not None and case.known(_NVML) is not None else "pair broke, before unknown"
        look = Command("confirm", "nvidia-smi -L; lspci -d 10de: | grep -iE '3d|vga'; ls /dev/nvidia*; dmesg | grep -iE 'xid|nvrm'")
        says = f"NVML lists fewer GPUs than the bus: {odd['bad']}"
        good, bad = both(case, _NVML)
        yield Evidence(
            Subject("gpu", "GPUs that NVML does not list"),
            (term(name, says, (_BUS, _NVML)),),
            Wording("GPU", "GPUs in NVML", "!", good, bad, f"{says}.", commands=(look,)),
        )
    elif (
        case.known(_NVML) is not None
        and case.known(_BUS) is not None
        and case.value("bad", _NVML) == case.value("bad", _BUS) is not None
        and not case.has_moved(_NVML, _BUS)
    ):
        yield RuledOut(Subject("gpu", "number of GPUs"), f"{case.value('bad', _NVML)} on the bus and in NVML, on both sides", (_BUS, _NVML))


def _differ(case: Case, side: SideName) -> str:
    bus, nvml = (number(case.value(side, path)) for path in (_BUS, _NVML))
    return f"{nvml:g} of {bus:g}" if bus is not None and nvml is not None and 0 < nvml < bus else ""


RULES = (Rule("gpu_missing", needs=(), weigh=weigh, blames=("gpu",)),)

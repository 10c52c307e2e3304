"""Errors of one GPU: counters that only ever grow, rows that were replaced, and the faults (Xid) that the driver wrote into the kernel's log.

A count that is equal on both sides speaks for the device. The device that errs is named; a reinstall does not help it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from driftwatch.explain import devices
from driftwatch.explain.case import SIDES, Case
from driftwatch.explain.explanation import Command, RuledOut, Subject, Term
from driftwatch.explain.pairs import good_or
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, term
from driftwatch.explain.words import count, listed, number

COUNTERS = (
    "ecc/aggregate_uncorrected",
    "ecc/aggregate_corrected",
    "ecc/volatile_uncorrected",
    "ecc/volatile_corrected",
    "remapped_rows/uncorrected",
    "remapped_rows/corrected",
    "retired_pages/*",
)
_MANY = 100  # so many corrected errors in between are no chance hits
_IN_WORDS = {
    "ecc/aggregate_uncorrected": "uncorrected memory errors",
    "ecc/aggregate_corrected": "corrected memory errors",
    "remapped_rows/uncorrected": "rows replaced after uncorrected errors",
    "remapped_rows/corrected": "rows replaced after corrected errors",
}
OF_PROGRAMS = frozenset({"13", "31", "32", "43", "45", "68", "69"})  # a kernel or a program may make these, on a healthy device
OF_MEMORY = frozenset({"48", "63", "64", "92", "94", "95", "140", "160", "171", "172"})


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each GPU whose errors grew or that faulted, or that all counters stand still."""
    found = {gpu: (grown, faults) for gpu in devices.every(case) if any((grown := _grown(case, gpu), faults := _faults(case, gpu)))}
    for gpu, (grown, faults) in found.items():
        yield _evidence(case, gpu, grown, faults)
    yield from _lost_devices(case, set(found))
    if not found:
        yield from _still(case)


def _grown(case: Case, gpu: str) -> list[tuple[str, float, float]]:
    """Return the counters of a GPU that are higher than on the good side: name, before, now. Those of this boot alone do not compare over one."""
    grown = []
    for path in sorted(
        {path for side in SIDES for path, _ in case.under(side, f"gpus/{gpu}") if path.split("/", 2)[2].startswith(("ecc/agg", "remapped_rows", "retired"))}
    ):
        both = case.known(path)
        before, now = (number(one) for one in both) if both is not None else (None, None)
        if before is not None and now is not None and now > before:
            grown.append((path.split("/", 2)[2], before, now))
    return grown


def _faults(case: Case, gpu: str) -> dict[str, int]:
    """Return how often the kernel's log tells each Xid of a GPU, where the good side's told fewer."""
    return _faults_at(case, devices.address(case, gpu))


def _faults_at(case: Case, address: str) -> dict[str, int]:
    found = {}
    for path, value in case.under("bad", f"kernel_log/xid/{address}"):
        before = number(case.value("good", path)) or 0
        if (number(value) or 0) > before:
            found[path.rsplit("/", 1)[1]] = int(number(value) or 0)
    return found


def _lost_devices(case: Case, told: set[str]) -> Iterator[Finding]:
    """Yield faults of devices that no side lists as a GPU: what fell off the bus is listed no more."""
    known = {devices.address(case, gpu) for gpu in devices.every(case)} | told
    addresses = sorted({path.split("/")[2] for path, _ in case.below("bad", "kernel_log") if path.startswith("kernel_log/xid/") and path.count("/") == 3})
    for address in addresses:
        faults = _faults_at(case, address)
        if address not in known and faults:
            terms = tuple(_of_log(case, address, faults))
            name, good, bad = f"GPU {address}", _before(case, address, faults), _xids(faults)
            yield Evidence(Subject("gpu", name), terms, Wording("GPU", name, "+", good, bad, f"{name} faulted: {bad}.", commands=_looks(address)))


def _evidence(case: Case, gpu: str, grown: Sequence[tuple[str, float, float]], faults: dict[str, int]) -> Evidence:
    address = devices.address(case, gpu)
    is_memory = bool(grown) or bool(OF_MEMORY & set(faults))
    subject = Subject("ecc" if is_memory else "gpu", f"GPU {address}" + (" memory errors" if is_memory else ""))
    told = [f"{_IN_WORDS.get(name, name.replace('/', ' '))} {before:,.0f} → {now:,.0f}" for name, before, now in grown]
    verdict = f"GPU {address} is failing: {listed([*told, *([_xids(faults)] if faults else [])])}."
    good, bad = (f"{grown[0][1]:,.0f}", f"{grown[0][2]:,.0f}") if grown else (_before(case, address, faults), _xids(faults))
    fact = f"{address} {_IN_WORDS.get(grown[0][0], grown[0][0])}" if grown else f"{address} faults"
    terms = (*_of_counters(case, gpu, grown, told), *_of_log(case, address, faults), *_alone(case, gpu, grown), *_off_path(case, gpu))
    return Evidence(subject, terms, Wording("GPU", fact, "~", good, bad, verdict, commands=_looks(address)))


def _of_counters(case: Case, gpu: str, grown: Sequence[tuple[str, float, float]], told: list[str]) -> Iterator[Term]:
    if grown:
        facts = [f"gpus/{gpu}/{name}" for name, *_ in grown]
        yield term("errors grew", f"{listed(told)}: these counters only grow, and no software resets them", facts)
        if all("uncorrected" not in name and now - before < _MANY for name, before, now in grown):
            yield term("few corrected errors", "few, and corrected: a healthy device has some", facts)
    for name in ("remapped_rows/pending", "remapped_rows/failure"):
        path = f"gpus/{gpu}/{name}"
        if case.has_moved(path) and case.value("bad", path) in (True, "Yes"):
            yield term(
                "repair pending", f"{name.split('/')[1]} of row replacement: it needs a reset{', or a new device' if 'failure' in name else ''}", (path,)
            )


def _facts(address: str, faults: dict[str, int]) -> list[str]:
    return [f"kernel_log/xid/{address}/{name}" for name in sorted(faults, key=int)]


def _before(case: Case, address: str, faults: dict[str, int]) -> str:
    """Return in words what the good side's log tells of these faults."""
    return good_or(case, "no fault logged", *_facts(address, faults), less="fewer faults logged")


def _of_log(case: Case, address: str, faults: dict[str, int]) -> Iterator[Term]:
    if not faults:
        return
    facts = _facts(address, faults)
    yield term("fault logged", f"the kernel's log tells {_xids(faults)} for it; on the good side: {_before(case, address, faults)}", facts)
    yield from before_unknown(case, "it faulted", *facts)
    if set(faults) <= OF_PROGRAMS:
        yield term("fault of programs", "of a kind that a program makes on a healthy device too", facts)
    if re.search(rf"Xid|{re.escape(address[-7:])}", case.text, re.IGNORECASE) and case.text:
        yield term("text names it", "the error text speaks of it")


def _alone(case: Case, gpu: str, grown: Sequence[tuple[str, float, float]]) -> Iterator[Term]:
    others = [other for other in devices.every(case) if other != gpu]
    are_told = all(case.known(f"gpus/{other}/{name}") is not None for other in others for name, *_ in grown)
    if grown and others and are_told and not any(_grown(case, other) or _faults(case, other) for other in others):
        yield term(
            "one device of many",
            "the one beside it has none" if len(others) == 1 else f"the {len(others)} others beside it have none",
            [f"gpus/{gpu}/{grown[0][0]}"],
        )


def _off_path(case: Case, gpu: str) -> Iterator[Term]:
    """Yield that no process was seen on this GPU on either side, while others had some: the server does without it."""
    used = {path.split("/")[1] for side in SIDES for path, _ in case.below(side, "gpus") if "/holders/" in path}
    if used and gpu not in used and case.known(f"gpus/{gpu}/holders/any") is not None:
        yield term("off the server's path", "no process was seen on it on either side: the server does not use it", (f"gpus/{gpu}/pci",))


def _xids(faults: dict[str, int]) -> str:
    return "Xid " + listed((f"{name}{f' ({many} times)' if many > 1 else ''}" for name, many in sorted(faults.items(), key=lambda one: int(one[0]))), 6)


def _looks(address: str) -> tuple[Command, ...]:
    return (
        Command("confirm", f"nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT -i {address}; dmesg | grep -i xid"),
        Command("look", "# once nothing runs on the GPUs: dcgmi diag -r 3", "an active test of the memory and the link; it needs the GPUs for itself"),
        Command(
            "try", "# serve without this GPU (CUDA_VISIBLE_DEVICES), or after a reset: nvidia-smi --gpu-reset -i " + address, "as root, with no process on it"
        ),
    )


def _still(case: Case) -> Iterator[Finding]:
    paths = [path for gpu in devices.every(case) for path, _ in case.under("bad", f"gpus/{gpu}") if path.split("/", 2)[2] in COUNTERS[:2] + COUNTERS[4:6]]
    values = [case.known(path) for path in paths]
    if paths and all(both is not None and both[0] == both[1] for both in values) and case.known("kernel_log/xid") == (None, None):
        says = f"{count(len(paths), 'error counter')} of the GPUs stand where they stood, and the kernel's log tells no fault"
        yield RuledOut(Subject("ecc", "memory errors of the GPUs"), says, (*paths, "kernel_log/xid"))


RULES = (Rule("device_faults", needs=("gpus/*/ecc|gpus/*/remapped_rows|kernel_log/xid",), weigh=weigh, blames=("ecc", "gpu")),)

"""Modes of a card that somebody sets and that outlast him: who may use it at a time (compute mode), whether its memory corrects errors (ECC mode).

Also whether a virtual one has its license, without which the driver slows it down. MIG, persistence and power limits are other rules'.
What a mode does depends on how the failure shows: a card that refuses is never slow for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain import devices
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.holders import foreign_on
from driftwatch.explain.pairs import both
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import term
from driftwatch.explain.words import listed, moved

COMPUTE, ECC = "compute_mode", "ecc/current"
_OPEN = "Default"
_REFUSED = re.compile(
    r"busy or unavailable|devices? (?:are|is) (?:all )?(?:busy|in use)|devices?_?unavailable|exclusive.(?:process|thread|mode)|compute.mode|prohibited"
    r"|no CUDA-capable device", re.IGNORECASE)
_NEVER = ("slow", "wrong-output", "accuracy")  # classes that no refusal makes
_OF_ECC = {"Disabled": ("wrong-output", "accuracy", "runtime-crash"), "Enabled": ("oom", "slow")}
_ECC_SAYS = {"Disabled": "errors of its memory go unnoticed now", "Enabled": "it takes a part of the memory and of its speed"}
_OPTIONS = {"Default": "0", "Exclusive_Process": "3", "Prohibited": "2"}
_LOOK = "nvidia-smi --query-gpu=pci.bus_id,compute_mode,ecc.mode.current --format=csv; nvidia-smi --query-compute-apps=pid,name --format=csv"


def weigh(case: Case) -> Iterator[Finding]:
    """Yield the compute mode and the ECC mode that moved, cards that moved alike as one subject."""
    for mode in (COMPUTE, ECC):
        alike: dict[tuple[str, str], list[str]] = {}
        for change in case.moved(f"gpus/*/{mode}"):
            good, bad = both(case, change.path)
            if isinstance(good, str) and isinstance(bad, str):
                alike.setdefault((good, bad), []).append(change.path.split("/")[1])
        for (good, bad), gpus in alike.items():
            yield _compute(case, gpus, good, bad) if mode == COMPUTE else _ecc(case, gpus, good, bad)
    lost = [change.path for change in case.moved("gpus/*/license") if both(case, change.path) == ("Licensed", "Unlicensed")]
    if lost:
        yield _unlicensed(case, lost)


def _compute(case: Case, gpus: list[str], good: str, bad: str) -> Evidence:
    name = f"compute mode of {devices.titled(case, gpus)}"
    set_it = f"nvidia-smi -i {','.join(devices.address(case, gpu) for gpu in gpus)} -c"
    commands = (
        Command("confirm", _LOOK, "the mode, and who is on the card"),
        Command("try", f"{set_it} {_OPTIONS.get(good, good.upper())}", "as root; until the next boot"),
        Command("undo", f"{set_it} {_OPTIONS.get(bad, bad.upper())}", "as root"),
    )
    verdict = f"The {name} is {bad}, and was {good}{': one process at a time may use it' if bad.startswith('Exclusive') else ''}."
    return Evidence(Subject("gpu", name), tuple(_compute_terms(case, gpus, good, bad)), Wording("GPU mode", name, "~", good, bad, verdict, commands=commands))


def _compute_terms(case: Case, gpus: list[str], good: str, bad: str) -> Iterator[Term]:
    facts = [f"gpus/{gpu}/{COMPUTE}" for gpu in gpus]
    if bad == _OPEN or case.klass in _NEVER:
        yield term("moved", f"it moved, {moved(good, bad)}", facts)
        return
    may = "no process may use it" if bad == "Prohibited" else "one process at a time may use it"
    yield term("compute mode restricts", f"it moved, {moved(good, bad)}: {may}, and it was open to many", facts)
    others = [holder for holder in foreign_on(case, "bad") if holder.gpu in gpus]
    if others and bad != "Prohibited":
        says = f"another process is on it: {listed(dict.fromkeys(holder.name for holder in others))}"
        yield term("card in use already", says, [holder.path for holder in others])
    if _REFUSED.search(case.text):
        yield term("text fits", "the error text is that of a card that takes no further process", facts)


def _ecc(case: Case, gpus: list[str], good: str, bad: str) -> Evidence:
    name = f"ECC mode of {devices.titled(case, gpus)}"
    says = f"it moved, {moved(good, bad)}: {_ECC_SAYS.get(bad, 'its memory works otherwise')}"
    fits = case.klass is None or case.klass in _OF_ECC.get(bad, ())
    terms = (term("card's mode moved" if fits else "moved", says, [f"gpus/{gpu}/{ECC}" for gpu in gpus]),)
    again = Command("try", f"nvidia-smi -i {','.join(devices.address(case, gpu) for gpu in gpus)} -e {int(good == 'Enabled')}", "as root; after the next reset")
    return Evidence(Subject("ecc", name), terms, Wording("GPU mode", name, "~", good, bad, commands=(Command("confirm", _LOOK), again)))


def _unlicensed(case: Case, lost: list[str]) -> Evidence:
    says = f"{devices.titled(case, [path.split('/')[1] for path in lost])} lost the license of a virtual GPU: without one the driver slows it down step by step"
    terms = [term("moved" if case.klass in ("oom", "import-error") else "license lost", says, lost)]
    if re.search(r"licen[cs]e", case.text, re.IGNORECASE):
        terms.append(term("text fits", "the error text speaks of the license", lost))
    look = Command("confirm", "nvidia-smi -q | grep -i -A2 license; systemctl status nvidia-gridd --no-pager", "the license, and the service that fetches it")
    wording = Wording("GPU mode", "vGPU license", "~", "Licensed", "Unlicensed", f"{says[0].upper()}{says[1:]}.", commands=(look,))
    return Evidence(Subject("gpu", "vGPU license"), tuple(terms), wording)


RULES = (Rule("gpu_modes", needs=(), weigh=weigh, blames=("gpu", "ecc")),)

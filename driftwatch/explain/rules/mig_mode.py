"""MIG: a GPU that is cut into instances shows none of itself to CUDA, and where no instance was made, nothing at all. Modes take effect with a reset."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.explain import devices
from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.pairs import good_or
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, term
from driftwatch.explain.words import moved

_MODES = {"mig": "MIG mode", "ecc": "ECC mode"}


def weigh(case: Case) -> Iterator[Finding]:
    """Yield GPUs with MIG on and no instance, a mode of MIG that moved, and modes that wait for a reset."""
    empty = [gpu for gpu in devices.every(case) if _is_empty(case, "bad", gpu) and not _is_empty(case, "good", gpu)]
    changed = [
        gpu
        for gpu in devices.every(case)
        if gpu not in empty
        and case.value("bad", f"gpus/{gpu}/mig/current") is not None
        and case.has_moved(f"gpus/{gpu}/mig/current", f"gpus/{gpu}/mig/devices", f"gpus/{gpu}/mig/instances/*")
    ]
    for gpus, is_empty in ((empty, True), (changed, False)):
        if gpus:
            yield _mig(case, gpus, is_empty=is_empty)
    for mode, title in _MODES.items():
        yield from _pending(case, mode, title)


def _is_empty(case: Case, side: SideName, gpu: str) -> bool:
    """Tell whether MIG is on and a side is known to list no instance."""
    return case.value(side, f"gpus/{gpu}/mig/current") == "Enabled" and case.value(side, f"gpus/{gpu}/mig/devices") in (0, [])


def _mig(case: Case, gpus: list[str], *, is_empty: bool) -> Evidence:
    good, bad = (case.value(side, f"gpus/{gpus[0]}/mig/current") for side in SIDES)
    facts = [f"gpus/{gpu}/mig/{name}" for gpu in gpus for name in ("current", "devices")]
    says = (
        f"MIG is on and no instance was made: CUDA sees no device there; on the good side it was {good or good_or(case, 'off', facts[0])}"
        if is_empty
        else f"its MIG layout is another: mode {moved(good, bad)}"
    )
    terms: tuple[Term, ...] = (term("mig without instances" if is_empty else "mig moved", says, facts), *before_unknown(case, "it was so", *facts))
    name = f"{devices.titled(case, gpus)} MIG mode"
    address = devices.address(case, gpus[0])
    commands = (
        Command("confirm", f"nvidia-smi -i {address} --query-gpu=mig.mode.current,mig.mode.pending --format=csv; nvidia-smi mig -lgi"),
        Command("try", f"nvidia-smi -i {address} -mig 0", "as root, with no process on it; or make instances: nvidia-smi mig -cgi … -C"),
        Command("undo", f"nvidia-smi -i {address} -mig 1", "as root"),
    )
    verdict = f"MIG is on for {devices.titled(case, gpus)} and no instance was made: CUDA finds no device." if is_empty else f"{name} {moved(good, bad)}."
    return Evidence(Subject("mig", name), terms, Wording("MIG", name, "!" if is_empty else "~", good, bad, verdict, commands=commands))


def _pending(case: Case, mode: str, title: str) -> Iterator[Finding]:
    """Yield a mode that is ordered and not in effect yet, new on the bad side."""
    gpus = [gpu for gpu in devices.every(case) if _is_pending(case, "bad", gpu, mode) and not _is_pending(case, "good", gpu, mode)]
    if not gpus:
        return
    current, pending = (case.value("bad", f"gpus/{gpus[0]}/{mode}/{name}") for name in ("current", "pending"))
    name, facts = f"{devices.titled(case, gpus)} {title}", [f"gpus/{gpu}/{mode}/{one}" for gpu in gpus for one in ("current", "pending")]
    terms = (term("mode pending", f"{title} is {current} and {pending} from the next reset on", facts), *before_unknown(case, "it waited", *facts))
    look = Command("confirm", "nvidia-smi -q | grep -iA3 -E 'mig mode|ecc mode'")
    yield Evidence(
        Subject("mig" if mode == "mig" else "ecc", name),
        terms,
        Wording("GPU mode", name, "!", current, pending, f"{name} waits for a reset.", commands=(look,), is_one_host=True),
    )


def _is_pending(case: Case, side: SideName, gpu: str, mode: str) -> bool:
    current, pending = (case.value(side, f"gpus/{gpu}/{mode}/{name}") for name in ("current", "pending"))
    return isinstance(current, str) and isinstance(pending, str) and current != pending


RULES = (Rule("mig_mode", needs=(), weigh=weigh, blames=("mig",)),)

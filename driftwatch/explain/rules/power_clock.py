"""Clocks and power of GPUs, compared only where both sides were at work when read: a slow clock at full use needs no flag of the driver to be real.

What an idle GPU shows says nothing. Limits that somebody set compare at any time.
"""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.explain import devices
from driftwatch.explain.case import SIDES, Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.pairs import both, good_or
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, term
from driftwatch.explain.words import listed
from driftwatch.model import Known

_CLOCK, _POWER, _LIMIT = "clocks/sm_mhz", "power_draw_w", "power_limit_w"
_SLOWER, _LESS = 0.7, 0.7  # parts of the good side's at like load
_BAD_REASONS = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")
_LOOK = Command("confirm", "nvidia-smi dmon -s pucv -c 10", "power, use, clocks and violations, second by second, while the server works")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield GPUs that run slow or are throttled at like load, power limits that moved, and the processors' governor."""
    slow = [gpu for gpu in devices.every(case) if _is_slow(case, gpu)]
    if slow:
        yield _slow_clock(case, slow)
    throttled = {gpu: reasons for gpu in devices.every(case) if gpu not in slow and (reasons := _reasons(case, gpu))}
    if throttled:
        yield _throttled(case, throttled)
    yield from _limits(case, slow)
    yield from _governor(case)


def _ratio(case: Case, gpu: str, name: str) -> float | None:
    """Return what a GPU shows as a part of what it showed on the good side, None unless it was at work on both."""
    if not all(devices.is_loaded(case, side, gpu) for side in SIDES):
        return None
    good, bad = devices.figure(case, "good", gpu, name), devices.figure(case, "bad", gpu, name)
    return bad / good if good and bad is not None else None


def _is_slow(case: Case, gpu: str) -> bool:
    ratio = _ratio(case, gpu, _CLOCK)
    return ratio is not None and ratio < _SLOWER


def _reasons(case: Case, gpu: str) -> list[str]:
    """Return the reasons for a slow clock that no healthy GPU tells, new on the bad side."""
    now, before = (case.value(side, f"gpus/{gpu}/event_reasons") for side in reversed(SIDES))
    old = before if isinstance(before, list) else []
    return [one for one in now if one in _BAD_REASONS and one not in old] if isinstance(now, list) else []


def _slow_clock(case: Case, slow: list[str]) -> Evidence:
    gpu = slow[0]
    clocks, powers = ([devices.figure(case, side, gpu, name) for side in SIDES] for name in (_CLOCK, _POWER))
    used = devices.figure(case, "bad", gpu, "utilization_percent") or 0
    told = f"{clocks[0]:,.0f} → {clocks[1]:,.0f} MHz"
    terms = [term("slow clock at load", f"at {used:.0f} % use its clock is {told}: like load, another speed", [f"gpus/{one}/{_CLOCK}" for one in slow])]
    ratio = _ratio(case, gpu, _POWER)
    if ratio is not None and ratio < _LESS:
        terms.append(term("less power at load", f"it draws {powers[0]} → {powers[1]} W at that", [f"gpus/{one}/{_POWER}" for one in slow]))
    reasons = [reason for one in slow for reason in _reasons(case, one)]
    if reasons:
        terms.append(term("throttled", f"the driver tells why: {listed(dict.fromkeys(reasons))}", [f"gpus/{one}/event_reasons" for one in slow]))
    elif isinstance(case.bad.get(f"gpus/{gpu}/event_reasons"), Known):
        terms.append(
            term("no reason told", "the driver tells no reason: firmware, power supply or the platform may hold it down", (f"gpus/{gpu}/event_reasons",))
        )
    limit, before = (devices.figure(case, side, gpu, _LIMIT) for side in reversed(SIDES))
    if limit is not None and before is not None and limit < before:
        terms.append(term("power limit fell", f"its power limit fell from {before:.0f} to {limit:.0f} W", [f"gpus/{one}/{_LIMIT}" for one in slow]))
    verdict = f"{devices.titled(case, slow)} runs at {told} at {used:.0f} % use: something holds its clock down."
    again = Command("try", "# power the host off and its supply with it, for a minute; a reboot alone may leave the state", "then read the clock again at load")
    return Evidence(
        Subject("power-clock", f"{devices.titled(case, slow)} clock at load"),
        tuple(terms),
        Wording("GPU clock", f"{devices.titled(case, slow)} SM clock", "~", f"{clocks[0]:,.0f} MHz", f"{clocks[1]:,.0f} MHz", verdict, commands=(_LOOK, again)),
    )


def _throttled(case: Case, found: dict[str, list[str]]) -> Evidence:
    gpus = list(found)
    told = listed(dict.fromkeys(reason for reasons in found.values() for reason in reasons))
    facts = [f"gpus/{gpu}/event_reasons" for gpu in gpus]
    terms = (term("throttled", f"the driver throttles it: {told}", facts), *before_unknown(case, "it did", *facts), *_alone(case, gpus, "event_reasons"))
    name = f"{devices.titled(case, gpus)} throttled"
    wording = Wording("GPU clock", name, "+", good_or(case, "not throttled", *facts, less="not throttled"), told, f"{name}: {told}.", commands=(_LOOK,))
    return Evidence(Subject("power-clock", name), terms, wording)


def _alone(case: Case, gpus: list[str], name: str) -> Iterator[Term]:
    others = [f"gpus/{gpu}/{name}" for gpu in devices.every(case) if gpu not in gpus]
    if len(gpus) == 1 and others and all(case.known(path) is not None for path in others):
        yield term("one device of many", "the GPUs beside it do not")


def _limits(case: Case, slow: list[str]) -> Iterator[Finding]:
    """Yield power limits that moved: a lower one slows, a higher one asks more of the supply."""
    changes = [change for change in case.moved(f"gpus/*/{_LIMIT}") if change.kind == "changed"]
    if not changes or slow:
        return
    gpus = [change.path.split("/")[1] for change in changes]
    good, bad = (devices.figure(case, side, gpus[0], _LIMIT) or 0 for side in SIDES)
    fell = bad < good
    says = f"{good:.0f} → {bad:.0f} W" + (": it may do less work" if fell else ": it may draw more of the supply")
    terms = (term("power limit fell" if fell else "power limit moved", says, [change.path for change in changes]), *_alone(case, gpus, _LIMIT))
    name = f"{devices.titled(case, gpus)} power limit"
    commands = (
        Command("confirm", "nvidia-smi -q -d POWER"),
        Command("try", f"nvidia-smi -pl {good:.0f}", "as root"),
        Command("undo", f"nvidia-smi -pl {bad:.0f}", "as root"),
    )
    yield Evidence(Subject("power-clock", name), terms, Wording("GPU power", name, "~", f"{good:.0f} W", f"{bad:.0f} W", f"{name}: {says}.", commands=commands))


def _governor(case: Case) -> Iterator[Finding]:
    names = {
        "cpu/governor": "frequency governor",
        "cpu/epp": "energy preference",
        "cpu/turbo": "boost",
        "cpu/smt": "threads of a core",
        "cpu/frequency_max_khz": "highest frequency",
    }
    for change in case.moved(*names):
        good, bad = both(case, change.path)
        says = f"the processors' {names[change.path]} moved: it feeds the GPUs, above all at small batches"
        look = Command("confirm", "cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor; cpupower frequency-info")
        name = f"processors' {names[change.path]}"
        yield Evidence(
            Subject("power-clock", name), (term("governor moved", says, (change.path,)),), Wording("processor", name, "~", good, bad, commands=(look,))
        )


RULES = (Rule("power_clock", needs=(), weigh=weigh, blames=("power-clock",)),)

"""What the sides' times, outcomes and speeds say of how they were named: the good side is the newer one, the sides are swapped, it is only slower."""

from __future__ import annotations

from packaging.version import Version

from driftwatch.explain import servers
from driftwatch.explain.case import SIDES, Case
from driftwatch.explain.words import number

_MUCH_SLOWER = 0.8  # of the good side's speed
_MOST_UP = 0.2  # of the versions that moved, at most this share went up


def noted(case: Case, verdict: str) -> str:
    """Return the verdict, after it whether the good side is the newer one or the bad one slower, and before it that the sides seem to be swapped."""
    return f"{_swapped(case)}{verdict} {_slower(case)}{_turned_round(case)}".rstrip()


def _swapped(case: Case) -> str:
    """Return one sentence where no failure of the bad side is known, it serves, and the good side's server ended in an error; else ""."""
    ended = any(isinstance(case.value("good", f"servers/{server}/log/error"), str) for server in case.families("servers"))
    if case.symptom is not None or not ended or servers.runs(case, "good") or not servers.runs(case, "bad"):
        return ""
    return "Are the sides swapped? The good side ended in an error, and the broken one serves. "


def _slower(case: Case) -> str:
    """Return one sentence where no symptom is known and a server serves much slower than on the good side; else ""."""
    for server in case.families("servers") if case.klass is None else ():
        good, bad = (number(case.value(side, f"servers/{server}/log/throughput_tok_s")) for side in SIDES)
        if good is not None and bad is not None and bad < _MUCH_SLOWER * good:
            return f"It serves slower, {good:g} → {bad:g} tok/s: if that is the failure, ask with --symptom slow. "
    return ""


def _turned_round(case: Case) -> str:
    """Return one sentence where the good side is newer than the bad one, by its time or by nearly all the versions that moved; else ""."""
    good, bad = case.good.taken_at, case.bad.taken_at
    if good and bad and good > bad:
        return f"Note: the good side is the newer one, taken {good}, the broken one {bad}. "
    up, down = _directions(case)
    if down and up <= _MOST_UP * (up + down) and not (good and bad):
        what = "the one package that moved is" if up + down == 1 else f"{down} of {up + down} packages that moved are"
        return f"Note: the good side is the newer one: {what} older on the broken side. "
    return ""


def _directions(case: Case) -> tuple[int, int]:
    """Return how many versions went up and how many went down."""
    up = down = 0
    for change in case.moved("packages/*/version"):
        good, bad = (_parsed(case.value(side, change.path)) for side in ("good", "bad"))
        if good is not None and bad is not None:
            up, down = up + (good < bad), down + (good > bad)
    return up, down


def _parsed(value: object) -> Version | None:
    try:
        return Version(value) if isinstance(value, str) else None
    except ValueError:  # InvalidVersion, or what Python says of thousands of digits
        return None

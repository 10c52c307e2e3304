"""Whether the good side is the newer one: then what is called good came after what is called broken, and the reader is told so."""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

from driftwatch.explain.case import Case

_MOST_UP = 0.2  # of the versions that moved, at most this share went up


def turned_round(case: Case) -> str:
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
    except InvalidVersion:
        return None

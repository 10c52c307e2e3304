"""The sum of SGLang's start-up as bars: what loading took, what must stay free, what is left for the KV cache or is missing. Lays out numbers only."""

from __future__ import annotations

import re
from dataclasses import dataclass

from driftwatch.explain.explanation import Sum

_FORMULA = re.compile(r"(\d+(?:\.\d+)?) [−-] (\d+(?:\.\d+)?) [×x] \(1 [−-] (\d(?:\.\d+)?)\)")  # noqa: RUF001  the signs of the sum
SCALE = 100
KEYS = (("load", "taken by loading"), ("kv", "for the KV cache"), ("free", "must stay free: before load × (1 − fraction)"),  # noqa: RUF001  as above
        ("over", "does not exist"), ("edge", "free before load"))


@dataclass(frozen=True)
class Part:
    """A stretch of a bar: what it stands for, where it begins and how wide it is, in hundredths of a GiB."""

    kind: str
    at: int
    wide: int


@dataclass(frozen=True)
class Bar:
    """One side of the sum, and the same in words. ``edge`` is where the memory that was free before loading ends."""

    parts: tuple[Part, ...]
    edge: int
    says: str

    @property
    def end(self) -> int:
        """Return where the bar ends."""
        return max(self.edge, *(part.at + part.wide for part in self.parts))


def bars(work: Sum) -> tuple[Bar | None, ...]:
    """Return a bar for each row of a sum; None for a row that is no such sum."""
    return tuple(_bar(formula) for formula, _, _ in work.rows)


def _bar(formula: str) -> Bar | None:
    found = _FORMULA.search(formula)
    if found is None:
        return None
    after, before, fraction = (float(one) for one in found.groups())
    load, reserve = before - after, before * (1 - fraction)
    if not 0 <= load <= before or not 0 <= reserve <= before:
        return None
    rest = after - reserve
    stretches = [("load", load), ("kv", rest), ("free", reserve)] if rest >= 0 else [("load", load), ("free", after), ("over", -rest)]
    parts, at = [], 0.0
    for kind, wide in stretches:
        parts.append(Part(kind, round(at * SCALE), round(wide * SCALE)))
        at += wide
    end = f"{rest:.2f} are left for the KV cache" if rest >= 0 else f"{-rest:.2f} more than there is"
    says = f"Of {before:.2f} GiB free before loading, {load:.2f} are taken by it and {reserve:.2f} must stay free: {end}."
    return Bar(tuple(parts), round(before * SCALE), says)

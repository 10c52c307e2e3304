"""Both sides' values of one fact, for words. A side that does not know it gives None here, so no proof may rest on these: rules ask the case for that."""

from __future__ import annotations

from typing import Any

from driftwatch.explain.case import Case, SideName
from driftwatch.explain.words import number


def both(case: Case, path: str) -> tuple[Any, Any]:
    """Return a fact's value on the good and on the bad side, None where it is absent or not known."""
    return case.value("good", path), case.value("bad", path)


def numbers(case: Case, path: str) -> tuple[float | None, float | None]:
    """Return a fact as numbers, None where a side tells none."""
    good, bad = both(case, path)
    return number(good), number(bad)


def count_of(case: Case, side: SideName, path: str) -> float:
    """Return how many messages of a class a side's kernel log tells, 0 where none is told."""
    value = case.value(side, path)
    return (number(value.get("count")) or 0.0) if isinstance(value, dict) else number(value) or 0.0


def logged_more(case: Case, path: str) -> list[str]:
    """Return the lines of a class of the kernel's log of which the bad side tells more than the good one, empty where it does not."""
    if count_of(case, "bad", path) <= count_of(case, "good", path):
        return []
    value = case.value("bad", path)
    lines = value.get("lines") if isinstance(value, dict) else None
    return [str(line) for line in lines] if isinstance(lines, list) else []


def plain(part: str) -> str:
    """Return a part of a path as the name that it stands for."""
    return part.replace("%2F", "/").replace("%25", "%")

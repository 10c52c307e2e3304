"""Both sides' values of one fact, for words. A side that does not know it gives None here, so no proof may rest on these: rules ask the case for that."""

from __future__ import annotations

from typing import Any

from driftwatch.compare.change import Change
from driftwatch.explain.case import Case, SideName
from driftwatch.explain.words import number
from driftwatch.model import Known


def both(case: Case, path: str) -> tuple[Any, Any]:
    """Return a fact's value on the good and on the bad side, None where it is absent or not known."""
    return case.value("good", path), case.value("bad", path)


def numbers(case: Case, path: str) -> tuple[float | None, float | None]:
    """Return a fact as numbers, None where a side tells none."""
    good, bad = both(case, path)
    return number(good), number(bad)


def good_or(case: Case, absent: str, *paths: str, less: str = "less") -> str:
    """Return in words what the good side tells of facts that the bad one tells more of: ``absent``, ``less`` where it tells some, or that it is not known."""
    known = [one[0] for path in paths if (one := case.known(path)) is not None]
    return less if any(known) else absent if len(known) == len(paths) else "not known"


def was_booted(case: Case) -> bool:
    """Tell whether the host is known to have been booted between the two sides."""
    booted = case.known("kernel/booted_at")
    return booted is not None and None not in booted and booted[0] != booted[1]


def count_of(case: Case, side: SideName, path: str) -> float:
    """Return how many messages of a class a side's kernel log tells, 0 where none is told."""
    value = case.value(side, path)
    return (number(value.get("count")) or 0.0) if isinstance(value, dict) else number(value) or 0.0


def logged_more(case: Case, path: str) -> list[str]:
    """Return the lines of a class of the kernel's log of which the bad side tells more than the good one, empty where it does not.

    All of them where the good side's log is not known: whoever tells them says so (``terms.before_unknown``).
    """
    if count_of(case, "bad", path) <= count_of(case, "good", path):
        return []
    value = case.value("bad", path)
    lines = value.get("lines") if isinstance(value, dict) else None
    return [str(line) for line in lines] if isinstance(lines, list) else []


def values(change: Change) -> tuple[Any, Any]:
    """Return both values of a change, None where one is absent or not known."""
    good, bad = change.good, change.bad
    return (good.value if isinstance(good, Known) else None, bad.value if isinstance(bad, Known) else None)

"""How two nested values differ, in one short line. DeepDiff is loaded only when such a pair is met."""

from __future__ import annotations

from collections import Counter
from typing import Any

MOST_PARTS = 2000  # beyond this many leaves a side-by-side of two values helps nobody
MOST_NAMED = 6
_MOST_DEPTH = 50
_MARKS = {
    "~": ("values_changed", "type_changes"), "-": ("dictionary_item_removed", "iterable_item_removed"),
    "+": ("dictionary_item_added", "iterable_item_added"),
}


def difference(good: Any, bad: Any) -> str:
    """Return how two lists or objects differ, such as ``+ numpy<3, - numpy<2``; empty where they are no nested values or too large."""
    if not _is_nested(good) or not _is_nested(bad) or _leaves(good) + _leaves(bad) > MOST_PARTS:
        return ""
    if isinstance(good, list) and isinstance(bad, list) and not any(_is_nested(one) for one in good + bad):
        before, after = (Counter((one.__class__ is bool, one) for one in side) for side in (good, bad))  # true is 1 to Python
        gone, come = ([one for _, one in left.elements()] for left in (before - after, after - before))
        return _named([f"- {one}" for one in gone] + [f"+ {one}" for one in come]) or "another order"
    return _named(_deep(good, bad))


def _is_nested(value: Any) -> bool:
    return isinstance(value, (dict, list))


def _leaves(value: Any, depth: int = 0) -> int:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return MOST_PARTS if depth > _MOST_DEPTH else 1 + sum(_leaves(one, depth + 1) for one in below)


def _named(parts: list[str]) -> str:
    shown = ", ".join(parts[:MOST_NAMED])
    return shown + f" and {len(parts) - MOST_NAMED} more" if len(parts) > MOST_NAMED else shown


def _deep(good: Any, bad: Any) -> list[str]:
    from deepdiff import DeepDiff  # noqa: PLC0415  loaded only when two nested values differ: it costs more than the whole comparison

    found = DeepDiff(good, bad, verbose_level=2, view="tree")
    parts: list[str] = []
    for mark, kinds in _MARKS.items():
        for one in (one for kind in kinds for one in found.get(kind, ())):
            place = ".".join(map(str, one.path(output_format="list"))) or "value"
            parts.append(f"{mark} {place}: " + {"~": f"{one.t1} → {one.t2}", "-": f"{one.t1}", "+": f"{one.t2}"}[mark])
    return parts

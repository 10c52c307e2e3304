"""How two nested values differ, in one short line. DeepDiff is loaded only when such a pair is met."""

from __future__ import annotations

from typing import Any

MOST_PARTS = 2000  # beyond this many leaves a side-by-side of two values helps nobody
MOST_NAMED = 6
_MOST_DEPTH = 50


def difference(good: Any, bad: Any) -> str:
    """Return how two lists or objects differ, such as ``+ numpy<3, - numpy<2``; empty where they are no nested values or too large."""
    if not _is_nested(good) or not _is_nested(bad) or _leaves(good) + _leaves(bad) > MOST_PARTS:
        return ""
    if isinstance(good, list) and isinstance(bad, list) and not any(_is_nested(one) for one in good + bad):
        return _named([f"- {one}" for one in good if one not in bad] + [f"+ {one}" for one in bad if one not in good]) or "another order"
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

    found = DeepDiff(good, bad, verbose_level=2, view="text")
    parts: list[str] = []
    for where, pair in (*found.get("values_changed", {}).items(), *found.get("type_changes", {}).items()):
        parts.append(f"~ {_place(where)}: {pair['old_value']} → {pair['new_value']}")
    for mark, kinds in (("-", ("dictionary_item_removed", "iterable_item_removed")), ("+", ("dictionary_item_added", "iterable_item_added"))):
        parts += [f"{mark} {_place(where)}: {value}" for kind in kinds for where, value in found.get(kind, {}).items()]
    return parts


def _place(where: str) -> str:
    """Return DeepDiff's ``root['a'][0]`` as ``a.0``."""
    return where.removeprefix("root").replace("']['", ".").replace("][", ".").strip("[]'\"") or "value"

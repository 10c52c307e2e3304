"""The GPUs of a snapshot in the order of their numbers, those that are alike together. Words and orders only; an unknown stays one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from driftwatch.model import Snapshot, is_unknown


def cards(snapshot: Snapshot) -> dict[int, dict[str, Any]]:
    """Return the facts of each GPU by its number: that of nvidia-smi, of the paste, or its place in the order of bus addresses."""
    found: dict[str, dict[str, Any]] = {}
    for path, value in snapshot.below("gpus").items():
        key, _, rest = path.partition("/")
        if rest:
            found.setdefault(key, {})[rest] = value
    told = {key: facts for key, facts in found.items() if "name" in facts}
    numbers = {key: _number(key, facts) for key, facts in told.items()}
    if None in numbers.values() or len(set(numbers.values())) < len(numbers):
        ordered = sorted(told, key=lambda key: (str(told[key].get("pci", "~")), key))
        return {place: told[key] for place, key in enumerate(ordered)}
    return {number: told[key] for key, number in sorted(numbers.items(), key=lambda one: one[1] or 0) if number is not None}


def _number(key: str, facts: dict[str, Any]) -> int | None:
    number = facts.get("index", key.removeprefix("index-"))
    return int(number) if str(number).isdigit() else None


def alike(found: dict[int, dict[str, Any]], keys: Iterable[str]) -> list[tuple[list[int], tuple[Any, ...]]]:
    """Return the numbers of the GPUs that say the same under all of some keys, with what they say; None where one says nothing."""
    names = tuple(keys)
    groups: list[tuple[list[int], tuple[Any, ...]]] = []
    for number, facts in found.items():
        said = tuple(facts.get(name) for name in names)
        mine = next((numbers for numbers, other in groups if other == said), None)
        if mine is None:
            groups.append(([number], said))
        else:
            mine.append(number)
    return groups


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers in order as ``0-3,6``."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def known(value: Any) -> Any:
    """Return a value, or None where it is absent or not known."""
    return None if is_unknown(value) else value

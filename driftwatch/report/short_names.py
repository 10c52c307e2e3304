"""Names of hosts in short form, as Slurm and ClusterShell write them: ``gpu-r07-[01-09]``. Pure text."""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST_DIGITS = 9
_NUMBER = re.compile(r"\d+")


def fold(names: Iterable[str]) -> tuple[str, ...]:
    """Return names in their shortest form with one bracket each, sorted: ``gpu-r07-[01-09]``. The last number of a name that varies is folded."""
    groups: dict[tuple[str, str, int], list[int]] = {}
    plain, seen = [], set(names)
    padded = {_place(name) for name in seen if (found := _last_number(name)) and found.group().startswith("0")}
    for name in seen:
        found = _last_number(name)
        if found is None:
            plain.append(name)
            continue
        before, after, width = _place(name)
        groups.setdefault((before, after, width if (before, after, width) in padded else 0), []).append(int(found.group()))
    return tuple(sorted([*plain, *(_folded(*key, sorted(numbers)) for key, numbers in groups.items())]))


def stem(name: str) -> str:
    """Return what stands before the last number of a name, without a closing separator: neighbours share it. A name without a number is its own."""
    return _place(name)[0].rstrip("-_.") or name


def _last_number(name: str) -> re.Match[str] | None:
    numbers = list(_NUMBER.finditer(name))
    return numbers[-1] if numbers and len(numbers[-1].group()) <= MOST_DIGITS else None


def _place(name: str) -> tuple[str, str, int]:
    """Return what stands before and after the last number of a name that has one, and its digits."""
    found = _last_number(name)
    return (name[: found.start()], name[found.end():], len(found.group())) if found else (name, "", 0)


def _folded(before: str, after: str, width: int, numbers: list[int]) -> str:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    if len(numbers) == 1:
        return f"{before}{numbers[0]:0{width}}{after}"
    said = ",".join(f"{low:0{width}}" if low == high else f"{low:0{width}}-{high:0{width}}" for low, high in runs)
    return f"{before}[{said}]{after}"

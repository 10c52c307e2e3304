"""Several working and several broken snapshots become one pair and its changes: constant among the good, different among the bad. Pure.

What varies among the good ones is noise, without any list of such facts; what a bad one shares with a good one cannot be the cause. A side that does not
know a fact leaves the count: it neither confirms nor clears.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.compare.pair import compare
from driftwatch.model import ANSWERED, Known, ProbeResult, Snapshot, Unknown


@dataclass(frozen=True)
class Sets:
    """The pair that stands for both sets, its changes, and how many of them are noise: folded since they do not tell the sets apart."""

    good: Snapshot
    bad: Snapshot
    changes: tuple[Change, ...]
    noise: int = 0


def compare_sets(goods: Sequence[Snapshot], bads: Sequence[Snapshot]) -> Sets:
    """Return the pair that stands for two sets of at least one snapshot each, with every change that does not tell them apart folded."""
    good, bad = merged(goods), merged(bads)
    changes = compare(good, bad)
    if len(goods) == len(bads) == 1:
        return Sets(good, bad, changes)
    done = tuple(change if change.kind == "unknown" or _separates(change.path, goods, bads) else replace(change, is_folded=True) for change in changes)
    noise = sum(after.is_folded and not before.is_folded for before, after in zip(changes, done, strict=True))
    return Sets(good, bad, done, noise)


def merged(sides: Sequence[Snapshot]) -> Snapshot:
    """Return one snapshot that tells what any of these tells: of each fact the first known answer, of each probe the best outcome."""
    first = sides[0]
    if len(sides) == 1:
        return first
    paths = dict.fromkeys(path for side in sides for path in side.facts)
    hosts = dict.fromkeys(str(side.host) for side in sides if side.host)
    keys = dict.fromkeys(str(side.redaction.get("key_id")) for side in sides)
    return replace(
        first, host=", ".join(hosts) or None, probes=_probes(sides), volatile=tuple(dict.fromkeys(glob for side in sides for glob in side.volatile)),
        facts={path: value for path in paths if (value := _first(path, sides)) is not None},
        redaction=first.redaction if len(keys) == 1 else {"key_id": "several, of " + ", ".join(hosts)},
    )


def _probes(sides: Sequence[Snapshot]) -> dict[str, ProbeResult]:
    found: dict[str, ProbeResult] = {}
    for side in sides:
        for name, result in side.probes.items():
            if name not in found or (result.status in ANSWERED and found[name].status not in ANSWERED):
                found[name] = result
    return found


def _first(path: str, sides: Sequence[Snapshot]) -> Any:
    """Return the first known value of a fact, None where the first that know it know that it is absent, else why it is not known."""
    answers = [side.get(path) for side in sides]
    for one in answers:
        if isinstance(one, Known):
            return one.value
    why = next(one for one in answers if isinstance(one, Unknown))
    return {"unknown": why.status, "reason": why.reason}


def _separates(path: str, goods: Sequence[Snapshot], bads: Sequence[Snapshot]) -> bool:
    """Tell whether a fact is one on all good sides that know it, and another on every bad side that knows it."""
    good, bad = (_values(path, sides) for sides in (goods, bads))
    return len(good) == 1 and not good & bad


def _values(path: str, sides: Sequence[Snapshot]) -> set[str]:
    return {json.dumps(found.value, sort_keys=True) for side in sides if isinstance(found := side.get(path), Known)}

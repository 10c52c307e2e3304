"""Distributions that must fit each other and no longer do: one of the two moved, and the other, which did not, has no line in any list of changes."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.explain.broken_pair import Pair, told_of
from driftwatch.explain.case import Case, SideName
from driftwatch.explain.rule import Finding, Rule
from driftwatch.explain.version_families import Fit, fits


def weigh(case: Case) -> Iterator[Finding]:
    """Yield both partners of each pair that fits on the good side, or is not known there, and does not on the bad one."""
    before = {(one.leader, one.follower): one.fits for one in fits(versions_of(case, "good"))}
    now = versions_of(case, "bad")
    for one in fits(now):
        held = before.get((one.leader, one.follower))
        if not one.fits and held is not False:
            yield from told_of(case, Pair(one.leader, one.follower, _says(one, now), bool(held), "family broke"))


def versions_of(case: Case, side: SideName) -> dict[str, str]:
    """Return the versions of a side's distributions by their names, the told ones only."""
    found = {path.split("/")[1]: value for path, value in case.below(side, "packages") if path.endswith("/version") and path.count("/") == 2}
    return {name: value for name, value in found.items() if isinstance(value, str) and value}


def _says(one: Fit, versions: dict[str, str]) -> str:
    return f"{one.follower} is {versions[one.follower]}; {one.leader} {versions[one.leader]} goes with {one.wanted}"


RULES = (Rule("package_family", needs=("packages/*/version",), weigh=weigh, blames=("package",)),)

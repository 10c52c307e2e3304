"""Which distribution requires which: as the bad side's metadata declare it, else, for a dump that prints none, as is usual for the well-known ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from driftwatch.explain.case import Case
from driftwatch.explain.usual_requirements import usual

_NAME = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def wanted_by(case: Case) -> dict[str, list[str]]:
    """Return for each canonical name the distributions that require it, in the order in which they are told."""
    found: dict[str, list[str]] = {}
    for user, required in required_by(case).items():
        for name in required:
            found.setdefault(name, []).append(user)
    return found


def required_by(case: Case) -> Mapping[str, list[str]]:
    """Return for each installed distribution of the bad side what it requires, by canonical names; only what is declared, or usual where nothing is."""
    declared = {path.split("/")[1]: _names(value) for path, value in case.below("bad", "packages") if path.endswith("/requires") and isinstance(value, list)}
    if declared:
        return declared
    installed = [path.split("/")[1] for path, value in case.below("bad", "packages") if path.endswith("/version") and isinstance(value, str)]
    return {name: _usual(name, installed) for name in installed if usual(name)}


def has_moved(case: Case, name: str) -> bool:
    """Tell whether a distribution moved as far as a reader counts: its version, or its build under the same one."""
    changes = (case.by_path.get(f"packages/{name}/{what}") for what in ("version", "record"))
    return any(change is not None and change.kind != "unknown" and not change.is_folded for change in changes)


def _usual(name: str, installed: Iterable[str]) -> list[str]:
    patterns = usual(name)
    stems = tuple(one[:-1] for one in patterns if one.endswith("*"))
    return [one for one in installed if one != name and (one in patterns or (stems and one.startswith(stems)))]


def _names(requirements: list[object]) -> list[str]:
    matches = [_NAME.match(line) for line in requirements if isinstance(line, str)]
    return list(dict.fromkeys(re.sub(r"[-_.]+", "-", match[1]).lower() for match in matches if match is not None))

"""Which distribution requires which, as the bad side's metadata declare it."""

from __future__ import annotations

import re

from driftwatch.explain.case import Case

_NAME = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def wanted_by(case: Case) -> dict[str, list[str]]:
    """Return for each canonical name the distributions that require it, in the order in which they are told."""
    found: dict[str, list[str]] = {}
    for path, value in case.below("bad", "packages"):
        if path.endswith("/requires") and isinstance(value, list):
            for name in _names(value):
                found.setdefault(name, []).append(path.split("/")[1])
    return found


def _names(requirements: list[object]) -> list[str]:
    matches = [_NAME.match(line) for line in requirements if isinstance(line, str)]
    return list(dict.fromkeys(re.sub(r"[-_.]+", "-", match[1]).lower() for match in matches if match is not None))

"""What several stretches of one paste tell, as one: a thing that two of them tell differently is open, not chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from packaging.version import Version

from driftwatch.agent import probe
from driftwatch.dumps.format import Parsed
from driftwatch.model import Unknown

SHOWN_VALUE = 60
UNKNOWN = (Unknown, probe.Unknown)  # the parsers of the agent have their own
_FALLBACKS = (  # conda has rows of Python too, and its own name for PyTorch's
    ("torch/version", ("packages/torch/version", "packages/pytorch/version")), ("python/version", ("packages/python/version",)))
_VERSION = re.compile(r"(?:pythons/[^/]+/)?packages/[^/]+/version|torch/version")
_PREFIX = re.compile(r"os/name|(?:driver|cuda|nccl|cudnn|python|kernel)/.+|gpus/[^/]+/name")


def merged(parts: Sequence[Parsed]) -> dict[str, Any]:
    """Return the facts of all parts, sorted by path. What torch and Python print of themselves falls back to their rows in a list of packages."""
    facts: dict[str, Any] = {}
    for part in parts:
        for path, value in part.facts.items():
            facts[path] = _joined(path, facts[path], value) if path in facts else value
    for path, rows in _FALLBACKS:
        told = next((facts[row] for row in rows if isinstance(facts.get(row), str)), None)
        facts.update({path: told} if path not in facts and told else {})
    return {path: _stored(facts[path]) for path in sorted(facts)}


def _stored(value: Any) -> Any:
    return {"unknown": value.status, "reason": value.reason} if isinstance(value, UNKNOWN) else value


def _joined(path: str, one: Any, other: Any) -> Any:
    """Return one value for a path that two stretches told."""
    if one == other or isinstance(other, UNKNOWN):
        return one
    if isinstance(one, UNKNOWN):
        return one if one.reason.startswith("the paste tells two values") else other
    if isinstance(one, Mapping) and isinstance(other, Mapping) and one.items() <= other.items():
        return other
    if isinstance(one, str) and isinstance(other, str):
        fuller = _fuller_version(one, other) if _VERSION.fullmatch(path) else _fuller_text(one, other) if _PREFIX.fullmatch(path) else None
        if fuller is not None:
            return fuller
    return Unknown("error", f"the paste tells two values: {str(one)[:SHOWN_VALUE]} and {str(other)[:SHOWN_VALUE]}")


def _fuller_version(one: str, other: str) -> str | None:
    """Return the one of two texts of one version that says more: ``2.6.0+cu124`` beside ``2.6.0``; None where they differ."""
    try:
        first, second = Version(one), Version(other)
    except ValueError:  # InvalidVersion, or what Python says of thousands of digits
        return None
    if first.public != second.public or None not in (first.local, second.local):
        return one if first == second else None
    return one if second.local is None else other


def _fuller_text(one: str, other: str) -> str | None:
    """Return the longer of two texts of which one begins with the other, be it one that a tool cut with dots."""
    short, long = sorted((one, other), key=len)
    return long if long.startswith(short.removesuffix("...").rstrip(".")) or short in long else None

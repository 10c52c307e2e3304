"""Releases of SGLang as numbers, and tables that say for which of them something was read in its code. A release outside every span is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from packaging.version import Version

from driftwatch.model import Unknown

Release = tuple[int, ...]
Kept = TypeVar("Kept")


@dataclass(frozen=True)
class Span(Generic[Kept]):
    """What holds from one release to another, both included."""

    first: Release
    last: Release
    kept: Kept

    def __contains__(self, release: Release) -> bool:
        """Tell whether a release lies between the two."""
        return self.first <= release <= self.last


def parse_release(text: str) -> Release | Unknown:
    """Return a version's three leading numbers; a development or pre-release version is unknown, since its code may be of either side."""
    try:
        version = Version(text)
    except ValueError:  # InvalidVersion, or what Python says of thousands of digits
        return Unknown("error", f"{text} is no version of SGLang")
    if version.is_prerelease:
        return Unknown("not_recorded", f"{text} is a development version, and only releases were read")
    return (*version.release, 0, 0, 0)[:3]


def is_unreleased(version: object) -> bool:
    """Tell whether a version is that of a nightly, a candidate or another build before a release (PEP 440)."""
    try:
        return isinstance(version, str) and Version(version).is_prerelease
    except ValueError:  # InvalidVersion, or what Python says of thousands of digits
        return False


def went_back(good: object, bad: object) -> bool:
    """Tell whether a version is older than another (PEP 440, without what stands behind a plus sign)."""
    try:
        return isinstance(good, str) and isinstance(bad, str) and Version(bad.partition("+")[0]) < Version(good.partition("+")[0])
    except ValueError:  # InvalidVersion, or what Python says of thousands of digits
        return False


def found_in(table: Sequence[Span[Kept]], release: Release | Unknown) -> Kept | Unknown:
    """Return what a table holds for a release, or between which releases it lies that were not read."""
    if isinstance(release, Unknown):
        return release
    for span in table:
        if release in span:
            return span.kept
    below = [span.last for span in table if span.last < release]
    above = [span.first for span in table if span.first > release]
    near = " and ".join(say(one) for one in (*below[-1:], *above[:1]))
    return Unknown("not_recorded", f"the code of {say(release)} was not read; the nearest that were: {near}")


def around(table: Sequence[Span[Kept]], release: Release | Unknown) -> tuple[Kept, ...]:
    """Return what the nearest spans below and above a release hold, where it lies between two."""
    if isinstance(release, Unknown):
        return ()
    below = [span.kept for span in table if span.last < release]
    above = [span.kept for span in table if span.first > release]
    return (below[-1], above[0]) if below and above else ()


def say(release: Release) -> str:
    """Return ``0.5.9``."""
    return ".".join(map(str, release))

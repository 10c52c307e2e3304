"""What no layout in a paste ever prints, by the name of the probe that would tell it: so *not checked* can name the command that fills the gap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from driftwatch.model import ProbeResult, matches
from driftwatch.other_names import probe_of


def unprinted(globs: Iterable[str], told: Sequence[str], names: str) -> dict[str, ProbeResult]:
    """Return one probe that was not recorded for each kind of fact that none of the paste's layouts prints and no stretch told."""
    found: dict[str, list[str]] = {}
    wide = tuple(path for path in told if "*" in path)
    for glob in dict.fromkeys(globs):
        if not (any(matches(path, (glob,)) for path in told) or (wide and matches(glob, wide))):
            found.setdefault(probe_of(glob), []).append(glob)
    return {probe: ProbeResult("not_recorded", reason=f"never printed by {names}", tells=tuple(mine)) for probe, mine in sorted(found.items())}

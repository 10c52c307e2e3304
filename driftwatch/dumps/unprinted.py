"""What no layout in a paste ever prints, by the name of the probe that would tell it: so *not checked* can name the command that fills the gap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from driftwatch.model import ProbeResult, matches

_BY_FIRST: Mapping[str, str] = MappingProxyType({
    "env": "env", "servers": "servers", "gpus": "nvml", "driver": "driver", "os": "system", "kernel": "system", "system": "system", "git": "git",
    "sources": "sources", "packages": "packages", "python": "packages", "torch": "versions", "libraries": "libraries", "nccl": "libraries",
    "cudnn": "libraries",
})
_BY_LAST: Mapping[str, str] = MappingProxyType({"record": "record", "imported_version": "imports"})


def unprinted(globs: Iterable[str], told: Sequence[str], names: str) -> dict[str, ProbeResult]:
    """Return one probe that was not recorded for each kind of fact that none of the paste's layouts prints and no stretch told."""
    found: dict[str, list[str]] = {}
    for glob in dict.fromkeys(globs):
        if not any(matches(path, (glob,)) or matches(glob, (path,)) for path in told):
            parts = glob.split("/")
            probe = _BY_LAST.get(parts[-1]) or _BY_FIRST.get(parts[0], parts[0])
            found.setdefault(probe, []).append(glob)
    return {probe: ProbeResult("not_recorded", reason=f"never printed by {names}", tells=tuple(mine)) for probe, mine in sorted(found.items())}

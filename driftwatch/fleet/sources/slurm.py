"""The nodes that Slurm knows, by partition, as ``sinfo`` tells them. What is down or drained is listed too: an audit says so."""

from __future__ import annotations

from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.listed import Listed
from driftwatch.fleet.sources.reading import ask_program


def read(place: str) -> tuple[Listed, ...]:
    """Return the nodes of a partition, of all partitions where none is named. Raises FleetError where sinfo gives no answer."""
    found = parse(ask_program(["sinfo", "--noheader", "--Node", "--format=%N %R", *([f"--partition={place}"] if place else [])]))
    if not found:
        raise FleetError("Slurm lists no node" + (f" in the partition {place}" if place else ""), "sinfo", "sinfo --summarize   shows the partitions")
    return found


def parse(text: str) -> tuple[Listed, ...]:
    """Return the nodes of sinfo's lines ``NODE PARTITION``."""
    partitions: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, partition = line.strip().partition(" ")
        if name:
            partitions.setdefault(name, []).append(partition.strip().rstrip("*"))
    return tuple(Listed(name, name, tuple(dict.fromkeys(groups))) for name, groups in partitions.items())

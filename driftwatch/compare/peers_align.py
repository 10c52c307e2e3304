"""A host of the majority laid beside an odd one: the same devices under the same names, and of what differs only that in which the odd one is odd.

The pair is then compared and explained as any other. Neither snapshot is changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.compare.pair import compare
from driftwatch.compare.peers import Outlier
from driftwatch.compare.peers_lines import DEVICES, device_path
from driftwatch.model import Snapshot

_BY_UUID = ("gpus", "nvlink")


@dataclass(frozen=True)
class Aligned:
    """A pair whose devices bear the same names: the host of the majority as the good side, and what of their differences counts."""

    good: Snapshot
    bad: Snapshot
    changes: tuple[Change, ...]


def align(good: Snapshot, bad: Snapshot, odd: Collection[str]) -> Aligned:
    """Return a pair with the changes in which the bad side is odd; ``odd`` are the paths as they are counted, with devices of one kind as one.

    Questions that one side alone leaves open stay, since they could hide something.
    """
    known = renamed(good, bad)
    kinds = kinds_of(bad)
    kept = tuple(change for change in compare(known, bad) if change.kind == "unknown" or device_path(change.path, kinds) in odd)
    return Aligned(known, bad, kept)


def renamed(good: Snapshot, bad: Snapshot) -> Snapshot:
    """Return the good side with its GPUs under the UUIDs of the bad side's: those of the same address on the bus, then the rest in order of address."""
    names = _pairs(_gpus(good), _gpus(bad))
    return replace(good, facts={_renamed(path, names): value for path, value in good.facts.items()}) if names else good


def _gpus(side: Snapshot) -> dict[str, str]:
    """Return the GPUs of a side by UUID, with their addresses."""
    found = {path.split("/")[1]: "" for path in side.facts if path.startswith("gpus/") and path.count("/") > 1}
    return {uuid: str(side.facts.get(f"gpus/{uuid}/pci", "")) for uuid in found}


def uuids(side: Snapshot) -> frozenset[str]:
    """Return the GPUs of a side by UUID."""
    return frozenset(_gpus(side))


def _pairs(good: Mapping[str, str], bad: Mapping[str, str]) -> dict[str, str]:
    at = {address: uuid for uuid, address in bad.items() if address}
    names = {uuid: at[address] for uuid, address in good.items() if address in at}
    left = sorted((address, uuid) for uuid, address in bad.items() if uuid not in names.values())
    rest = sorted((address, uuid) for uuid, address in good.items() if uuid not in names)
    return {**names, **{uuid: other for (_, uuid), (_, other) in zip(rest, left, strict=False)}}


def _renamed(path: str, names: Mapping[str, str]) -> str:
    parts = path.split("/", 2)
    if parts[0] in _BY_UUID and len(parts) > 1 and parts[1] in names:
        parts[1] = names[parts[1]]
        return "/".join(parts)
    return path


def kinds_of(side: Snapshot) -> dict[str, str]:
    """Return the kinds of the PCI devices of a side, by their address."""
    return {path.split("/")[1]: str(value) for path, value in side.facts.items() if path.startswith("pci/") and path.endswith("/kind")}


def followed(outliers: Iterable[Outlier], changes: Iterable[Change], bad: Snapshot) -> tuple[Outlier, ...]:
    """Return outliers with what each only follows from, and with the odd devices named."""
    kinds = kinds_of(bad)
    leaders: dict[str, set[str | None]] = {}
    for change in changes:
        leaders.setdefault(device_path(change.path, kinds), set()).add(device_path(change.follows, kinds) if change.follows else None)
    found = []
    for one in outliers:
        leads = leaders.get(one.fact.path, {None})
        follows = None if None in leads or leads == {one.fact.path} else min(str(lead) for lead in leads)
        found.append(replace(one, follows=follows, devices=odd_devices(one, bad, kinds)))
    return tuple(found)


def odd_devices(one: Outlier, bad: Snapshot, kinds: Mapping[str, str]) -> tuple[str, ...]:
    """Return the devices of a host that have another value than the majority, by their address on the bus, where the host's own devices differ."""
    if one.mark != "!" or not isinstance(one.value, dict) or DEVICES not in one.value:
        return ()
    usual = one.fact.majority
    found = []
    for path in (path for path in bad.facts if device_path(path, dict(kinds)) == one.fact.path and bad.facts[path] != usual):
        name = path.split("/")[1]
        found.append(str(bad.facts.get(f"gpus/{name}/pci", name)))
    return tuple(sorted(found)) if not _is_mixed(usual) else ()


def _is_mixed(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {DEVICES}

"""Two snapshots whose tools call one thing by two names -> the same two, calling it by one. Renames only where both sides leave no doubt.

A package under its module's name (``zmq``) goes by its distribution's (``pyzmq``) where the other side tells that one. A GPU that one side knows by
nvidia-smi's index goes by its UUID where a PCI address, told by both, says that it is the same card; an index alone says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from driftwatch.model import Snapshot, is_unknown
from driftwatch.other_names import MODULES

_INDEXED = "gpus/index-"


def aligned(good: Snapshot, bad: Snapshot) -> tuple[Snapshot, Snapshot]:
    """Return both sides with one name for one thing; the very same objects where nothing had to be renamed."""
    return _renamed(good, bad), _renamed(bad, good)


def _renamed(side: Snapshot, other: Snapshot) -> Snapshot:
    names = {**dict(_modules(side.facts, other.facts)), **dict(_cards(side.facts, other.facts))}
    if not names:
        return side
    facts: dict[str, Any] = {}
    for path, value in side.facts.items():
        top, _, rest = path[len(_first(path)):].partition("/")
        to = names.get(_first(path) + top)
        renamed = path if to is None else f"{to}/{rest}" if rest else to
        if renamed not in facts or is_unknown(facts[renamed]) or renamed == path:
            facts[renamed] = value
    return replace(side, facts=facts)


def _first(path: str) -> str:
    return path[:path.find("/") + 1]


def _modules(mine: Mapping[str, Any], others: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield packages told under a module's name that the other side does not tell so, with the name of the distribution that one side tells."""
    for module, distributions in MODULES.items():
        if f"packages/{module}/version" in mine and f"packages/{module}/version" not in others:
            told = [one for one in distributions if f"packages/{one}/version" in others or f"packages/{one}/version" in mine]
            yield from ((f"packages/{module}", f"packages/{one}") for one in told[:1])


def _cards(mine: Mapping[str, Any], others: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield GPUs told by index with the path of the UUID that this side or the other tells for the same PCI address."""
    indexed = {path[:-len("/pci")]: value for path, value in mine.items() if path[-4:] == "/pci" and path.startswith(_INDEXED)}
    for facts in (others, mine) if indexed else ():
        cards = {str(value): path[:-len("/pci")] for path, value in facts.items() if path[-4:] == "/pci" and path.startswith("gpus/GPU-")}
        yield from ((top, cards[str(address)]) for top, address in indexed.items() if str(address) in cards)

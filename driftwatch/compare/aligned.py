"""Two snapshots whose tools call one thing by two names -> the same two, calling it by one. Renames only where both sides leave no doubt.

A package under its module's name (``zmq``) goes by its distribution's (``pyzmq``) where the other side tells that one. A GPU that one side knows by
nvidia-smi's index goes by its UUID where a PCI address, told by both, says that it is the same card; an index alone says nothing.
Two pastes of one container each are of the one container that the question is about: an id, or the name that an engine made up, is another each time.
A variable that a tool printed on one side, and of which nobody knew that it prints it, is one that the same release of the tool would print on the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from driftwatch.compare.equal import FIRST_HAND
from driftwatch.model import ANSWERED, ProbeResult, Snapshot, Unknown, is_unknown
from driftwatch.other_names import MODULES

_INDEXED = "gpus/index-"
_NO_NAME = re.compile(r"[0-9a-f]{12,64}|unnamed")


def aligned(good: Snapshot, bad: Snapshot) -> tuple[Snapshot, Snapshot]:
    """Return both sides with one name for one thing; the very same objects where nothing had to be renamed."""
    return _answering(_renamed(good, bad), bad), _answering(_renamed(bad, good), good)


def _renamed(side: Snapshot, other: Snapshot) -> Snapshot:
    names = {**dict(_modules(side.facts, other.facts)), **dict(_cards(side.facts, other.facts)), **dict(_containers(side, other))}
    if not names:
        return side
    facts: dict[str, Any] = {}
    for path, value in side.facts.items():
        top, _, rest = path[len(_first(path)):].partition("/")
        to = names.get(_first(path) + top)
        renamed = path if to is None else f"{to}/{rest}" if rest else to
        if renamed not in facts or is_unknown(facts[renamed]) or renamed == path:
            facts[renamed] = value
    return replace(side, facts=facts, probes={name: _retold(result, names) for name, result in side.probes.items()})


def _retold(result: ProbeResult, names: Mapping[str, str]) -> ProbeResult:
    """Return a probe's result that answers for its containers under their new names."""
    if not any(glob.startswith("containers/") for glob in result.tells):
        return result
    renamed = [(glob, names.get("/".join(glob.split("/")[:2]))) for glob in result.tells]
    return replace(result, tells=tuple("/".join([to, *glob.split("/")[2:]]) if to else glob for glob, to in renamed))


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


def _containers(side: Snapshot, other: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield the one container that this side alone tells with the name under which both go: a real one before an id, if there is one."""
    mine, others = (sorted({path.split("/")[1] for path in facts if path[:11] == "containers/" and path.count("/") > 1}) for facts in (side.facts, other.facts))
    if len(mine) == len(others) == 1 and mine != others:
        is_unnamed = any(_NO_NAME.fullmatch(one) for one in (*mine, *others))
        if is_unnamed or not {side.source, other.source} & FIRST_HAND:
            name = min((*mine, *others), key=lambda one: (_NO_NAME.fullmatch(one) is not None, one))
            yield f"containers/{mine[0]}", f"containers/{name}"


def _answering(side: Snapshot, other: Snapshot) -> Snapshot:
    """Return a side whose one tool answers, too, for the variables that the same release of it printed on the other side alone."""
    tool = side.probes.get(side.source)
    release = f"packages/{side.source.partition('-')[0]}/version"
    if tool is None or side.source != other.source or tool.status not in ANSWERED or side.facts.get(release) is None or is_unknown(side.facts[release]):
        return side
    if other.facts.get(release) != side.facts[release] or other.probes[other.source] != tool:
        return side
    printed = tuple(path for path, value in other.facts.items() if path[:4] == "env/" and not is_unknown(value) and isinstance(side.get(path), Unknown))
    more = tuple(path for path in printed if path not in side.facts)
    return replace(side, probes={**side.probes, side.source: replace(tool, tells=tool.tells + more)}) if more else side

"""Which probes there are and which of them are asked. Reads the collectors' folder of our own package, nothing of any host."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from driftwatch.agent import collectors
from driftwatch.agent.probe import Probe


class CaptureError(Exception):
    """An order that cannot be carried out: what is wrong, and what to do."""

    def __init__(self, what: str, do: str = "") -> None:
        super().__init__(what)
        self.do = do


@dataclass(frozen=True)
class Offer:
    """A probe and the module of its collector."""

    probe: Probe
    module: str


@dataclass(frozen=True)
class Plan:
    """The probes to ask, and all others with the reason why they are not asked."""

    asked: tuple[Offer, ...]
    left_out: Mapping[str, tuple[Probe, str]]
    is_partial: bool


@cache
def offers() -> tuple[Offer, ...]:
    """Return all probes of all collectors, cheap ones first: by deadline, then name; ``targets`` leads, since others wait for it."""
    found = []
    for entry in pkgutil.iter_modules(collectors.__path__):
        module = importlib.import_module(f"{collectors.__name__}.{entry.name}")
        found += [Offer(probe, entry.name) for probe in module.PROBES]
    return tuple(sorted(found, key=lambda offer: (offer.probe.name != "targets", -offer.probe.deadline_s, offer.probe.name)))


def plan_for(only: Iterable[str] = (), skip: Iterable[str] = (), groups: Iterable[str] = (), deadlines: Mapping[str, float] | None = None) -> Plan:
    """Return the plan for the words of ``--only``, ``--skip``, ``--with`` and ``--deadline PROBE=S``. Raises CaptureError for a word that names no probe."""
    only, skip, groups, deadlines = set(only), set(skip), set(groups), dict(deadlines or {})
    known = {offer.probe.name for offer in offers()}
    _refuse_strangers(only | skip | set(deadlines), known, "probe")
    _refuse_strangers(groups, {offer.probe.group for offer in offers() if offer.probe.group}, "group")
    asked, left_out = [], {}
    needs_targets = any(offer.probe.needs_targets and offer.probe.name in only for offer in offers())
    for offer in offers():
        why = _why_not(offer.probe, only | ({"targets"} if needs_targets else set()), skip, groups)
        if why:
            left_out[offer.probe.name] = (offer.probe, why)
        else:
            asked.append(Offer(offer.probe._replace(deadline_s=deadlines.get(offer.probe.name, offer.probe.deadline_s)), offer.module))
    return Plan(tuple(asked), left_out, bool(only or skip))


def _why_not(probe: Probe, only: set[str], skip: set[str], groups: set[str]) -> str:
    """Return why a probe is not asked, or ""."""
    if probe.name in skip:
        return "not asked: --skip"
    if only - {"targets"}:
        return "" if probe.name in only else "not asked: --only"
    if probe.group and probe.group not in groups:
        return f"not asked: --with {probe.group} turns it on"
    return ""


def _refuse_strangers(words: set[str], known: set[str], kind: str) -> None:
    for word in sorted(words - known):
        near = difflib.get_close_matches(word, sorted(known), 1)
        do = f"did you mean {near[0]!r}?   or   driftwatch probes" if near else f"one of: {', '.join(sorted(known))}"
        raise CaptureError(f"there is no {kind} {word!r}", do)

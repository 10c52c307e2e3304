"""Frames become facts and statuses. What was told before the line broke is kept; what was planned and not told is lost, with the reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from driftwatch.agent.probe import Probe
from driftwatch.capture.known import Recall, is_of_same, tree_fact
from driftwatch.capture.plan import Plan
from driftwatch.model import STATUSES, ProbeResult
from driftwatch.transports.wire import LinkLost, visible

DEEPEST = 50  # of a value: a stored snapshot of 64 levels and more is not read again


@dataclass
class Fold:
    """What the frames of one host have told so far."""

    facts: dict[str, Any] = field(default_factory=dict)
    outcomes: dict[str, ProbeResult] = field(default_factory=dict)
    begin: Mapping[str, Any] = field(default_factory=dict)
    targets: tuple[Mapping[str, Any], ...] = ()
    recall: Recall = field(default_factory=lambda: Recall({}))

    def take(self, frame: Mapping[str, Any]) -> None:
        """Add what one frame tells; frames of other kinds are for those who watch. Raises LinkLost for one that our agent does not make."""
        try:
            _check(frame)
            self._take(frame)
        except (KeyError, TypeError, ValueError, OverflowError) as wrong:
            said = f"the host sent a frame of {frame.get('frame')} that makes no sense ({type(wrong).__name__}: {visible(str(wrong), 100)})"
            raise LinkLost(said, "take the snapshot again, and report this if it stays") from wrong

    def _take(self, frame: Mapping[str, Any]) -> None:
        kind = frame.get("frame")
        if kind == "facts":
            for path, value in _listed(frame["facts"], list):
                self._fact(_text(path), value)
        elif kind == "probe":
            self.outcomes[_text(frame["probe"])] = _became(frame)
        elif kind == "begin":
            self.begin = frame
        elif kind == "slow":
            _seconds(frame, "elapsed_s")
            _seconds(frame, "deadline_s")

    def _fact(self, path: str, value: Any) -> None:
        if path == "targets" and isinstance(value, list):
            self.targets = _listed(value, dict)
        elif is_of_same(path):
            self.facts.update(self.recall.facts(self._root_above(path), path))
        else:
            self.facts[path] = value
            if path.startswith("sources/") and path.endswith("/count") and self._root_above(path) in self.recall.known:
                self.facts.update(tree_fact(self.facts, path))

    def _root_above(self, path: str) -> str:
        """Return the top folder of the source tree that a fact is of."""
        return str(self.facts.get("/".join([*path.split("/")[:2], "root"])))

    def probes(self, plan: Plan, lost: str) -> dict[str, ProbeResult]:
        """Return what became of every probe there is. ``lost`` is why a planned one that told nothing is lost."""
        found = {offer.probe.name: self._outcome(offer.probe, lost) for offer in plan.asked}
        found.update({name: ProbeResult("not_recorded", reason=why, tells=probe.tells) for name, (probe, why) in plan.left_out.items()})
        return dict(sorted(found.items()))

    def _outcome(self, probe: Probe, lost: str) -> ProbeResult:
        told = self.outcomes.get(probe.name, ProbeResult("lost", reason=lost))
        return replace(told, deadline_s=probe.deadline_s, tells=probe.tells)


def _became(told: Mapping[str, Any]) -> ProbeResult:
    """Return what a frame says of the probe that it is of."""
    if told["status"] not in STATUSES:
        raise ValueError(f"no status {told['status']!r}")
    return ProbeResult(
        told["status"], _seconds(told, "elapsed_s"), reason=str(told.get("reason", "")), tools=_listed(told.get("tools", []), str),
        left_behind=_listed(told.get("left_behind", []), dict), notes=_listed(told.get("notes", []), str),
    )


def _check(value: Any, depth: int = DEEPEST) -> None:
    """Raise ValueError for a JSON value that no snapshot can hold: nested too deep, or a number beyond all."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a number is too large")
        return
    if depth == 0:
        raise ValueError(f"nested deeper than {DEEPEST}")
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, (dict, list, float)):
            _check(one, depth - 1)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]} is no text")
    return value


def _seconds(told: Mapping[str, Any], key: str) -> float:
    found = told.get(key, 0.0)
    if not isinstance(found, (int, float)):
        raise TypeError(f"{key} is no number")
    return float(found)


def _listed(value: Any, kind: type) -> tuple[Any, ...]:
    """Return a list whose elements are all of one kind."""
    if not isinstance(value, list) or not all(isinstance(one, kind) for one in value):
        raise TypeError(f"{str(value)[:40]} is no list of {kind.__name__}")
    return tuple(value)

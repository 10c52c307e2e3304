"""Frames become facts and statuses. What was told before the line broke is kept; what was planned and not told is lost, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from driftwatch.agent.probe import Probe
from driftwatch.capture.known import Recall, is_of_same, tree_fact
from driftwatch.capture.plan import Plan
from driftwatch.model import STATUSES, ProbeResult


@dataclass
class Fold:
    """What the frames of one host have told so far."""

    facts: dict[str, Any] = field(default_factory=dict)
    outcomes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    begin: Mapping[str, Any] = field(default_factory=dict)
    targets: tuple[Mapping[str, Any], ...] = ()
    recall: Recall = field(default_factory=lambda: Recall({}))

    def take(self, frame: Mapping[str, Any]) -> None:
        """Add what one frame tells; frames of other kinds are for those who watch."""
        kind = frame.get("frame")
        if kind == "facts":
            for path, value in frame["facts"]:
                self._fact(str(path), value)
        elif kind == "probe":
            self.outcomes[str(frame["probe"])] = frame
        elif kind == "begin":
            self.begin = frame

    def _fact(self, path: str, value: Any) -> None:
        if path == "targets" and isinstance(value, list):
            self.targets = tuple(value)
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
        found = {offer.probe.name: self._became(offer.probe, lost) for offer in plan.asked}
        found.update({name: ProbeResult("not_recorded", reason=why, tells=probe.tells) for name, (probe, why) in plan.left_out.items()})
        return dict(sorted(found.items()))

    def _became(self, probe: Probe, lost: str) -> ProbeResult:
        told = self.outcomes.get(probe.name)
        if told is None or told.get("status") not in STATUSES:
            return ProbeResult("lost", deadline_s=probe.deadline_s, reason=lost, tells=probe.tells)
        return ProbeResult(
            status=told["status"], elapsed_s=float(told.get("elapsed_s", 0.0)), deadline_s=probe.deadline_s, reason=str(told.get("reason", "")),
            tells=probe.tells, tools=tuple(told.get("tools", ())), left_behind=tuple(told.get("left_behind", ())), notes=tuple(told.get("notes", ())),
        )

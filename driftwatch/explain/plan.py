"""The experiment that would settle a diff: the control run first, then single flips from the bad side back to the good one, cheapest first. Runs nothing.

Each flip takes one thing back and nothing else, with what undoes it; what cannot move alone (torch and the libraries of its wheel, a driver) moves
together. A thing that no command of ours can take back is named at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Explanation, Suspect
from driftwatch.explain.flips import Cost, Flip, Step, flips
from driftwatch.explain.words import listed
from driftwatch.model import matches

LASTS: Mapping[Cost, str] = MappingProxyType({
    "control": "restart", "process": "seconds", "env": "seconds", "argument": "restart", "pip": "1 min", "os": "1 min", "checkout": "minutes",
    "reboot": "reboot", "driver": "reboot",
})
ORDER = tuple(LASTS)
_NAMED = 4
_TELLING = (
    "servers/*/log/*", "servers/*/running", "servers/*/started_at", "servers/*/leftovers", "servers/*/libraries/*", "servers/*/*/libraries/*",
    "servers/*/env_*", "nvml/*", "libraries/*", "sources/*/tree", "sources/*/count", "packages/*/verified",
)  # facts that tell how a server did, or that follow: there is nothing to take back


@dataclass(frozen=True)
class Plan:
    """The steps in their order, and the changed facts that no step takes back."""

    good_ref: str
    bad_ref: str
    steps: tuple[Step, ...]
    untouched: tuple[str, ...]
    exit_code: int


def plan(case: Case, explanation: Explanation, only: tuple[str, ...] = ()) -> Plan:
    """Return the experiment for a case: an empty list of steps where the sides do not differ. ``only``: globs of the facts that steps may be about."""
    found = [flip for flip in flips(case) if not only or any(matches(path, only) for path in flip.paths)]
    weighed = [_weighed(flip, explanation.suspects) for flip in found]
    steps = sorted(_folded([*weighed, *_of_holders(explanation)]), key=lambda one: (ORDER.index(one.cost), -(one.confidence or 0.0)))
    moved = {path for flip in found for path in flip.paths}
    left = tuple(change.path for change in case.seen if change.path not in moved and not matches(change.path, _TELLING))
    return Plan(case.good_ref, case.bad_ref, (_control(case), *steps) if steps or left else (), left, explanation.exit_code)


def _control(case: Case) -> Step:
    what = f"run the good setup again, as in {case.good_ref}" if case.good_ref else "run the good setup again"
    return Step("control", f"{what}; if it fails too, it was no change")


def _weighed(flip: Flip, suspects: Sequence[Suspect]) -> Flip:
    """Return a flip with the confidence of the surest suspect that it tries."""
    found = [one.confidence for one in suspects
             if one.subject == flip.subject or flip.paths.intersection(fact for term in one.because if term.weight > 0 for fact in term.facts)]
    return replace(flip, step=replace(flip.step, confidence=max(found))) if found else flip


def _folded(every: Iterable[Flip | Step]) -> Iterator[Step]:
    """Yield a step for each thing that is suspected, and one for all the rest of a kind, so that it can be halved where it helps."""
    rest: dict[Cost, list[Step]] = {}
    for flip in every:
        step = flip.step if isinstance(flip, Flip) else flip
        if step.confidence is not None or isinstance(flip, Step):
            yield step
        else:
            rest.setdefault(step.cost, []).append(step)
    for cost, steps in rest.items():
        if len(steps) <= _NAMED:
            yield from steps
        else:
            lines, undo = (tuple(line for step in steps for line in getattr(step, name)) for name in ("lines", "undo"))
            yield Step(cost, f"all {len(steps)} that no rule speaks for: {listed((step.says for step in steps), 3)}", lines, undo, "if it helps, halve them")


def _of_holders(explanation: Explanation) -> Iterator[Step]:
    for one in explanation.suspects:
        if one.subject.kind in ("gpu-process", "gpu-memory"):
            look = tuple(line.run for line in one.commands if line.label in ("confirm", "look"))
            yield Step("process", f"free the GPUs: {one.subject.name}", look, (), "end by yourself what this shows; there is no undo", one.confidence)

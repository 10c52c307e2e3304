"""The experiment that would settle a diff: the control run first, then single flips from the bad side back to the good one. Runs nothing.

What tries a strong suspect goes first, then a likely one, then the rest; each of these cheapest first. Each flip takes one thing back and nothing else,
with what undoes it; what cannot move alone (torch and the libraries of its wheel, a driver) moves together. A suspect that no flip tries is tried as the
explanation says. A thing that no command of ours can take back is named at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Explanation, Suspect, strength_of
from driftwatch.explain.flips import Cost, Flip, Step, flips
from driftwatch.explain.verdict import said
from driftwatch.explain.words import listed
from driftwatch.model import matches

LASTS: Mapping[Cost, str] = MappingProxyType({
    "control": "restart", "process": "seconds", "env": "seconds", "host": "minutes", "argument": "restart", "pip": "1 min", "os": "1 min",
    "checkout": "minutes", "reboot": "reboot", "driver": "reboot",
})
ORDER = tuple(LASTS)
_NEXT_TO_LOOK = "no command here takes it back: look, and judge by yourself"
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
    wanted = [one for one in explanation.suspects if not only or any(matches(fact, only) for term in one.because for fact in term.facts)]
    own = [one for one in wanted if not _is_tried(one, found)]
    steps = sorted(_folded([*weighed, *map(_of_suspect, own)]), key=_place)
    moved = {path for flip in found for path in flip.paths} | {fact for one in own for term in one.because for fact in term.facts}
    left = tuple(change.path for change in case.seen if change.path not in moved and not matches(change.path, _TELLING)
                 and (not only or matches(change.path, only)))
    return Plan(case.good_ref, case.bad_ref, (_control(case), *steps) if steps or left else (), left, explanation.exit_code)


def _place(step: Step) -> tuple[int, int, float]:
    """Return where a step stands: by the strength of what it tries, then by its cost, then by how sure that is."""
    sure = step.confidence or 0.0
    return (("strong", "likely", "weak").index(strength_of(sure)), ORDER.index(step.cost), -sure)


def _control(case: Case) -> Step:
    what = f"run the good setup again, as in {case.good_ref}" if case.good_ref else "run the good setup again"
    return Step("control", f"{what}; if it fails too, it was no change")


def _weighed(flip: Flip, suspects: Sequence[Suspect]) -> Flip:
    """Return a flip with the confidence of the surest suspect that it tries."""
    found = [one.confidence for one in suspects if _tries(flip, one)]
    return replace(flip, step=replace(flip.step, confidence=max(found))) if found else flip


def _tries(flip: Flip, suspect: Suspect) -> bool:
    """Tell whether a flip takes back what is suspected, or a fact that speaks for it."""
    return flip.subject == suspect.subject or bool(flip.paths.intersection(fact for term in suspect.because if term.weight > 0 for fact in term.facts))


def _is_tried(suspect: Suspect, every: Sequence[Flip]) -> bool:
    """Tell whether flips try a suspect whole: one takes back that very thing, or what speaks for it where the explanation knows no other try."""
    if not any(one.label == "try" for one in suspect.commands) and any(_tries(flip, suspect) for flip in every):
        return True
    return any(suspect.subject.name in (flip.subject.name, *(part for path in flip.paths for part in path.split("/"))) for flip in every)


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


def _of_suspect(suspect: Suspect) -> Step:
    """Return the step that the explanation's own commands make of a suspect: what it says to try, else what would show it."""
    tries = [one for one in suspect.commands if one.label == "try"]
    shown = tries or [one for one in suspect.commands if one.label in ("confirm", "look")]
    undo = tuple(one.run for one in suspect.commands if one.label == "undo" and tries)
    notes = dict.fromkeys(one.note for one in tries if one.note) if tries else {_NEXT_TO_LOOK: None}
    note = "; ".join([*notes, *(["there is no undo"] if any(not one.run.startswith("#") for one in tries) and not undo else [])])
    cost: Cost = "process" if suspect.subject.kind in ("gpu-process", "gpu-memory") else "argument" if suspect.subject.kind == "launch-arg" else "host"
    return Step(cost, said(suspect).removesuffix("."), tuple(one.run for one in shown), undo, note, suspect.confidence)

"""A host's snapshots in the order of time: when did a fact change, what changed with it, and which changes time itself rules out. Pure.

A question without an answer is no change: a value that was not known stands between two that were, and the change is told of those two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal

from driftwatch.compare.change import Change
from driftwatch.compare.pair import compare
from driftwatch.explain.case import Case
from driftwatch.explain.events import events
from driftwatch.explain.explanation import Event
from driftwatch.model import ANSWERED, Answer, Known, Snapshot, is_unknown, matches

State = Literal["good", "bad", ""]
MOST_STEPS = 200
MOST_THAWED = 8
_SERVES = re.compile(r"servers/[^/]+/log/ready")
UNSEEN = "while a probe was silent"


@dataclass(frozen=True, eq=False)
class Moment:
    """One snapshot of the host: how it is named, when it was taken, its tags, and what makes it whole, from memory: there may be a thousand of them."""

    ref: str
    taken_at: str
    tags: tuple[str, ...]
    thaw: Callable[[], Snapshot]

    @property
    def snapshot(self) -> Snapshot:
        """Return the whole snapshot. Only the last few that were asked for are kept."""
        return _thawed(self)

    @cached_property
    def state(self) -> State:
        """Return whether the service was good: what the tags say; else bad where it holds a symptom, good where a server's log says that it came to serve."""
        for name in self.tags:
            if name.partition("-")[0] in ("good", "bad"):
                return "good" if name.startswith("good") else "bad"
        if self.snapshot.symptom is not None:
            return "bad"
        return "good" if any(value is True and _SERVES.fullmatch(path) for path, value in self.snapshot.facts.items() if path[-6:] == "/ready") else ""


@lru_cache(maxsize=MOST_THAWED)
def _thawed(moment: Moment) -> Snapshot:
    return moment.thaw()


@dataclass(frozen=True)
class Step:
    """What changed from one moment to a later one: the changes that a reader counts, grouped, and what was not known on a side."""

    older: Moment
    newer: Moment
    changes: tuple[Change, ...]
    events: tuple[Event, ...]
    open: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Row:
    """A fact at a moment. ``since`` is the step that brought its value, where it is another than the last one known before."""

    moment: Moment
    value: Answer
    since: Step | None = None


@dataclass(frozen=True)
class Cleared:
    """A change that came while the service was good, and was still there when it was good later: time rules it out."""

    change: Change
    step: Step


@dataclass(frozen=True)
class Window:
    """The last good moment and the first bad one after it, what changed between, and what time rules out. ``unsaid``: moments between of unknown state."""

    step: Step
    unsaid: tuple[Moment, ...] = ()
    cleared: tuple[Cleared, ...] = ()


def fact_rows(moments: Sequence[Moment], paths: Sequence[str]) -> dict[str, list[Row]]:
    """Return each fact at every moment, oldest first."""
    rows: dict[str, list[Row]] = {path: [] for path in paths}
    last: dict[str, tuple[Moment, Known]] = {}
    for moment in moments:
        for path, told in rows.items():
            found, before = moment.snapshot.get(path), last.get(path)
            is_new = before is not None and isinstance(found, Known) and found.value != before[1].value
            told.append(Row(moment, found, step(before[0], moment) if is_new and before is not None else None))
            if isinstance(found, Known):
                last[path] = (moment, found)
    return rows


@lru_cache(maxsize=MOST_STEPS)
def step(older: Moment, newer: Moment) -> Step:
    """Return what changed from one moment to a later one."""
    changes = compare(older.snapshot, newer.snapshot)
    case = Case(older.snapshot, newer.snapshot, changes)
    return Step(older, newer, case.seen, events(case, ()), tuple(change for change in changes if change.kind == "unknown"))


def steps(moments: Sequence[Moment]) -> list[Step]:
    """Return what changed from each moment to the next, oldest first; where a probe had been silent, since it last answered."""
    found: list[Step] = []
    last: dict[str, Moment] = {}
    for older, newer in pairwise(moments):
        found.append(_with_unseen(step(older, newer), last))
        last |= {name: older for name in older.snapshot.probes if _answers(older.snapshot, name)}
    return found


def _with_unseen(one: Step, last: Mapping[str, Moment]) -> Step:
    """Return a step with what changed while a probe gave no answer, which no single pair of neighbours shows; ``last`` is when each answered before."""
    older, newer = one.older.snapshot, one.newer.snapshot
    unseen: dict[str, Change] = {}
    for probe in (name for name in newer.probes if _answers(newer, name) and not _answers(older, name)):
        found = step(last[probe], one.newer).changes if probe in last else ()
        unseen |= {change.path: change for change in found if newer.owner(change.path) == probe}
    told = {change.path for change in one.changes}
    more = tuple(change for path, change in unseen.items() if path not in told)
    return replace(one, changes=(*one.changes, *more), events=(*one.events, Event(UNSEEN, more))) if more else one


def _answers(snapshot: Snapshot, probe: str) -> bool:
    return probe in snapshot.probes and snapshot.probes[probe].status in ANSWERED


def paths_that_fit(moments: Sequence[Moment], globs: Sequence[str]) -> list[str]:
    """Return the paths of all facts that fit one of the globs at any moment, sorted; a glob that fits none is a path by itself."""
    wanted = tuple(one for glob in globs for one in (glob, f"{glob}/*"))
    seen: set[str] = set()
    found: set[str] = set()
    silent: set[str] = set()
    for moment in moments:
        facts = moment.snapshot.facts
        new = facts.keys() - seen
        seen |= new
        found |= {path for path in new if matches(path, wanted)}
        silent |= {path for path in found if is_unknown(facts.get(path))}
    covered = {path for path in silent if any(one.startswith(f"{path}/") for one in found)}
    alone = {glob for glob in globs if "*" not in glob and not any(matches(path, (glob, f"{glob}/*")) for path in found)}
    return sorted((found - covered) | alone)


def has_changed(rows: Sequence[Row]) -> bool:
    """Tell whether a fact was ever known to be another than before."""
    return any(row.since is not None for row in rows)


def window(moments: Sequence[Moment]) -> Window | None:
    """Return the newest change from good to bad; None where no moment is known to be good, or none after it bad."""
    place = next((at for at in reversed(range(len(moments))) if moments[at].state == "bad" and any(one.state == "good" for one in moments[:at])), None)
    if place is None:
        return None
    first = max(at for at in range(place) if moments[at].state == "good")
    bad = next(at for at in range(first + 1, place + 1) if moments[at].state == "bad")
    between = step(moments[first], moments[bad])
    return Window(between, tuple(moments[first + 1 : bad]), _cleared(moments[: first + 1], between))


def _cleared(moments: Sequence[Moment], between: Step) -> tuple[Cleared, ...]:
    """Return the changes from one good moment to the next, newest first, of facts that did not change again in the window."""
    goods = [one for one in moments if one.state == "good"]
    again = {change.path for change in (*between.changes, *between.open)}
    found: dict[str, Cleared] = {}
    for one in reversed(steps(goods)):
        for change in one.changes:
            if change.path not in again:
                found.setdefault(change.path, Cleared(change, one))
    return tuple(found.values())

"""The one cheapest command that would answer an open question, and what is known of how it went unanswered. Only commands that driftwatch has."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from driftwatch.explain.case import Case, SideName
from driftwatch.explain.words import command, count, listed
from driftwatch.model import Snapshot, matches

USUAL_DEADLINE_S = 15.0
LONGEST_S = 300
_ONLY_COLUMNS = 64  # of one --only, so that a terminal of 80 holds it


class Question(NamedTuple):
    """What went unanswered: of which probe, how, on which side, and why."""

    probe: str
    status: str
    side: SideName
    reason: str


def command_for(case: Case, asked: Question) -> str:
    """Return the command that would settle a question; empty for a moment that is past and cannot be asked again."""
    names_a_log = "--log" in asked.reason
    if asked.side == "good" and not names_a_log:
        return ""
    words = _snapshot(case, case.side(asked.side), is_denied=asked.status == "denied")
    if asked.status == "lost":
        return command(words)
    words += ["--with", asked.probe] if asked.probe == "imports" else ["--only", asked.probe]
    if asked.status == "timeout":
        words += ["--deadline", f"{asked.probe}={_longer(case, asked.probe, asked.side)}"]
    return command(words) + (" --log FILE" if names_a_log else "")


def command_for_all(case: Case, probes: Sequence[str], *, is_denied: bool) -> str:
    """Return the one command that asks these probes again on the broken host."""
    rows = [""]
    for name in probes:
        rows = [*rows[:-1], f"{rows[-1]},{name}".lstrip(",")] if len(rows[-1]) + len(name) < _ONLY_COLUMNS else [*rows, name]
    return command([*_snapshot(case, case.bad, is_denied=is_denied), *(word for row in rows for word in ("--only", row))])


def _snapshot(case: Case, side: Snapshot, *, is_denied: bool) -> list[str]:
    """Return the words that take a snapshot of a side's host anew: as root where it refused another user, and without a name where it is this machine."""
    needs_root = is_denied and side.agent.get("uid") != 0
    if view := _view(case, side):
        return ["driftwatch", "snapshot", view]
    if side.host and side.host == case.here:
        return [*(["sudo"] if needs_root else []), "driftwatch", "snapshot"]
    host = side.host or "HOST"
    return ["driftwatch", "snapshot", f"root@{host}" if needs_root else host]


def _view(case: Case, side: Snapshot) -> str:
    """Return the destination that gives the view from inside of which the host was seen; "" where it was the host itself."""
    view = side.extra.get("view")
    if not isinstance(view, Mapping):
        return ""
    if view.get("inside") == "kubernetes":
        return "kubectl://" + "/".join(str(view[key]) for key in ("namespace", "pod", "container") if key in view)
    if "container" in view:
        return f"{view['inside']}://{view['container']}" + (f"@{view['of']}" if view.get("of") not in (None, case.here) else "")
    return f"slurm://{side.host}" if view.get("inside") == "slurm step" else ""


def _longer(case: Case, probe: str, side: SideName) -> int:
    result = case.side(side).probes.get(probe)
    deadline = result.deadline_s if result is not None and isinstance(result.deadline_s, (int, float)) and result.deadline_s > 0 else USUAL_DEADLINE_S
    return min(LONGEST_S, math.ceil(deadline * 4))


def detail(case: Case, probe: str, side: SideName, *, is_probe: bool) -> str:
    """Return what a probe told before it stopped, and which of its processes are still there; empty where it is not about a whole probe."""
    snapshot = case.side(side)
    result = snapshot.probes.get(probe)
    if not is_probe or result is None:
        return ""
    left = [f"pid {one.get('pid')} left behind in state {one.get('state', '?')}, {one.get('wchan') or 'wait channel not told'}" for one in result.left_behind]
    tells = result.tells or (probe, probe + "/*")
    told = sum(matches(path, tells) for path in snapshot.facts)
    words = [listed(left)] if left else []
    words += [f"told before: {count(told, 'fact')}"] if told else []
    return "; ".join(words)

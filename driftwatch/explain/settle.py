"""The one cheapest command that would answer an open question, and what is known of how it went unanswered. Only commands that driftwatch has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from driftwatch.explain.case import Case, SideName
from driftwatch.explain.words import command, count, listed
from driftwatch.model import matches

USUAL_DEADLINE_S = 15.0
LONGEST_S = 300


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
    words = _snapshot(case.side(asked.side).host or "", is_denied=asked.status == "denied")
    if asked.status == "lost":
        return command(words)
    words += ["--with", asked.probe] if asked.probe == "imports" else ["--only", asked.probe]
    if asked.status == "timeout":
        words += ["--deadline", f"{asked.probe}={_longer(case, asked.probe, asked.side)}"]
    return command(words) + (" --log FILE" if names_a_log else "")


def command_for_all(case: Case, probes: Sequence[str], *, is_denied: bool) -> str:
    """Return the one command that asks these probes again on the broken host."""
    return command([*_snapshot(case.bad.host or "", is_denied=is_denied), "--only", ",".join(probes)])


def _snapshot(host: str, *, is_denied: bool) -> list[str]:
    if not host:
        return [*(["sudo"] if is_denied else []), "driftwatch", "snapshot"]
    return ["driftwatch", "snapshot", f"root@{host}" if is_denied else host]


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

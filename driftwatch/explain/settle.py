"""The one cheapest command that would answer an open question, and what is known of how it went unanswered. Only commands that driftwatch has."""

from __future__ import annotations

import math

from driftwatch.explain.case import Case, SideName
from driftwatch.explain.words import command, count, listed
from driftwatch.model import matches

USUAL_DEADLINE_S = 15.0
LONGEST_S = 300


def command_for(case: Case, probe: str, status: str, side: SideName, *, reason: str) -> str:
    """Return the command that would settle a question of a probe; empty for a moment that is past and cannot be asked again."""
    names_a_log = "--log" in reason
    if side == "good" and not names_a_log:
        return ""
    host = case.side(side).host or ""
    if status == "denied":
        host = f"root@{host}" if host else ""
    words = (["sudo"] if status == "denied" and not host else []) + ["driftwatch", "snapshot", *([host] if host else [])]
    if status == "lost":
        return command(words)
    words += ["--with", probe] if probe == "imports" else ["--only", probe]
    if status == "timeout":
        words += ["--deadline", f"{probe}={_longer(case, probe, side)}"]
    return command(words) + (" --log FILE" if names_a_log else "")


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

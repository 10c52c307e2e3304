"""CPUs that a server's processes may run on: few make every step wait for the host. Who starts the ranks sets them: a job system, a unit, numactl."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.rules.rank_env import job_changes, job_system
from driftwatch.explain.servers import framework
from driftwatch.explain.terms import term
from driftwatch.explain.words import command, count

_FEWER = 0.7  # a part of what the good side had that is a loss
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each server whose processes may run on notably fewer CPUs than before."""
    for server in case.families("servers"):
        (good, _), (bad, fact) = (_fewest(case, side, server) for side in SIDES)
        if good and bad and bad < _FEWER * good:
            told = f"{good} → {count(bad, 'CPU')} for a process of it"
            terms = (term("limit fell", told, (fact,)), *job_system(case))
            look = Command("confirm", f"grep Cpus_allowed_list /proc/$(pgrep -of {command([framework(server)])})/task/*/status | sort -u")
            wording = Wording("limit", f"CPUs of {server}", "~", f"{good}", f"{bad}", f"Processes of {server} may run on {told}.", commands=(look,))
            yield Evidence(_subject(case, server), terms, wording)


def _subject(case: Case, server: str) -> Subject:
    """Return what to blame: the job system where that moved, since it binds what it starts; else the limit itself."""
    moved = job_changes(case)
    name = moved[0].path.removesuffix("/version").rpartition("/")[2] if moved else ""
    return Subject("service", name) if name else Subject("limit", f"CPU affinity of {server}")


def _fewest(case: Case, side: SideName, server: str) -> tuple[int, str]:
    """Return on how many CPUs the most narrowly bound process of a server may run, and the fact that tells it; 0 where none does."""
    told = [(_count(one), path) for path, value in case.below(side, "servers") if path.startswith(f"servers/{server}/") and path.endswith("/limits/cpus")
            for one in (value if isinstance(value, list) else [value])]
    return min((one for one in told if one[0]), default=(0, ""))


def _count(cpus: object) -> int:
    ranges = _RANGE.findall(cpus) if isinstance(cpus, str) else []
    return sum(int(last or first) - int(first) + 1 for first, last in ranges)


RULES = (Rule("cpu_affinity", needs=(), weigh=weigh, blames=("limit", "service")),)

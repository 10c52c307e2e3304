"""Variables that all ranks of a server had alike and that now differ from rank to rank, or the other way round. A job system sets such ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.compare.change import Change
from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.explanation import Subject, Term
from driftwatch.explain.families import os_package_family, variable_family
from driftwatch.explain.pairs import both
from driftwatch.explain.rule import Evidence, Finding, Rule
from driftwatch.explain.terms import term
from driftwatch.explain.transactions import bringer
from driftwatch.explain.words import count, moved, show

_OWN = frozenset(
    {"RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "SLURM_PROCID", "SLURM_LOCALID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}
)  # they differ by their nature


def weigh(case: Case) -> Iterator[Finding]:
    """Yield terms for each variable whose ranks were alike on the good side and are not on the bad one, or come to be."""
    for server in case.families("servers"):
        for name in sorted({path.rsplit("/", 1)[1] for side in SIDES for path, _ in case.under(side, f"servers/{server}") if "/env/" in path} - _OWN):
            good, bad = _values(case, "good", server, name), _values(case, "bad", server, name)
            if not good or not bad or (len(good) > 1) == (len(bad) > 1) or variable_family(name) == "harmless":
                continue
            facts = tuple(dict.fromkeys((*good.values(), *bad.values())))
            if len(bad) > 1:
                now, before = show(", ".join(sorted(bad))), show(next(iter(good)))
                says = f"its ranks no longer have it alike: {count(len(bad), 'value')} now ({now}), one before ({before})"
                if variable_family(name) == "devices" and all(re.fullmatch(r"[\w-]+", one) for one in bad):
                    says += ": each rank now gets one device"
                yield Evidence(Subject("env-var", name), (term("ranks no longer alike", says, facts), *job_system(case)))
            else:
                yield Evidence(Subject("env-var", name), (term("ranks alike again", f"all its ranks have one value now, and had {len(good)}", facts),))


def _values(case: Case, side: SideName, server: str, name: str) -> dict[str, str]:
    """Return the values that the ranks of a server have for a variable, each with a fact that tells it."""
    found: dict[str, str] = {}
    for path, value in case.under(side, f"servers/{server}"):
        if path.endswith(f"/env/{name}"):
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, str):
                    found.setdefault(one, path)
    return found


def job_changes(case: Case) -> list[Change]:
    """Return what moved of the job system: its packages, else its own version."""
    return [
        change
        for change in case.moved("os_packages/*/version", "slurm/version")
        if change.path == "slurm/version" or os_package_family(change.path.split("/")[1]) == "job"
    ]


def job_system(case: Case) -> Iterator[Term]:
    """Yield that what starts the ranks moved: it sets such variables."""
    changes = job_changes(case)
    if changes:
        found = bringer(case, [change.path.split("/")[1] for change in changes])
        told = f", {found.told}" if found is not None else ""
        yield term(
            "job system moved",
            f"the job system that starts them moved: {changes[0].path.removesuffix('/version').rpartition('/')[2]} {moved(*both(case, changes[0].path))}{told}",
            [change.path for change in changes],
        )


RULES = (Rule("rank_env", needs=(), weigh=weigh, blames=("env-var",)),)

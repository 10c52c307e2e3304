"""Settings of the kernel's memory that moved: transparent huge pages, reserved huge pages, swap. They make work slow, seldom anything else."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.pairs import both
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import term
from driftwatch.explain.words import moved

_TOLD = {
    "thp/*": "transparent huge pages: copies between host and GPU, and the loading of weights, depend on them",
    "memory/hugepages/*/total": "reserved huge pages: what is reserved for them nothing else can use",
    "memory/swap_total_kib": "swap: weights that are swapped out make every step wait", "swap/*": "swap: weights that are swapped out make every step wait",
}
_OF_HOST = re.compile(r"host memory|cannot allocate memory|\bENOMEM\b|[Kk]illed|MemoryError", re.IGNORECASE)
_LOOK = Command("confirm", "cat /sys/kernel/mm/transparent_hugepage/enabled; grep -i huge /proc/meminfo; swapon --show")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each setting that moved."""
    for glob, says in _TOLD.items():
        for change in case.moved(glob):
            good, bad = both(case, change.path)
            name = change.path.replace("/", " ")
            wording = Wording("host memory", name, "~", good, bad, f"{name} {moved(good, bad)}.", commands=(_LOOK,))
            terms = [term("memory setting moved", says, (change.path,))]
            if name.startswith("memory hugepages") and _OF_HOST.search(case.text):
                terms.append(term("text names it", "the error text is that of a process for which the host had too little memory", (change.path,)))
            yield Evidence(Subject("host-memory", name), tuple(terms), wording)


RULES = (Rule("memory_settings", needs=(), weigh=weigh, blames=("host-memory",)),)

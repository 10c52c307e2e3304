"""Processes that the kernel killed at the memory limit of their own control group: the limit is the cause, however much memory the host has left."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.explain import limits, memory_groups
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.pairs import both
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, mark, term
from driftwatch.explain.words import listed

_UNTOLD = "memory limit of a control group"
_LOOK = Command("confirm", "dmesg | grep -iE 'memcg|killed process'; systemctl show -p MemoryMax,MemoryHigh UNIT; cat /sys/fs/cgroup/…/memory.events")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each group's limit at which processes were killed, by what orders it where the group itself is gone."""
    for limit, facts in memory_groups.killed(case).items():
        orders = memory_groups.orders(case, limit)
        fact = limit or next(iter(orders), "")
        name = memory_groups.title(limit) if limit else f"memory limit of {memory_groups.unit(orders[0])}" if orders else _UNTOLD
        good, bad = both(case, fact) if fact else (None, None)
        most = limits.soft(bad)
        size = f" ({limits.show(most)})" if most is not None else f" ({bad})" if bad else ""
        says = f"the kernel killed processes of the group at its own limit{size}"
        terms = [term("killed at its group's limit", says, [*facts, *([fact] if fact else [])]), *before_unknown(case, "it had", *facts)]
        if orders and not limit:
            terms.append(term("limit fell", f"it was set anew: {listed(orders)}", orders))
        if limits.NO_MEMORY.search(case.text):
            terms.append(term("text fits", "the error text is that of a process that was killed, or got no memory"))
        verdict = f"The {name}{size} was reached: the kernel killed processes of the group, whatever the host had left."
        wording = Wording("limit", name, mark(good, bad), good, bad, verdict, memory_groups.ordered(orders), (_LOOK,))
        yield Evidence(Subject("limit", name), tuple(terms), wording)


RULES = (Rule("group_memory", needs=(), weigh=weigh, blames=("limit",)),)

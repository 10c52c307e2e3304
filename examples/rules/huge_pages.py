"""A rule of a site's own: at our site, huge pages must stay reserved for the pinned buffers of the transfer engine.

Used by ``driftwatch diff GOOD BAD --rules examples/rules``, or from ``[rules] paths`` of the config file. A rule reads a case and yields
findings; it declares the facts that it needs, and is not asked where one of them is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording

RESERVED = "system/memory/HugePages_Total"
GONE = 3.0  # log-odds: it has been the cause whenever we saw it


def weigh(case: Case) -> Iterator[Finding]:
    """Yield the loss of reserved huge pages, if there was one."""
    found = case.known(RESERVED)
    if found is None:
        return
    good, bad = found
    if good and not bad:
        look = Command("confirm", "grep HugePages_ /proc/meminfo")
        wording = Wording("host memory", "reserved huge pages", "~", good, bad, f"The reserved huge pages are gone: {good} → {bad}.", commands=(look,))
        yield Evidence(Subject("host-memory", "huge pages"), (Term(f"{good} pages were reserved, now {bad}", GONE, (RESERVED,)),), wording)


RULES = (Rule("reserved huge pages", (RESERVED,), weigh, ("host-memory",)),)

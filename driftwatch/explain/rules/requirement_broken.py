"""Requirements that the installed set met on the good side and does not meet on the bad one, as the distributions' own metadata declare them."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.compare.requirements import Unmet, unmet
from driftwatch.explain.broken_pair import Pair, told_of
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.families import GPU_STACK, package_family
from driftwatch.explain.mentions import Said, mentions
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import pip, term

_MOST = 30


def weigh(case: Case) -> Iterator[Finding]:
    """Yield who wants and who does not fit, for each requirement that broke."""
    if not case.has_moved("packages/*/version", "packages/*/requires"):
        return
    before = {(one.by, one.name) for one in unmet(case.good)}
    broken = {(one.by, one.name): one for one in unmet(case.bad) if (one.by, one.name) not in before and not one.instead}
    for one in list(broken.values())[:_MOST]:
        if one.installed is None:
            yield from _gone(case, one)
        else:
            says = f"{one.by} {case.value('bad', f'packages/{one.by}/version')} requires {one.requirement}, installed is {one.installed}"
            held = case.value("good", f"packages/{one.by}/requires") is not None and case.known(f"packages/{one.name}/version") is not None
            yield from told_of(case, Pair(one.by, one.name, says, held, "requirement broke"))


def _gone(case: Case, one: Unmet) -> Iterator[Finding]:
    """Yield that a distribution is required and not there any more."""
    facts = (f"packages/{one.name}/version", f"packages/{one.by}/requires")
    if case.value("good", facts[0]) is None:
        return
    says = f"{one.by} requires {one.requirement}, and it is not installed any more"
    weight = "requirement broke" if package_family(one.name) in GPU_STACK else "requirement broke, before unknown"
    look = Command("confirm", pip(case, "check"))
    wording = Wording("package", one.name, "!", case.value("good", facts[0]), None, f"{says}.", commands=(look,))
    yield Evidence(Subject("package", one.name), (term(weight, says, facts), *mentions(Said(case), one.name, facts)), wording)


RULES = (Rule("requirement_broken", needs=("packages/*/requires",), weigh=weigh, blames=("package",)),)

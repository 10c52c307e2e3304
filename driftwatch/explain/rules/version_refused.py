"""A distribution that did not move, and whose version the error quotes and refuses: what moved wants another one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.mentions import Said, mentions, quotes_either
from driftwatch.explain.naming import quotes_version
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import pip, term
from driftwatch.explain.words import show

_CARRIERS = ("python/version", "kernel/release", "driver/version", "torch/version")
_REFUSED = re.compile(
    r"less than|older|newer|at least|minimum|does not match|mismatch|incompatible|not compatible|requires?\b|needs?\b|but found|expected|>=|<=|[<>]\d",
    re.IGNORECASE)


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each distribution that stayed as it was while the error refuses its version; none where it quotes that of what carries them all and moved."""
    if not _REFUSED.search(case.text) or not case.seen or any(quotes_either(case, path) for path in _CARRIERS):
        return
    said = Said(case)
    for name in sorted(said.named):
        fact = f"packages/{name}/version"
        both = case.known(fact)
        if both is not None and both[0] == both[1] and quotes_version(case.text, both[1]):
            says = f"the error refuses {show(both[1])}, which it was on the good side too: what wants another one moved"
            look = Command("confirm", pip(case, "show", name))
            wording = Wording("package", name, "!", both[0], both[1], f"{name} {show(both[1])} is refused by what moved.", commands=(look,))
            yield Evidence(Subject("package", name), (term("quoted, not moved", says, (fact,)), *mentions(said, name, (fact,))), wording)


RULES = (Rule("version_refused", needs=("packages/*/version",), weigh=weigh, blames=("package",)),)

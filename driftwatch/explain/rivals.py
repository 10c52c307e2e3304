"""How many things could be the cause: a suspect that nothing else competes with is likelier than the same one among dozens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Subject, Term
from driftwatch.explain.terms import term

_FEW_SUBJECTS, _FEW_CHANGES = 3, 6


def rival_terms(case: Case, evidence: Mapping[Subject, Sequence[Term]]) -> dict[Subject, Term]:
    """Return for each subject that has something for it what its rivals weigh: nothing where many things differ, a whole probe is open, or nothing failed."""
    if case.klass is None or any(change.kind == "unknown" and change.path.startswith("probes/") for change in case.changes):
        return {}
    speaking = {subject: terms for subject, terms in evidence.items() if sum(one.weight for one in terms) > 0}
    found: dict[Subject, Term] = {}
    for subject, terms in speaking.items():
        facts = {fact for one in terms for fact in one.facts}
        others = [change.path for change in case.seen if change.path not in facts]
        if not others and len(speaking) == 1:
            found[subject] = term("nothing else differs", "nothing else that was read differs", tuple(sorted(facts))[:20])
        elif len(speaking) <= _FEW_SUBJECTS and len(case.seen) <= _FEW_CHANGES:
            found[subject] = term("few others differ", f"little else differs: {len(others)} of the facts that were read")
    return found

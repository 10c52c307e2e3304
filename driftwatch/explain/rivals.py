"""How many things could be the cause: a suspect that nothing else competes with is likelier than the same one among dozens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Subject, Term
from driftwatch.explain.terms import term
from driftwatch.explain.weights import LIKELY, logistic, prior

_FAR = 1.5  # log-odds between the first and the next that make the first stand out
_FEW_SUBJECTS, _FEW_CHANGES = 3, 6


def rival_terms(case: Case, evidence: Mapping[Subject, Sequence[Term]]) -> dict[Subject, Term]:
    """Return for each subject that has something for it what its rivals weigh: nothing where many things differ, a whole probe is open, or nothing failed."""
    if case.klass is None or any(change.kind == "unknown" and change.path.startswith("probes/") for change in case.changes):
        return {}
    speaking = {subject: terms for subject, terms in evidence.items() if sum(one.weight for one in terms) > 0}
    if len(speaking) > _FEW_SUBJECTS:
        return _standing_out(case, evidence, speaking)
    found: dict[Subject, Term] = {}
    for subject, terms in speaking.items():
        facts = {fact for one in terms for fact in one.facts}
        others = [change.path for change in case.seen if change.path not in facts]
        if not others and len(speaking) == 1:
            found[subject] = term("nothing else differs", "nothing else that was read differs", tuple(sorted(facts))[:20])
        elif len(case.seen) <= _FEW_CHANGES:
            found[subject] = term("few others differ", f"little else differs: {len(others)} of the facts that were read")
    return found or _standing_out(case, evidence, speaking)


def _standing_out(case: Case, evidence: Mapping[Subject, Sequence[Term]], speaking: Mapping[Subject, Sequence[Term]]) -> dict[Subject, Term]:
    """Return that the first stands out where much differs, but far less speaks for anything else."""
    sums = sorted(((prior(subject.kind, case.klass) + sum(one.weight for one in terms), subject) for subject, terms in evidence.items()),
                  key=lambda pair: (-pair[0], pair[1].kind, pair[1].name))
    rival = next((one for one in sums[1:] if not _is_sibling(one[1], sums[0][1])), None)
    if not sums or sums[0][1] not in speaking or (rival is not None and sums[0][0] - rival[0] < _FAR):
        return {}
    is_alone = len(sums) < 2 or logistic(sums[1][0]) < LIKELY
    says = "nothing of it comes near" if is_alone else "less speaks for what comes next"
    return {sums[0][1]: term("stands out", f"much else differs, and {says}")}


def _is_sibling(one: Subject, other: Subject) -> bool:
    """Tell whether two arguments are of one feature, which is set by several: ``speculative_algorithm`` and ``speculative_num_steps``."""
    return one.kind == other.kind == "launch-arg" and one.name.partition("_")[0] == other.name.partition("_")[0]

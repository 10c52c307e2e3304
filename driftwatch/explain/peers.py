"""Why an odd host differs from its peers: it is laid beside a host of the majority and explained by the same rules as a diff. Pure.

What the peers have adds one term to a suspect: PeerPressure's likelihood ratio, bounded, since an innocent difference is as rare as a guilty one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from driftwatch.compare.peers import Outlier, Way, weighed
from driftwatch.compare.peers_align import align, followed, kinds_of
from driftwatch.compare.peers_lines import device_path
from driftwatch.explain.case import Case
from driftwatch.explain.explain import explain
from driftwatch.explain.explanation import Explanation, Suspect, Term
from driftwatch.explain.rule import Rule
from driftwatch.explain.weights import LIKELY, WEIGHTS, logistic
from driftwatch.explain.words import count, show
from driftwatch.model import Snapshot
from driftwatch.symptom import of_snapshot

_WORDS = (("the good side's", "its peers'"), ("on the good side", "on its peers"), ("the good side", "its peers"), ("the bad side", "this host"))


@dataclass(frozen=True)
class OddHosts:
    """A way of differing and why: ``explanation`` is of one host of it (``ref``) beside one of the majority (``against``); None where nobody looked."""

    way: Way
    ref: str = ""
    against: str = ""
    explanation: Explanation | None = None

    @property
    def suspects(self) -> tuple[Suspect, ...]:
        """Return the suspects, most likely first."""
        return () if self.explanation is None else self.explanation.suspects

    @property
    def is_odd(self) -> bool:
        """Tell whether a likely suspect was found: else the host only differs."""
        return bool(self.suspects) and self.suspects[0].confidence >= LIKELY

    @property
    def order(self) -> tuple[float, float, int, str]:
        """Return what ways are sorted by: the likeliest suspect first, then the greatest surprise, then few hosts."""
        surprise = max((one.surprise for one in self.way.outliers), default=0.0)
        return (-self.suspects[0].confidence if self.suspects else 0.0, -surprise, len(self.way.hosts), self.way.hosts[0])


@dataclass(frozen=True)
class Beside:
    """A host and how it is called: the snapshot and its reference."""

    snapshot: Snapshot
    ref: str


def explain_way(way: Way, odd: Beside, usual: Beside, rules: Sequence[Rule]) -> OddHosts:
    """Return a way of differing with its explanation, by one of its hosts and one of the majority."""
    aligned = align(usual.snapshot, odd.snapshot, {one.fact.path for one in way.outliers})
    good = replace(aligned.good, taken_at=odd.snapshot.taken_at)  # neither is the earlier one: they are peers
    symptom = odd.snapshot.symptom or of_snapshot(odd.snapshot)
    case = Case(good, aligned.bad, aligned.changes, symptom, "snapshot" if symptom else None, usual.ref, odd.ref)
    outliers = followed(way.outliers, aligned.changes, odd.snapshot)
    return OddHosts(replace(way, outliers=outliers), odd.ref, usual.ref, _among_peers(explain(case, rules), outliers, odd.snapshot))


def with_history(odd: OddHosts, suspects: int, history: dict[str, list[object]]) -> OddHosts:
    """Return the same with the surprise of each outlier weighed again, with earlier values of the host as further samples."""
    return replace(odd, way=replace(odd.way, outliers=weighed(odd.way.outliers, suspects, history)))


def _among_peers(explanation: Explanation, outliers: Sequence[Outlier], odd: Snapshot) -> Explanation:
    """Return an explanation in the words of peers, each suspect with what they have; none that rests on nothing in which the host is odd."""
    kinds, places = kinds_of(odd), {one.fact.path: one for one in outliers}
    suspects = []
    for suspect in explanation.suspects:
        facts = dict.fromkeys(device_path(fact, kinds) for term in suspect.because for fact in term.facts)
        rests = [places[fact] for fact in facts if fact in places]
        if rests:
            suspects.append(_worded(suspect, max(rests, key=lambda one: (one.follows is None, one.surprise))))
    return replace(explanation, suspects=tuple(sorted(suspects, key=lambda one: (-one.confidence, one.subject.kind, one.subject.name))))


def _worded(suspect: Suspect, one: Outlier) -> Suspect:
    fact = one.fact
    others = count(fact.known, "host")
    says = f"{fact.agree} of {others} that know it have {show(fact.majority)}"
    weight = min(WEIGHTS["odd among its peers"], round(math.log((fact.known - 1 + len(fact.values)) / (len(fact.values) * one.sharing)), 3))
    because = (*(replace(term, says=_of_peers(term.says)) for term in suspect.because), Term(says, max(weight, 0.0), (fact.path,)))
    told = logistic(suspect.prior + sum(term.weight for term in because))
    return replace(suspect, because=because, confidence=told, verdict=_of_peers(suspect.verdict))


def _of_peers(text: str) -> str:
    for words, instead in _WORDS:
        text = text.replace(words, instead)
    return text

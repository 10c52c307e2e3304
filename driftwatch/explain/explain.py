"""A case and rules become one explanation: evidence is summed by subject, and each subject stands in exactly one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from driftwatch.explain import servers
from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.events import events
from driftwatch.explain.explanation import Explanation, NotChecked, RuledOut, Side, Subject, Suspect, Term
from driftwatch.explain.not_checked import closing, not_checked, standing
from driftwatch.explain.rivals import rival_terms
from driftwatch.explain.rule import Doubt, Evidence, Finding, Rule, Wording
from driftwatch.explain.turned_round import noted
from driftwatch.explain.verdict import choose_word, sentence, with_doubts
from driftwatch.explain.weights import MOST_SUSPECTS, SHOWN, WEIGHTS, logistic, prior
from driftwatch.explain.words import shorten, show
from driftwatch.model import ANSWERED, Snapshot

_LONGEST_VERDICT = 600
_VIEW = ("inside", "namespace", "pod", "container", "job")
_Sum = tuple[float, Subject, Wording, tuple[Term, ...]]  # log-odds, and what they are of


def explain(case: Case, rules: Sequence[Rule]) -> Explanation:
    """Return the explanation of a case by these rules. Equal sides, or sides that differ in volatile facts only, give no suspect."""
    findings = [finding for rule in rules for finding in ask(rule, case)]
    doubts = [finding for finding in findings if isinstance(finding, Doubt)]
    suspects = _suspects(case, [finding for finding in findings if isinstance(finding, Evidence)], doubts)
    open_ = (*(finding for finding in findings if isinstance(finding, NotChecked)), *not_checked(case, rules))
    suspects, open_ = _with_open_terms(suspects, open_), tuple(entry for entry in open_ if entry.subject not in {one.subject for one in suspects})
    taken = {suspect.subject for suspect in suspects} | {entry.subject for entry in open_}
    shared = {doubt.shared.kind for doubt in doubts if doubt.shared is not None}
    cleared = [one for one in findings if isinstance(one, RuledOut) and one.subject.kind not in shared]
    ruled_out = _ruled_out(case, [one for one in cleared if not any(_holds(one, suspect) for suspect in suspects)], taken)
    word = choose_word(case, suspects, open_)
    verdict = shorten(noted(case, with_doubts(doubts, sentence(case, word, suspects, open_))), _LONGEST_VERDICT)
    return Explanation(
        _side(case, "good"), _side(case, "bad"), case.symptom, case.symptom_from, word, verdict, suspects, ruled_out, open_, case.changes,
        events(case, suspects), standing(case, rules), tuple(doubt.says for doubt in doubts), closing(case, rules),
    )


def ask(rule: Rule, case: Case) -> list[Finding]:
    """Return what a rule finds; nothing where a fact that it needs is not known, since that stands under *not checked* already.

    A rule that fails, a site's own perhaps, is itself a question without an answer: it never takes the report down.
    """
    if any(_is_open(case, side, need) for need in rule.needs for side in SIDES) or any(_is_open(case, "bad", need) for need in rule.needs_bad):
        return []
    found: list[Finding] = []
    try:
        found.extend(rule.weigh(case))
    except (Exception, SystemExit) as wrong:  # noqa: BLE001  any failure of a rule becomes an open question, once and here
        found.append(NotChecked(Subject("probe", f"rule {rule.name}"), "error", "both", f"the rule failed: {type(wrong).__name__}: {wrong}"))
    return [finding for finding in found if isinstance(finding, Doubt) or finding.subject.name.strip()]


def _is_open(case: Case, side: SideName, need: str) -> bool:
    return all(case.unanswered(side, alternative) is not None for alternative in need.split("|"))


def candidates(case: Case, rules: Sequence[Rule]) -> list[tuple[float, Suspect]]:
    """Return every subject that the rules word, however weak, with the log-odds of its sum; the strongest first."""
    findings = [finding for rule in rules for finding in ask(rule, case)]
    ranked = _ranked(case, [one for one in findings if isinstance(one, Evidence)], [one for one in findings if isinstance(one, Doubt)])
    return [(one[0], _suspect(case, one)) for one in ranked]


def _suspects(case: Case, evidence: Iterable[Evidence], doubts: Sequence[Doubt]) -> tuple[Suspect, ...]:
    shown = [one for one in _ranked(case, evidence, doubts)[:MOST_SUSPECTS] if logistic(one[0]) >= SHOWN]
    return _apart([(one[0], _suspect(case, one)) for one in shown])


def _ranked(case: Case, evidence: Iterable[Evidence], doubts: Sequence[Doubt]) -> list[_Sum]:
    """Return each worded subject with its sum and its terms, the largest sum first."""
    groups: dict[Subject, list[Evidence]] = {}
    for one in evidence:
        groups.setdefault(one.subject, []).append(one)
    worded = {subject: (wording, group) for subject, group in groups.items() if (wording := _wording(group)) is not None}
    rivals = rival_terms(case, {subject: _terms(group) for subject, (_, group) in worded.items()})
    found: list[_Sum] = []
    for subject, (wording, group) in worded.items():
        against = tuple(Term(doubt.says, WEIGHTS["doubtful baseline"], doubt.facts, "baseline") for doubt in doubts[:1])
        terms = _terms(group, rivals.get(subject)) + against
        found.append((prior(subject.kind, case.klass) + sum(term.weight for term in terms), subject, wording, terms))
    return sorted(found, key=lambda one: (-one[0], one[1].kind, one[1].name))


def _wording(group: Sequence[Evidence]) -> Wording | None:
    """Return how the evidence that weighs most words its subject; a sum that another one worked out goes with it."""
    worded = [(sum(term.weight for term in one.terms), one.wording) for one in group if one.wording is not None]
    if not worded:
        return None
    best = max(worded, key=lambda pair: pair[0])[1]
    sums = [wording.sum for _, wording in worded if wording.sum is not None]
    return replace(best, sum=sums[0]) if best.sum is None and sums else best


def _terms(group: Sequence[Evidence], more: Term | None = None) -> tuple[Term, ...]:
    """Return the terms of one subject: what speaks for it, its rivals last; what is open; what speaks against it.

    One sentence counts once, whatever rules and facts tell it.
    """
    said: dict[str, Term] = {}
    for term in (term for one in group for term in one.terms):
        first = said.setdefault(term.says, term)
        heavier = max(first, term, key=lambda one: abs(one.weight))
        said[term.says] = replace(heavier, facts=tuple(dict.fromkeys((*first.facts, *term.facts))))
    every = [*said.values(), *(() if more is None else (more,))]
    return tuple(sorted(every, key=lambda term: (("+", "?", "-").index(term.sign), term is more, -abs(term.weight))))


def _suspect(case: Case, found: _Sum) -> Suspect:
    log_odds, subject, wording, terms = found
    return Suspect(
        subject, wording.layer, wording.fact, wording.mark, wording.good, wording.bad, logistic(log_odds), terms,
        wording.carrier, wording.commands, wording.sum, wording.verdict, prior(subject.kind, case.klass), wording.is_one_host,
    )


def _apart(ranked: Sequence[tuple[float, Suspect]]) -> tuple[Suspect, ...]:
    """Return suspects whose evidence differs with confidences that differ too, even where rounding made them one."""
    told: list[Suspect] = []
    for position, (log_odds, suspect) in enumerate(ranked):
        confidence = suspect.confidence
        if position and log_odds < ranked[position - 1][0] - 1e-9:
            confidence = min(confidence, round(told[-1].confidence - 0.001, 3))
        elif position:
            confidence = told[-1].confidence
        told.append(replace(suspect, confidence=max(0.0, confidence)))
    return tuple(told)


def _with_open_terms(suspects: Sequence[Suspect], open_: Sequence[NotChecked]) -> tuple[Suspect, ...]:
    """Return the suspects with what could not be read of them as an open term: a subject stands in one place only."""
    questions = {entry.subject: entry for entry in open_}
    return tuple(_with_question(suspect, questions.get(suspect.subject)) for suspect in suspects)


def _with_question(suspect: Suspect, entry: NotChecked | None) -> Suspect:
    if entry is None:
        return suspect
    side = "both sides" if entry.side == "both" else f"the {entry.side} side"
    return replace(suspect, because=(*suspect.because, Term(f"not read on {side}: {entry.reason}", WEIGHTS["open"])))


def _holds(one: RuledOut, suspect: Suspect) -> bool:
    """Tell whether a suspect is one of a whole kind that a rule clears, as an argument is of those that are all equal."""
    return one.subject.kind == suspect.subject.kind and any(fact.endswith(f"/{suspect.subject.name}") for fact in one.facts)


def _ruled_out(case: Case, findings: Sequence[RuledOut], taken: set[Subject]) -> tuple[RuledOut, ...]:
    """Return what is ruled out: no suspect, no open question, and resting on facts that are all known on both sides."""
    first = {finding.subject: finding for finding in reversed(findings)}
    return tuple(finding for finding in findings if first[finding.subject] is finding and finding.subject not in taken
                 and finding.facts and all(case.known(fact) is not None for fact in finding.facts))


def _side(case: Case, name: SideName) -> Side:
    snapshot = case.side(name)
    answered = sum(result.status in ANSWERED for result in snapshot.probes.values())
    ref = case.good_ref if name == "good" else case.bad_ref
    outcome = _outcome(case, name)
    if view := _view(snapshot):
        outcome = f"{outcome or f'{answered:,} of {len(snapshot.probes):,} probes answered'}, {view}"
    return Side(snapshot.host, snapshot.taken_at, snapshot.id, snapshot.source, ref, outcome, answered, len(snapshot.probes), len(snapshot.facts))


def _view(snapshot: Snapshot) -> str:
    """Return from inside of what the host was seen, as in ``inside docker web``; "" where it was the host itself."""
    view = snapshot.extra.get("view")
    if not isinstance(view, Mapping) or "inside" not in view:
        return ""
    return "inside " + " ".join(str(view[key]) for key in _VIEW if key in view)


def _outcome(case: Case, name: SideName) -> str:
    """Return how the server did on a side, as far as is known: its speed, that it runs, or its error."""
    for server in case.families("servers"):
        speed = case.value(name, f"servers/{server}/log/throughput_tok_s")
        error = case.value(name, f"servers/{server}/log/error")
        if isinstance(error, str):
            return shorten(error)
        if server in servers.runs(case, name):
            return f"serving, {show(speed)} tok/s" if speed is not None else "serving"
        if speed is not None:
            return f"served, {show(speed)} tok/s"
    symptom = case.symptom if name == "bad" else None
    return shorten(symptom.signature or symptom.klass or "") if symptom is not None else ""

"""The word and the one sentence at the top of a report. A verdict never says more than its evidence."""

from __future__ import annotations

from collections.abc import Sequence

from driftwatch.explain.active_tests import active_tests
from driftwatch.explain.case import SIDES, Case
from driftwatch.explain.explanation import NotChecked, Suspect, Word
from driftwatch.explain.not_checked import is_lasting, is_worrying, why_unreached
from driftwatch.explain.rule import Doubt
from driftwatch.explain.weights import CLOSE, LIKELY, NOTABLE, STRONG
from driftwatch.explain.words import count, listed, moved
from driftwatch.model import ANSWERED, Snapshot


def choose_word(case: Case, suspects: Sequence[Suspect], open_: Sequence[NotChecked]) -> Word:
    """Return LIKELY, SEVERAL, UNKNOWN, DRIFT or SAME, as docs/explanation.md defines them."""
    top = suspects[0].confidence if suspects else 0.0
    worrying = any(is_worrying(entry) for entry in open_)
    if top >= STRONG or (top >= LIKELY and not worrying):
        return "SEVERAL" if _has_rival(suspects) else "LIKELY"
    if worrying:
        return "UNKNOWN"
    if top >= NOTABLE and _has_rival(suspects):
        return "SEVERAL"
    if case.seen:
        return "DRIFT"
    return "UNKNOWN" if suspects or not all(is_lasting(entry) for entry in open_) or _answers_differ(case) else "SAME"


def _answers_differ(case: Case) -> bool:
    """Tell whether a probe answered on one side alone, or failed to in two ways: then what it would have told need not be the same."""
    good, bad = ({name: "" if result.status in ANSWERED else result.status for name, result in case.side(side).probes.items()} for side in SIDES)
    return any(status != bad[name] for name, status in good.items() if name in bad)


def _has_rival(suspects: Sequence[Suspect]) -> bool:
    return len(suspects) > 1 and suspects[1].confidence >= NOTABLE and suspects[0].confidence - suspects[1].confidence < CLOSE


def _is_spoken_against(suspect: Suspect) -> bool:
    return any(term.weight < 0 for term in suspect.because)


def sentence(case: Case, word: Word, suspects: Sequence[Suspect], open_: Sequence[NotChecked]) -> str:
    """Return the verdict in one line, without doubts of the good side: those go before it."""
    if word == "LIKELY":
        return said(suspects[0])
    if word == "SEVERAL":
        many = 2 + sum(suspects[0].confidence - one.confidence < CLOSE and one.confidence >= NOTABLE and not _is_spoken_against(one) for one in suspects[2:])
        return f"{many} suspects are close; start with the first: {said(suspects[0])}"
    if word == "UNKNOWN":
        return _unknown(case, suspects, open_)
    if word == "DRIFT":
        return _drift(case, suspects)
    return _same(case)


def with_doubts(doubts: Sequence[Doubt], told: str) -> str:
    """Return the verdict with what makes the good side doubtful before it."""
    return told if not doubts else f"The baseline is doubtful: {doubts[0].says}. Run the good setup again before anything else. {told}"


def said(suspect: Suspect) -> str:
    """Return a suspect's own sentence, or its fact with both values."""
    return suspect.verdict or f"{suspect.fact} {moved(suspect.good, suspect.bad)}."


def _unknown(case: Case, suspects: Sequence[Suspect], open_: Sequence[NotChecked]) -> str:
    for side in SIDES:
        if why := why_unreached(case, side):
            return f"The {'broken' if side == 'bad' else side} side was not reached: {why}. Nothing of it is known, so nothing was compared."
    hiding = [entry for entry in open_ if is_worrying(entry)] or list(open_)
    names = listed(f"{entry.subject.name} ({entry.status.replace('_', ' ')}{', good side' if entry.side == 'good' else ''})" for entry in hiding)
    start = f"{_differing(case)}, none is a strong suspect" if case.seen else "No recorded fact changed"
    weak = f"; the likeliest is: {said(suspects[0])}" if suspects and (suspects[0].confidence >= NOTABLE or not case.seen) else "."
    return f"{start}{f', and not everything was read that could hide one: {names}' if names else ''}{weak}"


def _drift(case: Case, suspects: Sequence[Suspect]) -> str:
    told = "and none of them stands out" if case.klass is None else f"and none of them stands out for {case.klass}"
    weak = f"; the likeliest is: {said(suspects[0])}" if suspects and suspects[0].confidence >= NOTABLE else "."
    humble = "" if suspects or case.klass is None else f" {active_tests(case.klass)}"
    return f"{_differing(case)}, {told}{weak}{humble}"


def _differing(case: Case) -> str:
    return f"{count(len(case.seen), 'fact')} {'differs' if len(case.seen) == 1 else 'differ'}"


def _answered(side: Snapshot) -> str:
    return f"{sum(result.status in ANSWERED for result in side.probes.values())} of {count(len(side.probes), 'probe')}"


def _same(case: Case) -> str:
    good, bad = (_answered(case.side(side)) for side in SIDES)
    humble = "" if case.klass is None else f" {active_tests(case.klass)}"
    return (f"{bad}{f' ({good} on the good side)' if good != bad else ''}, {count(len(case.bad.facts), 'fact')}, no difference. "
            f"Not looked at: model files' content, the requests, the network beyond this host.{humble}")

"""Kernel objects against the cards: a distribution none of whose objects holds code that a GPU of this host can run.

Machine code runs on its own major capability from its minor on, PTX on every later one. A distribution is judged as a whole: many ship one object for
each architecture and load the one that fits. One that has no device code at all, or of which an object could not be read, is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case, SideName
from driftwatch.explain.explanation import Command, NotChecked, Subject
from driftwatch.explain.holders import gpus
from driftwatch.explain.mentions import Said, mentions
from driftwatch.explain.rule import Doubt, Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import pip, term
from driftwatch.explain.words import listed
from driftwatch.model import Unknown, answer, is_unknown

Card = tuple[int, int]
_QUERY = "nvidia-smi --query-gpu=uuid,name,compute_cap --format=csv"
_CODE = re.compile(r"(sm|compute)_(\d+)(\d)")
_NO_IMAGE = re.compile(r"no kernel image|unsupported (?:gpu|compute|architecture)|cudaErrorNoKernelImage|sm_\d+ is not (?:compatible|supported)", re.IGNORECASE)


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each distribution without code for a card of the bad side, strong where it had some before; and what could not be told."""
    names = dict.fromkeys(path.split("/")[1] for path, value in case.below("bad", "objects") if path.endswith("/architectures") and value)
    cards = _cards(case, "bad")
    silent = [gpu for gpu in gpus(case, "bad") if f"gpus/{gpu}/compute_capability" not in cards]
    if names and silent:
        reason = f"{len(silent)} of {len(gpus(case, 'bad'))} GPUs do not tell it; without it nobody knows whether {listed(names)} hold code for them"
        yield NotChecked(Subject("gpu", "compute capability"), "not_recorded", "bad", reason, _QUERY, matters=_NO_IMAGE.search(case.text) is not None)
    for name in names if cards else ():
        lacking = _lacking(case, "bad", name)
        if isinstance(lacking, Unknown):
            yield NotChecked(Subject("package", name), lacking.status, "bad", f"for which GPUs it holds code: {lacking.reason}", pip(case, "show", "-f", name))
        elif lacking:
            yield from _told(case, name, lacking)


def runs(code: str, card: Card) -> bool:
    """Tell whether code such as ``sm_90`` (machine code) or ``compute_90`` (PTX) runs on a card of this capability."""
    found = _CODE.fullmatch(code)
    if found is None:
        return False
    made = (int(found[2]), int(found[3]))
    return made <= card and (found[1] == "compute" or made[0] == card[0])


def _cards(case: Case, side: SideName) -> dict[str, Card]:
    """Return the compute capability of each GPU that tells one, by the path of the fact."""
    paths = [f"gpus/{gpu}/compute_capability" for gpu in gpus(case, side)]
    told = {path: re.fullmatch(r"(\d+)\.(\d+)", str(case.value(side, path))) for path in paths}
    return {path: (int(found[1]), int(found[2])) for path, found in told.items() if found}


def _lacking(case: Case, side: SideName, name: str) -> dict[str, Card] | Unknown | None:
    """Return the cards for which a distribution holds no code, Unknown where it holds none in what was read, None where it cannot be judged."""
    cards, whole = _cards(case, side), case.side(side).get(f"objects/{name}")
    told = case.under(side, f"objects/{name}")
    codes = {str(code) for path, value in told if path.endswith("/architectures") and isinstance(value, list) for code in value}
    if not cards or not codes:
        return None
    lacking = {path: card for path, card in cards.items() if not any(runs(code, card) for code in codes)}
    unread = next((answer(value) for _, value in told if is_unknown(value)), whole)
    return unread if lacking and isinstance(unread, Unknown) else lacking


def _told(case: Case, name: str, lacking: dict[str, Card]) -> Iterator[Finding]:
    before = _lacking(case, "good", name)
    facts = (*lacking, *_facts(case, name))[:20]
    good, bad = _codes(case, "good", name), _codes(case, "bad", name)
    cards = listed(sorted({f"{major}.{minor}" for major, minor in lacking.values()}))
    says = f"{name} holds no code for a card of compute capability {cards}: {listed(bad, 8)}"
    is_said = _NO_IMAGE.search(case.text) is not None
    if before and not isinstance(before, Unknown):
        if is_said:
            yield Doubt(f"{says}; nor did it on the good side", facts)
        yield Evidence(Subject("package", name), (term("no code for the card, as before", f"{says}; nor did it on the good side", facts),))
        return
    terms = [term("no code for the card" if before == {} else "no code for the card, before unknown", says, facts)]
    terms += [] if before == {} else [term("open", "whether it held code for the good side's cards is not known", facts)]
    terms += [term("text fits", "the error text speaks of missing code for this card")] if is_said else []
    terms += mentions(Said(case), name, facts)
    wording = Wording("package", name, "!", listed(good, 8) or "not known", listed(bad, 8), f"{says}.", commands=(Command("confirm", _QUERY),))
    yield Evidence(Subject("package", name), tuple(terms), wording)


def _facts(case: Case, name: str) -> list[str]:
    return [path for path, value in case.under("bad", f"objects/{name}") if path.endswith("/architectures") and value]


def _codes(case: Case, side: SideName, name: str) -> list[str]:
    found = {str(code) for path, value in case.under(side, f"objects/{name}") if path.endswith("/architectures") and isinstance(value, list) for code in value}
    return sorted(found, key=lambda code: (int(re.sub(r"\D", "", code) or 0), code))


RULES = (Rule("architecture", needs=(), weigh=weigh, blames=("package",)),)

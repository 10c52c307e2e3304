"""A pair of distributions that no longer fit: evidence for both, also for the one that did not move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from driftwatch.explain.case import Case
from driftwatch.explain.error_words import is_of_system
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.families import GPU_STACK, package_family
from driftwatch.explain.mentions import Said, mentions
from driftwatch.explain.naming import is_import_of
from driftwatch.explain.requirements import has_moved
from driftwatch.explain.rule import Evidence, Wording
from driftwatch.explain.terms import pip, term
from driftwatch.explain.words import listed, moved, show
from driftwatch.model import Answer, Known

_IMPORTED_ONLY = ("torchvision", "torchaudio")  # a server that works on text imports them, and calls them never
_NOT_BY_IMPORT = ("slow", "accuracy", "wrong-output", "hang", "oom", "device-lost")
Broke = Literal["family broke", "requirement broke", "built for another"]


class Pair(NamedTuple):
    """Who sets the terms, who does not fit them, how that is told, whether it fitted on the good side (False: not known), and the weight's name."""

    leader: str
    follower: str
    says: str
    held: bool
    weight: Broke


def told_of(case: Case, pair: Pair) -> Iterator[Evidence]:
    """Yield evidence for the partner that does not fit, and for the other one, which is worth a look beside it."""
    facts = tuple(f"packages/{name}/version" for name in (pair.leader, pair.follower))
    weight = pair.weight if pair.held else f"{pair.weight}, before unknown"
    was = "; on the good side they fitted" if pair.held else ""
    terms = [term(weight, pair.says + was, facts)]
    if not pair.held:
        terms.append(term("open", "whether they fitted on the good side is not known", facts))
    is_plain = package_family(pair.follower) not in GPU_STACK and package_family(pair.leader) not in GPU_STACK
    first, second, said = pair.follower, pair.leader, Said(case)
    is_aside = first in _IMPORTED_ONLY and (case.klass in _NOT_BY_IMPORT or (bool(said.frames) and not any(is_import_of(one, first) for one in said.frames)))
    is_plain = is_plain or is_aside
    is_no_cause = is_plain and case.klass in _NOT_BY_IMPORT
    if is_plain:
        terms.append(term("pair of a plain package", "no part of what computes on the GPU", facts))
    if is_no_cause:
        terms.append(term("pair breaks an import", "what does not fit fails when it is imported or called, and does not make this", facts))
    if not has_moved(case, first):
        partner = _change(case, second)
        terms.append(term("left behind", f"it did not move, {second} did: {partner}" if partner else "it did not move", facts))
        terms += mentions(said, first, facts)
    if said.named and not said.named & {first, second}:
        terms.append(term("another is named", f"the error names {listed(sorted(said.named), 2)} and neither of these", facts))
    elif pair.weight == "family broke" and said.frames and not any(is_import_of(module, one) for module in said.frames for one in (first, second)):
        last = listed(list(dict.fromkeys(reversed(said.frames))), 2)
        terms.append(term("another is named", f"the traceback goes through the code of {last}, and through neither of these", facts))
    if is_of_system(case.text):
        terms.append(term("the system refused", "the operating system refused or lacked something: no version does that", facts))
    yield Evidence(Subject("package", first), tuple(terms), _wording(case, first, second, pair.says))
    if has_moved(case, second) and not is_no_cause:
        weight = "other side of a plain pair" if is_plain else "other side of a broken pair"
        yield Evidence(Subject("package", second), (term(weight, f"since it moved, {first} does not fit: {pair.says}", facts),))


def _change(case: Case, name: str) -> str:
    change = case.by_path.get(f"packages/{name}/version")
    return moved(case.value("good", change.path), case.value("bad", change.path)) if change is not None else ""


def _shown(found: Answer) -> str:
    return show(found.value) if isinstance(found, Known) else "not known"


def _wording(case: Case, name: str, partner: str, says: str) -> Wording:
    def side(which: Literal["good", "bad"]) -> str:
        own, others = (case.side(which).get(f"packages/{one}/version") for one in (name, partner))
        return f"{_shown(own)} (with {partner} {_shown(others)})"

    good = case.value("good", f"packages/{name}/version")
    commands = [Command("confirm", pip(case, "show", name, partner))]
    if has_moved(case, name) and isinstance(good, str):
        commands.append(Command("try", pip(case, "install", "--no-deps", f"{name}=={good}"), "then start the server"))
    elif isinstance(before := case.value("good", f"packages/{partner}/version"), str):
        commands.append(Command("try", pip(case, "install", "--no-deps", f"{partner}=={before}"), "then start the server"))
    return Wording("package", name, "!", side("good"), side("bad"), f"{says}.", commands=tuple(commands))

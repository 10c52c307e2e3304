"""A stub that stands in for a library: made to link against, it holds names and no code. The loader must never pick one (CUDA keeps its own in ``stubs``)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case, SideName
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.rule import Doubt, Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import term
from driftwatch.explain.words import command, listed

_STUB = re.compile(r"/stubs?/")
_TEXT = re.compile(r"stub library|STUB_LIBRARY|Error 34\b|no cuda-capable|initializ\w+ error|cuInit", re.IGNORECASE)


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each library of which the loader's first choice is a stub."""
    for path, value in case.below("bad", "loader"):
        if path.startswith("loader/picks/") and isinstance(value, str) and _STUB.search(value):
            yield _picked(case, path, value)


def _picked(case: Case, path: str, bad: str) -> Finding:
    name = path.rsplit("/", 1)[1]
    good = case.value("good", path)
    says = f"the loader's first choice for {name} is a stub, {bad}: it holds names to link against and no code"
    if isinstance(good, str) and _STUB.search(good):
        return Doubt(f"on the good side the loader's first choice for {name} already was a stub, {good}", (path,))
    known = case.known(path) is not None
    terms: list[Term] = [term("pair broke" if known else "pair broke, before unknown", f"{says}{f'; it was {good}' if good else ''}", (path,))]
    new = [folder for folder in _stubs_searched(case, "bad") if folder not in _stubs_searched(case, "good")]
    if new:
        terms.append(term("library newly first", f"the loader newly searches {listed(new)}", ("loader/order",)))
    if _TEXT.search(case.text):
        terms.append(term("text fits", "the error text is that of a library without code", (path,)))
    commands = (
        Command("confirm", f"ldconfig -p | grep {command([name])}; grep -rn stubs /etc/ld.so.conf.d", "who names that folder"),
        Command("look", "# take the folder out of /etc/ld.so.conf.d as root, then: ldconfig"),
    )
    return Evidence(Subject("library", name), tuple(terms), Wording("library", name, "~", good, bad, f"{says[0].upper()}{says[1:]}.", commands=commands))


def _stubs_searched(case: Case, side: SideName) -> list[str]:
    order = case.value(side, "loader/order")
    return [folder for folder in order if isinstance(folder, str) and _STUB.search(f"{folder}/")] if isinstance(order, list) else []


RULES = (Rule("stub_library", needs=(), weigh=weigh, blames=("library",)),)

"""Programs that are no Python distribution and that print another version of themselves: a server, its launcher, a tool that installs."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.families import package_family
from driftwatch.explain.naming import names_package
from driftwatch.explain.pairs import values
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import mark, term
from driftwatch.explain.weights import by_class
from driftwatch.explain.words import command, moved


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each program whose version moved."""
    for change in case.moved("programs/*/version"):
        name, facts = change.path.split("/")[1], (change.path,)
        good, bad = values(change)
        terms = [term("moved", "it is of another version than on the good side", facts)]
        family = package_family(name)
        weight = by_class("layer", "server" if family == "other" else family, case.klass)
        terms += [Term("it serves, or starts what serves" if weight > 0 else "a tool beside the server", weight, facts, "layer")] if weight else []
        terms += [term("named in the error", "the error text names it", facts)] if names_package(case.text, name) else []
        wording = Wording(
            "program", name, mark(good, bad), good, bad, f"{name} {moved(good, bad)}.", commands=(Command("confirm", command([name, "--version"])),))
        yield Evidence(Subject("package", name), tuple(terms), wording)


RULES = (Rule("program_moved", needs=(), weigh=weigh, blames=("package",)),)

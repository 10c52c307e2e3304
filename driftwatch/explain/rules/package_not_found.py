"""Packages that the error lacks, which a tool found by their names on the good side and not on the bad one: gone, or under another name."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.error_words import LACKS
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.mentions import Said, mentions
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import pip, term
from driftwatch.model import Unknown
from driftwatch.other_names import NOT_UNDER_THIS_NAME


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each such package."""
    said = Said(case) if LACKS.search(case.text) else None
    for path, good in case.below("good", "packages") if said else ():
        name, bad = path.split("/")[1], case.bad.get(path)
        if said and path.endswith("/version") and isinstance(good, str) and isinstance(bad, Unknown) and bad.reason == NOT_UNDER_THIS_NAME:
            first = term("gone and missed", "found by this name on the good side and not on the bad one, and the error lacks something", (path,))
            if name in said.named:
                yield Evidence(Subject("package", name), (first, *mentions(said, name, (path,))), _wording(case, name, good))


def _wording(case: Case, name: str, good: str) -> Wording:
    commands = (
        Command("confirm", pip(case, "show", name)), Command("try", pip(case, "install", "--no-deps", f"{name}=={good}"), "then start the server"),
        Command("undo", pip(case, "uninstall", name)),
    )
    verdict = f"{name} {good} is not found by this name any more, and the error lacks it."
    return Wording("package", name, "-", good, "not found by this name", verdict, commands=commands)


RULES = (Rule("package_not_found", needs=("packages/*/version",), weigh=weigh, blames=("package",)),)

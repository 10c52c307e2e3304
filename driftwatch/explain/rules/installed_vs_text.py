"""A distribution whose metadata gives one version and whose own version file gives another: half an upgrade, or two owners of one folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from driftwatch.compare.equal import is_same_version
from driftwatch.explain.case import Case, SideName
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.families import GPU_STACK, package_family
from driftwatch.explain.naming import names_package
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import pip, term
from driftwatch.explain.words import show
from driftwatch.model import Known

_SOURCES = {"text_version": "its own version file", "imported_version": "what importing it gives"}


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each distribution whose two versions disagree on the bad side and did not on the good one."""
    for path, _ in case.below("bad", "packages"):
        parts = path.split("/")
        if len(parts) == 3 and parts[2] in _SOURCES and _holds(case, "bad", parts[1], parts[2]) is False:
            yield from _broken(case, parts[1], parts[2])


def _holds(case: Case, side: SideName, name: str, source: str) -> bool | None:
    """Tell whether both versions agree on a side; None where one of them is not known or there is none."""
    pair = [case.side(side).get(f"packages/{name}/{what}") for what in ("version", source)]
    values = [one.value for one in pair if isinstance(one, Known)]
    if len(values) < 2 or not all(isinstance(value, str) for value in values):
        return None
    return is_same_version(*values)


def _broken(case: Case, name: str, source: str) -> Iterator[Finding]:
    held = _holds(case, "good", name, source)
    if held is False:
        return
    facts = (f"packages/{name}/version", f"packages/{name}/{source}")
    says = f"the metadata says {show(case.value('bad', facts[0]))}, {_SOURCES[source]} says {show(case.value('bad', facts[1]))}"
    terms = [term("pair broke", f"{says}; on the good side they agreed", facts)] if held else [
        term("pair broke, before unknown", says, facts), term("open", "whether they agreed on the good side is not known", facts)]
    yield Evidence(Subject("package", name), (*terms, *_more(case, name, facts)), _wording(case, name, *(case.value("bad", path) for path in facts)))


def _more(case: Case, name: str, facts: tuple[str, str]) -> Iterator[Term]:
    if package_family(name) in GPU_STACK:
        yield term("kernel package", "code on the GPU and the Python around it may be of two releases", facts)
    else:
        yield term("pair of a plain package", "no part of the GPU stack", facts)
    if names_package(case.text, name):
        yield term("named in the error", "the error text names it", facts)


def _wording(case: Case, name: str, metadata: Any, text: Any) -> Wording:
    commands = (
        Command("confirm", pip(case, "show", "-f", name), "which version the metadata claims, and which files it owns"),
        Command("try", pip(case, "install", "--force-reinstall", "--no-deps", f"{name}=={metadata}"), "then start the server"),
    )
    verdict = f"{name} disagrees with itself: {show(metadata)} in its metadata, {show(text)} in its files."
    told = (f"{show(metadata)} in the metadata", f"{show(text)} in its files")
    return Wording("package", name, "!", *told, verdict, commands=commands, is_one_host=True)


RULES = (Rule("installed_vs_text", needs=("packages/*/version", "packages/*/text_version"), weigh=weigh, blames=("package",)),)

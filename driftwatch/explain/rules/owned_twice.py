"""One path, two owners: a file that two distributions bring with different content. Which one was unpacked last decides, and no version tells it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.naming import names_file, names_package
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import pip, term
from driftwatch.explain.words import listed, shorten
from driftwatch.model import Known, plain

_MOST_FILES = 3  # more files that moved between two owners are told as the package that won


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each path whose bytes come from another of its owners, or that has two owners now."""
    found: dict[tuple[str, ...], list[Change]] = {}
    for change in case.moved("python/owned_twice/*"):
        if _owners(change.bad):
            found.setdefault(tuple(_owners(change.bad)), []).append(change)
    for owners, changes in found.items():
        if len(changes) > _MOST_FILES:
            yield _package(case, owners, changes)
        else:
            yield from (_file(case, change) for change in changes)


def _told(side: Any, what: str) -> list[str]:
    value = side.value if isinstance(side, Known) else None
    names = value.get(what) if isinstance(value, dict) else None
    return [str(name) for name in names] if isinstance(names, list) else []


def _owners(side: Any) -> list[str]:
    return _told(side, "by")


def _winner(side: Any) -> str:
    return listed(_told(side, "bytes_of")) or ("none of them" if _owners(side) else "one owner")


def _path(case: Case, change: Change) -> str:
    """Return the path of a file as other rules name it: below the folder of its package where that is told."""
    relative = plain(change.path.split("/", 2)[2])
    place = next((one for name in _owners(change.bad) if isinstance(one := case.value("bad", f"packages/{name}/location"), str) and one), "")
    return f"{place.rstrip('/')}/{relative}" if place and not relative.startswith("/") else relative


def _file(case: Case, change: Change) -> Evidence:
    path, good, bad = _path(case, change), _winner(change.good), _winner(change.bad)
    says = f"{listed(_owners(change.bad))} both bring it with different content; its bytes are of {bad}, on the good side of {good}"
    terms = [term("two owners", says, (change.path,))]
    if names_file(case.text, path) or any(names_package(case.text, name) for name in _owners(change.bad)):
        terms.append(term("named in the error", "the error text names it or an owner of it", (change.path,)))
    verdict = f"{shorten(path)} is owned twice and now comes from {bad} instead of {good}."
    wording = Wording("installed file", path, "!", f"from {good}", f"from {bad}", verdict, commands=_again(case, good))
    return Evidence(Subject("file", path), tuple(terms), wording)


def _package(case: Case, owners: tuple[str, ...], changes: list[Change]) -> Evidence:
    good, bad = _winner(changes[0].good), _winner(changes[0].bad)
    name = bad if bad in owners else owners[-1]
    says = f"{len(changes)} files that {listed(owners)} both bring are now of {bad}, before of {good}"
    terms = (term("two owners", says, tuple(change.path for change in changes[:20])),)
    return Evidence(Subject("package", name), terms, Wording("package", name, "!", f"from {good}", f"from {bad}", f"{says}.", commands=_again(case, good)))


def _again(case: Case, name: str) -> tuple[Command, ...]:
    version = case.value("bad", f"packages/{name}/version")
    if not isinstance(version, str):
        return ()
    return (Command("confirm", pip(case, "show", "-f", name)),
            Command("try", pip(case, "install", "--force-reinstall", "--no-deps", f"{name}=={version}"), "it then wins again; start the server"))


RULES = (Rule("owned_twice", needs=(), weigh=weigh, blames=("file", "package")),)

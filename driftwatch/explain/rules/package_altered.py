"""Installed files that are not what their own RECORD says, and were so before: edited in place, overwritten by another package, or gone."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.compare.change import Change
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.families import GPU_STACK, package_family
from driftwatch.explain.naming import names_package
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import file_terms, pip, term
from driftwatch.explain.words import command, count, listed, shorten
from driftwatch.model import Known, plain

_MOST_FILES = 3  # more altered files of one package are told as the package


def weigh(case: Case) -> Iterator[Finding]:
    """Yield files, or packages where many files of one are concerned, that differ from their RECORD only on the bad side or in another way there."""
    found: dict[str, list[Change]] = {}
    for change in case.moved("packages/*/altered/*", "packages/*/missing/*", "packages/*/rewritten/*"):
        if change.kind != "removed":
            found.setdefault(change.path.split("/")[1], []).append(change)
    for name, changes in found.items():
        if len(changes) > _MOST_FILES:
            yield _package(case, name, changes)
        else:
            yield from (_file(case, name, change) for change in changes)


def _relative(change: Change) -> str:
    return plain(change.path.split("/", 3)[3])


def _is_missing(change: Change) -> bool:
    return change.path.split("/")[2] == "missing"


def _file(case: Case, name: str, change: Change) -> Evidence:
    relative = _relative(change)
    place = case.value("bad", f"packages/{name}/location")
    path = f"{place.rstrip('/')}/{relative}" if isinstance(place, str) and place else relative
    what = "is missing" if _is_missing(change) else "is not what the RECORD says"
    good, bad = ("in the RECORD", "missing") if _is_missing(change) else ("as in the RECORD", _size(change))
    commands = (Command("look", command(["ls", "-l", "--time-style=full-iso", path])), *_again(case, name))
    wording = Wording("installed file", path, "!", good, bad, f"{shorten(path)} of {name} {what}.", commands=commands)
    return Evidence(Subject("file", path), tuple(_terms(case, name, [change])), wording)


def _size(change: Change) -> str:
    value = change.bad.value if isinstance(change.bad, Known) else None
    if not isinstance(value, dict):
        return "altered"
    return f"{value.get('size')} bytes, {value.get('recorded_size')} in the RECORD"


def _package(case: Case, name: str, changes: list[Change]) -> Evidence:
    what = f"{count(len(changes), 'file')} not as its RECORD says"
    wording = Wording("package", name, "!", "as its RECORD says", what, f"{name}: {what}.", commands=_again(case, name))
    return Evidence(Subject("package", name), tuple(_terms(case, name, changes)), wording)


def _again(case: Case, name: str) -> tuple[Command, ...]:
    version = case.value("bad", f"packages/{name}/version")
    if not isinstance(version, str):
        return ()
    again = pip(case, "install", "--force-reinstall", "--no-deps", f"{name}=={version}")
    return (Command("try", again, "brings back the files of the RECORD; then start the server"),)


def _terms(case: Case, name: str, changes: list[Change]) -> Iterator[Term]:
    facts = tuple(change.path for change in changes[:20])
    kind = "file missing" if all(_is_missing(change) for change in changes) else "file altered"
    yield term(kind, f"{listed(_relative(change) for change in changes)}: {'gone' if kind == 'file missing' else 'other bytes'} since the good side", facts)
    if package_family(name) in GPU_STACK:
        yield term("kernel package", "the package belongs to the GPU stack", facts)
    named = next((found for change in changes if (found := file_terms(case, _relative(change), (change.path,)))), ())
    if named:
        yield from named
    elif names_package(case.text, name):
        yield term("named in the error", "the error text names it", facts)
    if case.has_moved(f"packages/{name}/version"):
        yield term("carried by a version", "the package itself is of another version: its files came with it", facts)


RULES = (Rule("package_altered", needs=("packages/*/verified|packages/*/altered",), weigh=weigh, blames=("file", "package")),)

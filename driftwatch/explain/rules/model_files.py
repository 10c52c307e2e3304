"""What is served: another revision of a model, another settings file or remote code of its own, weights that are cut, missing or still being fetched."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.compare.change import Change
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.naming import names_file
from driftwatch.explain.pairs import both
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import mark, term
from driftwatch.explain.words import command, listed, moved, show
from driftwatch.model import plain

_LEAST_BYTES = 1024  # a pointer of git-lfs has about 130
_FILES = ("settings", "remote_code", "copied_code", "weights")
_UNFINISHED = ("weights_missing", "unfinished_downloads")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each model whose revision moved, else each of its files that did."""
    by_model: dict[str, list[Change]] = {}
    for change in case.moved("models/*"):
        by_model.setdefault(change.path.split("/")[1], []).append(change)
    for name, changes in by_model.items():
        revision = next((change for change in changes if _part(change) == "revision"), None)
        files = [change for change in changes if _part(change) in _FILES and change.path.count("/") > 2]  # models/NAME/PART/FILE
        if revision is not None:
            yield _revision(case, name, revision, files)
        else:
            yield from (_file(case, name, change) for change in files)
        parts = _UNFINISHED if revision is not None or files else (*_UNFINISHED, "config", "weights_index")
        yield from _others(case, name, [change for change in changes if _part(change) in parts])


def _part(change: Change) -> str:
    return change.path.split("/", 3)[2] if change.path.count("/") > 1 else ""


def _folder(case: Case, name: str) -> str:
    found = case.value("bad", f"models/{name}/folder") or case.value("bad", f"models/{name}/path")
    return str(found).rstrip("/") if isinstance(found, str) else plain(name)


def _revision(case: Case, name: str, change: Change, files: list[Change]) -> Evidence:
    good, bad = both(case, change.path)
    facts = (change.path, *(one.path for one in files[:20]))
    with_files = f", and with it {listed(plain(one.path.rsplit('/', 1)[1]) for one in files)}" if files else ""
    terms = [term("model moved", f"another revision of it is served{with_files}", facts)]
    terms += _named(case, [plain(one.path.rsplit("/", 1)[1]) for one in files], facts)
    shown = plain(name)
    verdict = f"Another revision of {shown} is served, {moved(show(good), show(bad))}."
    return Evidence(Subject("file", shown), tuple(terms), Wording("model", shown, mark(good, bad), good, bad, verdict, commands=_look(_folder(case, name))))


def _file(case: Case, name: str, change: Change) -> Evidence:
    good, bad = both(case, change.path)
    file = plain(change.path.split("/", 3)[3])
    path = f"{_folder(case, name)}/{file}"
    terms = [term("model file moved", f"{file} of the model is another: {moved(show(good), show(bad))}", (change.path,)), *_named(case, [file], (change.path,))]
    if "/weights/" in change.path and isinstance(good, int) and isinstance(bad, int) and bad < _LEAST_BYTES < good:
        terms.append(term("file cut off", "so few bytes are no weights: a pointer of git-lfs, or a download that did not come", (change.path,)))
    wording = Wording("model", path, mark(good, bad), good, bad, f"{path} of the served model is another than on the good side.", commands=_look(path))
    return Evidence(Subject("file", path), tuple(terms), wording)


def _named(case: Case, files: list[str], facts: tuple[str, ...]) -> list[Term]:
    named = [file for file in files if names_file(case.text, file) or names_file(case.trace, file)]
    return [term("named in the error", f"the error text names {listed(named)}", facts)] if named else []


def _others(case: Case, name: str, changes: list[Change]) -> Iterator[Evidence]:
    """Yield what is wrong with a model beside its files: some that are missing or not fetched to their end, or, where no file tells it, its configuration."""
    if changes:
        folder, facts = _folder(case, name), tuple(change.path for change in changes)
        told = listed(f"{change.path.split('/', 2)[2]} {moved(*map(show, both(case, change.path)))}" for change in changes)
        good, bad = both(case, changes[0].path)
        wording = Wording("model", folder, mark(good, bad), good, bad, f"The served model in {folder} is another: {told}.", commands=_look(folder))
        yield Evidence(Subject("file", folder), (term("model file moved", f"of the model {told}", facts),), wording)


def _look(path: str) -> tuple[Command, ...]:
    return (Command("confirm", command(["ls", "-lL", "--time-style=full-iso", path])),) if path.startswith(("/", "~/")) else ()


RULES = (Rule("model_files", needs=(), weigh=weigh, blames=("file",)),)

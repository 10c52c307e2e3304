"""Whose a file or a folder is, what may be done with it, and on which file system it lies: its content may be the same, and it serves no more."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.pairs import both
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.rules.mount_state import NETWORK_TYPES
from driftwatch.explain.terms import mark, term
from driftwatch.explain.words import command, moved, show
from driftwatch.model import plain

_DENIED = re.compile(r"permission denied|operation not permitted|access denied|\bEACCES\b|\bEPERM\b|errno 13\b|os error 13\b", re.IGNORECASE)
_OF_FILES = re.compile(
    r"disk I/O error|input/output error|database is locked|no locks available|stale file handle|flock|file lock|\bEIO\b|\bESTALE\b|\bENOLCK\b"
    r"|malformed|text file busy|timed out|no such file", re.IGNORECASE)
_TOPS = ("files", "folders", "caches")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each path whose owner, rights or file system moved; rights weigh where the error is of rights and names what lies there."""
    found: dict[str, list[str]] = {}
    for change in case.moved(*(f"{top}/*/{what}" for top in _TOPS for what in ("owner", "owners", "mode", "file_system"))):
        if None not in both(case, change.path):
            found.setdefault(change.path.rsplit("/", 1)[0], []).append(change.path)
    for top, facts in found.items():
        path = _path(case, top)
        terms = tuple(_terms(case, path, facts))
        if terms:
            kind = "cache" if top.startswith("caches/") or "cache" in path.lower() else "file"
            yield Evidence(Subject(kind, path), terms, _wording(case, kind, path, facts))


def _path(case: Case, top: str) -> str:
    told = case.value("bad", f"{top}/path")
    return told if isinstance(told, str) else plain(top.split("/", 1)[1])


def _terms(case: Case, path: str, facts: list[str]) -> Iterator[Term]:
    rights = [one for one in facts if not one.endswith("/file_system")]
    is_named = _names(case.text, path)
    if rights and _DENIED.search(case.text):
        if is_named:
            yield term("path named", f"the error text names {path}, or what lies in it", rights)
            yield term("errno names it", "the error text is that of a process without the right to it", rights)
        yield term("file moved", f"it is another's, or its rights are others: {_told(case, rights)}", rights)
    for fact in facts:
        if fact.endswith("/file_system"):
            yield from _of_place(case, path, fact, is_named=is_named)


def _of_place(case: Case, path: str, fact: str, *, is_named: bool) -> Iterator[Term]:
    good, bad = both(case, fact)
    yield term("mount moved", f"it lies on another file system: {moved(good, bad)}", (fact,))
    if NETWORK_TYPES.match(str(bad)) and not NETWORK_TYPES.match(str(good)):
        yield term("served over a network", "one that is served over a network: other hosts may share it, and locks are kept elsewhere", (fact,))
    if is_named:
        yield term("path named", f"the error text names {path}, or what lies in it", (fact,))
    if _OF_FILES.search(case.text):
        yield term("text fits", "the error text is that of files that a file system does not serve as the program expects", (fact,))


def _names(text: str, path: str) -> bool:
    """Tell whether a text names a path or what lies below it; ``~`` may be any home."""
    tail = path.removeprefix("~").rstrip("/")
    return len(tail) > 1 and re.search(rf"{re.escape(tail)}(?=[/'\"\s:,)]|\Z)", text) is not None


def _told(case: Case, facts: list[str]) -> str:
    return "; ".join(f"{fact.rsplit('/', 1)[1]} {moved(*both(case, fact))}" for fact in facts)


def _wording(case: Case, kind: str, path: str, facts: list[str]) -> Wording:
    good, bad = both(case, facts[0])
    look = "ls -ld" if not facts[0].endswith("/file_system") else "df -T"
    commands = (Command("confirm", f"{look} {path}" if path.startswith("~") else command([*look.split(), path])),)
    verdict = f"{path}: {_told(case, facts).replace('file_system', 'file system')}."
    return Wording(kind, path, mark(good, bad), show(good), show(bad), verdict, commands=commands)


RULES = (Rule("rights_and_place", needs=(), weigh=weigh, blames=("cache", "file")),)

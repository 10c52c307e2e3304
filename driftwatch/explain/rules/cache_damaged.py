"""Caches of compiled code with files that were cut off: a reboot or a full disk leaves empty ones, and each later start reads them as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.naming import names_file
from driftwatch.explain.pairs import good_or, was_booted
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, term
from driftwatch.explain.words import command, count, listed, shorten

_PARTS = ("empty_files", "damaged_files")
_TEXT = re.compile(
    r"JSONDecodeError|Expecting value|unexpected end|EOFError|truncated|invalid (?:ELF|image|device|kernel)|file too short|corrupt|BadZip|UnpicklingError|"
    r"runtime/cache\.py",
    re.IGNORECASE,
)


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each cache with damaged files that the good side did not tell of."""
    for name in case.families("caches"):
        for part in _PARTS:
            files = _new(case, name, part)
            if files:
                yield Evidence(Subject("cache", _place(case, name)), tuple(_terms(case, name, part, files)), _wording(case, name, part, files))


def _names(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, (list, dict)) else []


def _new(case: Case, name: str, part: str) -> list[str]:
    before = set(_names(case.value("good", f"caches/{name}/{part}")))
    return [one for one in _names(case.value("bad", f"caches/{name}/{part}")) if one not in before]


def _place(case: Case, name: str) -> str:
    found = case.value("bad", f"caches/{name}/path")
    return found if isinstance(found, str) and found.strip() else f"{name} cache"


def _file(told: str) -> str:
    """Return the path in a told name, which may have its damage behind it."""
    return re.split(r"[:(]\s", told, maxsplit=1)[0].strip()


def _title(case: Case, name: str, files: list[str]) -> str:
    place = _place(case, name)
    return f"{place}/{_file(files[0])}" if len(files) == 1 and place.startswith("/") else place


def _terms(case: Case, name: str, part: str, files: list[str]) -> Iterator[Term]:
    fact = f"caches/{name}/{part}"
    what = "empty" if part == "empty_files" else "cut off"
    yield term(
        "file cut off", f"{count(len(files), 'file')} of the {name} cache {'is' if len(files) == 1 else 'are'} {what}: {listed(map(_file, files), 2)}", (fact,)
    )
    yield from before_unknown(case, "it was so", fact)
    if any(names_file(case.text, _file(one)) for one in files):
        yield term("text names it", "the error text names the file", (fact,))
    elif _TEXT.search(case.text):
        yield term("names a cache", "the error text is that of reading a file that is cut off", (fact,))


def _wording(case: Case, name: str, part: str, files: list[str]) -> Wording:
    title = _title(case, name, files)
    folder = title.rsplit("/", 1)[0] if len(files) == 1 else title
    boot = ", cut off by the reboot perhaps" if was_booted(case) else ""
    verdict = f"The {name} cache holds {count(len(files), 'damaged file')}: {shorten(title, 200)}{boot}."
    commands = (
        Command("confirm", command(["ls", "-l", "--time-style=full-iso", folder])),
        Command("try", command(["mv", folder, folder + ".aside"]), "it is built anew at the next start"),
        Command("undo", command(["mv", folder + ".aside", folder])),
    )
    good = good_or(case, "whole", f"caches/{name}/{part}", less="fewer of them")
    return Wording("cache", title, "!", good, "empty" if part == "empty_files" else "cut off", verdict, commands=commands)


RULES = (Rule("cache_damaged", needs=(), weigh=weigh, blames=("cache",)),)

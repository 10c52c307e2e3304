"""Packages of the operating system that were removed, where the error lacks what such a package brings: headers, libraries to link with, a command."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain import os_listing
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import term
from driftwatch.explain.transactions import carrier
from driftwatch.explain.words import command, listed

_TO_BUILD = re.compile(
    r".+-(?:dev|devel|headers)(?::\w+)?|linux-headers-.*|(?:gcc|g\+\+|cpp|clang|binutils|make|cmake|ninja-build|build-essential)(?:-.*)?"
    r"|cuda-(?:nvcc|cudart-dev).*")
_COMPILER = re.compile(r"(?:^|[\s'\"/])(?:cc|c\+\+|gcc|g\+\+|clang|clang\+\+|nvcc|ld|ninja|x86_64-linux-gnu-g\S+)(?:-\d+)?['\",:\s]", re.MULTILINE)
_FAILED = re.compile(
    r"non-?zero exit status|returned [1-9]|exit(?:ed with)? (?:code|status) [1-9]|No such file|cannot find|not found|ninja: build stopped|fatal error")
# what a text says is not there: a header, a library to link with, a shared object, a command
_HEADER = re.compile(r"([\w./+-]+)\.(?:h|hpp|hh|cuh)\b[:'\"]* (?:No such file|file not found)")
_LINKED = re.compile(r"cannot find -l([\w+.-]+)|\blib([\w+-]+)\.so[\w.]*: cannot open shared object")
_COMMAND = re.compile(r"([\w+.-]+): (?:command )?not found|No such file or directory: ['\"](?:/\S+/)?([\w+.-]+)['\"]|[Ff]ailed to find ([\w+.-]+) compiler")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield the removed packages of which the error lacks something, as one: they go together, and come back together."""
    gone = [change.path for change in case.moved("os_packages/*/version", "os_packages_other/*") if change.kind == "removed"]
    gone += os_listing.gone(case)
    lacked = _lacked(case.text)
    named = [path for path in gone if any(_is_of(_name(path), word) for word in lacked)]
    has_failed = _COMPILER.search(case.text) and _FAILED.search(case.text) and not _LINKED.search(case.text)
    built = [path for path in gone if has_failed and _TO_BUILD.fullmatch(_name(path))]
    found = list(dict.fromkeys([*named, *built]))
    if found:
        yield _evidence(case, found, named)


def _name(path: str) -> str:
    return path.split("/")[1]


def _lacked(text: str) -> list[str]:
    """Return the words of what a text says is not there, in small letters: ``python`` for ``Python.h``, ``numa`` for ``-lnuma``."""
    found = [match[1].rsplit("/", 1)[-1] for match in _HEADER.finditer(text)]
    found += [part for pattern in (_LINKED, _COMMAND) for match in pattern.finditer(text) for part in match.groups() if part]
    return [word.lower() for word in found if len(word) > 1]


def _is_of(package: str, word: str) -> bool:
    """Tell whether a package is called after what is lacked: the word begins its name, after ``lib`` perhaps."""
    return re.match(rf"(?:lib)?{re.escape(word)}(?![a-z])", package) is not None


def _evidence(case: Case, found: list[str], named: list[str]) -> Evidence:
    names = [_name(path) for path in found]
    first = min(named or found, key=lambda path: (len(path), path))
    name, version = _name(first), case.value("good", first)
    terms: list[Term] = [term("package gone", f"{listed(names)} {'was' if len(names) == 1 else 'were'} installed on the good side, and not now", found)]
    if named:
        terms.append(term("named in the error", f"the error lacks what {listed(map(_name, named))} brings", named))
    else:
        terms.append(term("text fits", "the error is that of a compiler, and they are what it compiles against", found))
    commands = (
        Command("confirm", f"dpkg -l {command(names)} || rpm -q {command(names)}"),
        Command("try", command(["apt-get", "install", *names]), "as root; dnf install on a host with rpm"),
    )
    verdict = f"{listed(names)} {'is' if len(names) == 1 else 'are'} no longer installed, and the error lacks what they bring."
    by = carrier(case, names).replace("came with", "went with")
    return Evidence(Subject("library", name), tuple(terms), Wording("system package", name, "-", version, None, verdict, by, commands))


RULES = (Rule("os_package_gone", needs=(), weigh=weigh, blames=("library",)),)

"""A copy of a package that lies before the environment's own: the error comes from a file of it, and the environment has that package elsewhere.

The user's own folder (``~/.local``), PYTHONPATH and a folder of the system's Python are such places: nothing in the environment tells of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.naming import is_import_of
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import python_of, term
from driftwatch.explain.words import command, listed
from driftwatch.model import plain

_FILE = re.compile(r"(/[^\s\"'():,]+?/(?:site|dist)-packages)/([A-Za-z_]\w*)(?=[/.])")
_OWN_PART = re.compile(r"No module named ['\"]([A-Za-z_]\w*)\.[\w.]+['\"]")
_OF_USER = "/.local/lib/"
_LOCATION = re.compile(r"packages/([^/]+)/location")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each folder outside the environment from which the error's code comes though the environment has that package, where the log names both."""
    named = dict.fromkeys(_FILE.findall(f"{case.text}\n{case.trace}"))
    own = {match[1]: value for path, value in case.below("bad", "packages") if (match := _LOCATION.fullmatch(path)) and isinstance(value, str)}
    if not any(folder in own.values() for folder, _ in named) and not _is_of_server(case, own.values()):
        return  # the error is of another environment than the one that was looked at
    found: dict[str, list[str]] = {}
    for folder, module in named:
        held = [name for name, location in own.items() if location != folder and is_import_of(module.lower(), name)]
        if held and folder not in own.values():
            found.setdefault(folder, []).extend(held)
    for folder, names in found.items():
        yield _evidence(case, folder, list(dict.fromkeys(names)), own)


def weigh_sources(case: Case) -> Iterator[Finding]:
    """Yield a folder of sources from which a package is imported though it is installed elsewhere: Python looks into the working directory first."""
    lacks = _OWN_PART.search(case.text)
    module = lacks[1] if lacks else ""
    place = re.search(rf"(?:^|[\s\"'(])((?:/[\w.+@-]+)*/{re.escape(module)})/[\w/.-]+\.py\b", f"{case.text}\n{case.trace}", re.MULTILINE) if module else None
    if place is None or re.search(r"/(?:site|dist)-packages/", place[1] + "/"):
        return
    top = f"packages/{module.lower().replace('_', '-')}"
    version = case.value("bad", f"{top}/version")
    is_meant = case.value("bad", f"{top}/editable") or any(case.value("bad", f"git/{key}/root") for key in case.families("git"))
    if version is None or is_meant:
        return
    folder = place[1]
    says = f"{module} is imported from {folder}, which lacks what the error names, though {module} {version} is installed"
    terms = [term("package shadowed", says, (f"{top}/version",)), term("path named", f"the traceback goes through {folder}")]
    seen = next((path for path, _ in case.below("bad", "files") if path.endswith("/exists") and plain(path.split("/")[1]).rpartition("/")[2] == module), "")
    if seen:
        terms.append(term("file moved", f"a folder {plain(seen.split('/')[1])} lies where the server was started", (seen,)))
    commands = (
        Command("confirm", f"{command([python_of(case), '-c', f'import {module} as it; print(it.__file__)'])}", "from where the server is started"),
        Command("try", "cd /", "then start the server from there"),
    )
    yield Evidence(Subject("file", folder), tuple(terms), Wording("file", folder, "+", None, folder, f"{says}.", commands=commands))


def _is_of_server(case: Case, folders: Iterable[str]) -> bool:
    """Tell whether a server of the bad side whose log tells an error runs in the environment that was looked at."""
    failed = [server for server in case.families("servers") if case.value("bad", f"servers/{server}/log/error")]
    roots = [str(case.value("bad", f"servers/{server}/python") or "").rpartition("/bin/")[0] for server in failed]
    return any(root and folder.startswith(f"{root}/") for root in roots for folder in folders)


def _evidence(case: Case, folder: str, names: list[str], own: dict[str, str]) -> Evidence:
    facts = [f"packages/{name}/location" for name in names]
    says = f"{listed(names)} comes from {folder}, though the environment has its own in {own[names[0]]}"
    terms: list[Term] = [term("package shadowed", says, facts)]
    if any(folder in line for line in case.text.splitlines()):
        terms.append(term("path named", f"the error text names a file in {folder}", facts))
    settle = [python_of(case), "-c", f"import {names[0].replace('-', '_')} as it; print(it.__file__)"]
    commands = (
        Command("confirm", f"{command(settle)}; ls -ld {command([folder])}", "as the server's user, in its environment"),
        Command("try", "export PYTHONNOUSERSITE=1", "then start the server from this shell") if _OF_USER in folder else
        Command("look", f"# take {folder} off the path: PYTHONPATH, a .pth file, or system packages that the environment lets in"),
    )
    wording = Wording("python", folder, "+", own[names[0]], folder, f"{says[0].upper()}{says[1:]}.", commands=commands)
    return Evidence(Subject("python", folder), tuple(terms), wording)


RULES = (
    Rule("package_shadowed", needs=(), weigh=weigh, blames=("python",)),
    Rule("package_shadowed_by_sources", needs=(), weigh=weigh_sources, blames=("file",)),
)

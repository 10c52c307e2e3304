"""Which file of a native library a process gets: one family from two folders, a folder that newly comes first, a compatibility libcuda that is no match."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case, SideName
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.pairs import both, good_or
from driftwatch.explain.rule import Doubt, Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, mark, term
from driftwatch.explain.transactions import carried, moved_packages
from driftwatch.explain.words import command, listed, moved, shorten

_COMPAT = re.compile(r"/compat(?:/|$)|cuda-compat")
_TEXT = re.compile(
    r"VERSION_MISMATCH|undefined symbol|GLIBCXX_|CXXABI_|cannot open shared object|version `\S+' not found|symbol lookup error|Error 80[34]|"
    r"forward compatibility|unsupported display driver|incompatible|sublibrary",
    re.IGNORECASE,
)


_LACKS = re.compile(r"((?:/[\w.+-]+)*/?lib[\w+-]+\.so[\w.]*): (version `[^']+' not found|cannot open shared object file|file too short|invalid ELF header)")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield families that are mapped from several folders, single libraries that come from elsewhere, and a libcuda that the driver does not fit."""
    mixed = [path.split("/")[1] for path, value in case.below("bad", "libraries") if path.endswith("/mixed") and isinstance(value, list) and value]
    for family in mixed:
        yield from _mixed(case, family)
    yield from _from_elsewhere(case, mixed)
    yield from _named(case)
    yield from _compat(case)


def _files(case: Case, side: SideName, family: str) -> list[str]:
    value = case.value(side, f"libraries/{family}/files")
    return [str(one) for one in value] if isinstance(value, list) else []


def _mixed(case: Case, family: str) -> Iterator[Finding]:
    path = f"libraries/{family}/mixed"
    told = listed(map(str, case.value("bad", path)))
    before = case.value("good", path)
    if before:
        yield Doubt(f"{family} was mapped from several folders on the good side already: {listed(map(str, before))}", (path,))
        return
    old = set(_files(case, "good", family))
    new = [one for one in _files(case, "bad", family) if one not in old]
    known = bool(old) and case.known(path) is not None
    says = f"its processes map {family} from several folders: {told}"
    terms = [term("library from two folders", says + ("; on the good side from one" if known else ""), (path,))]
    if not known:
        terms.append(term("open", "which files were mapped on the good side is not known", (path,)))
    terms += _text(case)
    look = Command("confirm", f"grep -ho '/[^ ]*{family}[^ ]*' /proc/$(pgrep -of 'sglang|vllm|python')/maps | sort -u; ldconfig -p | grep {family}")
    again = Command(
        "try", "# put the wheel's own folder first: export LD_LIBRARY_PATH=VENV/…/nvidia/…/lib, or take the system's package away", "then start the server"
    )
    packages = moved_packages(case, "library", "nccl")
    related = [name for name in packages if family.removeprefix("lib")[:5] in name]
    verdict = f"{family} is mapped from two folders{f', new is {shorten(new[0], 120)}' if new else ''}: parts of two versions do not work together."
    by = carried(case, listed(related), related)
    wording = Wording("library", family, "!", "one folder" if known else "not known", told, verdict, by, (look, again))
    yield Evidence(Subject("library", new[0] if new else family), tuple(terms), wording)


def _text(case: Case) -> list[Term]:
    return [term("text fits", "the error text is that of libraries that do not fit each other")] if _TEXT.search(case.text) else []


def _from_elsewhere(case: Case, mixed: list[str]) -> Iterator[Finding]:
    """Yield libraries of a server that lie in another folder than before, and what the loader newly prefers; the driver's own follow the driver."""
    told: set[str] = set()
    for change in case.moved("servers/*/libraries/*", "loader/picks/*"):
        family = re.sub(r"\.so.*|_(?!c\b).*", "", change.path.rsplit("/", 1)[1])
        good, bad = both(case, change.path)
        is_other = isinstance(good, str) and isinstance(bad, str) and _folder(good) != _folder(bad)
        if not is_other or family in (*mixed, *told) or re.match(r"lib(?:cuda|nvidia-\w+)$", family):
            continue
        told.add(family)
        mapped = change.path.startswith("servers/")
        says = f"{family} comes from another folder: {moved(good, bad)}" if mapped else f"the loader finds {family} elsewhere first: {moved(good, bad)}"
        terms = [
            term("library newly first", says, (change.path,)),
            *([term("server's own", "a server's process maps it", (change.path,))] if mapped else []),
            *_text(case),
        ]
        look = Command("confirm", f"ldconfig -p | grep {family}; printenv LD_LIBRARY_PATH LD_PRELOAD")
        yield Evidence(Subject("library", str(bad)), tuple(terms), Wording("library", family, mark(good, bad), good, bad, f"{says}.", commands=(look,)))


def _named(case: Case) -> Iterator[Finding]:
    """Yield a library of the system of which the error text says that it lacks a version or is not found."""
    match = _LACKS.search(case.text)
    if match is None or "site-packages" in match[1] or "dist-packages" in match[1]:
        return
    file, soname = match[1], match[1].rsplit("/", 1)[-1]
    terms = [term("named in the error", f"the error text names it: {shorten(match[0], 120)}")]
    changes = list(case.moved("loader/order", "env/LD_LIBRARY_PATH", "servers/*/env/LD_LIBRARY_PATH"))
    if changes:
        terms.append(
            term(
                "library newly first",
                f"where it is looked for moved: {listed(change.path.rsplit('/', 1)[1] for change in changes)}",
                [one.path for one in changes],
            )
        )
    good, bad = both(case, f"loader/picks/{soname}")
    if not changes and bad is not None and good == bad and "cannot open" in match[2]:
        says = "the host's loader finds it, the same on both sides: the process that lacks it looks elsewhere, as inside a container"
        terms.append(term("found on the host", says, (f"loader/picks/{soname}",)))
    look = Command("confirm", f"ldconfig -p | grep {soname}; printenv LD_LIBRARY_PATH; strings {file} | grep -E 'GLIBCXX_|CXXABI_' | tail -3")
    wording = Wording("library", soname, "~" if good != bad else "!", good, bad, f"{file}: {match[2]}.", commands=(look,))
    yield Evidence(Subject("library", str(bad) if isinstance(bad, str) and good != bad else file), tuple(terms), wording)


def _folder(path: str) -> str:
    return path.removesuffix(" (deleted)").rsplit("/", 1)[0]


def _compat(case: Case) -> Iterator[Finding]:
    """Yield a libcuda of a compatibility folder that is chosen now and was not before."""
    for path in (
        "driver/library/libcuda/path",
        *sorted(one for one, _ in case.below("bad", "servers") if one.endswith("/libraries/libcuda")),
        "loader/picks/libcuda.so.1",
    ):
        good, bad = case.value("good", path), case.value("bad", path)
        if isinstance(bad, str) and _COMPAT.search(bad) and not _COMPAT.search(str(good)):
            module = case.value("bad", "driver/module/version")
            if _is_newer(bad, module) and not _TEXT.search(case.text):
                return  # what such a library is made for
            was = ", and was not before" if case.known(path) is not None else ""
            terms = (
                term(
                    "compat library",
                    f"libcuda is taken from a compatibility folder{was}; the driver is {module}",
                    (path, "driver/module/version"),
                ),
                *([term("server's own", "a server's process maps it", (path,))] if path.startswith("servers/") else []),
                *before_unknown(case, "it was", path),
                *_text(case),
            )
            look = Command("confirm", "ldconfig -p | grep libcuda.so; printenv LD_LIBRARY_PATH")
            again = Command(
                "try", command(["env", "-u", "LD_LIBRARY_PATH", "true"]) + "  # start the server without the compatibility folder in LD_LIBRARY_PATH"
            )
            verdict = f"libcuda comes from {shorten(bad, 120)}: a compatibility library fits certain drivers only."
            shown = good or good_or(case, "absent", path)
            yield Evidence(Subject("library", bad), terms, Wording("library", "libcuda", "~", shown, bad, verdict, commands=(look, again)))
            return


def _is_newer(path: str, module: object) -> bool:
    """Tell whether the version at the end of a library's name is above a module's."""
    version = re.search(r"\.so\.(\d[\d.]*)", path)
    return version is not None and isinstance(module, str) and _numbers(version[1]) > _numbers(module)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


RULES = (Rule("library_mix", needs=(), weigh=weigh, blames=("library",)),)

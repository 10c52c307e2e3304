"""Single files that were looked at beside the packages, in a shell transcript for one: another size, another digest, gone. No package version tells them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.naming import is_import_of, names_file
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import mark, pip, term
from driftwatch.explain.words import command, count, listed, show
from driftwatch.model import Known, Unknown, plain

_DIGESTS, _DIGITS = ("sha256", "sha512", "sha1", "md5"), 12
_CONTENT = ("sha256", "digest_begin", "sha512", "sha1", "md5", "bytes", "size", "lines", "link", "exists", "needs")
_READ_BY_PROGRAMS = re.compile(r"^/etc/|^/usr/|\.(?:conf|cfg|toml|ya?ml|json|env|pth|py|so(?:\.\d+)*|safetensors|bin|gguf|whl)$")
_OF_MODULES = re.compile(r"/etc/(?:modprobe\.d|modules-load\.d)/\S*(?:nvidia|nouveau|amdgpu|mlx|rdma|gdr)")
_NOT_BY_IMPORT = ("slow", "accuracy", "wrong-output", "hang", "oom", "device-lost")
_MODULE = re.compile(r"(\w+)\.(?:cpython-\d+\S*|abi3)\.so")
_OF_THE_MOMENT = re.compile(r"^/(?:proc|sys|run|dev)/|^/var/(?:log|run)/|\.(?:log|out|pid)$")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each file whose content moved."""
    found: dict[str, list[Change]] = {}
    for change in case.moved("files/*/*"):
        if change.path.rsplit("/", 1)[1] in _CONTENT:
            found.setdefault(change.path.split("/")[1], []).append(change)
    for part, changes in found.items():
        path = plain(part)
        owner = _owner(case, path)
        subject = Subject("package", owner) if owner else Subject("file", path)
        yield Evidence(subject, tuple(_terms(case, path, changes, owner)), _wording(path, changes, _anew(case, owner) if owner else _looks(path)))
    yield from _by_order(case)
    yield from _shown(case, {plain(part) for part in found})


def _owner(case: Case, path: str) -> str:
    """Return the one installed distribution, of the same version on both sides, whose compiled module a file is; "" for any other file."""
    module = _MODULE.fullmatch(path.rpartition("/")[2])
    names = (one.split("/")[1] for one, _ in case.below("bad", "packages") if module and one.endswith("/version"))
    owners = [name for name in names if module and is_import_of(module[1].lower(), name) and case.known(f"packages/{name}/version") is not None]
    return owners[0] if len(owners) == 1 and not case.has_moved(f"packages/{owners[0]}/version") else ""


def _by_order(case: Case) -> Iterator[Finding]:
    """Yield files that one side lists and the other side's listing of the folder has not: a whole one, or a sorted one as far as it goes."""
    for side, other in (SIDES, SIDES[::-1]):
        whole = _whole_folders(case, side)
        for fact, _ in case.below(other, "files"):
            part, what = fact.split("/", 2)[1:]
            if what not in ("bytes", "size", "link") or not isinstance(case.side(side).get(fact), Unknown):
                continue
            last, name = _listed_to(case, side, part), plain(part).rpartition("/")[2]
            if _folder(part) in whole:
                yield _passed_over(case, other, fact, f"the {side} side's listing of its folder, which is whole, has it not")
            elif isinstance(last, str) and name < last and _letters(name) < _letters(last):
                yield _passed_over(case, other, fact, f"the {side} side's listing of its folder passes over it: it shows all names up to {last}")


def _folder(part: str) -> str:
    return part.rpartition("%2F")[0] or "."


def _whole_folders(case: Case, side: SideName) -> set[str]:
    """Return the folders, as parts of paths, of which a side tells how many entries they have and as many names."""
    names: dict[str, set[str]] = {}
    for top in ("files", "folders"):
        for fact, _ in case.below(side, top):
            names.setdefault(_folder(fact.split("/")[1]), set()).add(fact.split("/")[1])
    entries = ((fact.split("/")[1], value) for fact, value in case.below(side, "folders") if fact.endswith("/entries"))
    return {folder for folder, value in entries if isinstance(value, int) and len(names.get(folder, set()) - {folder}) >= value > 0}


def _listed_to(case: Case, side: SideName, part: str) -> Any:
    """Return the last name of a side's sorted listing that a file belongs to: of its folder, or of a pattern such as ``/usr/lib/libcuda.so*``."""
    whole = case.value(side, f"folders/{part.rpartition('%2F')[0]}/listed_to")
    patterns = (path.split("/")[1] for path, _ in case.below(side, "folders") if path.endswith("*/listed_to"))
    fitting = (one for one in patterns if part.startswith(one[:-1]) and "%2F" not in part[len(one) - 1:])
    return whole if whole is not None else next((case.value(side, f"folders/{one}/listed_to") for one in fitting), None)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _passed_over(case: Case, side: SideName, fact: str, says: str) -> Evidence:
    path = plain(fact.split("/")[1])
    terms = [term("file moved" if _READ_BY_PROGRAMS.search(path) else "moved", says, (fact,))]
    if names_file(case.text, path):
        terms.append(term("named in the error", "the error text names this file", (fact,)))
    if side == "bad" and (module := _shadowed(case, path)):
        terms.append(term("package shadowed", f"it is imported in place of {module}, which is installed, by what is started in its folder", (fact,)))
    good, bad = ("there", None) if side == "good" else (None, "there")
    verdict = f"{path} {'came since the good side' if side == 'bad' else 'is there no more'}."
    wording = Wording("file", path, mark(good, bad), show(good), show(bad), verdict, commands=_looks(path))
    return Evidence(Subject("file", path), tuple(terms), wording)


def _shadowed(case: Case, path: str) -> str:
    """Return the installed distribution as which a new Python file is imported: Python looks into the folder of the script first."""
    module = re.fullmatch(r"(?:(?!.*(?:site|dist)-packages).*/)?([A-Za-z_]\w*)\.py", path)
    installed = (fact.split("/")[1] for fact, _ in case.below("bad", "packages") if fact.endswith("/version")) if module else ()
    return next((name for name in installed if module and is_import_of(module[1].lower(), name)), "") if case.klass not in _NOT_BY_IMPORT else ""


def _shown(case: Case, told: set[str]) -> Iterator[Finding]:
    """Yield each file of which ``cat`` showed other lines, and of which nothing else is told."""
    found: dict[str, list[Change]] = {}
    for change in case.moved("transcript/cat */*"):
        path = plain(change.path.split("/")[1].removeprefix("cat "))
        if path not in told and not _OF_THE_MOMENT.search(path):
            found.setdefault(path, []).append(change)
    for path, changes in found.items():
        facts = tuple(change.path for change in changes)
        lines = listed(plain(change.path.rsplit("/", 1)[1]) for change in changes)
        terms = [term("model file moved" if _is_of_model(case, path) else "file moved", f"other lines stand in it: {lines}", facts)]
        terms += [term("named in the error", "the error text names this file", facts)] if names_file(case.text, path) else []
        wording = Wording("file", path, "~", show(_good(changes[0])), show(_bad(changes[0])), f"Other lines stand in {path}: {lines}.", commands=_looks(path))
        yield Evidence(Subject("file", path), tuple(terms), wording)


def _is_of_model(case: Case, path: str) -> bool:
    """Tell whether a file lies in the folder of a model that is served on the bad side."""
    served = (case.value("bad", f"servers/{server}/args/{name}") for server in case.families("servers") for name in ("model_path", "model"))
    return any(isinstance(one, str) and one.startswith("/") and path.startswith(one.rstrip("/") + "/") for one in served)


def _anew(case: Case, owner: str) -> tuple[Command, ...]:
    version = show(case.value("bad", f"packages/{owner}/version"))
    look = Command("confirm", pip(case, "show", "-f", owner))
    return look, Command("try", pip(case, "install", "--force-reinstall", "--no-deps", "--no-cache-dir", f"{owner}=={version}"), "then start the server")


def _terms(case: Case, path: str, changes: list[Change], owner: str) -> Iterator[Term]:
    facts = tuple(change.path for change in changes)
    if any(change.path.endswith("/exists") for change in changes):
        says = "it is there no more" if _bad(changes[0]) in (False, None) else "it was not there before"
        yield term("file moved" if _READ_BY_PROGRAMS.search(path) else "moved", says, facts)
        if _OF_MODULES.match(path) and case.klass in ("device-lost", "startup-crash"):
            yield term("module set anew", "a module of the kernel takes its options from it", facts)
        if names_file(case.text, path):
            yield term("named in the error", "the error text names this file", facts)
        return
    needed = next((change for change in changes if change.path.endswith("/needs")), None)
    new = sorted({*_list(_bad(needed))} - {*_list(_good(needed))}) if needed is not None else []
    if needed is not None and any(one in case.text for one in new):
        yield term("lacks its symbol", f"it needs {listed(new)} now, which the error names", (needed.path,))
    told = ", ".join(f"{change.path.rsplit('/', 1)[1]} {show(_good(change))[:19]} → {show(_bad(change))[:19]}" for change in changes)
    yield term("file moved", f"its content is another: {told}", facts)
    sizes = next(((_good(one), _bad(one)) for one in changes if one.path.endswith("/bytes")), (None, None))
    lost = _lost(*sizes)
    if lost:
        yield term("file cut", f"it is shorter by {count(lost, 'byte')}: a download or a copy that did not end looks so", facts)
    if names_file(case.text, path):
        yield term("named in the error", "the error text names this file", facts)
    if owner:
        version = show(case.value("bad", f"packages/{owner}/version"))
        yield term("new build of one version", f"it is a module of {owner}, still {version}: a different build", (f"packages/{owner}/version",))
    elif "site-packages" not in path and ".so" in path:
        yield term("file outside packages", "a library of its own, outside the packages: no version tells it", facts)


def _lost(good: Any, bad: Any) -> int:
    """Return how many bytes a file lost where that is a notable part, an eighth or more; else 0."""
    return good - bad if isinstance(good, int) and isinstance(bad, int) and bad < good - good // 8 else 0


def _list(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def _good(change: Change) -> Any:
    return change.good.value if isinstance(change.good, Known) else None


def _bad(change: Change) -> Any:
    return change.bad.value if isinstance(change.bad, Known) else None


def _wording(path: str, changes: list[Change], commands: tuple[Command, ...]) -> Wording:
    first = next((change for change in changes if change.path.endswith("/bytes")), changes[0])
    what = first.path.rsplit("/", 1)[1]
    good, bad = (None if value is None else _worded(what, value) for value in (_good(first), _bad(first)))
    if first.path.endswith("/exists"):
        good, bad = ("there" if one else None for one in (good == "true", bad == "true"))
    verdict = f"{path} is not the file of the good side: {show(good)} → {show(bad)}."
    return Wording("file", path, mark(_good(first), _bad(first)), good, bad, verdict, commands=commands)


def _worded(what: str, value: Any) -> str:
    """Return a size with its unit, a digest by its beginning, anything else as it is."""
    return f"{show(value)} bytes" if what == "bytes" else f"{what} {show(value)[:_DIGITS]}…" if what in _DIGESTS else show(value)


def _looks(path: str) -> tuple[Command, ...]:
    if path.startswith("/"):
        return (Command("confirm", command(["ls", "-l", path])), Command("look", command(["sha256sum", path])))
    return (Command("confirm", f"ls -l {path}"),) if path.startswith("~/") and " " not in path else ()


RULES = (Rule("plain_file", needs=(), weigh=weigh, blames=("file", "package")),)

"""Installed distributions whose version or build moved. The layer, the symptom and the error text weigh, never the size of the jump.

What another one brought is told with what brought it, and weighs more than that one; what cannot be put back alone goes with its leader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.explain.case import Case
from driftwatch.explain.code_names import code_names, speaks_with
from driftwatch.explain.effect_time import out_of_order
from driftwatch.explain.error_words import LACKS, is_of_system
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.families import GPU_STACK, companion_of, is_attention, is_off_level, package_family
from driftwatch.explain.mentions import Said, mentions
from driftwatch.explain.naming import lacks_symbol_of, names_package
from driftwatch.explain.pairs import values
from driftwatch.explain.releases import is_unreleased, went_back
from driftwatch.explain.requirements import has_moved, wanted_by
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import mark, pip, term
from driftwatch.explain.weights import by_class
from driftwatch.explain.words import listed, moved, show

_LAYERS = {
    "kernel": "a kernel package: it brings code that runs on the GPU", "binding": "it binds Python to code of the GPU",
    "loading": "it fetches or reads the weights",
    "torch": "the tensor library under everything", "saver": "it stands between the server and the allocator of GPU memory",
    "collectives": "it moves data between GPUs and hosts", "cuda": "a CUDA library of the serving interpreter", "server": "the server itself",
    "linker": "it links, marks or measures code of the GPU and holds no memory of it", "modeling": "it holds the code of models",
    "beside_torch": "it goes with torch and reads images or sound", "trainer": "it runs the training", "cache": "it keeps what was computed for prompts",
    "executor": "it starts the server's processes and carries their messages",
    "model": "it loads or shapes the model", "numeric": "a numeric base library", "request": "every request passes through it",
    "web": "a web package: it touches neither GPU nor model", "client": "a client of other services: no request of the server passes through it",
    "tool": "a tool: the server does not import it", "other": "a Python package of no GPU layer",
}
_LACKED_PART = re.compile(r"No module named ['\"](\w+)\.(\w+)")
_BUILD_FACTS = ("transcript/python/torch._C._GLIBCXX_USE_CXX11_ABI", "torch/cxx11_abi")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each distribution that moved."""
    said, wanted = Said(case), wanted_by(case)
    for change in case.moved("packages/*/version"):
        yield _moved(said, change, wanted)
    for change in case.moved("packages/*/record"):
        if case.value("bad", f"packages/{_name(change.path)}/version") is not None:
            yield _rebuilt(said, change)
    for change in case.moved("packages/*/direct_url"):
        yield _elsewhere(said, change)


def _name(path: str) -> str:
    return path.split("/")[1]


def _moved(said: Said, change: Change, wanted: Mapping[str, list[str]]) -> Evidence:
    case, name, facts = said.case, _name(change.path), (change.path,)
    good, bad = values(change)
    carrier = _carrier(case, name, wanted)
    told = tuple(mentions(said, name, facts))
    terms = [term("moved", _told(good, bad), facts), *_other_than_newer(case, change), *_layer(case, name, change.path, is_named=bool(told)), *told]
    terms += [*_place(case, change, carrier, is_named=bool(told or said.asked)), *_follows(said, name)]
    if not told:
        terms += [*_carries(case, name, said.required), *_another(said, change)]
    terms += [*out_of_order(case, case.value("bad", f"packages/{name}/installed_at"), facts), *_build(case, name)]
    verdict = f"{name} {moved(good, bad)}{', ' + carrier if carrier else ''}."
    wording = Wording("package", name, mark(good, bad), good, bad, verdict, carrier, _commands(case, name, good, bad))
    return Evidence(Subject("package", name), tuple(terms), wording)


def _told(good: Any, bad: Any) -> str:
    if good is None:
        return "it came since the good side"
    return "it is gone since the good side" if bad is None else "its version is another than on the good side"


def _other_than_newer(case: Case, change: Change) -> Iterator[Term]:
    """Yield that a version is not simply the next release: a build that was never released, or, before a failure, an older one that nobody wanted."""
    (good, bad), facts = values(change), (change.path,)
    if good is not None and is_unreleased(bad) and not is_unreleased(good):
        yield term("unreleased", "a nightly or candidate build stands where a release stood", facts)
    elif case.klass is not None and went_back(good, bad):
        yield term("went back", "it is older than on the good side: something held it back", facts)
        if package_family(_name(change.path)) == "server":
            yield term("server went back", "the server itself: nobody installs an older one without a reason, a resolver does", facts)


def _carrier(case: Case, name: str, wanted: Mapping[str, list[str]]) -> str:
    """Return what brought a package along: one that requires it and that moved too; one that nothing else brought before any other."""
    users = [user for user in wanted.get(name, []) if user != name and companion_of(user) != name and has_moved(case, user)]
    first = min(users, key=lambda user: (package_family(user) != "server", users.index(user)), default="")
    return f"came with {first} {moved(*values(case.by_path[f'packages/{first}/version']))}" if first else ""


def _place(case: Case, change: Change, carrier: str, *, is_named: bool) -> Iterator[Term]:
    """Yield what a package's place among the moved ones weighs: new, gone, or going with another. An error that names it settles more than that."""
    facts = (change.path,)
    if change.kind == "added":
        yield from _half_of(case, change)
    if is_named:
        return
    if change.kind == "removed" and LACKS.search(case.text):
        yield term("gone and missed", "it is gone since the good side, and the error lacks something", facts)
    elif change.kind in ("added", "removed"):
        term_name, says = ("came new", "nothing used it before") if change.kind == "added" else ("went away", "what needs it would say so")
        yield term(term_name, says, facts)
    is_other = package_family(_name(change.path)) not in GPU_STACK or _moved_leader(case, _name(change.path))
    if carrier and change.kind == "changed" and case.klass != "oom" and not is_other:
        yield term("carried", f"it {carrier}", facts)


def _half_of(case: Case, change: Change) -> Iterator[Term]:
    """Yield that what came brings a part of a module of which the error lacks another part: who asks only for the module takes the one for the other."""
    lacks = _LACKED_PART.search(case.text)
    brings = [one for one in code_names(_name(change.path)) if "." in one]
    part = next((one for one in brings if lacks and one.split(".")[0] == lacks[1].lower() and not lacks[0].lower().startswith(one)), "")
    if part and lacks:
        yield term("brings another part", f"it brings {part}, and not {lacks[1]}.{lacks[2]}: who asks for {lacks[1]} alone finds it", (change.path,))


def _moved_leader(case: Case, name: str) -> str:
    leader = companion_of(name)
    return leader if leader and has_moved(case, leader) else ""


def _follows(said: Said, name: str) -> Iterator[Term]:
    """Yield that a package goes with a leader that moved too, unless the error names it and not that one, or comes from it."""
    case = said.case
    leader = _moved_leader(case, name)
    if name in said.raisers and leader not in said.raisers:
        return
    is_meant = lacks_symbol_of(case.text, name) or speaks_with(case.text, name) or (names_package(case.text, name) and not names_package(case.text, leader))
    if leader and not is_meant:
        facts = (f"packages/{name}/version", f"packages/{leader}/version")
        weight = "companion, compiles" if _compiles(case, name) else "companion"
        yield term(weight, f"it goes with {leader}, which moved too, and cannot be put back alone", facts)


def _carries(case: Case, name: str, required: Mapping[str, list[str]]) -> Iterator[Term]:
    """Yield that a server, which pins what it needs, brought other parts of the GPU stack: one of those is the likelier cause, but of its own sum of memory."""
    if package_family(name) != "server" or case.klass == "oom" or went_back(*values(case.by_path[f"packages/{name}/version"])):
        return
    nearer = [one for one in required.get(name, ()) if package_family(one) in GPU_STACK and not companion_of(one) and not is_off_level(case.text, one)]
    brought = [one for one in nearer if has_moved(case, one)]
    if brought:
        yield term("carrier", f"it brought others that are nearer to the GPU: {listed(brought)}", tuple(f"packages/{one}/version" for one in brought[:20]))


def _another(said: Said, change: Change) -> Iterator[Term]:
    """Yield what speaks against a package that the error does not name: it names another one, or it is of the other level."""
    named = said.named
    if said.has_moved_raiser and not named:
        yield term("raised elsewhere", f"the traceback ends in the code of {listed(said.raisers, 2)}, which moved too", (change.path,))
    if is_of_system(said.case.text):
        yield term("the system refused", "the operating system refused or lacked something: who prints it only asked", (change.path,))
    if is_off_level(said.case.text, _name(change.path)):
        yield term("other level", "the error is of the other level: of Python code or of native code, and this is not", (change.path,))
    asked = [name for name in said.asked if has_moved(said.case, name)]
    is_caller = package_family(_name(change.path)) == "server" and not asked and not said.moved_and_named
    if (named or asked) and _name(change.path) not in named and not is_caller:
        yield term("another is named", f"the error names {listed(sorted(named) or asked, 2)} and not this", (change.path,))


def _build(case: Case, name: str) -> Iterator[Term]:
    """Yield that PyTorch's C++ interface moved, which no version tells."""
    if name == "torch":
        for path in _BUILD_FACTS:
            if case.has_moved(path):
                yield term("interface moved", f"its C++ interface is another: {moved(*values(case.by_path[path]))}", (path,))


def _rebuilt(said: Said, change: Change) -> Evidence:
    case, name = said.case, _name(change.path)
    version = show(case.value("bad", f"packages/{name}/version"))
    first = term("new build of one version", f"still {version}, but its RECORD is another: a different build", (change.path,))
    told = tuple(mentions(said, name, (change.path,)))
    look = Command("look", pip(case, "show", "-f", name))
    good, bad = (show(one)[:19] for one in values(change))
    wording = Wording("package", f"{name} {version}, RECORD", "~", good, bad, f"{name} {version} is another build.", commands=(look,))
    return Evidence(Subject("package", name), (first, *_layer(case, name, change.path, is_named=bool(told)), *told), wording)


def _elsewhere(said: Said, change: Change) -> Evidence:
    """Return that a distribution of the same version was installed from another folder, archive or repository."""
    name, (good, bad) = _name(change.path), (_place_of(one) for one in values(change))
    version = said.case.known(f"packages/{name}/version")
    same = "the same version, " if version is not None and version[0] == version[1] else ""
    terms = [term("installed from elsewhere", f"{same}from another place: {moved(good, bad, absent='the index')}", (change.path,))]
    folder = bad.removeprefix("file://") if bad else ""
    if len(folder) > 1 and folder in said.case.trace:
        terms.append(term("file in the traceback", "the traceback goes through files of the new place", (change.path,)))
    look = (Command("look", pip(said.case, "show", "-f", name)),)
    verdict = f"{name} is installed from another place: {moved(good, bad, absent='the index')}."
    wording = Wording("package", f"{name}, where it is from", "~", good, bad, verdict, commands=look)
    return Evidence(Subject("package", name), (*terms, *mentions(said, name, (change.path,))), wording)


def _place_of(direct: Any) -> str | None:
    """Return the URL of a PEP 610 record, with the commit that was taken from a repository."""
    if not isinstance(direct, dict) or not isinstance(direct.get("url"), str):
        return direct if isinstance(direct, str) else None
    commit = (direct.get("vcs_info") or {}).get("commit_id") if isinstance(direct.get("vcs_info"), dict) else None
    return f"{direct['url']}@{commit[:12]}" if isinstance(commit, str) else str(direct["url"])


def _layer(case: Case, name: str, path: str, *, is_named: bool) -> Iterator[Term]:
    """Yield what a package's layer weighs; that it is an unlikely one does not count where the error itself points to it."""
    family = package_family(name)
    weight = by_class("layer", family, case.klass)
    if weight > 0 or (weight and not is_named):
        yield Term(_LAYERS[family], weight, (path,), "layer")
    if case.klass in ("slow", "wrong-output", "accuracy") and is_attention(name):
        yield term("attention", "it chooses the attention kernel, the usual place of this symptom", (path,))
    elif _compiles(case, name):
        yield term("compiles most kernels", "most kernels of a server are compiled by it", (path,))


def _compiles(case: Case, name: str) -> bool:
    """Tell whether a package compiles the kernels of which the symptom may come: other code than before, of which no error tells."""
    return case.klass in ("slow", "wrong-output", "accuracy") and name in ("triton", "pytorch-triton")


def _commands(case: Case, name: str, good: Any, bad: Any) -> tuple[Command, ...]:
    def go(version: Any) -> str:
        return pip(case, "uninstall", name) if version is None else pip(case, "install", "--no-deps", f"{name}=={version}")

    return (Command("confirm", pip(case, "show", name)), Command("try", go(good), "then start the server"), Command("undo", go(bad)))


RULES = (Rule("version_moved", needs=("packages/*/version",), weigh=weigh, blames=("package",)),)

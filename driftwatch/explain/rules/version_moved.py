"""Installed distributions whose version or build moved. The layer, the symptom and the error text weigh, never the size of the jump."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.families import package_family
from driftwatch.explain.naming import names_package
from driftwatch.explain.requirements import wanted_by
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import mark, pip, term
from driftwatch.explain.weights import LAYER, by_class
from driftwatch.explain.words import moved, show
from driftwatch.model import Known

_LAYERS = {
    "kernel": "a kernel package: it brings code that runs on the GPU", "torch": "the tensor library under everything",
    "collectives": "it moves data between GPUs and hosts", "cuda": "a CUDA library of the serving interpreter", "server": "the server itself",
    "model": "it loads or shapes the model", "numeric": "a numeric base library", "web": "a web package: it touches neither GPU nor model",
    "tool": "a tool: the server does not import it", "other": "a Python package of no GPU layer",
}


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each distribution that moved."""
    wanted = wanted_by(case)
    for change in case.moved("packages/*/version"):
        yield _moved(case, change, wanted)
    for change in case.moved("packages/*/record"):
        yield _rebuilt(case, change)


def _name(path: str) -> str:
    return path.split("/")[1]


def _both(change: Change) -> tuple[Any, Any]:
    good, bad = change.good, change.bad
    return (good.value if isinstance(good, Known) else None, bad.value if isinstance(bad, Known) else None)


def _moved(case: Case, change: Change, wanted: Mapping[str, list[str]]) -> Evidence:
    name = _name(change.path)
    good, bad = _both(change)
    carrier = _carrier(case, name, wanted)
    terms = (term("moved", _told(good, bad), (change.path,)), *_layer(case, name, change.path), *_named(case, name, change.path))
    verdict = f"{name} {moved(good, bad)}{', ' + carrier if carrier else ''}."
    wording = Wording("package", name, mark(good, bad), good, bad, verdict, carrier, _commands(case, name, good, bad))
    return Evidence(Subject("package", name), terms, wording)


def _told(good: Any, bad: Any) -> str:
    if good is None:
        return "it came since the good side"
    return "it is gone since the good side" if bad is None else "its version is another than on the good side"


def _carrier(case: Case, name: str, wanted: Mapping[str, list[str]]) -> str:
    """Return what brought a package along: one that requires it and that moved too."""
    for user in wanted.get(name, []):
        change = case.by_path.get(f"packages/{user}/version")
        if user != name and change is not None and change.kind != "unknown" and not change.is_folded:
            return f"came with {user} {moved(*_both(change))}"
    return ""


def _rebuilt(case: Case, change: Change) -> Evidence:
    name = _name(change.path)
    version = show(case.value("bad", f"packages/{name}/version"))
    told = term("new build of one version", f"still {version}, but its RECORD is another: a different build", (change.path,))
    terms = (told, *_layer(case, name, change.path), *_named(case, name, change.path))
    look = Command("look", pip(case, "show", "-f", name))
    good, bad = (show(one)[:19] for one in _both(change))
    wording = Wording("package", f"{name} {version}, RECORD", "~", good, bad, f"{name} {version} is another build.", commands=(look,))
    return Evidence(Subject("package", name), terms, wording)


def _layer(case: Case, name: str, path: str) -> Iterator[Term]:
    family = package_family(name)
    weight = by_class(LAYER, family, case.klass)
    if weight:
        yield Term(_LAYERS[family], weight, (path,))


def _named(case: Case, name: str, path: str) -> Iterator[Term]:
    if names_package(case.text, name):
        yield term("named in the error", "the error text names it", (path,))


def _commands(case: Case, name: str, good: Any, bad: Any) -> tuple[Command, ...]:
    def go(version: Any) -> str:
        return pip(case, "uninstall", name) if version is None else pip(case, "install", "--no-deps", f"{name}=={version}")

    return (Command("confirm", pip(case, "show", name)), Command("try", go(good), "then start the server"), Command("undo", go(bad)))


RULES = (Rule("version_moved", needs=("packages/*/version",), weigh=weigh, blames=("package",)),)

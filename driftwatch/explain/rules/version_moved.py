"""Installed distributions whose version or build moved. The layer, the symptom and the error text weigh, never the size of the jump."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.explain.case import SIDES, Case
from driftwatch.explain.explanation import Command, RuledOut, Subject, Term
from driftwatch.explain.families import GPU_STACK, package_family
from driftwatch.explain.naming import names_package
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
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_SUSPECTED = re.compile(r"sgl-kernel|sglang-kernel|torch|triton|nvidia-nccl-.*|flashinfer-python|flash-attn|sglang|vllm")  # what people blame first
_MOST_RULED_OUT = 10


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each moved distribution, and the usual suspects among those that are the same to the byte."""
    wanted = _wanted_by(case)
    for change in case.moved("packages/*/version"):
        yield _moved(case, change, wanted)
    for change in case.moved("packages/*/record"):
        yield _rebuilt(case, change)
    yield from _ruled_out(case, wanted)


def _name(path: str) -> str:
    return path.split("/")[1]


def _both(change: Change) -> tuple[Any, Any]:
    return (change.good.value if isinstance(change.good, Known) else None, change.bad.value if isinstance(change.bad, Known) else None)


def _moved(case: Case, change: Change, wanted: dict[str, list[str]]) -> Evidence:
    name = _name(change.path)
    good, bad = _both(change)
    carrier = next((other for other in wanted.get(name, []) if case.by_path.get(f"packages/{other}/version") in case.seen), "")
    told = f"came with {carrier} {moved(*_both(case.by_path[f'packages/{carrier}/version']))}" if carrier else ""
    terms = (term("moved", moved(good, bad), (change.path,)), *_layer(case, name, change.path), *_named(case, name, change.path))
    verdict = f"{name} {moved(good, bad)}{', ' + told if told else ''}."
    return Evidence(Subject("package", name), terms, Wording("package", name, mark(good, bad), good, bad, verdict, told, _commands(case, name, good, bad)))


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


def _wanted_by(case: Case) -> dict[str, list[str]]:
    """Return for each distribution the ones that require it on the bad side."""
    found: dict[str, list[str]] = {}
    for path, value in case.below("bad", "packages"):
        if path.endswith("/requires") and isinstance(value, list):
            for line in value:
                match = _REQUIREMENT.match(line) if isinstance(line, str) else None
                if match:
                    found.setdefault(re.sub(r"[-_.]+", "-", match[1]).lower(), []).append(_name(path))
    return found


def _ruled_out(case: Case, wanted: dict[str, list[str]]) -> Iterator[RuledOut]:
    """Yield usual suspects that are the same to the byte, where nothing that they are built against or built for moved.

    An unchanged package whose partner moved has no line in any version diff, so it is never cleared by its own version alone.
    """
    base_moved = case.has_moved("python/version", "driver/module/version", "kernel/release")
    if base_moved or any(package_family(_name(change.path)) in GPU_STACK for change in case.moved("packages/*/*")):
        return
    partners = {_name(change.path) for change in case.moved("packages/*/version")}
    shown = 0
    for name in sorted({_name(path) for path, _ in case.below("bad", "packages") if path.endswith("/version")}):
        if _SUSPECTED.fullmatch(name) or names_package(case.text, name):
            facts = _equal_facts(case, name)
            if facts and not partners & _partners(case, name, wanted) and shown < _MOST_RULED_OUT:
                shown += 1
                yield RuledOut(Subject("package", name), f"{show(case.value('bad', f'packages/{name}/version'))}, the same RECORD digest on both sides", facts)


def _partners(case: Case, name: str, wanted: dict[str, list[str]]) -> set[str]:
    return {other for other, users in wanted.items() if name in users and package_family(other) in GPU_STACK} | {
        user for user in wanted.get(name, []) if package_family(user) in GPU_STACK and case.known(f"packages/{user}/version") is not None}


def _equal_facts(case: Case, name: str) -> tuple[str, ...]:
    """Return the facts that prove a package equal, empty where one of them moved, is unknown or was never asked."""
    top = f"packages/{name}/"
    told = {path for side in SIDES for path, _ in case.below(side, "packages") if path.startswith(top)}
    paths = sorted(told | {top + "version", top + "record", top + "text_version"})
    for path in paths:
        both = case.known(path)
        change = case.by_path.get(path)
        if both is None or (change is not None and (not change.is_folded or change.follows is not None)):
            return ()
    has_odd = any(path.startswith((top + "altered/", top + "missing/", top + "others", top + "metadata")) for path in paths)
    return () if has_odd or case.value("bad", top + "record") is None else tuple(paths)


RULES = (Rule("version_moved", needs=("packages/*/version",), weigh=weigh, blames=("package",)),)

"""Packages that people blame first and that are the same to the byte. An unchanged package whose partner moved is never cleared by its version alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from driftwatch.compare.equal import is_masked
from driftwatch.explain.case import SIDES, Case
from driftwatch.explain.explanation import RuledOut, Subject
from driftwatch.explain.families import GPU_STACK, package_family
from driftwatch.explain.naming import names_package
from driftwatch.explain.requirements import wanted_by
from driftwatch.explain.rule import Finding, Rule
from driftwatch.explain.words import show

_BLAMED_FIRST = re.compile(r"sgl-kernel|sglang-kernel|torch|triton|nvidia-nccl-.*|flashinfer-python|flash-attn|sglang|vllm")
_BASE = ("python/version", "driver/module/version", "kernel/release")
_ODD = ("altered", "missing", "others", "shadows", "metadata")  # where one of these is told, a version and a RECORD prove nothing
_MOST = 10


def weigh(case: Case) -> Iterator[Finding]:
    """Yield the usual suspects, and what the error names, where all that is known of them is equal and nothing that they were built against moved."""
    if case.has_moved(*_BASE) or any(package_family(change.path.split("/")[1]) in GPU_STACK for change in case.moved("packages/*/*")):
        return
    wanted = wanted_by(case)
    moved = {change.path.split("/")[1] for change in case.moved("packages/*/version")}
    told = 0
    for name in sorted({path.split("/")[1] for path, _ in case.below("bad", "packages") if path.endswith("/version")}):
        if told < _MOST and (_BLAMED_FIRST.fullmatch(name) or names_package(case.text, name)) and not moved & _partners(name, wanted):
            facts = _equal_facts(case, name)
            if facts:
                told += 1
                version = show(case.value("bad", f"packages/{name}/version"))
                yield RuledOut(Subject("package", name), f"{version}, the same RECORD digest on both sides", facts)


def _partners(name: str, wanted: Mapping[str, list[str]]) -> set[str]:
    """Return the packages of the GPU stack that a package requires or that require it."""
    required = {other for other, users in wanted.items() if name in users}
    return {other for other in (*required, *wanted.get(name, [])) if package_family(other) in GPU_STACK}


def _equal_facts(case: Case, name: str) -> tuple[str, ...]:
    """Return the facts that prove a package equal, empty where one of them moved, is unknown or was never asked."""
    top = f"packages/{name}"
    told = {path for side in SIDES for path, _ in case.under(side, top)}
    if any(path.split("/")[2] in _ODD for path in told) or case.value("bad", f"{top}/record") is None:
        return ()
    paths = sorted(told | {f"{top}/version", f"{top}/record", f"{top}/text_version"})
    return tuple(paths) if all(_is_equal(case, path) for path in paths) else ()


def _is_equal(case: Case, path: str) -> bool:
    both, change = case.known(path), case.by_path.get(path)
    is_volatile = change is not None and change.is_folded and change.follows is None
    return both is not None and (change is None or is_volatile) and not is_masked(both[1])


RULES = (Rule("package_same", needs=("packages/*/version", "packages/*/record"), weigh=weigh),)

"""Caches of compiled code: entries older than the package that makes them, and what the working side did not have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from driftwatch.explain.case import Case, SideName
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, term
from driftwatch.explain.words import command, count, listed, show, utc_minute

_MAKERS: Mapping[str, str] = MappingProxyType({
    "triton": "triton|torch|pytorch-triton", "inductor": "torch|triton", "flashinfer": "flashinfer-python|apache-tvm-ffi",
    "flashinfer_cubin": "flashinfer-python",
    "sglang": "sglang|torch", "sglang_jit": "sglang|sgl-kernel|sglang-kernel|apache-tvm-ffi", "deep_gemm": "sgl-deep-gemm|deep-gemm|sgl-kernel",
    "tilelang": "tilelang|apache-tvm-ffi", "tvm_ffi": "apache-tvm-ffi", "torch_extensions": "torch", "vllm": "vllm|torch|triton",
    "cute_dsl": "nvidia-cutlass-dsl",
})
_NEWS = ("versions", "entries", "files", "bytes", "size")
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T +](\d\d:\d\d))?")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each cache whose content the two sides do not share, with what makes it suspect."""
    yield from _weigh(case, [f"caches/{name}" for name in case.families("caches")])


def weigh_folders(case: Case) -> Iterator[Finding]:
    """Yield the same of each folder of a cache that is in no list of ours, as a paste tells of it."""
    yield from _weigh(case, [f"folders/{name}" for name in case.families("folders") if "cache" in name.lower()])


def _weigh(case: Case, tops: list[str]) -> Iterator[Finding]:
    for top in tops:
        name = top.split("/", 1)[1]
        terms = [*_age(case, name, top), *_mixed(case, top)]
        terms += _news(case, top) if terms or case.has_moved(f"{top}/entries", f"{top}/oldest", f"{top}/versions", f"{top}/bytes") else []
        if terms:
            yield Evidence(Subject("cache", _path(case, top)), tuple(terms), _wording(case, top))


def _path(case: Case, top: str) -> str:
    path = case.value("bad", f"{top}/path") or case.value("good", f"{top}/path")
    return path if isinstance(path, str) and path.strip() else f"{top.split('/', 1)[1]} cache"


def _age(case: Case, name: str, top: str) -> Iterator[Term]:
    oldest, before = _minute(case.value("bad", f"{top}/oldest")), _minute(case.value("good", f"{top}/oldest"))
    if oldest is None:
        return
    shown = show(case.value("bad", f"{top}/oldest"))
    for maker, path, at in _makers(case, name, "bad"):
        if oldest < at and not _was_older(case, name, before, maker):
            says = f"its oldest entry is of {shown}, before {maker} was installed: another release made it"
            yield term("cache older than its maker", says, (f"{top}/oldest", path))
            yield from before_unknown(case, "it was so", f"{top}/oldest")
            return
    if before is not None and oldest < before:
        yield term("cache older than the good side's", f"its oldest entry is of {shown}, on the good side of {show(case.value('good', f'{top}/oldest'))}",
                   (f"{top}/oldest",))


def _makers(case: Case, name: str, side: SideName) -> Iterator[tuple[str, str, str]]:
    """Yield the packages that fill a cache, the fact of when each was installed, and that time."""
    pattern = _MAKERS.get(name.partition("@")[0], "")
    for path, value in case.below(side, "packages"):
        if pattern and path.endswith("/installed_at") and re.fullmatch(pattern, path.split("/")[1]):
            at = _minute(value)
            if at is not None:
                yield path.split("/")[1], path, at


def _was_older(case: Case, name: str, before: str | None, maker: str) -> bool:
    """Tell whether the cache was older than its maker on the good side too: then it did no harm there."""
    return before is not None and any(one == maker and before < at for one, _, at in _makers(case, name, "good"))


def _minute(value: Any) -> str | None:
    """Return a time told as ISO text or in nanoseconds since 1970 as ``2026-03-02 02:31``, which sorts by time; None where it is none."""
    found = _DAY.match(value if isinstance(value, str) else utc_minute(value))
    return None if found is None else f"{found[1]} {found[2] or '00:00'}"


def _mixed(case: Case, top: str) -> Iterator[Term]:
    good, bad = case.value("good", f"{top}/mixed_ages"), case.value("bad", f"{top}/mixed_ages")
    if isinstance(bad, dict) and bad and not good:
        yield term("cache moved", f"builds of mixed ages: {listed(map(str, bad), 2)}", (f"{top}/mixed_ages",))
        yield from before_unknown(case, "it had them", f"{top}/mixed_ages")


def _news(case: Case, top: str) -> Iterator[Term]:
    for what in _NEWS:
        for change in case.moved(f"{top}/{what}"):
            good, bad = case.value("good", change.path), case.value("bad", change.path)
            yield term("cache grew" if _is_more(good, bad) else "cache moved", f"{what}: {show(good)} → {show(bad)}", (change.path,))
            return


def _is_more(good: Any, bad: Any) -> bool:
    return isinstance(good, int) and isinstance(bad, int) and bad > good


def _wording(case: Case, top: str) -> Wording:
    path = _path(case, top)
    good, bad = (_told(case, side, top) for side in ("good", "bad"))
    look = Command("confirm", f"find {command([path])} -type f -printf '%TY-%Tm-%Td\\n' | sort | uniq -c") if path.startswith(("/", "~")) else None
    aside = command([path + ".aside"])
    flips = (Command("try", f"mv {command([path])} {aside}", "then start the server: it compiles anew"), Command("undo", f"mv {aside} {command([path])}"))
    commands = (look, *flips) if look is not None else ()
    return Wording("cache", path, "~", good, bad, f"The cache {path} holds what the working side's did not: {bad}.", commands=commands)


def _told(case: Case, side: SideName, top: str) -> str:
    entries = next((value for what in ("entries", "files") if isinstance(value := case.value(side, f"{top}/{what}"), int)), None)
    ages = [show(value) for what in ("oldest", "newest") if (value := case.value(side, f"{top}/{what}")) is not None]
    parts = [count(entries, "entry", "entries")] if entries is not None else []
    parts += [f"of {ages[0]} to {ages[-1]}" if len(ages) > 1 and ages[0] != ages[-1] else f"of {ages[0]}"] if ages else []
    return ", ".join(parts) or "absent"


RULES = (
    Rule("cache_age", needs=("caches/*|caches",), weigh=weigh, blames=("cache",)),
    Rule("cache_age_of_folders", needs=(), weigh=weigh_folders, blames=("cache",)),
)

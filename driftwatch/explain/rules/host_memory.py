"""The host's memory: processes that the kernel killed for want of it, page cache in the memory that GPU and host share, too little of it left."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain import devices, limits, memory_groups
from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.pairs import logged_more, numbers
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, term
from driftwatch.explain.words import fixed, number

_SHARED = re.compile(r"GB10\b|Orin|Thor|Xavier|DGX Spark", re.IGNORECASE)  # GPU and host use one memory
PAGE_CACHE = Subject("host-memory", "page cache")
MEMORY = Subject("host-memory", "memory of the host")
_KIB_PER_GIB = 1 << 20
_LARGE, _SMALL = 0.4, 0.1  # parts of all memory


def weigh(case: Case) -> Iterator[Finding]:
    """Yield page cache that fills shared memory, and memory of the host that ran out."""
    if case.klass is not None and _is_shared(case):
        yield from _page_cache(case)
    yield from _ran_out(case)


def _is_shared(case: Case) -> bool:
    """Tell whether a GPU uses the host's own memory: by its name, or because the driver tells no memory of its own."""
    gpus = devices.every(case)
    no_own = [gpu for gpu in gpus if case.value("bad", f"gpus/{gpu}/name") and number(case.value("bad", f"gpus/{gpu}/memory_total_mib")) is None]
    return any(_SHARED.search(str(case.value("bad", f"gpus/{gpu}/name"))) for gpu in no_own)


def _kib(case: Case, side: SideName, name: str) -> float | None:
    return number(case.value(side, f"system/memory/{name}"))


def _gib(kib: float | None) -> str:
    return "not known" if kib is None else f"{fixed(kib / _KIB_PER_GIB, 1)} GiB"


def _page_cache(case: Case) -> Iterator[Finding]:
    """Yield that cached files fill the memory which the GPU would use: it counts as available to the host, but the driver does not take it."""
    total, cached, free = (_kib(case, "bad", name) for name in ("total_kib", "Cached_kib", "MemFree_kib"))
    before, free_before = _kib(case, "good", "Cached_kib"), _kib(case, "good", "MemFree_kib")
    if total is None or cached is None or free is None or cached < _LARGE * total or free > _SMALL * total:
        return
    if before is not None and (cached - before < _SMALL * total or (free_before is not None and free_before < 2 * free)):
        return
    facts = tuple(f"system/memory/{name}" for name in ("Cached_kib", "MemFree_kib", "MemAvailable_kib"))
    was = f"; on the good side {_gib(before)}, and {_gib(free_before)} free" if before is not None else ""
    says = f"{_gib(cached)} of the memory that GPU and host share are page cache, {_gib(free)} are free{was}"
    terms = [term("cache fills shared memory", says, facts), *before_unknown(case, "it did", facts[0]), *_pressure(case)]
    available = _gib(_kib(case, "bad", "MemAvailable_kib"))
    verdict = f"Page cache fills the memory that the GPU shares with the host: {_gib(cached)} cached, {_gib(free)} free, though {available} count as available."
    commands = (
        Command("confirm", "free -g; cat /proc/pressure/memory"),
        Command("try", "sync; echo 1 > /proc/sys/vm/drop_caches", "as root: drops clean page cache, loses nothing"),
    )
    yield Evidence(PAGE_CACHE, tuple(terms), Wording("host memory", "page cache", "~", _gib(before), _gib(cached), verdict, commands=commands))


def _pressure(case: Case) -> Iterator[Term]:
    path = "system/pressure/memory/full_avg60"
    before, stalled = numbers(case, path)
    if before is not None and stalled is not None and stalled >= 5 and stalled > 4 * before:
        yield term("memory pressure", f"all tasks wait for memory {fixed(stalled, 0)} % of the time", (path,))


def _ran_out(case: Case) -> Iterator[Finding]:
    terms = [*_killed(case), *_little(case)]
    if not terms:
        return
    if limits.NO_MEMORY.search(case.text):
        terms.append(term("text names it", "the error text is that of a process that was killed, or got no memory"))
    good, bad = (_gib(_kib(case, side, "MemAvailable_kib")) for side in SIDES)
    look = Command("confirm", "dmesg | grep -iE 'oom|killed process'; free -g")
    yield Evidence(MEMORY, tuple(terms), Wording("host memory", "available", "~", good, bad, f"The host ran out of memory: {terms[0].says}.", commands=(look,)))


def _killed(case: Case) -> Iterator[Term]:
    """Yield that the kernel killed processes because the host had no memory left; what a group's own limit killed says nothing of the host."""
    if memory_groups.killed(case) and not memory_groups.is_host_named(case):
        return
    counters = [path for path, _ in case.below("bad", "memory") if path.endswith("/oom_kills")]
    grown = [path for path in counters if memory_groups.has_grown(case, path)]
    if logged_more(case, "kernel_log/oom_kill"):
        grown.append("kernel_log/oom_kill")
    grown += [
        change.path for change in case.moved("containers/*/oom_killed") if case.value("bad", change.path) is True and case.value("good", change.path) is False
    ]
    if grown:
        yield term("killed for memory", "the kernel killed processes for want of memory", grown)
        yield from before_unknown(case, "it had", *grown)


def _little(case: Case) -> Iterator[Term]:
    total, left, before = _kib(case, "bad", "total_kib"), _kib(case, "bad", "MemAvailable_kib"), _kib(case, "good", "MemAvailable_kib")
    if case.klass is not None and total and left is not None and before is not None and left < 0.03 * total and before > 3 * left:
        yield term("little memory left", f"{_gib(left)} of {_gib(total)} are available, and {_gib(before)} were", ("system/memory/MemAvailable_kib",))


RULES = (Rule("host_memory", needs=(), weigh=weigh, blames=("host-memory",)),)

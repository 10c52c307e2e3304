"""Limits: what the error text's errno names is looked up on both sides, not the library that printed it. A limit may be old, and what now reaches it new."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.explain import limits, memory_groups
from driftwatch.explain.case import SIDES, Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.families import os_package_family, package_family
from driftwatch.explain.limits import Limit
from driftwatch.explain.pairs import both, numbers
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import term
from driftwatch.explain.words import listed, moved

_SHM = Subject("limit", limits.SHM_PLACE)


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each limit that the text names or that fell, and shared memory where it is what ran out."""
    for limit in limits.OF_PROCESSES:
        terms = tuple(_terms(case, limit))
        if terms:
            yield Evidence(Subject("limit", f"{limit.name} ({limit.item})"), terms, _wording(case, limit))
    yield from _shared_memory(case)
    yield from _of_group(case)


def _terms(case: Case, limit: Limit) -> Iterator[Term]:
    good, bad = limits.least(case, limit.key)
    is_named = limit.text.search(case.text) is not None
    fell = good is not None and bad is not None and bad[1] < good[1]
    orders = limits.configured(case, limit.key)
    if (not is_named and not fell and not orders) or (bad is not None and bad[1] == float("inf")):
        return  # what is known to be unlimited was not reached
    facts = tuple(dict.fromkeys(one[0] for one in (good, bad) if one is not None))
    if is_named:
        yield term("errno names it", f"the error text says that the {limit.name} was reached", facts)
    if fell and good is not None and bad is not None:
        yield term("limit fell", f"it fell from {limits.show(good[1])} to {limits.show(bad[1])} for the server's processes", facts)
    elif orders:
        yield term("moved", f"what orders it moved: {listed(path.split('/', 2)[-1] for path in orders)}", orders)
    if bad is not None and bad[1] <= limit.tight:
        yield term("limit is tight", f"{limits.show(bad[1])} is little for a server of several GPUs", facts)
    elif good is not None and bad is not None and limit.roomy > bad[1] == good[1]:
        yield term("limit stands", f"it is {limits.show(bad[1])} on both sides: what now reaches it is new", facts)
    elif bad is None and not orders and good is not None and good[1] >= limit.roomy and _is_told(case):
        yield term("limit is roomy", f"it was {limits.show(good[1])} on the good side, and nothing that orders limits moved", (good[0],))
    elif bad is not None and bad[1] >= limit.roomy:
        yield term("limit is roomy", f"it is {limits.show(bad[1])} on the bad side: no server is known to reach that", facts)


def _is_told(case: Case) -> bool:
    """Tell whether what orders limits was read on both sides."""
    return all(case.below(side, "limits") for side in SIDES) and not case.is_open_below("limits/unit", "limits/security", "limits/systemd")


def _wording(case: Case, limit: Limit) -> Wording:
    good, bad = limits.least(case, limit.key)
    orders = limits.configured(case, limit.key)
    was, now = (limits.show(one[1]) if one is not None else None for one in (good, bad))
    if orders and (good is None or bad is None):
        was, now = (str(value) for value in both(case, orders[0]))
    verdict = f"The {limit.name} of the server is {now or 'reached'}{f', and was {was}' if was and was != now else ''}."
    carrier = f"ordered by {listed(path.split('/', 1)[1] for path in orders)}" if orders else ""
    commands = (Command("confirm", limit.settle), Command("try", f"# {limit.raise_it}; then start the server"))
    return Wording("limit", f"{limit.name} ({limit.item})", "~" if was != now else "!", was or "not known", now or "not known", verdict, carrier, commands)


def _shared_memory(case: Case) -> Iterator[Finding]:
    """Yield /dev/shm: where the text says that shared memory ran out, or where it shrank."""
    _, tight, roomy = limits.SHM
    path = next((change.path for change in case.moved(limits.SHM[0], "containers/*/shm_bytes")), limits.SHM[0])
    good, bad = numbers(case, path)
    is_named = limits.SHM_TEXT.search(case.text) is not None and (limits.NO_SPACE.search(case.text) is not None or "bus error" in case.text.lower())
    fell = good is not None and bad is not None and bad < good and not (bad >= roomy)
    if not is_named and not fell:
        return
    size = limits.show(bad) if bad is not None else "not known"
    terms = [term("errno names it", "the error text says that shared memory had no room", (path,))] if is_named else []
    if fell and good is not None and bad is not None:
        terms.append(term("limit fell", f"it shrank from {limits.show(good)} to {size}", (path,)))
    if bad is not None and bad <= tight:
        terms.append(term("limit is tight", f"{size} is little: 64 MiB is docker's default for a container", (path,)))
    elif bad is not None and bad >= roomy:
        terms.append(term("limit is roomy", f"it holds {size}", (path,)))
    triggers = _triggers(case)
    is_same = good is not None and good == bad
    if triggers and is_named:
        same = "unchanged itself: " if is_same else ""
        terms.append(term("in the window", f"{same}what moved and may need more of it is {listed(triggers)}", list(triggers.values())))
    verdict = f"{limits.SHM_PLACE} ({size}) has no room for what the server puts there{f'; new is {listed(triggers)}' if triggers else ''}."
    commands = (Command("confirm", "df -h /dev/shm"), Command("try", "# start the container with --shm-size=16g or --ipc=host"))
    was = limits.show(good) if good is not None else "not known"
    yield Evidence(_SHM, tuple(terms), Wording("limit", limits.SHM_PLACE, "~" if fell else "!", was, size, verdict, listed(triggers), commands))
    for name, fact in triggers.items() if is_named else ():
        yield from _trigger(case, name, fact, is_same=is_same)


def _triggers(case: Case) -> dict[str, str]:
    """Return the collective libraries that moved, in words, each with its fact: they choose how much shared memory is taken."""
    found = {}
    for change in case.moved("os_packages/*/version", "packages/*/version"):
        top, name = change.path.split("/")[:2]
        family = os_package_family(name) if top == "os_packages" else package_family(name)
        if family in ("nccl", "collectives"):
            found[f"{name} {moved(*both(case, change.path))}"] = change.path
    return found


def _trigger(case: Case, told: str, fact: str, *, is_same: bool) -> Iterator[Finding]:
    """Yield the library that moved as the other half of the cause."""
    top, name = fact.split("/")[:2]
    subject = Subject("package" if top == "packages" else "nccl", name)
    same = "; the limit it met is the same on both sides" if is_same else ""
    terms = (term("trigger moved", f"{told}: it chooses between shared memory and other ways{same}", (fact,)),)
    good, bad = both(case, fact)
    wording = Wording("collectives", name, "~", good, bad, f"{told} needs more shared memory than before.") if top == "os_packages" else None
    yield Evidence(subject, terms, wording)


def _of_group(case: Case) -> Iterator[Finding]:
    """Yield limits of the server's control group, or of its container, that fell."""
    for change in case.moved(
        "cgroup/*/memory_max_bytes",
        "cgroup/servers/*/*",
        "containers/*/memory_bytes",
        "containers/*/pids_limit",
        "containers/*/nano_cpus",
        "containers/*/cpuset",
    ):
        if memory_groups.is_told_again(case, change.path):
            continue
        what = change.path.rsplit("/", 1)[1]
        before, now = both(case, change.path)
        good, bad = (limits.soft(one) if one is not None else float("inf") for one in (before, now))
        is_set = what in ("cpuset_cpus", "cpuset", "cpuset_mems")
        if not is_set and (good is None or bad is None or bad >= good):
            continue
        says = f"it is {now} now, and was {before}" if is_set else f"it fell from {limits.show(good or 0)} to {limits.show(bad or 0)}"
        name = memory_groups.title(change.path)
        terms = [term("limit fell", says, (change.path,))]
        if "memory" in what and limits.NO_MEMORY.search(case.text):
            terms.append(term("errno names it", "the error text is that of a process without memory", (change.path,)))
        look = Command("confirm", "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu.max; docker inspect NAME")
        was, is_now = (before, now) if is_set else (limits.show(good or 0), limits.show(bad or 0))
        carrier = memory_groups.ordered(memory_groups.orders(case, change.path)) if "memory" in what else ""
        yield Evidence(Subject("limit", name), tuple(terms), Wording("limit", name, "~", was, is_now, f"The limit {name}: {says}.", carrier, (look,)))


RULES = (Rule("limit_reached", needs=(), weigh=weigh, blames=("limit", "nccl")),)

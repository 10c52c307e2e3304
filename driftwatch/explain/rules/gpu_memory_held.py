"""GPU memory that is held by somebody else: leftovers of a crashed server, foreign processes, and memory that no listed process holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from driftwatch.explain import holders, servers
from driftwatch.explain.case import SIDES, Case
from driftwatch.explain.explanation import Command, RuledOut, Subject, Term
from driftwatch.explain.pairs import good_or
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, term
from driftwatch.explain.words import command, count, number
from driftwatch.model import plain

_OCCUPIED = re.compile(r"memory capacity is unbalanced|occupied by other processes|out of memory|not enough memory|free memory on device", re.IGNORECASE)
_LOOK = Command("confirm", "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv", "who holds GPU memory now")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield processes that hold memory beside the server, memory of nobody, or that there are none on either side."""
    found = holders.foreign(case)
    if found:
        yield Evidence(holders.subject(found), tuple(_terms(case, found)), _wording(case, found))
    loose = holders.unlisted(case)
    opened = holders.unnamed(case, {gpu for gpu, _ in loose}) if loose and not found else []
    if opened:
        yield _opened(case, loose, opened)
    elif loose:
        yield _unlisted(case, loose, has_holders=bool(found))
    if not found and not loose:
        yield from _none(case)


def _used(found: list[holders.Holder]) -> str:
    told = [holder.used_mib for holder in found if holder.used_mib is not None]
    if not told:
        return "how much is not told"
    each = f"{min(told):,.0f} MiB each" if max(told) - min(told) < 1 else f"{min(told):,.0f} to {max(told):,.0f} MiB each"
    return each if len(told) > 1 else f"{told[0]:,.0f} MiB"


def _terms(case: Case, found: list[holders.Holder]) -> Iterator[Term]:
    facts = tuple(holder.path for holder in found)
    devices, every = len({holder.gpu for holder in found}), len(holders.gpus(case, "bad"))
    many = count(sum(holder.many for holder in found), "process", "processes")
    yield term("held by others", f"{many} on {devices} of {every} GPUs, {_used(found)}; on the good side: {_before(case, facts)}", facts)
    yield from before_unknown(case, "they were there", *facts)
    if devices == every and every > 1:
        yield term("on every device", "even on all GPUs: the balance test of the server stays silent", facts)
    running = servers.own(case, "bad")
    if running:
        yield term("a server runs", f"a server runs here ({', '.join(running)}): it found room beside them", facts)
    elif _are_leftovers(case, found):
        yield term("of a server that does not run", "they carry a server's title, but no launch process of one runs: leftovers", facts)
    if _OCCUPIED.search(case.text):
        yield term("error names occupants", "the error text speaks of memory that is missing", facts)


def _before(case: Case, facts: Sequence[str]) -> str:
    return good_or(case, "none", *facts, less="none so large beside the server")


def _are_leftovers(case: Case, found: list[holders.Holder]) -> bool:
    """Tell whether the holders carry a server's title while no server runs."""
    titles = {servers.framework(server) for server in case.families("servers")} | {"sglang", "vllm"}
    return not servers.runs(case, "bad") and any(title in holder.name.lower() for holder in found for title in titles)


def _wording(case: Case, found: list[holders.Holder]) -> Wording:
    many = sum(holder.many for holder in found)
    who = holders.subject(found).name
    pids = sorted({str(pid) for holder in found for pid in holder.pids}, key=int)
    commands: tuple[Command, ...] = (_LOOK,)
    if pids:
        commands += (Command("look", command(["ps", "-o", "pid,ppid,user,lstart,stat,args", "-p", ",".join(pids)])), *_end(case, found, pids))
    what = "left over from a server that is gone" if _are_leftovers(case, found) else "beside the server"
    inside = f", in the container {name}" if (name := _container(case, found)) else ""
    verdict = f"{count(many, 'process', 'processes')} {what} {'holds' if many == 1 else 'hold'} GPU memory ({_used(found)}): {who}{inside}."
    return Wording("GPU processes", who, "+", _before(case, [holder.path for holder in found]), f"{many} holding {_used(found)}", verdict, commands=commands)


def _end(case: Case, found: list[holders.Holder], pids: Sequence[str]) -> tuple[Command, ...]:
    """Return how the holders are ended: by their container, or by their service where all are of one that bears their name; a session's has others too."""
    if name := _container(case, found):
        return Command("try", command(["docker", "stop", name]), "look at it first"), Command("undo", command(["docker", "start", name]))
    units = {case.value("bad", f"holders/{holder.path.rpartition('/')[2]}/unit") for holder in found}
    unit = units.pop() if len(units) == 1 else None
    if isinstance(unit, str) and unit.endswith(".service") and all(re.split(r"[@.]", unit)[0] in holder.name for holder in found):
        return Command("try", command(["systemctl", "stop", unit]), "as root; look at them first"), Command("undo", command(["systemctl", "start", unit]))
    return (Command("try", command(["kill", *pids]), "as their owner or root; look at them first"),)


def _container(case: Case, found: list[holders.Holder]) -> str:
    """Return the name of the one container that all holders are in, "" where they are in none or in several, or nobody tells its name."""
    wanted = {case.value("bad", f"holders/{holder.path.rpartition('/')[2]}/container") for holder in found}
    names = {value: plain(path.split("/")[1]) for path, value in case.below("bad", "containers") if path.endswith("/id") and isinstance(value, str)}
    return names.get(wanted.pop(), "") if len(wanted) == 1 else ""


def _unlisted(case: Case, loose: list[tuple[str, float]], *, has_holders: bool) -> Evidence:
    facts = tuple(f"gpus/{gpu}/unattributed_mib" for gpu, _ in loose)
    most = max(held for _, held in loose)
    terms = [term("unlisted memory", f"up to {most:,.0f} MiB on {count(len(loose), 'GPU')} are held by no listed process, while no server runs", facts)]
    terms += before_unknown(case, "it was held", *facts)
    if has_holders:
        terms.append(term("open", "the processes that are listed may hold part of it", facts))
    if _OCCUPIED.search(case.text):
        terms.append(term("error names occupants", "the error text speaks of memory that is missing", facts))
    verdict = f"{count(len(loose), 'GPU')} {'holds' if len(loose) == 1 else 'hold'} up to {most:,.0f} MiB that no listed process owns."
    look = Command("confirm", "fuser -v /dev/nvidia*", "as root: every process that has a GPU open, other containers included")
    good = good_or(case, "none", *facts, less="the server's own" if servers.runs(case, "good") else "less")
    wording = Wording("GPU memory", "held by no listed process", "+", good, f"{most:,.0f} MiB", verdict, commands=(look,))
    return Evidence(Subject("gpu-memory", "unattributed memory, held by no listed process"), tuple(terms), wording)


def _opened(case: Case, loose: list[tuple[str, float]], opened: list[holders.Holder]) -> Evidence:
    """Return that memory which NVML gives to no process is that of processes which have the GPU open."""
    generic = _unlisted(case, loose, has_holders=False)
    facts = tuple(one.path for one in opened)
    who = holders.subject(opened)
    many = sum(one.many for one in opened)
    says = f"{count(many, 'process', 'processes')} that NVML does not list {'has' if many == 1 else 'have'} such a GPU open: {who.name}"
    terms = (term("held by others", says, facts), *before_unknown(case, "they were there", *facts), *generic.terms)
    pids = sorted({str(pid) for one in opened for pid in one.pids}, key=int)
    commands = (
        Command("confirm", command(["ps", "-o", "pid,ppid,user,lstart,stat,args", "-p", ",".join(pids)]) if pids else "fuser -v /dev/nvidia*"),
        *((Command("try", command(["kill", *pids]), "as their owner or root; look at them first"),) if pids else ()),
    )
    most = max(held for _, held in loose)
    hold = "holds" if many == 1 else "hold"
    verdict = f"{who.name} {hold} up to {most:,.0f} MiB of GPU memory, which nvidia-smi lists for no process."
    wording = Wording("GPU processes", who.name, "+", good_or(case, "none", *facts), f"{many} with {most:,.0f} MiB", verdict, commands=commands)
    return Evidence(who, terms, wording)


def _came(case: Case) -> set[str]:
    """Return the processes on a GPU of the bad side alone that stand below no server: one may take a GPU and hold little of its memory."""
    names = {side: {path.split("/")[3] for path, _ in case.below(side, "gpus") if "/holders/" in path} for side in SIDES}
    return {name for name in names["bad"] - names["good"] if case.value("bad", f"holders/{name}/used_by") is None}


def _all(many: int) -> str:
    return "the one GPU" if many == 1 else f"any of {many} GPUs"


def _none(case: Case) -> Iterator[Finding]:
    seen = {side: holders.gpus(case, side) for side in SIDES}
    if not seen["bad"] or seen["good"] != seen["bad"] or holders.foreign_on(case, "good") or holders.foreign_on(case, "bad"):
        return
    paths = [f"gpus/{gpu}/unattributed_mib" for gpu in seen["bad"]]
    if _came(case) or any(case.known(path) is None for path in paths) or case.is_open_below("gpus", "probes/nvml"):
        return
    loose = [number(case.value("bad", path)) for path in paths]
    if all(held is not None and held < holders.LEAST_MIB for held in loose):
        says = f"none holds memory beside the server on {_all(len(seen['bad']))}, on both sides"
        yield RuledOut(Subject("gpu-process", "other GPU processes"), says, tuple(paths))


RULES = (Rule("gpu_memory_held", needs=("gpus/*/holders",), weigh=weigh, blames=("gpu-process", "gpu-memory")),)

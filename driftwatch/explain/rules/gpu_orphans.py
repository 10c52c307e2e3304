"""Workers of a server whose launch process is gone, as the kernel lists who has a GPU open: also where NVML gives no answer."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.explain import holders
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.pairs import good_or
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, term
from driftwatch.explain.words import TIMES, command, count, listed, number


def weigh(case: Case) -> Iterator[Finding]:
    """Yield workers that outlived their server; as a term for those that NVML lists, else as a subject of their own."""
    orphans = {path.split("/")[1]: path for path, value in case.below("bad", "holders") if path.endswith("/orphans") and _grew(case, path, value)}
    if not orphans:
        return
    facts = tuple(orphans.values())
    many = sum(int(number(case.value("bad", path)) or 0) for path in facts)
    says = f"{count(many, 'worker')} outlived the server that started {'it' if many == 1 else 'them'}: the launch process is gone, the GPU is still open"
    listed_by_nvml = holders.foreign(case)
    if listed_by_nvml:
        yield Evidence(holders.subject(listed_by_nvml), (term("of a server that does not run", says, facts), *before_unknown(case, "there were some", *facts)))
        return
    pids = [pid for name in orphans for pid in _pids(case, name)]
    who = listed(f"{name} {TIMES}{case.value('bad', path)}" for name, path in orphans.items())
    look = Command("confirm", command(["ps", "-o", "pid,ppid,user,lstart,stat,args", "-p", ",".join(map(str, pids))]) if pids else "fuser -v /dev/nvidia*")
    end = (Command("try", command(["kill", *map(str, pids)]), "as their owner or root; look at them first"),) if pids else ()
    nobody = term("of a server that does not run", "nobody will collect them", facts)
    terms = (term("held by others", says, facts), nobody, *before_unknown(case, "there were some", *facts))
    good = good_or(case, "none", *facts)
    wording = Wording("GPU processes", who, "+", good, f"{many} left over", f"{says}: {who}.", commands=(look, *end))
    yield Evidence(Subject("gpu-process", who), terms, wording)


def _grew(case: Case, path: str, value: object) -> bool:
    return (number(value) or 0) > (number(case.value("good", path)) or 0)


def _pids(case: Case, name: str) -> list[int]:
    value = case.value("bad", f"holders/{name}/pids")
    return [pid for pid in value if isinstance(pid, int)][:8] if isinstance(value, list) else []


RULES = (Rule("gpu_orphans", needs=(), weigh=weigh, blames=("gpu-process",)),)

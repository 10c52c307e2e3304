"""SGLang's start-up sum: what is left for the KV cache is ``after load - before load x (1 - fraction)``, in GiB, least of all ranks.

The server refuses to start where nothing is left. The sum needs both log lines and the fraction; it is the same in every release up to 0.5.23.
"""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.explain import holders, servers
from driftwatch.explain.case import Case, SideName
from driftwatch.explain.explanation import Command, RuledOut, Subject, Sum, Term
from driftwatch.explain.memory import Start
from driftwatch.explain.rule import Doubt, Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import term
from driftwatch.explain.words import MINUS, TIMES, command, fixed, number, show, signed
from driftwatch.model import Known

FRACTION = "mem_fraction_static"
EQUAL_GIB = 0.5  # two starts of one server differ by less
_CAPTION = f"after load {MINUS} before load {TIMES} (1 {MINUS} fraction), GiB free, least of all ranks"


def weigh(case: Case) -> Iterator[Finding]:
    """Yield what the sum says of the fraction, of memory held by others, and of a good side that never could have started."""
    for server in case.families("servers"):
        bad = _start(case, "bad", server)
        if servers.framework(server) != "sglang" or bad is None:
            continue
        good = _start(case, "good", server)
        if bad.rest() > 0:
            yield from _with_room(server, good, bad)
        elif good is not None and good.rest() <= 0:
            yield from _never_worked(case, server, good, bad)
        elif good is None:
            yield from _bad_side_only(case, server, bad)
        else:
            yield from _lost_room(case, server, good, bad)


def _start(case: Case, side: SideName, server: str) -> Start | None:
    log = f"servers/{server}/log"
    before, after = number(case.value(side, f"{log}/free_before_load_gib")), number(case.value(side, f"{log}/free_after_load_gib"))
    given = servers.effective(case, side, server, FRACTION)
    fraction = number(given[0]) if given is not None else None
    if before is None or after is None or fraction is None or given is None or before <= 0 or not 0 < fraction < 1:
        return None
    return Start(before, after, fraction, (f"{log}/free_before_load_gib", f"{log}/free_after_load_gib", given[1]))


def _with_room(server: str, good: Start | None, bad: Start) -> Iterator[Finding]:
    if good is not None and good.rest() > 0 and good.fraction == bad.fraction:
        says = f"{fixed(bad.rest())} GiB are left for the KV cache on the bad side, {fixed(good.rest())} on the good one: the start-up sum of {server} holds"
        yield RuledOut(Subject("launch-arg", FRACTION), says, (*good.facts, *bad.facts))


def _never_worked(case: Case, server: str, good: Start, bad: Start) -> Iterator[Finding]:
    """Yield a doubt where the good side's own numbers could not have started a server, unless one is known to have served there.

    It is of the fraction where nobody else holds memory: both sides share it and neither can start with it, so no change is to blame.
    """
    served = any(number(case.value("good", f"servers/{server}/log/{name}")) for name in ("throughput_tok_s", "kv_cache_gib", "tokens"))
    if served or case.value("good", f"servers/{server}/running") is True or case.value("good", f"servers/{server}/log/ready") is True:
        return
    says = f"the good side could not have started either: {good.row} = {signed(good.rest())} GiB for the KV cache"
    if not holders.foreign_on(case, "bad"):
        says += f"; {servers.flag(FRACTION)} must be above {fixed(bad.least, 3)}, whatever else differs"
    yield Doubt(says, good.facts, _fraction())


def _bad_side_only(case: Case, server: str, bad: Start) -> Iterator[Finding]:
    says = f"SGLang's own sum on the bad side: {bad.row} = {signed(bad.rest())} GiB for the KV cache"
    unknown = term("open", "the same numbers of a good start are not known: name its log with --log FILE")
    moved = next((one for one in servers.moved_arguments(case) if one.server == server and one.name == FRACTION), None)
    terms = (term("sum decides without the good side", says, bad.facts), unknown)
    if moved is not None:
        yield Evidence(_fraction(), terms, _wording(case, server, None, bad))
    else:
        yield Evidence(_memory(case, is_before=True), terms, _memory_wording(None, bad))


def _lost_room(case: Case, server: str, good: Start, bad: Start) -> Iterator[Finding]:
    """Yield who took the room: the fraction, memory that somebody else holds, or both. Each is tried alone, with the other as it was."""
    facts = tuple(dict.fromkeys((*good.facts, *bad.facts)))
    fraction_alone = good.rest(fraction=bad.fraction) <= 0 if good.fraction != bad.fraction else False
    memory_alone = bad.rest(fraction=good.fraction) <= 0
    fell = max(good.before - bad.before, good.after - bad.after)
    if good.fraction != bad.fraction:
        terms = [_verdict_on("the new fraction", alone=fraction_alone, other=memory_alone, facts=facts)]
        terms += _equal_memory(good, bad)
        yield Evidence(_fraction(), tuple(terms), _wording(case, server, good, bad))
        yield from _others_took_none(case, server, good, bad)
    if fell > EQUAL_GIB:
        yield _memory_fell(case, good, bad, _verdict_on("the memory that is missing", alone=memory_alone, other=fraction_alone, facts=facts))


def _verdict_on(what: str, *, alone: bool, other: bool, facts: tuple[str, ...]) -> Term:
    if not alone:
        return term("sum excludes", f"SGLang's own sum: {what} alone, with everything else as it was, leaves room", facts)
    name = "sum shares" if other else "sum decides"
    return term(name, f"SGLang's own sum, all numbers read from the server logs: {what} alone takes all the room", facts)


def _equal_memory(good: Start, bad: Start) -> list[Term]:
    if not _is_equal(good, bad):
        return []
    says = f"free before load ({fixed(bad.before)} GiB) and after load ({fixed(bad.after)}) are equal on both sides: nothing leaked, nobody else holds memory"
    return [term("memory equal", says, (*good.facts[:2], *bad.facts[:2]))]


def _is_equal(good: Start, bad: Start) -> bool:
    return abs(good.before - bad.before) <= EQUAL_GIB and abs(good.after - bad.after) <= EQUAL_GIB


def _others_took_none(case: Case, server: str, good: Start, bad: Start) -> Iterator[Finding]:
    """Yield, where free memory is equal at both points, that no other argument and no package took any before the sum."""
    if not _is_equal(good, bad):
        return
    against = term("took no memory", "free memory before and after load is equal on both sides: this took none", bad.facts[:2])
    for argument in servers.moved_arguments(case):
        if argument.name != FRACTION and argument.server == server:
            yield Evidence(Subject("launch-arg", argument.name), (against,))
    for change in case.moved("packages/*/version"):
        yield Evidence(Subject("package", change.path.split("/")[1]), (against,))


def _memory_fell(case: Case, good: Start, bad: Start, verdict: Term) -> Evidence:
    facts = tuple(dict.fromkeys((*good.facts, *bad.facts)))
    before, after = good.before - bad.before, good.after - bad.after
    where = f"before load {fixed(good.before)} → {fixed(bad.before)} GiB" if before > EQUAL_GIB else f"after load {fixed(good.after)} → {fixed(bad.after)} GiB"
    terms = (term("moved", f"free memory {where}: {fixed(max(before, after))} GiB less on the least of all ranks", facts), verdict)
    return Evidence(_memory(case, is_before=before > EQUAL_GIB), terms, _memory_wording(good, bad))


def _fraction() -> Subject:
    return Subject("launch-arg", FRACTION)


def _memory(case: Case, *, is_before: bool) -> Subject:
    """Return what to blame for missing memory: the processes that hold it where they are known, else the memory itself."""
    found = holders.foreign(case)
    if found:
        return holders.subject(found)
    return Subject("gpu-memory", "free memory before launch" if is_before else "memory taken while the model loads")


def _sum(good: Start | None, bad: Start) -> Sum:
    rows = [("good  " + good.row, signed(good.rest()), "for the KV cache" if good.rest() > 0 else "short")] if good is not None else []
    rows.append(("bad   " + bad.row, signed(bad.rest()), "short"))
    return Sum(f"{_CAPTION}; zero at {fixed(bad.least, 3)}", tuple(rows))


def _wording(case: Case, server: str, good: Start | None, bad: Start) -> Wording:
    before = servers.effective(case, "good", server, FRACTION)
    was = before[0] if before is not None else None
    must = f"With this model on these GPUs it must be above {fixed(bad.least, 3)}"
    verdict, back = f"{servers.flag(FRACTION)} {show(was)} → {bad.fraction:g} leaves no room for the KV cache. {must}.", was
    if good is not None and good.rest() <= 0:
        verdict = (f"{servers.flag(FRACTION)} {bad.fraction:g} leaves no room for the KV cache: {bad.row} = {signed(bad.rest())} GiB. {must}: that explains "
                   f"it, and nothing else is needed. The good side could not have started either, with {good.fraction:g}.")
    if good is None or good.rest() <= 0:
        back = fixed(min(0.99, bad.least + 0.05))
    commands = (
        *_recomputed(case, back),
        *_look(case, server),
        Command("try", f"# start the server with {servers.flag(FRACTION)} {show(back)}", "restarts the server"),
        Command("undo", f"# start the server with {servers.flag(FRACTION)} {bad.fraction:g}"),
    )
    return Wording("launch argument", servers.flag(FRACTION), "~", was, bad.fraction, verdict, commands=commands, sum=_sum(good, bad))


def _recomputed(case: Case, back: object) -> tuple[Command, ...]:
    if not case.bad_ref:
        return ()
    again = command(["driftwatch", "memory", case.bad_ref, servers.flag(FRACTION), show(back)])
    return (Command("confirm", again, "the same sum with this fraction"),)


def _look(case: Case, server: str) -> tuple[Command, ...]:
    path = case.bad.get(f"servers/{server}/log/path")
    if not isinstance(path, Known) or not isinstance(path.value, str):
        return ()
    look = command(["grep", "-nE", "mem_fraction_static=|Load weight (begin|end)", path.value])
    return (Command("look", look, "the numbers of the sum, as the server logged them"),)


def _memory_wording(good: Start | None, bad: Start) -> Wording:
    look = Command("confirm", "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv", "who holds GPU memory now")
    if good is None:
        return Wording("GPU memory", "free before load", "~", None, f"{fixed(bad.before)} GiB", commands=(look,), sum=_sum(None, bad))
    before = good.before - bad.before
    when, lost = ("before the server loaded its weights", before) if before > EQUAL_GIB else ("while the server loaded its weights", good.after - bad.after)
    verdict = f"{fixed(lost)} GiB of GPU memory were taken {when}: too little is left for the KV cache."
    return Wording(
        "GPU memory", "free before load", "~", f"{fixed(good.before)} GiB", f"{fixed(bad.before)} GiB", verdict, commands=(look,), sum=_sum(good, bad),
    )


RULES = (
    Rule(
        "memory_sum", needs=(), weigh=weigh, blames=("launch-arg", "gpu-memory", "gpu-process"),
        needs_bad=("servers/*/log/free_before_load_gib", "servers/*/log/free_after_load_gib", f"servers/*/args/{FRACTION}|servers/*/given/{FRACTION}"),
    ),
)

"""Network cards on the way of collectives: state, rate, size of frames, firmware, and NCCL's own settings files. Counters of healthy links do not weigh."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain import os_listing
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.families import os_package_family
from driftwatch.explain.pairs import both, logged_more
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, mark, term
from driftwatch.explain.transactions import carrier
from driftwatch.explain.words import command, listed, moved, number, show

_TEXT = re.compile(r"NCCL|ibv_|infiniband|RDMA|RoCE|socket|connect|network|timed out|unhandled system error|\bmlx5|\bUCX|gloo", re.IGNORECASE)
_DOWN = {"operstate": "up", "state": "ACTIVE", "phys_state": "LinkUp"}
_ERRORS = ("symbol_error", "link_downed", "link_error_recovery", "port_rcv_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors")
_RATES = ("speed_mbps", "rate")
_MANY = 100


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each interface or port that moved, each port whose errors grew much, and NCCL's files."""
    terms: dict[str, list[Term]] = {}
    facts: dict[str, str] = {}
    for change in case.moved("net/*/*", "infiniband/*/*"):
        name, what = change.path.split("/")[1], change.path.rsplit("/", 1)[1]
        weight = _weight(case, change.path, what)
        if weight:
            terms.setdefault(name, []).append(term(weight, f"{what.replace('_', ' ')} of {name}: {moved(*both(case, change.path))}", (change.path,)))
            facts.setdefault(name, change.path)
    for name, found in terms.items():
        found.extend(_beside(case, name, facts[name]))
    _add_errors(case, terms, facts)
    alike: dict[tuple[object, ...], list[str]] = {}
    for name, path in facts.items():
        alike.setdefault((path.rsplit("/", 1)[1], *map(str, both(case, path))), []).append(name)
    for names in alike.values():
        yield _moved(case, names, facts[names[0]], max((terms[name] for name in names), key=lambda found: sum(one.weight for one in found)))
    yield from _settings(case)
    yield from _packages(case)
    yield from _lost(case)


def _moved(case: Case, names: list[str], path: str, found: list[Term]) -> Evidence:
    """Return the ports of which one fact moved in the same way as one subject, with the terms of the one that tells most."""
    fits = [term("text fits", "the error text speaks of the network")] if _TEXT.search(case.text) else []
    good, bad = both(case, path)
    look = Command("confirm", f"ethtool {names[0]} 2>/dev/null; ibstat; rdma link; ip -s link")
    more = f"; {listed(names[1:])} likewise" if len(names) > 1 else ""
    name = listed(names, 4)
    wording = Wording(
        "network", f"{name} {path.rsplit('/', 1)[1].replace('_', ' ')}", mark(good, bad), good, bad, f"Network: {found[0].says}{more}.", commands=(look,)
    )
    return Evidence(Subject("network", name), (*found, *fits), wording)


def _beside(case: Case, name: str, path: str) -> Iterator[Term]:
    """Yield that the ports beside a slower one run as before, and that the kernel's log names it."""
    top, _, rest = path.partition(f"/{name}/")
    if path.rsplit("/", 1)[1] not in _RATES or _weight(case, path, path.rsplit("/", 1)[1]) != "wire slower":
        return
    now = _rate(case.value("bad", path))
    others = {other: _rate(case.value("bad", f"{top}/{other}/{rest}")) for other in case.families(top) if other != name}
    if now is not None and any(rate is not None and rate == _rate(case.value("good", path)) for rate in others.values()):
        yield term("one device of many", "others of this host run at what it had", [f"{top}/{other}/{rest}" for other, rate in others.items() if rate])
    lines = {line: log for log in ("kernel_log/mlx5", "kernel_log/net_link") for line in logged_more(case, log) if re.search(rf"\b{re.escape(name)}\b", line)}
    for line, log in list(lines.items())[:1]:
        yield term("kernel log names it", f"the kernel's log: {line}", (log,))
        yield from before_unknown(case, "it did", log)


def _weight(case: Case, path: str, what: str) -> str:
    good, bad = both(case, path)
    if what in _DOWN:
        return "wire down" if good == _DOWN[what] and bad != good else ""
    if what in _RATES:
        before, now = (_rate(one) for one in (good, bad))
        return "" if before is None or now is None or now == before else "wire slower" if now < before else "wire moved"
    return "wire moved" if what in ("mtu", "link_layer") else "firmware moved" if what == "firmware" else ""


def _rate(value: object) -> float | None:
    return number(str(value).split(" ")[0]) if value is not None else None


def _add_errors(case: Case, terms: dict[str, list[Term]], facts: dict[str, str]) -> None:
    """Add ports whose error counters grew by many, where both sides tell them: a few are usual, and a boot sets them back."""
    for path, value in case.below("bad", "infiniband"):
        before, now = number(case.value("good", path)), number(value)
        if path.rsplit("/", 1)[1] in _ERRORS and before is not None and now is not None and now - before >= _MANY:
            name = path.split("/")[1]
            terms.setdefault(name, []).append(term("errors grew", f"{path.rsplit('/', 1)[1].replace('_', ' ')} of {name} {before:,.0f} → {now:,.0f}", (path,)))
            facts.setdefault(name, path)


def _settings(case: Case) -> Iterator[Finding]:
    for change in case.moved("nccl/conf/*", "nccl/home_conf/*"):
        name = change.path.split("/", 2)[2]
        good, bad = both(case, change.path)
        terms = (
            term("wire moved", f"a settings file sets {name} for every process, beside its environment: {moved(good, bad, absent='unset')}", (change.path,)),
        )
        look = Command("confirm", "cat /etc/nccl.conf ~/.nccl.conf")
        yield Evidence(Subject("nccl", name), terms, Wording("NCCL settings file", name, mark(good, bad), show(good), show(bad), commands=(look,)))


def _lost(case: Case) -> Iterator[Finding]:
    """Yield the packages that the wire is driven with and that are gone since the good side, as one: they go together, and come back together."""
    gone = _gone(case)
    if gone:
        names = [path.split("/")[1] for path in gone]
        says = f"{listed(names)} {'was' if len(names) == 1 else 'were'} installed on the good side and not now: collectives go another way without"
        fits = (term("text fits", "the error text speaks of the network"),) if _TEXT.search(case.text) else ()
        look = Command("confirm", command(["dpkg", "-l", *names]))
        again = Command("try", command(["apt-get", "install", *names]), "as root; dnf install on a host with rpm")
        first = min(names, key=lambda name: (len(name), name))
        wording = Wording("system package", first, "-", case.value("good", gone[names.index(first)]), None, f"{says}.", commands=(look, again))
        yield Evidence(Subject("network", first), (term("package gone", says, gone), term("wire moved", "a slower wire is what is left", gone), *fits), wording)


def _gone(case: Case) -> list[str]:
    """Return the facts of the packages of the wire that are gone, where collectives that go another way would show so."""
    removed = [change.path for change in case.moved("os_packages/*/version") if change.kind == "removed"]
    gone = [path for path in (*removed, *os_listing.gone(case)) if os_package_family(path.split("/")[1]) in ("network", "nccl")]
    return gone if case.klass in ("slow", "hang") else []


def _packages(case: Case) -> Iterator[Finding]:
    """Yield packages of the operating system that a process of the server loads, or that the wire is driven with."""
    kinds = {"nccl": ("nccl", "wire moved"), "library": ("library", "system library moved"), "network": ("network", "system library moved")}
    told = _gone(case)
    for change in case.moved("os_packages/*/version"):
        name = change.path.split("/")[1]
        kind, weight = kinds.get(os_package_family(name), ("", ""))
        if kind == "network" and case.has_moved("modules/*/srcversion", "modules/*/version"):
            continue  # the modules that it brought are told
        if not kind or change.path in told or re.search(r"-(?:dev|headers|doc|dbg)\b", name):
            continue
        good, bad = both(case, change.path)
        look = Command("confirm", f"dpkg -l {name}; ldconfig -p | grep {name.split('-')[0].rstrip('0123456789')}")
        terms = (term(weight, f"the operating system's {name} moved: {moved(good, bad)}", (change.path,)),)
        yield Evidence(Subject(kind, name), terms, Wording("system package", name, mark(good, bad), good, bad, carrier=carrier(case, [name]), commands=(look,)))


RULES = (Rule("network_path", needs=(), weigh=weigh, blames=("network", "nccl")),)

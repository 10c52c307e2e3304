"""Names of hosts: what the host's own files give for them. A name that leads home sends every peer that is told it to itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.explain.case import SIDES, Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.pairs import both
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import mark, term
from driftwatch.explain.words import command, moved, show
from driftwatch.model import plain

_TEXT = re.compile(
    r"getaddrinfo|name resolution|(?:name|service) not known|resolv|unknown host|no such host|connect|gloo|rendezvous|TCPStore|\b127\.", re.IGNORECASE,
)
_ADDRESSES = ("dist_init_addr", "master_addr", "host", "nccl_init_addr")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield /etc/hosts where it gives other addresses, and other name servers. Two hosts with names of their own differ in those anyway."""
    own = [case.value(side, "names/own") for side in SIDES]
    names = {plain(change.path.split("/")[2]): change for change in case.moved("names/hosts/*")}
    found = {name: [*_of_name(case, name, change, is_own=name == own[1])] for name, change in names.items() if own[0] == own[1] or name not in own}
    if found:
        most = max(found, key=lambda name: sum(one.weight for one in found[name]))
        yield _wording(case, "/etc/hosts", found[most], ["getent", "ahosts", most])
    asked = [*case.moved("names/servers", "names/search", "names/options")]
    if asked:
        says = "; ".join(f"{change.path.split('/')[1]} of /etc/resolv.conf: {moved(*both(case, change.path))}" for change in asked)
        weight = "wire moved" if _TEXT.search(case.text) else "moved"
        yield _wording(case, "/etc/resolv.conf", [term(weight, says, [change.path for change in asked])], ["resolvectl", "status"])


def _wording(case: Case, file: str, terms: list[Term], look: list[str]) -> Evidence:
    good, bad = both(case, terms[0].facts[0])
    fits = [term("text fits", "the error text speaks of names or of connections")] if _TEXT.search(case.text) else []
    commands = (Command("confirm", command(look)), Command("look", command(["cat", file])))
    wording = Wording("names of hosts", file, mark(good, bad), show(good), show(bad), f"Names: {terms[-1].says}.", commands=commands)
    return Evidence(Subject("network", file), (*terms, *fits), wording)


def _of_name(case: Case, name: str, change: Change, *, is_own: bool) -> Iterator[Term]:
    """Yield that a name leads elsewhere, and home, where it once did not."""
    good, bad = both(case, change.path)
    is_told = any(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", str(value)) for value in (case.text, *_told(case)))
    yield term("wire moved" if is_own or is_told else "moved", f"/etc/hosts gives other addresses for {name}: {moved(good, bad)}", (change.path,))
    if (is_own or is_told) and name != "localhost" and _is_home(bad) and not _is_home(good):
        says = f"{name} leads home ({', '.join(bad)}): whoever is told this name connects to itself"
        yield term("name leads home", says, (change.path,))


def _told(case: Case) -> Iterator[Any]:
    """Yield the addresses that the bad side's servers are given."""
    for server in case.families("servers"):
        yield from (case.value("bad", f"servers/{server}/args/{name}") for name in _ADDRESSES)
        yield case.value("bad", f"servers/{server}/env/MASTER_ADDR")


def _is_home(addresses: Any) -> bool:
    """Tell whether the first address of a name is of the loopback."""
    try:
        return bool(addresses) and ip_address(addresses[0]).is_loopback
    except (ValueError, TypeError):
        return False


RULES = (Rule("name_lookup", needs=(), weigh=weigh, blames=("network",)),)

"""Services of the host that ran on the good side and do not on the bad one. The server's own service is its symptom, and no cause."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain import servers
from driftwatch.explain.case import SIDES, Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.naming import names_variable
from driftwatch.explain.pairs import both
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import term
from driftwatch.explain.words import command, listed, show

_MODULE = "driver/module/version"
_SERVERS = re.compile(r"vllm|sglang|ollama|torchrun|llama|tgi|triton|lmdeploy|text-generation|serve")
_STACK = re.compile(
    r"(?:nvidia-|dcgm|docker|containerd|slurm|openibd|opensm|rdma|lustre|nfs|autofs|rpc|wekafs|beegfs|gpfs|irqbalance|tuned|chrony|ntp|sssd|systemd-(?:timesync|resolve))")
_ENGINES = ("docker", "containerd", "podman", "crio")
_WORK = tuple((re.compile(names), re.compile(text, re.IGNORECASE), says) for names, text, says in (  # services, how an error speaks of their work, what that is
    (r"rpc-?bind|rpc-\w+|nfs.*", r"No locks available|\blockd\b|\bstatd\b|\bNFS\b|RPC:", "locks and calls of NFS"),
    (r"chronyd?|ntp\w*|systemd-timesyncd",
     r"TooSkewed|clock.?skew|not (?:yet|currently) valid|request time|(?:certificate|token|signature)\b.{0,40}\bexpired|time.{0,20}(?:drift|out of sync)",
     "the host's clock: signatures, tokens and certificates are held against it"),
    (r"systemd-resolved", r"name resolution|Name or service not known|getaddrinfo|could not resolve", "names of other hosts"),
    (r"sssd", r"getpwuid|uid not found|unknown user|no such user", "names of users"),
    (r"nvidia-gridd", r"licen[cs]e", "licenses of virtual GPUs"),
))
_OWN = ("nvidia-fabricmanager",)  # a rule of its own tells these


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each service of the stack under the server that stopped."""
    for change in case.moved("services/*/active"):
        name = change.path.split("/")[1]
        was, now = both(case, change.path)
        if name not in _OWN and (_STACK.match(name) or names_variable(case.text, name)) and not _is_of_server(case, name) and was == "active" and now:
            yield _stopped(case, name, change.path)
    yield from _persistence(case)


def _is_of_server(case: Case, name: str) -> bool:
    own = {servers.framework(server) for server in case.families("servers")}
    return name in own or _SERVERS.search(name) is not None


def _stopped(case: Case, name: str, path: str) -> Evidence:
    good, bad = both(case, path)
    look = Command("confirm", command(["systemctl", "status", name, "--no-pager"]), "what it says")
    again = Command("try", command(["systemctl", "restart", name]), "as root")
    wording = Wording("service", name, "~", good, bad, f"The service {name} is {show(bad)}.", commands=(look, again))
    return Evidence(Subject("service", name), tuple(_terms(case, name, path)), wording)


def _terms(case: Case, name: str, path: str) -> Iterator[Term]:
    is_failed = case.value("bad", path) == "failed"
    yield term("service failed" if is_failed else "service stopped", f"it is {case.value('bad', path)}, and was active on the good side", (path,))
    if name.startswith(("nvidia-", "dcgm")) and case.has_moved(_MODULE) and case.value("bad", _MODULE) is None:
        yield term("follows the driver", "no NVIDIA module is loaded: it cannot run without one", (_MODULE,))
    stopped = _stopped_containers(case) if name in _ENGINES else []
    if stopped:
        yield term("its containers stopped", f"{listed(stopped)} ran by it, and not now", [f"containers/{one}/state" for one in stopped])
    if name in case.text:
        yield term("text names it", "the error text names it")
    work = next((says for names, text, says in _WORK if names.fullmatch(name) and text.search(case.text)), "")
    if work:
        yield term("text fits", f"the error is of its work: {work}", (path,))


def _stopped_containers(case: Case) -> list[str]:
    return [one for one in case.families("containers") if [case.value(side, f"containers/{one}/state") == "running" for side in SIDES] == [True, False]]


def _persistence(case: Case) -> Iterator[Finding]:
    """Yield that persistence mode went off: then the driver starts anew with every process, and forgets its settings."""
    lost = [
        change.path
        for change in case.moved("gpus/*/persistence")
        if case.value("good", change.path) == "Enabled" and case.value("bad", change.path) == "Disabled"
    ]
    if not lost:
        return
    says = "persistence mode was on, and is off: the driver is set up anew by each first process, and forgets power limits and clocks"
    look = Command("confirm", "nvidia-smi --query-gpu=pci.bus_id,persistence_mode --format=csv; systemctl is-active nvidia-persistenced")
    again = Command("try", "systemctl start nvidia-persistenced", "as root; `nvidia-smi -pm 1` does the same until the next boot")
    wording = Wording("service", "persistence mode", "~", "on", "off", "Persistence mode of the GPUs went off.", commands=(look, again))
    yield Evidence(Subject("service", "nvidia-persistenced"), (term("service stopped", says, lost),), wording)


RULES = (Rule("service_state", needs=(), weigh=weigh, blames=("service",)),)

"""The fabric manager runs only with a driver of the very same version: where NVSwitches are, no GPU works without it. It is found even if it never moved.

It sets the fabric up while the driver starts. Started anew under GPUs that run, it may leave memory that GPUs share (NVLS multicast) without a way, though
all versions agree: equal versions clear it only where it was not started anew since the boot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case, SideName
from driftwatch.explain.explanation import Command, RuledOut, Subject, Term
from driftwatch.explain.pairs import both
from driftwatch.explain.rule import Doubt, Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import term
from driftwatch.explain.transactions import carried, moved_packages
from driftwatch.explain.words import moved

VERSION, MODULE, ACTIVE = "fabricmanager/version", "driver/module/version", "services/nvidia-fabricmanager/active"
SINCE, BOOT = "services/nvidia-fabricmanager/since", "kernel/boot_id"
FABRIC_MANAGER = Subject("service", "nvidia-fabricmanager")
_OF_FABRIC = re.compile(r"nvls|nvlink|nvswitch|multicast|fabric|cuMem|ncclUnhandledCuda|transport/\w+\.cc|error 802|system not yet initialized", re.IGNORECASE)
_OF_RESTART = ("startup-crash", "runtime-crash", "hang", "device-lost")
_TEXT = re.compile(r"error 802|system not yet initialized|fabric ?manager|nvswitch|fabric (?:is )?not", re.IGNORECASE)


def weigh(case: Case) -> Iterator[Finding]:
    """Yield that fabric manager and driver no longer agree, that it is down, or that both agree on both sides."""
    good, bad, restarted = _agree(case, "good"), _agree(case, "bad"), _was_restarted(case)
    is_down = case.has_moved(ACTIVE) and case.value("bad", ACTIVE) not in (None, "active")
    if bad is False and good is False and not is_down:
        yield Doubt(f"the fabric manager was of another version than the driver on the good side already: {_pair(case, 'good')}", (VERSION, MODULE))
    elif bad is False or is_down:
        yield Evidence(FABRIC_MANAGER, tuple(_terms(case, is_odd=bad is False, was_held=good is True, is_down=is_down)), _wording(case, is_odd=bad is False))
    elif restarted:
        yield from _restarted(case)
    elif restarted is False and good and bad and not case.has_moved(VERSION, ACTIVE) and case.value("bad", ACTIVE) in (None, "active"):
        yield RuledOut(FABRIC_MANAGER, f"{case.value('bad', VERSION)} on both sides, as the driver", (VERSION, MODULE, ACTIVE, SINCE, BOOT))


def _was_restarted(case: Case) -> bool | None:
    """Tell whether the service started anew without a boot, None where that is not known. Its start moves with every boot, and tells nothing then."""
    since, boot = case.known(SINCE), case.known(BOOT)
    if since is None or boot is None or None in (*since, *boot):
        return None
    return bool(since[0] != since[1] and boot[0] == boot[1] and not case.has_moved(MODULE))


def _restarted(case: Case) -> Iterator[Finding]:
    """Yield a restart under GPUs that ran, where something failed. Without a failure it is no suspect, and no proof of innocence either."""
    is_named = _OF_FABRIC.search(case.text) is not None
    if case.klass not in _OF_RESTART and not is_named:
        return
    since = both(case, SINCE)
    says = f"it was started anew at {since[1]} without a boot: the driver and the GPUs ran on with what it had set up before"
    is_open = is_named or not case.text
    terms = [term("restarted under the server" if is_open else "moved", says, (SINCE, BOOT))]
    if is_named:
        terms.append(term("text fits", "the error text is that of memory or ways that GPUs share over NVLink"))
    commands = (
        Command("confirm", "journalctl -u nvidia-fabricmanager -n 50 --no-pager; nvidia-smi -q | grep -A3 Fabric", "when it started, and the fabric's state"),
        Command("try", "# stop all GPU processes, then nvidia-smi -r as root, or boot: GPUs and fabric start together"),
        Command("try", "export NCCL_NVLS_ENABLE=0", "for one run: does it start without memory that is shared over the fabric?"),
    )
    verdict = "The fabric manager was started anew under GPUs that ran: the fabric's state and theirs may no longer fit."
    yield Evidence(FABRIC_MANAGER, tuple(terms), Wording("service", "nvidia-fabricmanager start", "~", *since, verdict, commands=commands))


def _agree(case: Case, side: SideName) -> bool | None:
    """Tell whether both are of one full version on a side; None where one of them is not known, or not there."""
    manager, module = case.value(side, VERSION), case.value(side, MODULE)
    return manager == module if isinstance(manager, str) and isinstance(module, str) else None


def _pair(case: Case, side: SideName) -> str:
    return f"fabric manager {case.value(side, VERSION)}, driver {case.value(side, MODULE)}"


def _terms(case: Case, *, is_odd: bool, was_held: bool, is_down: bool) -> Iterator[Term]:
    if is_odd and was_held:
        yield term("pair broke", f"{_pair(case, 'bad')}: they must be of one full version, and were on the good side", (VERSION, MODULE))
    elif is_odd:
        yield term("pair broke, before unknown", f"{_pair(case, 'bad')}: they must be of one full version", (VERSION, MODULE))
    if is_down:
        yield term("service failed", f"its service is {case.value('bad', ACTIVE)}, and was {case.value('good', ACTIVE)}", (ACTIVE,))
    if _TEXT.search(case.text):
        yield term("text and driver agree", "the error text is that of GPUs whose fabric was not set up")


def _wording(case: Case, *, is_odd: bool) -> Wording:
    look = Command("confirm", "systemctl status nvidia-fabricmanager --no-pager; cat /sys/module/nvidia/version", "what it says, and the driver's version")
    module = case.value("bad", MODULE)
    again = Command("try", "systemctl restart nvidia-fabricmanager", f"as root{f', once it is of version {module} too' if is_odd else ''}")
    package = case.value("bad", "fabricmanager/package")
    verdict = f"The fabric manager does not run with this driver: {_pair(case, 'bad')}." if is_odd else "The fabric manager is down."
    names = moved_packages(case, "driver", "fabric")
    good, bad = (_pair(case, "good"), _pair(case, "bad")) if is_odd else both(case, ACTIVE)
    fact = str(package or "nvidia-fabricmanager")
    held = " (held back)" if case.value("bad", f"os_packages/{package}/held") is True else ""
    driver = moved(*both(case, MODULE)) if case.has_moved(MODULE) else ""
    came = carried(case, f"driver {driver}", names) if driver else ""
    return Wording("service", fact + held, "!" if is_odd else "~", good, bad, verdict, came, (look, again))


RULES = (Rule("fabric_manager", needs=(), weigh=weigh, blames=("service",)),)

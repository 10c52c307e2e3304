"""Whether the running kernel has an NVIDIA module at all, and who brought a driver or a kernel: it works from the next load or boot on."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Subject
from driftwatch.explain.rule import Evidence, Finding, Rule
from driftwatch.explain.rules.driver_pair import DRIVER, MODULE, odd_ones
from driftwatch.explain.terms import term
from driftwatch.explain.transactions import bringer, is_before_boot, moved_packages

_MISSING = Subject("kernel-module", "nvidia kernel module missing")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield terms for the missing module, and for a driver that somebody upgraded and did not load, or that came with a reboot."""
    release = case.value("bad", "kernel/release")
    here = case.value("bad", f"kernel/installed/{release}")
    if isinstance(here, dict) and here.get("nvidia_module") is False and case.value("bad", MODULE) is None:
        says = f"/lib/modules/{release} holds no NVIDIA module: it was built for another kernel only, or not by dkms"
        yield Evidence(_MISSING, (term("module for this kernel", says, (f"kernel/installed/{release}",)),))
    yield from _brought(case)


def _brought(case: Case) -> Iterator[Finding]:
    found = bringer(case, moved_packages(case, "driver"))
    if found is None:
        return
    before_boot = is_before_boot(case, found)
    if odd_ones(case, "bad") and case.value("bad", MODULE) is not None and before_boot is False:
        says = f"{found.told} installed another driver after this kernel had been booted: the module in memory is the old one"
        yield Evidence(DRIVER, (term("upgraded, not restarted", says, (found.fact, "kernel/booted_at")),))
    elif case.has_moved(MODULE) and before_boot:
        yield Evidence(
            DRIVER,
            (term("in the window", f"{found.told} brought it; a reboot put it to work, with all else that waited for one", (found.fact, "kernel/booted_at")),),
        )


RULES = (Rule("kernel_module", needs=(), weigh=weigh, blames=("kernel-module", "driver")),)

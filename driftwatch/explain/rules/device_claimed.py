"""GPUs that another kernel module drives now: their own driver may be there, and cannot have them."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.explain import devices
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.pairs import both, logged_more
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import term
from driftwatch.explain.words import command, count

_LOG = "kernel_log/nvrm"
_TAKEN = "already bound"  # as nvidia's module says of a device that another one drives


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each module that took GPUs from the driver that had them on the good side."""
    for module, facts in devices.claimed(case).items():
        before, now = both(case, facts[0])
        addresses = [path.split("/")[1] for path in facts]
        says = f"the module {module} drives {count(len(facts), 'GPU')} that {before} drove on the good side"
        terms = [term("driven by another", says, facts)]
        if line := next((line for line in logged_more(case, _LOG) if _TAKEN in line), ""):
            terms.append(term("module refused", f"the kernel's log: {line}", (_LOG,)))
        if case.has_moved("kernel/release"):
            terms.append(term("another kernel runs", f"another kernel runs: it may bring {module}, and {before} comes too late", ("kernel/release",)))
        commands = (
            Command("confirm", f"{command(['lspci', '-k', '-s', addresses[0]])}; {command(['grep', '-r', module, '/etc/modprobe.d', '/proc/cmdline'])}"),
            Command("try", f"{command(['modprobe', '-r', module])} && {command(['modprobe', str(before)])}", "as root; then keep it from loading"),
        )
        verdict = f"{says[0].upper()}{says[1:]}: {before} cannot have them."
        yield Evidence(Subject("kernel-module", module), tuple(terms), Wording("kernel module", addresses[0], "~", before, now, verdict, commands=commands))


RULES = (Rule("device_claimed", needs=(), weigh=weigh, blames=("kernel-module",)),)

"""A GPU driver that no longer answers, where it answered on the good side: who asks it waits, and so does the server."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case, SideName
from driftwatch.explain.explanation import Command
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.rules.driver_pair import DRIVER, MODULE
from driftwatch.explain.terms import term
from driftwatch.explain.words import count
from driftwatch.model import ANSWERED, Unknown

_PROBE = "nvml"
_OTHERS = ("topology/matrix", "topology/affinity", "nvlink")
_TEXT = re.compile(
    r"nvidia-smi.*(?:not (?:answer|respond)|timed? ?out|hang)|driver initialization timed out|nvml.*timed? ?out|cudaGetDeviceCount.*not return", re.IGNORECASE
)


def weigh(case: Case) -> Iterator[Finding]:
    """Yield the driver where asking it took longer than its deadline on the bad side alone."""
    if _status(case, "good") not in ANSWERED or _status(case, "bad") != "timeout":
        return
    silent = [path for path in _OTHERS if isinstance(found := case.bad.facts.get(path), Unknown) and found.status == "timeout"]
    says = f"{case.bad.probes[_PROBE].reason or 'asking for the GPUs took longer than its deadline'}; it answered on the good side"
    terms = [term("driver silent", says)]
    if silent:
        terms.append(term("silent elsewhere", f"{count(len(silent), 'other question')} to it got no answer either", silent))
    if _TEXT.search(case.text):
        terms.append(term("text and driver agree", "the error text says the same"))
    version = case.value("bad", MODULE)
    commands = (
        Command("confirm", "timeout 10 nvidia-smi -L; uptime; ps -eo pid,stat,wchan:30,comm | awk '$2 ~ /D/'; dmesg | grep -iE 'nvrm|xid' | tail"),
        Command("try", "# end who holds /dev/nvidia*, then unload and load the driver's modules, or boot", "as root"),
    )
    verdict = f"The driver{f' {version}' if version else ''} does not answer any more: what asks for the GPUs waits."
    yield Evidence(DRIVER, tuple(terms), Wording("driver", "answers", "!", "in time", "no answer", verdict, commands=commands))


def _status(case: Case, side: SideName) -> str:
    result = case.side(side).probes.get(_PROBE)
    return result.status if result is not None else ""


RULES = (Rule("driver_unresponsive", needs=(), weigh=weigh, blames=("driver",)),)

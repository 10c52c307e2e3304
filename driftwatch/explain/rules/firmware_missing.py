"""Firmware that the kernel asked for on behalf of a device and did not find: the device does not come up, whatever its driver is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.pairs import logged_more
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, term
from driftwatch.explain.words import command

_LOGS = ("kernel_log/nvrm", "kernel_log/mlx5", "kernel_log/pcie")
_MISSING = re.compile(r"[Dd]irect firmware load for (\S+) failed with error (-\d+)")
_NOT_THERE = "-2"  # ENOENT
_OF_FIRMWARE = re.compile(r"(?:.*-)?firmware(?:-.*)?")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each file of firmware that the bad side's kernel did not find."""
    seen: set[str] = set()
    for log in _LOGS:
        for line in logged_more(case, log):
            match = _MISSING.search(line)
            if match is not None and match[2] == _NOT_THERE and match[1] not in seen:
                seen.add(match[1])
                yield _evidence(case, log, match[1])


def _evidence(case: Case, log: str, file: str) -> Evidence:
    gone = [change.path for change in case.moved("os_packages/*/version") if change.kind == "removed" and _OF_FIRMWARE.fullmatch(change.path.split("/")[1])]
    terms = [term("firmware missing", f"the kernel found no /lib/firmware/{file}", (log,)), *before_unknown(case, "it did", log)]
    name = f"/lib/firmware/{file}"
    if gone:
        name = gone[0].split("/")[1]
        terms.append(term("module gone", f"the package {name} is gone", gone))
    commands = (
        Command("confirm", f"ls -l /lib/firmware/{command([file])}; dmesg | grep -i firmware"),
        Command("try", command(["apt-get", "install", name]) if gone else "# install the driver's firmware again", "as root; then load the module, or boot"),
    )
    verdict = f"The kernel found no firmware {file}{f': {name} is gone' if gone else ''}; the device does not come up without it."
    good = case.value("good", gone[0]) if gone else None
    return Evidence(Subject("firmware", name), tuple(terms), Wording("firmware", file.rsplit("/", 1)[-1], "-", good, None, verdict, commands=commands))


RULES = (Rule("firmware_missing", needs=(), weigh=weigh, blames=("firmware",)),)

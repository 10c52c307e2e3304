"""Lines of the kernel's log in a paste (dmesg, journalctl -k, syslog, also without time and host, or a few posted NVRM lines), by the collector's own parser.

The paths are those of agent/collectors/kernel_log.py. Times are told only where they are in UTC or name their zone. A paste is a part: no class is ever
known to be absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.agent.collectors.kernel_log import PROBES
from driftwatch.agent.kernel_messages import parse_kernel_log
from driftwatch.agent.probe import Refusal, fact_path
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch

VOLATILE = tuple(glob for probe in PROBES for glob in probe.volatile)
_STAMP = re.compile(r"\s{0,3}(?:<\d{1,3}>)?\[\s*\d{1,9}\.\d{6}\] ?")
_DATED = re.compile(r"\s{0,3}\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] ?")
_SYSLOG = re.compile(r"\s{0,3}[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,80} kernel: (?:\[\s*\d+\.\d+\] ?)?")
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?[+-]\d\d:?\d\d (?:\S{1,80} kernel: )?")
_BARE = re.compile(r"\s{0,16}(?:kernel: (?:\[\s*\d+\.\d+\] ?)?(?=\S)|(?=NVRM: \S))")
_LOADED = re.compile(r"NVRM: loading NVIDIA UNIX (?P<open>Open )?(?:\w{1,20} )?Kernel Module(?: for \w{1,20})?  (?P<version>\d[\d.]{2,20})  ")
_FEWEST = 3


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield runs of kernel lines: stamped ones from three on, lines of the NVIDIA driver also alone."""
    at = 0
    while at < len(lines):
        after = at
        while after < len(lines) and lines[after] != FENCE and is_kernel_line(lines[after]):
            after += 1
        if after - at >= _FEWEST or any("NVRM: " in line[:400] for line in lines[at:after]):
            yield Stretch(at, after, 0.75)
        at = max(after, at + 1)


def is_kernel_line(line: str) -> bool:
    """Tell whether a line is one of the kernel's log."""
    short = line[:400]
    if short.lstrip()[:1] not in ("[", "<") and "kernel: " not in short and "NVRM: " not in short:
        return False
    is_dated = _ISO.match(short) is not None and " kernel: " in short
    return is_dated or any(one.match(short) for one in (_STAMP, _DATED, _SYSLOG, _BARE))


def parse(text: str) -> Parsed:
    """Return what the lines tell, by class, and the driver's module that they saw loaded last."""
    return Parsed({**kernel_facts(text), **_loaded(text)}, volatile=VOLATILE)


def _loaded(text: str) -> dict[str, str]:
    """Return version and flavour of the module, which is also what the driver says of itself."""
    found = list(_LOADED.finditer(text))
    if not found:
        return {}
    version = found[-1]["version"]
    return {"driver/module/version": version, "driver/module/flavour": "open" if found[-1]["open"] else "proprietary", "driver/version": version}


def kernel_facts(text: str) -> dict[str, Any]:
    """Return the facts of a kernel log by path; nothing where no line of it is one."""
    try:
        account = parse_kernel_log("\n".join(map(_stamped, text.splitlines())))
    except Refusal:
        return {}
    facts: dict[str, Any] = {f"kernel_log/{fact_path(*place)}": count for place, count in account.places.items()}
    for name, found in account.classes.items():
        facts[f"kernel_log/{name}"] = {"count": found.many, "lines": found.lines}
        facts.update((f"kernel_log/{name}/{key}", value) for key, value in (("first", found.first), ("last", found.last)) if value)
    return facts


def _stamped(line: str) -> str:
    """Return a line with the stamp that dmesg itself writes, whatever stood before; a date without a zone is dropped."""
    if _ISO.match(line) or (_STAMP.match(line) and line[:1] == "["):
        return line[:4000]
    for pattern in (_STAMP, _DATED, _SYSLOG):
        found = pattern.match(line)
        if found:
            return "[    0.000000] " + line[found.end():4000]
    bare = _BARE.match(line)
    return "[    0.000000] " + line[bare.end():4000] if bare and not line.startswith("     ") else line[:4000]


FORMAT = Format(
    name="transcript", find=find, parse=parse, looks_like="dmesg or journalctl -k",
    never_prints=("packages/*", "gpus/*/name", "env/*", "servers/*", "torch/*"),
)

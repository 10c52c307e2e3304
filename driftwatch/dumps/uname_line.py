"""The line of ``uname -a`` or of /proc/version alone, without a command above it that a session shows, or a release under its label (``Kernel: …``).

| path | what |
|---|---|
| kernel/release | its host and who built it name no system |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from driftwatch.dumps.format import Format, Parsed, Stretch

_LONGEST = 600
_LINE = re.compile(
    r"\s{0,8}Linux (?:version (?P<version>\d+\.\d+\.\S{1,100}) \("
    r"|\S{1,80} (?P<release>\d+\.\d+\.\S{1,100}) #\d\S{0,80} .{0,200}(?:x86_64|aarch64|arm64|ppc64le|riscv64)\b)")
_LABELLED = re.compile(
    r"\s{0,8}(?:[-*\u2022] {1,3})?(?:linux )?kernel(?: version| release)?\s{0,4}:\s{0,4}(?P<release>\d\.\d{1,3}\.\d{1,3}-[\w.+~-]{1,80})(?P<version>)\s*\Z",
    re.IGNORECASE)


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each such line."""
    yield from (Stretch(at, at + 1, 0.2) for at, line in enumerate(lines) if _match(line[:_LONGEST]))


def _match(line: str) -> re.Match[str] | None:
    return _LINE.match(line) if "Linux " in line[:20] else _LABELLED.match(line) if "ernel" in line or "KERNEL" in line else None


def parse(text: str) -> Parsed:
    """Return the kernel's release."""
    line, end, _ = text[:_LONGEST].partition("\n")
    found = _match(line)
    return Parsed({"kernel/release": found["release"] or found["version"]} if found and (end or found.re is _LINE) else {})


FORMAT = Format(name="transcript", find=find, parse=parse, looks_like="what uname -a prints", marks=("Linux ", "ernel", "KERNEL"), knows_cuts=True)

"""What ``pip install`` and ``uv pip install`` say was there already or was installed. Demands, plans and what was taken away are no versions.

| path | what |
|---|---|
| packages/NAME/version | of ``Requirement already satisfied``, ``Successfully installed``, uv's ``+ NAME==VERSION`` below ``Installed N packages`` |
| python/version | of uv's ``Using Python`` |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.dumps.format import Format, Parsed, Stretch
from driftwatch.dumps.rows import NAME, VERSION, add_version, is_version, told_at_end
from driftwatch.dumps.tables import interpreter

_KEPT = re.compile(rf"\s{{0,4}}Requirement already (?:satisfied|up-to-date): (?P<name>{NAME})(?:[\[<>=!~;,@ ].{{0,400}})? \((?P<version>{VERSION})\)\s*\Z")
_DONE = re.compile(r"\s{0,4}Successfully installed (?P<words>[A-Za-z0-9]\S*-\d.*)\Z")
_COUNTED = re.compile(r"\s{0,4}Installed \d{1,5} packages? in \S")
_ADDED = re.compile(rf"\s{{1,4}}[+~] (?P<name>{NAME})==(?P<version>{VERSION})(?: \(from .{{1,300}}\))?\s*\Z")
_LINE = re.compile(
    r"\s{0,4}(?:Requirement already |Successfully |Collecting |Downloading |Using cached |Installing collected |Attempting uninstall|Using (?:Python|CPython) "
    r"|(?:Resolved|Prepared|Audited|Uninstalled|Installed) \d{1,5} packages? in \S)|\s{1,4}[-+~] \S")
_STARTS = ("Requirement already ", "Successfully installed ", "Installed ", "Using Python ", "Resolved ")
_LONGEST = 1 << 14


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the runs of lines that one of the tools printed, where one says what is installed."""
    at = 0
    while at < len(lines):
        after = at + 1
        if lines[at].lstrip().startswith(_STARTS):
            while after < len(lines) and _LINE.match(lines[after]):
                after += 1
            if any(map(_says, lines[at:after])):
                yield Stretch(at, after, 0.9)
        at = after


def _says(line: str) -> bool:
    return any(one.match(line[:_LONGEST]) for one in (_KEPT, _DONE, _COUNTED))


def parse(text: str) -> Parsed:
    """Return the versions that are installed."""
    facts: dict[str, Any] = dict(interpreter(text))
    lines = text.split("\n")
    is_counted = False
    for at, line in enumerate(lines):
        short, is_cut = line[:_LONGEST], at == len(lines) - 1
        is_counted = is_counted or _COUNTED.match(short) is not None
        if found := _KEPT.match(short) or (_ADDED.match(short) if is_counted else None):
            add_version(facts, found["name"], told_at_end(found["version"], is_cut=is_cut and not line.rstrip().endswith(")")))
        elif found := _DONE.match(short):
            words = [word.rpartition("-") for word in found["words"].split()]
            for name, _, version in (word for word in words if is_version(word[2])):
                add_version(facts, name, told_at_end(version, is_cut=is_cut and version == words[-1][2]))
    return Parsed(facts)


FORMAT = Format(
    name="transcript", find=find, parse=parse, knows_cuts=True, looks_like="what pip install says is installed",
    marks=("Requirement already ", "Successfully installed ", "Installed "))

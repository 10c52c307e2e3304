"""The line with which an interactive Python begins: ``Python 3.10.12 (main, …) [GCC 11.4.0] on linux``; or that many tools print, ``Python: 3.10.12 (main, …``.

Also a bullet ``- Python version: 3.10.12`` right beside another of a list of labels.

| path | what |
|---|---|
| python/version | |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from driftwatch.dumps.format import Format, Parsed, Stretch

_LONGEST = 300
_LINE = re.compile(r"\s{0,4}Python (?P<version>\d\.\d{1,3}\.\w{1,12}\+?) [(|].{1,200}[)\]] on (?:linux|win32|darwin)\s*\Z")
_LABELLED = re.compile(r"\s{0,4}Python: (?P<version>\d\.\d{1,3}\.\w{1,12}\+?) (?:\(\w|\| packaged by )")
_BULLET = re.compile(r"\s{0,8}[-*\u2022]\s(?:\*\*)?Python version(?:\*\*)?:(?:\*\*)?\s{1,8}(?P<version>\d\.\d{1,3}\.\d{1,3}(?:rc\d|[ab]\d)?)\s*\Z")
_OTHER_BULLET = re.compile(r"\s{0,8}[-*\u2022]\s(?:\*\*)?[A-Za-z][\w ./()-]{1,60}:")
_HELP = re.compile(r"\s{0,4}Type \"help\", \"copyright\"")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each such line, with the hint to ``help`` below it. A tool's own format is surer of its line."""
    for at, line in enumerate(lines):
        if "Python: " in line[:12] and _LABELLED.match(line[:_LONGEST]):
            yield Stretch(at, at + 1, 0.25)
        if "Python version" in line[:24] and _BULLET.match(line[:_LONGEST]) and _is_listed(lines, at):
            yield Stretch(at, at + 1, 0.25)
        if "Python " in line[:12] and _LINE.match(line[:_LONGEST]):
            yield Stretch(at, at + 1 + (at + 1 < len(lines) and _HELP.match(lines[at + 1]) is not None), 0.87)


def _is_listed(lines: Sequence[str], at: int) -> bool:
    """Tell whether the line above or below a bullet is one with another label."""
    return any(_OTHER_BULLET.match(line[:_LONGEST]) for line in (*lines[max(0, at - 1):at], *lines[at + 1:at + 2]))


def parse(text: str) -> Parsed:
    """Return the version of the Python that was started."""
    line = text.partition("\n")[0][:_LONGEST]
    found = _LINE.match(line) or _LABELLED.match(line) or (_BULLET.match(line) if "\n" in text else None)
    return Parsed({"python/version": found["version"]} if found else {})


FORMAT = Format(name="transcript", find=find, parse=parse, knows_cuts=True, looks_like="what an interactive Python begins with", marks=("Python ", "Python: "))

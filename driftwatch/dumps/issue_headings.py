"""The environment part of an issue form as GitHub renders it: ``### Heading``, an empty line, and what stands below. Its labels are those of issue_form.py.

| path | what |
|---|---|
| os/name, kernel/release, driver/version, python/version, torch/version, packages/NAME/version … | as written, or as lsb_release and uname print it |
| driver/module/version, flavour | where the version file of the driver's module was put below its heading |
| gpus/UUID/name, index | of ``GPU 0: NAME (UUID: …)``, several in one line too; of ``GPU 0: NAME`` and all else as issue_form.py tells them |

A word that fits many (``Linux``, ``Nvidia``) names no system and no GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.dumps.driver_line import module_facts
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.issue_form import add, path_of

FEWEST_HEADINGS = 2
MOST_LINES = 12
LONGEST = 1000
_HEADING = re.compile(r"\s{0,3}#{2,5}\s{1,4}(?P<label>[A-Za-z].{0,80})\Z")
_ANY_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_GPU = re.compile(r"\bGPU (?P<index>\d{1,3}): (?P<name>[A-Za-z][^():\n]{1,100}?) \(UUID: (?P<uuid>GPU-[0-9A-Fa-f-]{8,40})\)")
_INDEXED = re.compile(r"GPU \d{1,3}: [A-Za-z][^:\n]{1,120}\Z")
_RELEASE = re.compile(r"(?:\bDescription:|\bPRETTY_NAME=)[ \t]{0,40}\"?(?P<name>[^\s\"][^\"\n]{1,200})\"?$", re.MULTILINE)
_SAYS_NOTHING = re.compile(r"_?no response_?|n/?a|none|unknown|linux|windows|macos|docker|wsl2?|nvidia|amd|intel|apple|other|cuda|yes|no|\W+", re.IGNORECASE)


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each heading that is known with what stands below it, where a form has at least two of them."""
    found = [Stretch(at, after, 0.45) for at, after in _sections(lines)]
    yield from found if len(found) >= FEWEST_HEADINGS else ()


def _sections(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where a section begins and ends that has a known heading and a short text below."""
    for at, line in enumerate(lines):
        if not line.lstrip().startswith("##") or not _path(line):
            continue
        after = next((one for one in range(at + 1, len(lines)) if _ANY_HEADING.match(lines[one])), len(lines))
        filled = [one for one in range(at + 1, min(after, at + 2 * MOST_LINES)) if lines[one] != FENCE and lines[one].strip()]
        if filled and after - at <= 2 * MOST_LINES:
            yield at, filled[-1] + 1


def _path(line: str) -> str:
    found = _HEADING.match(line)
    return path_of(found["label"].rstrip(" :")) if found else ""


def parse(text: str) -> Parsed:
    """Return what stands below the headings."""
    lines = text.split("\n")
    facts: dict[str, Any] = {}
    starts = [at for at, line in enumerate(lines) if _path(line)]
    for at, after in pairwise([*starts, len(lines)]):
        below = "\n".join(line.strip() for line in lines[at + 1:after] if line.strip())
        if below and not _SAYS_NOTHING.fullmatch(below):
            _add(facts, _path(lines[at]), below, is_cut=after == len(lines) and not text.endswith("\n"))
    return Parsed(facts)


def _add(facts: dict[str, Any], path: str, below: str, *, is_cut: bool) -> None:
    """Add what a section tells: what a tool printed in it, or the one line that a person wrote."""
    if path.startswith("gpus") and (listed := list(_GPU.finditer(below))):
        for one in listed:
            facts.update({fact_path("gpus", one["uuid"], "index"): int(one["index"]), fact_path("gpus", one["uuid"], "name"): one["name"]})
    elif path == "driver/version" and "NVRM version" in below:
        facts.update(module_facts(below[:LONGEST]))
    elif path == "os/name" and (release := _RELEASE.search(below)) and not is_cut:
        facts[path] = release["name"]
    elif "\n" not in below or (path == "gpus" and all(map(_INDEXED.match, below.split("\n")))):
        rows = below.split("\n")
        for row in rows:
            add(facts, path, row, is_cut=is_cut and row is rows[-1])


FORMAT = Format(name="transcript", find=find, parse=parse, knows_cuts=True, looks_like="an issue form (### Label, and its value below)", marks=("## ",))
